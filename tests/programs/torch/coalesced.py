"""Several calls as one: coalescing managers, coalesced calls, batches; and parts of different sizes as NCCL has them."""
import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _coalescing_manager

import expect

rank, world = expect.start()
nccl = dist.get_backend() == "nccl"
total = float(sum(range(world)))
device = torch.device("cpu")


def values(count):
    return torch.full((count,), float(rank))


tensors = [values(3), values(5)]
with _coalescing_manager(async_ops=True) as manager:
    for tensor in tensors:
        dist.all_reduce(tensor)
manager.wait()
for tensor in tensors:
    expect.same("all_reduce in a manager", tensor, torch.full_like(tensor, total))

wholes = [torch.empty(2 * world), torch.empty(3 * world)]
with _coalescing_manager():
    for whole, count in zip(wholes, (2, 3)):
        dist.all_gather_into_tensor(whole, values(count))
for whole, count in zip(wholes, (2, 3)):
    expect.same("all_gather in a manager", whole, torch.arange(world).repeat_interleave(count).float())

parts = [torch.empty(2), torch.empty(3)]
with _coalescing_manager():
    for part in parts:
        dist.reduce_scatter_tensor(part, torch.arange(world).repeat_interleave(part.numel()).float())
for part in parts:
    expect.same("reduce_scatter in a manager", part, torch.full_like(part, float(rank * world)))

if nccl:
    one, other = values(4), values(2)
    with _coalescing_manager(device=device, async_ops=True) as manager:
        dist.broadcast(one, 0)
        dist.broadcast(other, world - 1)
    manager.wait()
    expect.same("first of a batch", one, torch.zeros(4))
    expect.same("second of a batch", other, torch.full((2,), world - 1.0))

    outputs = [torch.full((other + 1,), -1.0) for other in range(world)]
    dist.all_gather(outputs, torch.full((rank + 1,), float(rank)))
    for other, output in enumerate(outputs):
        expect.same("uneven all_gather", output, torch.full((other + 1,), float(other)))
    part = torch.empty(rank + 1)
    dist.reduce_scatter(part, [torch.full((other + 1,), float(rank + other)) for other in range(world)])
    expect.same("uneven reduce_scatter", part, torch.full((rank + 1,), total + rank * world))

    right, left = (rank + 1) % world, (rank - 1) % world
    found = torch.empty(6)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, values(6), right), dist.P2POp(dist.irecv, found, left)])
    if expect.TORCH >= (2, 9):  # before, torch batches what is on a GPU only
        expect.same("a batch is one work", len(works), 1)
        value = works[0].get_future().wait()
        expect.same("its future has what came", [one.tolist() for one in value], [[float(left)] * 6])
    for work in works:
        work.wait()
    expect.same("batch", found, torch.full((6,), float(left)))
expect.finish()
