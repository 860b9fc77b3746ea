"""Many barriers, by all and by halves, and a store that is polled and waited for."""
from datetime import timedelta

import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
halves = [dist.new_group(list(range(start, world, 2))) for start in range(min(world, 2))]
for _ in range(100):
    dist.barrier()
    dist.barrier(group=halves[rank % 2])
if dist.get_backend() == "gloo":
    dist.monitored_barrier(timeout=timedelta(seconds=60))

store = dist.distributed_c10d._get_default_store()
if rank == 0:
    store.set("late", "here")
expect.same("get waits", store.get("late"), b"here")
store.add("counted", rank + 1)
while store.add("counted", 0) != sum(range(1, world + 1)):
    pass
store.set(f"rank {rank}", str(rank))
store.wait([f"rank {other}" for other in range(world)], timedelta(seconds=60))
expect.refused("waiting for nothing", lambda: store.wait(["never"], timedelta(milliseconds=50)))
turn = torch.tensor([0])
dist.all_reduce(turn)
expect.finish()
