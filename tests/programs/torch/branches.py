"""Branches by rank and by root: the members' calls stand at different places, as they should."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
for root in list(range(world)) * 2:
    tensor = torch.full((4,), float(rank))
    if rank == root:
        dist.broadcast(tensor, root)
    else:
        dist.broadcast(tensor, root)
    expect.same(f"broadcast from {root}", tensor, torch.full((4,), float(root)))
    if rank != 0:
        dist.barrier()
    if rank == 0:
        dist.barrier()
    dist.all_reduce(tensor)
expect.finish()
