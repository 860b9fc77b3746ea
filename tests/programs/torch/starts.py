"""Every way to start: environment, tcp://, file://, a store of the program's own, twice, and ranks numbered backwards."""
import os
import sys
import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist

import expect

backend = sys.argv[1] if len(sys.argv) > 1 else "gloo"
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
port = int(os.environ["MASTER_PORT"])
torch.set_num_threads(1)


def check(name, backwards=False, **arguments):
    as_rank = world - 1 - rank if backwards else rank
    dist.init_process_group(backend, **arguments)
    expect.same(f"{name}: rank", dist.get_rank(), as_rank)
    found = [torch.empty(1) for _ in range(world)]
    dist.all_gather(found, torch.tensor([float(rank)]))
    numbered = range(world)[::-1] if backwards else range(world)
    expect.same(f"{name}: who is who", [int(one) for one in found], list(numbered))
    half = dist.new_group(list(range((world + 1) // 2)))
    if dist.get_rank() < (world + 1) // 2:
        tensor = torch.ones(1)
        dist.all_reduce(tensor, group=half)
        expect.same(f"{name}: half", tensor, torch.tensor([float((world + 1) // 2)]))
    dist.barrier()
    expect.same(f"{name}: backend", dist.get_backend(), backend)
    dist.destroy_process_group()


def server(offset):
    return dist.TCPStore("127.0.0.1", port + offset, world, rank == 0, timedelta(seconds=60))


check("environment")
if not expect.NATIVE:  # the server of the first time may not have ended yet
    check("environment, again")
check("tcp", init_method=f"tcp://127.0.0.1:{port + 1}", rank=rank, world_size=world)
check("backwards", True, init_method=f"tcp://127.0.0.1:{port + 2}", rank=world - 1 - rank,
      world_size=world)
run = os.environ.get("TROUPE_SOCKET", f"native-{port}")  # two runs may be given one port
path = os.path.join(tempfile.gettempdir(), f"starts-{run}")
check("file", init_method=f"file://{path}", rank=rank, world_size=world)
store = server(3)
check("own store", store=store, rank=rank, world_size=world)
if rank == 0:
    store.set("asked", "yes")
expect.same("own key", store.get("asked"), b"yes")
if not expect.NATIVE:
    check("own store, again", store=dist.PrefixStore("again", store), rank=rank, world_size=world)
expect.start()
if rank == 0 and os.path.exists(path):
    os.remove(path)
expect.finish()
