"""Two threads of each rank, each with a group of its own, at the same time; then three that only poll."""
import threading

import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
groups = [dist.new_group(list(range(world))) for _ in range(3)]


def work(which):
    for turn in range(100):
        tensor = torch.full((64,), float(rank + which * turn))
        dist.all_reduce(tensor, group=groups[which])
        wanted = float(sum(range(world)) + world * which * turn)
        expect.same(f"thread {which}, turn {turn}", tensor, torch.full((64,), wanted))
        if turn % 10 == which:
            dist.barrier(group=groups[which])


def poll(which):
    """Without a sleep: no thread of this rank ever waits."""
    for turn in range(5):
        tensor = torch.full((4,), float(rank + turn))
        posted = dist.all_reduce(tensor, group=groups[which], async_op=True)
        while not posted.is_completed():
            pass
        posted.wait()
        expect.same(f"thread {which} that polls, turn {turn}", tensor, torch.full((4,), float(sum(range(world)) + world * turn)))


def at_once(target, count):
    threads = [threading.Thread(target=target, args=(which,)) for which in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


at_once(work, 2)
at_once(poll, 3)
expect.finish()
