"""Every rank sends to the next one before it receives: right only where sends are buffered (`--eager-sends`)."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
after, before = (rank + 1) % world, (rank - 1) % world
for turn in range(20):
    found = torch.zeros(1000)
    dist.send(torch.full((1000,), float(rank + turn)), after)
    dist.recv(found, before)
    expect.same(f"turn {turn}", found, torch.full((1000,), float(before + turn)))
for turn in range(10):  # several under way, more than fit
    if rank == 0:
        dist.send(torch.full((4000,), float(turn)), 1)
    elif rank == 1:
        found = torch.zeros(4000)
        dist.recv(found, 0)
        expect.same(f"stream {turn}", found, torch.full((4000,), float(turn)))
expect.finish()
