"""sums: each rank adds its number to everybody's, again and again, and checks every sum.

    sums.py [STEPS] [COUNT]     prints `rank R: sum S` at the end
"""
import os
import sys

from collectives import World

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
count = int(sys.argv[2]) if len(sys.argv) > 2 else 4
world = World()
expected = world.size * (world.size + 1) / 2
for step in range(steps):
    result = world.all_reduce([world.rank + 1.0 + step] * count)
    if list(result) != [expected + world.size * step] * count:
        sys.exit(f"rank {world.rank}, step {step}: {list(result)[:4]} instead of {expected + world.size * step}")
    if step == 0 and "TEST_PIDS" in os.environ:
        world.leave_pid(f"{world.rank}.summed")
print(f"rank {world.rank}: sum {result[0]:.0f}", flush=True)
world.leave()
