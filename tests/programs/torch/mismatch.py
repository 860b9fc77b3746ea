"""One member's tensor is larger than the others': the run ends with the place and the group of the call (who runs this looks)."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
half = dist.new_group(list(range(2)))
dist.all_reduce(torch.ones(12 if rank == 0 else 1))
expect.fail("sizes that differ went unnoticed")
