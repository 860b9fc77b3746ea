"""What a rank can see to be wrong by itself is refused at once, naming operation and rank; the group stays usable."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
nccl = dist.get_backend() == "nccl"
me = f"rank {rank} of {world}"
ones = torch.ones(4)
group = dist.group.WORLD
expect.refused("sparse", lambda: dist.broadcast(torch.eye(3).to_sparse(), 0), "")
expect.refused("sizes of all_gather", lambda: dist.all_gather([torch.ones(3) for _ in range(world)], ones),
               "all_gather", me, "3 elements")
expect.refused("sizes of all_gather_into_tensor", lambda: dist.all_gather_into_tensor(torch.ones(3), ones),
               "all_gather", me)
expect.refused("sizes of reduce_scatter_tensor", lambda: dist.reduce_scatter_tensor(ones, torch.ones(3)),
               "reduce_scatter", me)
expect.refused("splits", lambda: dist.all_to_all_single(ones, torch.ones(4), [4] + [0] * (world - 1), [3] + [0] * (world - 1)),
               "all_to_all", me, "Split sizes")
expect.refused("types", lambda: dist.all_gather_into_tensor(torch.ones(4 * world, dtype=torch.int32), ones), "all_gather")
expect.refused("short integers", lambda: dist.all_reduce(torch.ones(4, dtype=torch.int16)), "all_reduce", me, "Short")
expect.refused("root of broadcast", lambda: dist.broadcast(ones, world), "broadcast", me, "invalid root rank")
expect.refused("root of reduce", lambda: dist.reduce(ones, -1), "reduce", me, "invalid root rank")
if nccl:
    parts = [torch.ones(2, 2) for _ in range(world)]  # by numbers of elements
    dist.all_gather(parts, ones)
else:  # by shapes
    square = [torch.ones(2, 2) for _ in range(world)]
    expect.refused("shapes of all_gather", lambda: dist.all_gather(square, ones), "all_gather", me, "(2, 2)", "(4)")
    expect.refused("tags", lambda: dist.send(ones, (rank + 1) % world, tag=-1), "send", me, "nonnegative")
    expect.refused("a tensor not in a row", lambda: dist.send(ones[::2], (rank + 1) % world), "send", me, "contiguous")
if not nccl and expect.TORCH >= (2, 0):
    uneven = [torch.ones(2 + one) for one in range(world)]
    expect.refused("parts of all_to_all", lambda: dist.all_to_all(uneven, uneven), "all_to_all", me, "index 1")
    expect.refused("shapes of all_gather_into_tensor",
                   lambda: dist.all_gather_into_tensor(torch.ones(world, 4), ones), "all_gather", me)
    expect.refused("shapes of reduce_scatter_tensor",
                   lambda: dist.reduce_scatter_tensor(ones, torch.ones(world, 4)), "reduce_scatter", me)
if nccl:
    factor = torch.tensor([2.0])
    factor = factor if expect.TORCH >= (2, 0) else [factor]
    doubled = dist._make_nccl_premul_sum(factor)
    expect.refused("factor", lambda: dist.all_reduce(ones.half(), doubled), "all_reduce", me, "factor", "Float, expected Half")
    expect.refused("factor of integers", lambda: dist.all_reduce(torch.ones(4, dtype=torch.int32), doubled), "PREMUL_SUM", me, "Int")
    expect.refused("bitwise", lambda: dist.all_reduce(torch.ones(4, dtype=torch.int32), dist.ReduceOp.BAND), "BAND", me)
elif expect.TORCH >= (2, 0):  # since 2.8 gloo averages fractions
    expect.refused("average", lambda: dist.all_reduce(torch.ones(4, dtype=torch.int32), dist.ReduceOp.AVG), "AVG", me)
else:
    expect.refused("average", lambda: dist.all_reduce(ones, dist.ReduceOp.AVG), "AVG", me)
    expect.refused("bf16", lambda: dist.all_reduce(ones.bfloat16()), "BFloat16", me)
    expect.refused("truth values", lambda: dist.broadcast(torch.ones(4, dtype=torch.bool), 0), "Bool", me)
expect.same("untouched", ones, torch.ones(4))
dist.all_reduce(ones)
expect.same("usable", ones, torch.full((4,), float(world)))
expect.finish()
