"""What a rank's tensors hold on the CPU, to the byte, and what happens at its capacity. `tensor_memory.py BACKEND MODE`.

Run with --cuda cpu: torch.cuda's figures are the account's. `peak` needs no capacity; `capacity` wants 120 MiB of it, and
`uncaught` ends rank 1 by it.
"""
import copy
import io
import os
import sys
import threading

import expect
import numpy
import torch
import torch.distributed as dist

from expect import same

MIB = 1 << 20
held, most = torch.cuda.memory_allocated, torch.cuda.max_memory_allocated


def empty(mebibytes):
    return torch.empty(mebibytes * MIB, dtype=torch.uint8)


def peak():
    """100 MiB in rank 0, 80 in rank 1, to the byte; the group is never made, so nobody else's tensors are there."""
    rank = os.environ["RANK"]
    first = empty(100 if rank == "0" else 80)
    same("held", held(), first.numel())
    del first
    same("after the end", held(), 0)
    second = empty(50)
    same("held later", (held(), most()), (50 * MIB, (100 if rank == "0" else 80) * MIB))
    torch.cuda.reset_peak_memory_stats()
    same("a new peak", most(), 50 * MIB)
    del second
    whole_life()


def whole_life():
    """Every way in which a tensor gets, changes and loses its memory."""
    same("at first", held(), 0)
    one = torch.zeros(MIB)
    same("zeros", held(), 4 * MIB)
    other = copy.deepcopy(one)
    same("a deep copy", held(), 8 * MIB)
    view, turned = one[5:], one.view(1024, 1024).t()
    same("views", held(), 8 * MIB)
    dense = turned.contiguous()
    same("a copy", held(), 12 * MIB)
    del one, view
    same("a view keeps all", held(), 12 * MIB)
    del turned, dense
    same("the last view", held(), 4 * MIB)
    other.resize_(2 * MIB)
    same("grown", held(), 8 * MIB)
    storage = other.untyped_storage() if hasattr(other, "untyped_storage") else other.storage().untyped()
    storage.resize_(0)
    same("a storage without bytes", held(), 0)
    storage.resize_(MIB)
    same("a storage again", held(), MIB)
    del storage, other
    array = torch.ones(10).numpy()
    same("lent to numpy", held(), 40)
    del array
    made = torch.from_numpy(numpy.zeros(MIB))
    shared = torch.zeros(MIB).share_memory_()
    same("others' memory", held(), 0)
    storage = torch.UntypedStorage(100)
    same("a storage", held(), 100)
    del made, shared, storage
    def allocate():
        tensor = empty(1)
        same("in a thread", held(), tensor.numel())

    done = threading.Thread(target=allocate)
    done.start()
    done.join()
    same("after the thread", held(), 0)
    weight = torch.ones(64, 64, requires_grad=True)
    (weight @ weight).sum().backward()
    same("with its gradient", held(), 2 * 64 * 64 * 4)
    same("a gradient", weight.grad, torch.full((64, 64), 128.0))
    del weight
    loaded = io_round_trip(torch.arange(100))
    same("what was saved", loaded, torch.arange(100))
    del loaded
    same("at last", held(), 0)


def io_round_trip(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file)


def capacity():
    rank, world = expect.start()
    before = held()
    same("the device's size", torch.cuda.get_device_properties(0).total_memory, 120 * MIB)
    same("what is free", torch.cuda.mem_get_info(), (120 * MIB - before, 120 * MIB))
    kept = [empty(50), empty(50)]
    fitting = torch.empty(20 * MIB - before, dtype=torch.uint8)
    same("full to the last byte", torch.cuda.mem_get_info()[0], 0)
    del fitting
    for attempt in range(1, 3):
        try:
            empty(30)
        except torch.cuda.OutOfMemoryError as why:
            text = str(why)
        else:
            expect.fail("130 MiB are more than 120")
        for words in ("out of memory", "30.00 MiB (31457280 bytes)", f"rank {rank}", "100.0", "120.00 MiB (125829120 bytes)",
                      "CPU tensors", "not an estimate"):
            same(f"{words!r} is in {text!r}", words in text, True)
        same("refusals", torch.cuda.memory_stats()["num_ooms"], attempt)
    same("nothing was taken", held() - before, 100 * MIB)
    if hasattr(torch, "OutOfMemoryError"):
        same("its name", torch.OutOfMemoryError, torch.cuda.OutOfMemoryError)
    del kept[0]
    kept.append(empty(30))  # and goes on
    sum_of = torch.full((1000,), rank + 1.0)
    dist.all_reduce(sum_of)
    same("a sum after that", sum_of, torch.full((1000,), world * (world + 1) / 2))
    torch.cuda.set_per_process_memory_fraction(0.75)
    try:
        empty(20)
    except torch.cuda.OutOfMemoryError:
        pass
    else:
        expect.fail("100 MiB are more than 90")
    children_are_not_limited()
    expect.finish()


def children_are_not_limited():
    child = os.fork()
    if child == 0:
        os._exit(0 if empty(200).numel() == 200 * MIB else 1)
    same("a child's end", os.waitpid(child, 0)[1], 0)


def uncaught():
    rank, _ = expect.start()
    kept = [empty(100)]
    if rank == 1:
        kept.append(empty(30))
    dist.barrier()


{"peak": peak, "capacity": capacity, "uncaught": uncaught}[sys.argv[2]]()
