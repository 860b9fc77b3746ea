"""misfortune: after two good collectives one rank comes to grief while the others wait for it in the third.

    misfortune.py HOW RANK     HOW: raise, exit, exit-in-collective, segfault, kill, other-count, other-type
"""
import os
import signal
import sys

from collectives import World

how, victim = sys.argv[1], int(sys.argv[2])
world = World()
for _ in range(2):
    world.all_reduce([1.0, 2.0])
if world.rank != victim:
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
