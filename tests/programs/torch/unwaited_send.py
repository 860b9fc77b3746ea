"""A send nobody waits for is delivered, though its rank ends at once."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
if rank == 0:
    for other in range(1, world):
        dist.isend(torch.full((1000,), 3.0), other)
else:
    found = torch.empty(1000)
    dist.recv(found, 0)
    expect.same("unwaited", found, torch.full((1000,), 3.0))
    if rank == world - 1:
        print("PASS unwaited_send.py", dist.get_backend(), world, flush=True)
