"""A wait that is too short fails alone: the operation goes on and a later wait has its result. The group's timeout can be set."""
import warnings
from datetime import timedelta

import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
store = dist.distributed_c10d._get_default_store()
short, long = timedelta(milliseconds=100), timedelta(seconds=120)
ordinal = 0


def received(post, wait_too_short):
    """Rank 1 sends what post() receives only after rank 0's wait has failed."""
    global ordinal
    ordinal += 1
    if rank == 0:
        tensors = [torch.empty(3), torch.empty(3)]
        work = post(tensors)
        expect.refused("too short", lambda: wait_too_short(work), "recv of rank 0")
        store.set(f"failed {ordinal}", "")
        work.wait(long)
        for number, tensor in enumerate(tensors):
            expect.same("and then it came", tensor, torch.full((3,), float(ordinal + number)))
    elif rank == 1:
        store.wait([f"failed {ordinal}"], long)
        for number in range(2):
            dist.send(torch.full((3,), float(ordinal + number)), 0)


def second_of_two(tensors):
    dist.irecv(tensors[0], 1)
    return dist.irecv(tensors[1], 1)


def batch(tensors):
    works = dist.batch_isend_irecv([dist.P2POp(dist.irecv, tensor, 1) for tensor in tensors])
    expect.same("a batch is one work", len(works), 1)
    return works[0]


batches = dist.get_backend() == "nccl" and expect.TORCH >= (2, 9)
received(second_of_two, lambda work: work.wait(short))
if batches:
    received(batch, lambda work: work.wait(short))
if hasattr(dist.distributed_c10d, "_set_pg_timeout"):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # "not supported" is one
        dist.distributed_c10d._set_pg_timeout(short)
        received(second_of_two, lambda work: work.wait())
        dist.distributed_c10d._set_pg_timeout(long)
expect.finish()
