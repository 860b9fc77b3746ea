"""Asynchronous operations: wait, polling, futures, futures of futures, and work that is dropped."""
import os
import time

import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
total = float(sum(range(world)))


def posted(count=4):
    tensor = torch.full((count,), float(rank))
    return tensor, dist.all_reduce(tensor, async_op=True)


# Several in flight, awaited in another order.
flying = [posted(count) for count in (1, 100, 10000)]
for tensor, work in reversed(flying):
    work.wait()
    expect.same("awaited", tensor, torch.full_like(tensor, total))
    expect.same("is_completed", work.is_completed(), True)
    work.wait()

# Polling, with and without a sleep.
for pause in (0, 0.001):
    tensor, work = posted()
    while not work.is_completed():
        time.sleep(pause)
    expect.same("polled", tensor, torch.full_like(tensor, total))

# The future's value is the list of the operation's tensors.
tensor, work = posted()
value = work.get_future().wait()
expect.same("future", [one.tolist() for one in value], [[total] * 4])
expect.same("future's tensor", tensor, torch.full_like(tensor, total))

tensor, work = posted()
future = work.get_future()
while not future.done():
    time.sleep(0.001)
expect.same("future polled", future.value()[0], torch.full_like(tensor, total))

# A callback may use the cores that the program may, and so what it starts.
own = os.sched_getaffinity(0)
tensor, work = posted()
seen = work.get_future().then(lambda done: torch.tensor(sorted(os.sched_getaffinity(0)))).wait()
expect.same("a callback's cores", set(seen.tolist()), own)
expect.same("cores after it", os.sched_getaffinity(0), own)

# Futures made of it, before and after completion; a callback that communicates itself.
tensor, work = posted()
work.wait()
expect.same("then, after", work.get_future().then(lambda done: done.value()[0] + 1).wait(), tensor + 1)
tensor, work = posted()
child = work.get_future().then(lambda done: done.value()[0] * 2).then(lambda done: done.value() + 1)
expect.same("then then", child.wait(), torch.full_like(tensor, 2 * total + 1))


def reduce_again(done):
    again = done.value()[0].clone()
    return dist.all_reduce(again, async_op=True).get_future().wait()[0]


tensor, work = posted()
expect.same("nested", work.get_future().then(reduce_again).wait(), torch.full_like(tensor, total * world))

both = [posted()[1].get_future() for _ in range(3)]
for done in torch.futures.wait_all(both):
    expect.same("wait_all", done[0], torch.full((4,), total))

# A callback's exception reaches who waits for its future.
tensor, work = posted()


def failing(_):
    raise ValueError("on purpose")


try:
    work.get_future().then(failing).wait()
    expect.fail("a failing callback went unnoticed")
except (RuntimeError, ValueError) as why:
    expect.same("callback's words", "on purpose" in str(why), True)

# Dropped: nobody waits for these, yet everyone's counterpart must complete.
for _ in range(20):
    posted()
dropped, _ = posted()
tensor, work = posted()
work.wait()
expect.same("after dropped ones", tensor, torch.full_like(tensor, total))
work = dist.barrier(async_op=True)
work.wait()
expect.same("dropped, in order", dropped, torch.full_like(dropped, total))
expect.finish()
