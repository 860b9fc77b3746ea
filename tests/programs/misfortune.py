"""misfortune: after two good collectives one rank comes to grief while the others wait for it in the third.

    misfortune.py HOW RANK     HOW: raise, exit, exit-in-collective, segfault, kill, other-count, other-type,
                               head-to-head: it and the rank before it both send first, while rank 0 computes on;
                               saved: the same, but a thread of RANK receives after a while
"""
import os
import signal
import sys
import threading
import time

from collectives import World

how, victim = sys.argv[1], int(sys.argv[2])
world = World()
for _ in range(2):
    world.all_reduce([1.0, 2.0])
if how in ("head-to-head", "saved"):
    other = {victim: victim - 1, victim - 1: victim}.get(world.rank)

    def receive():
        time.sleep(2.5)
        world.recv([0.0], other)

    if other is not None:
        helper = threading.Thread(target=receive)
        if how == "saved" and world.rank == victim:
            helper.start()
        world.send([1.0], other)
        if world.rank != victim:
            world.recv([0.0], other)
        elif how == "saved":
            helper.join()
    elif world.rank == 0:
        until = time.monotonic() + (30 if how == "head-to-head" else 1)
        while time.monotonic() < until:
            pass
    world.all_reduce([1.0, 2.0])
elif world.rank != victim:
    world.all_reduce([1.0, 2.0])
elif how == "raise":
    raise ValueError("the victim's own exception")
elif how == "exit":
    sys.exit(7)
elif how == "exit-in-collective":
    world.issue([1.0, 2.0])
    os._exit(7)
elif how == "segfault":
    os.kill(os.getpid(), signal.SIGSEGV)
elif how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif how == "other-count":
    world.all_reduce([1.0, 2.0, 3.0])
elif how == "other-type":
    world.wait(world.issue([1.0, 2.0], kind="f")[0])
else:
    sys.exit(f"no such misfortune: {how}")
world.leave()
