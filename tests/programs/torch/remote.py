"""torch.distributed.rpc: whoever waits for another rank's answer lets that rank run; its own threads poll all the while."""
import os

import torch
import torch.distributed.rpc as rpc

import expect

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
rpc.init_rpc(f"worker {rank}".replace(" ", "_"), rank=rank, world_size=world)
name = [f"worker_{(rank + n) % world}" for n in range(world)]
expect.same("rpc_sync", rpc.rpc_sync(name[1], torch.add, args=(torch.ones(2), rank)), torch.ones(2) + rank)
asked = [rpc.rpc_async(other, torch.mul, args=(torch.ones(2), n)) for n, other in enumerate(name)]
for n, answer in enumerate(asked):
    expect.same("rpc_async", answer.wait(), torch.ones(2) * n)
remote = rpc.remote(name[1], torch.add, args=(torch.ones(1), 1))
expect.same("remote", remote.to_here().item(), 2.0)
rpc.shutdown()
