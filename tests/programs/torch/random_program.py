"""Correct programs drawn from a seed, one after the other, and the same with one rank's call spoilt.

`random_program.py gloo|nccl SEED PROGRAMS [MUTATION]`: programs of the seeds SEED, SEED + 1, ...; each value is checked
against what it must be. All ranks draw the same plan; what a rank sleeps is drawn from its own generator. With a MUTATION
(count, type, op, root, kind, swap, missing, peer) one rank of the last program does another thing at one step: who runs
this looks whether that was found.
"""
import asyncio
import concurrent.futures
import random
import select
import subprocess
import sys
import threading
import time

import torch
import torch.distributed as dist

import expect

TYPES = (torch.int64, torch.int32, torch.float32, torch.float64)
OPS = {"SUM": torch.sum, "MAX": torch.amax, "MIN": torch.amin}

rank, world = expect.start()
nccl = dist.get_backend() == "nccl"
first, programs = int(sys.argv[2]), int(sys.argv[3])
mutation = sys.argv[4] if len(sys.argv) > 4 else None
own = random.Random(first * 1000 + rank)
asker = dist.distributed_c10d._get_default_store()


def given(who, step, count, dtype):
    """What this rank puts into this step: sums of these are exact in every type."""
    return ((torch.arange(count) * 3 + who * 7 + step * 13) % 17).to(dtype)


def pause():
    """Takes its time in one way or another, or none."""
    way = own.randrange(12)
    if way == 0:
        time.sleep(own.random() / 100)
    elif way == 1:
        select.select([], [], [], own.random() / 100)
    elif way == 2:
        select.poll().poll(own.randrange(10))
    elif way == 3:
        until = time.monotonic() + own.random() / 200
        while time.monotonic() < until:
            pass
    elif way == 4:
        said = threading.Event()
        threading.Timer(own.random() / 100, said.set).start()
        said.wait()
    elif way == 5 and own.randrange(4) == 0:
        subprocess.run(["sleep", "0.01"], check=True, capture_output=True)
    elif way == 6:
        asyncio.run(asyncio.sleep(own.random() / 100))


class Group:
    """Members in ascending order, and its process group."""

    def __init__(self, members):
        self.members = sorted(members)
        self.handle = dist.new_group(self.members)

    def has_us(self):
        return rank in self.members


class Step:
    """One operation of a group: drawn by everyone, done by its members."""
    KINDS = ("all_reduce", "broadcast", "reduce", "all_gather", "gather", "scatter", "objects", "barrier")
    NCCL_KINDS = ("reduce_scatter", "all_to_all")

    def __init__(self, plan, number, group, kind=None, count=None):
        self.number, self.group = number, group
        self.kind = kind or plan.choice(self.KINDS + (self.NCCL_KINDS if nccl else ()))
        self.count = count or plan.choice((1, 3, 17, 1000, 30000))
        self.dtype = plan.choice(TYPES)
        self.op = plan.choice(sorted(OPS))
        self.root = plan.choice(group.members)

    def inputs(self, number=None):
        return [given(who, number or self.number, self.count, self.dtype) for who in self.group.members]

    def reduced(self, tensors):
        stacked = torch.stack(tensors)
        return OPS[self.op](stacked, 0).to(self.dtype)

    def call(self):
        """Posts it; returns the work (None: it was done at once) and the check of its values."""
        kind, members, handle = self.kind, self.group.members, self.group.handle
        at, size = members.index(rank), len(members)
        every, mine = self.inputs(), given(rank, self.number, self.count, self.dtype)
        empty = [torch.full_like(mine, -1) for _ in members]
        what = f"step {self.number}, {kind} of {members}"
        op = getattr(dist.ReduceOp, self.op)
        same = expect.same
        if kind == "all_reduce":
            return (dist.all_reduce(mine, op, handle, async_op=True), lambda: same(what, mine, self.reduced(every)))
        if kind == "broadcast":
            return (dist.broadcast(mine, self.root, handle, async_op=True),
                    lambda: same(what, mine, every[members.index(self.root)]))
        if kind == "reduce":
            wanted = self.reduced(every) if rank == self.root else every[at]
            return (dist.reduce(mine, self.root, op, handle, async_op=True), lambda: same(what, mine, wanted))
        if kind == "all_gather":
            return (dist.all_gather(empty, mine, handle, async_op=True),
                    lambda: [same(what, *pair) for pair in zip(empty, every)])
        if kind == "gather":
            parts = empty if rank == self.root else None
            return (dist.gather(mine, parts, self.root, handle, async_op=True),
                    lambda: [same(what, *pair) for pair in zip(parts or [], every)])
        if kind == "scatter":
            parts = [tensor + 1 for tensor in every] if rank == self.root else None
            return (dist.scatter(empty[0], parts, self.root, handle, async_op=True),
                    lambda: same(what, empty[0], every[at] + 1))
        if kind == "reduce_scatter":
            work = dist.reduce_scatter(empty[0], [mine + other for other in range(size)], op, handle, async_op=True)
            return work, lambda: same(what, empty[0], self.reduced([tensor + at for tensor in every]))
        if kind == "all_to_all":
            work = dist.all_to_all(empty, [mine + other for other in range(size)], handle, async_op=True)
            return work, lambda: [same(what, found, tensor + at) for found, tensor in zip(empty, every)]
        if kind == "objects":
            found = [None] * size
            dist.all_gather_object(found, {"rank": rank, "step": self.number}, handle)
            wanted = [{"rank": who, "step": self.number} for who in members]
            return None, lambda: same(what, found, wanted)
        return dist.barrier(handle, async_op=True), lambda: None


def finish(work, check):
    """Waits in one of the ways there are: which one is this rank's own affair."""
    if work is not None:
        way = own.randrange(5)
        if way == 0 and not mutation:  # who polls may give up: he is accused of nothing
            naps = own.randrange(2)
            while not work.is_completed():
                if naps:
                    time.sleep(0.001)
            work.wait()
        elif way == 1:
            work.get_future().wait()
        elif way == 2:
            work.get_future().then(lambda done: done.value()).wait()
        else:
            work.wait()
    check()


def exchange(plan, number, spoilt):
    """Everyone sends once around a drawn ring, with a tag where there are tags."""
    ring = plan.sample(range(world), world)
    tag = 0 if nccl else plan.choice((0, number))
    count, dtype = (4321 if spoilt else plan.choice((1, 5, 20000))), plan.choice(TYPES)
    at = ring.index(rank)
    to, source = ring[(at + 1) % world], ring[at - 1]
    if spoilt and rank == spoilt[1] and spoilt[0] == "peer":
        to = next(other for other in range(world) if other not in (rank, to))
    found = torch.full((count,), -1, dtype=dtype)
    batch = [(dist.isend, given(rank, number, count, dtype), to), (dist.irecv, found, source)]
    if own.randrange(2) and not nccl:
        batch.reverse()
    works = [call(tensor, peer, tag=tag) for call, tensor, peer in batch]
    return works, lambda: expect.same(f"step {number}, ring {ring}", found, given(source, number, count, dtype))


def blocking_pair(plan, number):
    sender, receiver = plan.sample(range(world), 2)
    count = plan.choice((1, 5, 20000))
    if rank == sender:
        dist.send(given(rank, number, count, torch.float32), receiver)
    if rank == receiver:
        found = torch.empty(count)
        dist.recv(found, sender)
        expect.same(f"step {number}, pair", found, given(sender, number, count, torch.float32))


def stored(plan, number, seed):
    """One sets, all read; all count."""
    who, key = plan.randrange(world), f"random/{seed}/{number}"
    if rank == who:
        pause()
        asker.set(key, f"{who} {number}")
    expect.same(f"step {number}, store", asker.get(key), f"{who} {number}".encode())
    asker.add(key + "/count", rank + 1)
    dist.barrier()
    expect.same(f"step {number}, counter", asker.add(key + "/count", 0), world * (world + 1) // 2)


def in_order(steps):
    for step in steps:
        if step.group.has_us():
            pause()
            finish(*step.call())


def guarded(steps):
    try:
        in_order(steps)
    except BaseException as why:
        expect.fail(f"a thread's step: {why}")


def threaded(plan, number):
    """Threads with a group each, by one of the ways programs have them, while the main thread communicates too."""
    lanes = []
    for _ in range(plan.randrange(1, 4)):
        group = Group(plan.sample(range(world), plan.randrange(1, world + 1)))
        lanes.append([Step(plan, number + one, group) for one in range(plan.randrange(1, 6))])
    everyone = Group(range(world))
    here = [Step(plan, number + one, everyone) for one in range(plan.randrange(4))]
    way = plan.randrange(3)
    if way == 0:
        threads = [threading.Thread(target=guarded, args=(steps,)) for steps in lanes]
        for thread in threads:
            thread.start()
        in_order(here)
        for thread in threads:
            thread.join()
    elif way == 1:
        with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
            done = [pool.submit(guarded, steps) for steps in lanes]
            in_order(here)
            concurrent.futures.wait(done)
    else:
        async def all_of_them():
            with concurrent.futures.ThreadPoolExecutor(len(lanes) + 1) as pool:
                loop = asyncio.get_running_loop()
                await asyncio.gather(*(loop.run_in_executor(pool, guarded, steps) for steps in [here, *lanes]))
        asyncio.run(all_of_them())


def spoilt_call(step, how):
    """What the odd rank does instead of step."""
    if how == "missing":
        return None
    if how == "count":
        step.count += 1
    elif how == "type":
        step.dtype = {torch.int64: torch.float64, torch.int32: torch.float32,
                      torch.float32: torch.int32, torch.float64: torch.int64}[step.dtype]
    elif how == "op":
        step.op = next(op for op in sorted(OPS) if op != step.op)
    elif how == "root":
        step.root = next(one for one in step.group.members if one != step.root)
    elif how == "kind":
        step.kind = "barrier" if step.kind != "barrier" else "all_reduce"
    return step.call()


def odd_step(plan, number, how, pending):
    """The step of the mutation, at which all ranks but one do what is right."""
    odd = plan.randrange(world)
    if how == "peer":
        works, check = exchange(plan, number, (how, odd))
        pending += [(work, lambda: None) for work in works[1:]]
        pending.append((works[0], lambda: [[work.wait() for work in works], check()]))
        return
    if how == "swap":
        groups = [Group(range(world)), Group({odd, (odd + 1) % world})]
        steps = [Step(plan, number, group, "all_reduce") for group in groups]
        in_order(steps[::-1] if rank == odd else steps)
        return
    others = [one for one in range(world) if one != odd]
    group = Group({odd, *plan.sample(others, plan.randrange(1, world))})
    kind = {"op": "all_reduce", "root": "broadcast"}.get(how)
    if how in ("count", "type"):
        kind = plan.choice(("all_reduce", "broadcast", "reduce", "all_gather"))
    step = Step(plan, number, group, kind, 4321)
    if not group.has_us():
        return
    called = spoilt_call(step, how) if rank == odd else step.call()
    if called and rank == odd:
        called = called[0], lambda: None
    if called:
        pending.append(called)


def program(seed, how):
    plan = random.Random(seed)
    groups = [Group(range(world))]
    for _ in range(plan.randrange(1, 4)):
        groups.append(Group(plan.sample(range(world), plan.randrange(1, world + 1))))
    steps, odd = plan.randrange(10, 30), plan.randrange(10)
    pending = []
    for turn in range(steps):
        number = 100 * turn
        if how and turn == odd:
            odd_step(plan, number, how, pending)
        kind = plan.randrange(20)
        if kind == 0:
            threaded(plan, number)
        elif kind <= 2 and world > 1:
            works, check = exchange(plan, number, None)
            for work in works:
                finish(work, lambda: None)
            check()
        elif kind == 3 and world > 1:
            blocking_pair(plan, number)
        elif kind == 4:
            stored(plan, number, seed)
        else:
            step = Step(plan, number, plan.choice(groups))
            later = plan.randrange(3) == 0
            if step.group.has_us():
                pause()
                called = step.call()
                if later:
                    pending.append(called)
                else:
                    finish(*called)
        if plan.randrange(6) == 0:
            own.shuffle(pending)
            while pending:
                finish(*pending.pop())
    while pending:
        finish(*pending.pop())
    dist.barrier()


for seed in range(first, first + programs):
    program(seed, mutation if seed == first + programs - 1 else None)
if mutation:
    expect.fail(f"the mutation {mutation} went unnoticed")
expect.finish()
