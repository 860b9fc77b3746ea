"""Under `--semantics` of the other backend than the one it names: that one's rules, while torch still says the name."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
named = dist.get_backend()
expect.same("name", named in ("gloo", "nccl"), True)
by_tag = named == "nccl"  # gloo's rules, then
flags = torch.tensor([5, 6], dtype=torch.int32) + rank
if by_tag:
    wanted = torch.tensor([5 | 6, 6 | 7], dtype=torch.int32)
    dist.all_reduce(flags, dist.ReduceOp.BOR)
    expect.same("bitwise", flags, wanted)
else:
    expect.refused("bitwise", lambda: dist.all_reduce(flags, dist.ReduceOp.BOR), "BOR", "nccl")

if rank == 0:
    works = [dist.isend(torch.full((2,), float(tag)), 1, tag=tag) for tag in (1, 2)]
    for work in works:
        work.wait()
else:
    found = [torch.zeros(2), torch.zeros(2)]
    works = [dist.irecv(tensor, 0, tag=tag) for tensor, tag in zip(found, (2, 1))]
    for work in works:
        work.wait()
    first, second = (2.0, 1.0) if by_tag else (1.0, 2.0)
    expect.same("received first", found[0], torch.full((2,), first))
    expect.same("received second", found[1], torch.full((2,), second))
expect.finish()
