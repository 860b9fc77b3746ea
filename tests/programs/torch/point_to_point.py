"""Rings, exchanges, tags, any source, batches."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
right, left = (rank + 1) % world, (rank - 1) % world
nccl = dist.get_backend() == "nccl"


def value(who, count=5):
    return torch.full((count,), float(who))


if world > 1:
    # Post both, then wait: no order among ranks.
    for count in (1, 5, 70000):
        found = torch.empty(count)
        sending = dist.isend(value(rank, count), right)
        receiving = dist.irecv(found, left)
        receiving.wait()
        sending.wait()
        expect.same("ring", found, value(left, count))
    # Blocking, ordered by rank.
    if rank == 0:
        dist.send(value(100), right)
        found = torch.empty(5)
        expect.same("sender", dist.recv(found, left), left)
        expect.same("round", found, value(100 + world - 1))
    else:
        found = torch.empty(5)
        dist.recv(found, left)
        dist.send(found + 1, right)
    # A batch, both ways.
    found = [torch.empty(5), torch.empty(5)]
    batch = [dist.P2POp(dist.isend, value(rank), right), dist.P2POp(dist.isend, value(rank + 0.5), left),
             dist.P2POp(dist.irecv, found[0], left), dist.P2POp(dist.irecv, found[1], right)]
    if not (nccl and world == 2):  # two messages of one pair, then in order
        for work in dist.batch_isend_irecv(batch):
            work.wait()
        if world > 2:
            expect.same("batch from left", found[0], value(left))
            expect.same("batch from right", found[1], value(right + 0.5))
    # Pieces that are not in a row.
    if not nccl:
        expect.refused("a piece not in a row", lambda: dist.isend(torch.ones(8)[::2], right), "contiguous")
    else:
        found = torch.zeros(4, 2)
        sending = dist.isend(torch.full((8,), float(rank))[::2], right)
        dist.recv(found[:, 1], left)
        sending.wait()
        expect.same("column", found, torch.stack([torch.zeros(4), torch.full((4,), float(left))], 1))

if world > 1 and not nccl:
    # By tag, whatever the order (gloo); any source.
    if rank == 0:
        sending = []
        for tag in (1, 2):
            for other in range(1, world):
                sending.append(dist.isend(value(10 * tag), other, tag=tag))
        senders = set()
        for _ in range(1, world):
            found = torch.empty(5)
            sender = dist.recv(found)
            expect.same("any source", found, value(sender))
            senders.add(sender)
        expect.same("senders", senders, set(range(1, world)))
        for work in sending:
            work.wait()
    else:
        late, early = torch.empty(5), torch.empty(5)
        dist.recv(late, 0, tag=2)
        dist.recv(early, 0, tag=1)
        expect.same("tag 2", late, value(20))
        expect.same("tag 1", early, value(10))
        dist.send(value(rank), 0)
expect.finish()
