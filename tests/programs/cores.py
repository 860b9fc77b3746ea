"""Which cores may a rank use? As many as at its start, after every wait; so may its threads and children. A rank that chose
one itself keeps it."""
import os
import subprocess
import sys
import threading

import collectives

own = os.sched_getaffinity(0)
world = collectives.World()
if world.rank == 1:
    own = {min(own)}
    os.sched_setaffinity(0, own)


def check(what, found):
    if found != own:
        sys.exit(f"rank {world.rank}: {what}: cores {sorted(found)}, not {sorted(own)}")


def of_child():
    shown = subprocess.run([sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"], stdout=subprocess.PIPE,
                           check=True)
    return {int(core) for core in shown.stdout.split()}


for step in range(40):
    world.all_reduce([1.0])
    check(f"step {step}", os.sched_getaffinity(0))
thread = threading.Thread(target=lambda: check("a thread", os.sched_getaffinity(0)))
thread.start()
thread.join()
check("a child", of_child())
world.all_reduce([1.0])
print("all cores")
