"""monitored_barrier: passes when all come; else everyone who came learns who did not, within the barrier's own time."""
import time
from datetime import timedelta

import torch.distributed as dist

import expect

rank, world = expect.start()
for _ in range(3):
    dist.monitored_barrier(timeout=timedelta(seconds=60))
absent = [world - 2, world - 1]
if rank not in absent:
    expect.refused("two are missing", lambda: dist.monitored_barrier(timeout=timedelta(seconds=1), wait_all_ranks=True),
                   f"Ranks {absent[0]}, {absent[1]} failed to pass",
                   f"Rank {rank} successfully reached" if rank else "in 1000 ms")
else:
    time.sleep(3)  # and then it has been decided
    expect.refused("decided already", lambda: dist.monitored_barrier(timeout=timedelta(seconds=60)),
                   f"Ranks {absent[0]}, {absent[1]} failed to pass")
dist.monitored_barrier(timeout=timedelta(seconds=60))

# Who is missing may wait for what the others do once they know.
store = dist.distributed_c10d._get_default_store()
if rank == world - 1:
    store.wait(["known"], timedelta(seconds=600))
    expect.refused("decided already", lambda: dist.monitored_barrier(timeout=timedelta(seconds=60)), "")
else:
    expect.refused("one is missing", lambda: dist.monitored_barrier(timeout=timedelta(seconds=2)), "failed to pass")
    if rank == 0:
        store.set("known", "")

if rank == 0:
    began = time.monotonic()
    expect.refused("no time", lambda: dist.monitored_barrier(timeout=timedelta(0)), "Rank 0 timed out in monitoredBarrier",
                   "Rank 1 failed to pass", "in 0 ms")
    expect.same("at once", time.monotonic() - began < 20, True)
dist.barrier()
if rank != 0:
    expect.refused("no time", lambda: dist.monitored_barrier(timeout=timedelta(seconds=60)), "Rank 1 failed to pass")
expect.finish()
