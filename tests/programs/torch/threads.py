"""Two threads of each rank, each with a group of its own, at the same time."""
import threading

import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
groups = [dist.new_group(list(range(world))) for _ in range(2)]


def work(which):
    for turn in range(100):
        tensor = torch.full((64,), float(rank + which * turn))
        dist.all_reduce(tensor, group=groups[which])
        wanted = float(sum(range(world)) + world * which * turn)
        expect.same(f"thread {which}, turn {turn}", tensor, torch.full((64,), wanted))
        if turn % 10 == which:
            dist.barrier(group=groups[which])


threads = [threading.Thread(target=work, args=(which,)) for which in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
expect.finish()
