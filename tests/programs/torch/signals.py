"""A rank whose main thread waits for a signal while another of its threads waits for communication: no deadlock."""
import os
import signal
import subprocess
import threading

import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
groups = [dist.new_group(list(range(world))) for _ in range(2)]
mine = torch.full((4,), float(rank))


def reduce_in_thread():
    dist.all_reduce(mine, group=groups[0])


for number, sender in ((signal.SIGCHLD, "sleep 2.5"), (signal.SIGUSR1, f"sleep 2.5; kill -USR1 {os.getpid()}")):
    came = threading.Event()
    mine.fill_(rank)
    if rank == 0:
        before = signal.signal(number, lambda *_: came.set())
        child = subprocess.Popen(["sh", "-c", sender])
        thread = threading.Thread(target=reduce_in_thread)
        thread.start()
        came.wait()
        dist.broadcast(torch.zeros(1), 0, group=groups[1])
        thread.join()
        signal.signal(number, before)
        child.wait()
    else:
        dist.broadcast(torch.zeros(1), 0, group=groups[1])
        reduce_in_thread()
    expect.same(f"all_reduce around {number.name}", mine, torch.full((4,), float(sum(range(world)))))
expect.finish()
