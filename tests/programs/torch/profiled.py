"""Collectives leave events in torch's profiles, by the names and with the shapes that ProcessGroupGloo and
ProcessGroupNCCL give them; they end before who waits goes on, and there are none when nobody profiles."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
backend = dist.get_backend()
nccl = backend == "nccl"


def events_of(call, shapes=True):
    """(name, shapes) of what the backend left while call() ran."""
    with torch.autograd.profiler.profile(record_shapes=shapes) as profile:
        call()
    found = [event for event in profile.function_events if event.name.startswith(f"{backend}:")]
    for event in found:
        expect.same(f"{event.name} is asynchronous", event.is_async, True)
        expect.same(f"{event.name} counts", event.count, 1)
        if event.time_range.end < event.time_range.start:
            expect.fail(f"{event.name} ends before it begins")
    return [(event.name[len(backend) + 1:], event.input_shapes) for event in found]


def leaves(what, call, *wanted):
    expect.same(f"events of {what}", sorted(events_of(call)), sorted(wanted))


def zeros(*shape):
    return torch.zeros(*shape)


def each(*shape):
    return [torch.zeros(*shape) for _ in range(world)]


whole = [world * 2, 3]
leaves("all_reduce", lambda: dist.all_reduce(zeros(2, 3)), ("all_reduce", [[2, 3]]))
leaves("broadcast", lambda: dist.broadcast(zeros(4), 0), ("broadcast", [[4]]))
leaves("reduce", lambda: dist.reduce(zeros(4), 0), ("reduce", [[4]]))
leaves("all_gather", lambda: dist.all_gather(each(2), zeros(2)), ("all_gather", [[2]]))
leaves("gather", lambda: dist.gather(zeros(2), each(2) if rank == 0 else None, 0), ("gather", [[2]]))
given = [[2]] * world if rank == 0 else []
leaves("scatter", lambda: dist.scatter(zeros(2), each(2) if rank == 0 else None, 0), ("scatter", [[2]] if nccl else given))
leaves("all_to_all_single", lambda: dist.all_to_all_single(zeros(*whole), zeros(*whole)), ("all_to_all", [whole]))
if not expect.NATIVE or expect.TORCH >= (2, 0):
    leaves("all_to_all", lambda: dist.all_to_all(each(2), each(2)), ("all_to_all", [[2]] * world))
leaves("all_gather_into_tensor", lambda: dist.all_gather_into_tensor(zeros(*whole), zeros(2, 3)),
       ("_all_gather_base" if nccl else "all_gather", [[2, 3]]))
leaves("reduce_scatter_tensor", lambda: dist.reduce_scatter_tensor(zeros(2, 3), zeros(*whole)),
       ("_reduce_scatter_base" if nccl else "all_reduce", [whole]))
leaves("barrier", lambda: dist.barrier(), ("all_reduce_barrier" if nccl else "barrier", []))
leaves("two under way", lambda: [work.wait() for work in [dist.all_reduce(zeros(one), async_op=True) for one in (1, 2)]],
       ("all_reduce", [[1]]), ("all_reduce", [[2]]))
leaves("a future", lambda: dist.all_reduce(zeros(5), async_op=True).get_future().wait(), ("all_reduce", [[5]]))
if not nccl:
    leaves("a sparse all_reduce", lambda: dist.all_reduce(torch.eye(3).to_sparse()), ("sparse_all_reduce", [[3, 3]]))
if world > 1:
    peers = [f" {rank}{sign}{1 - rank}" if nccl and expect.TORCH >= (2, 0) else "" for sign in ("->", "<-")]
    sent, received = (f"send{peers[0]}", [[3]]), (f"recv{peers[1]}", [[3]])
    if rank == 0:
        leaves("send and recv", lambda: (dist.send(zeros(3), 1), dist.recv(zeros(3), 1)), sent, received)
    elif rank == 1:
        leaves("recv and send", lambda: (dist.recv(zeros(3), 0), dist.send(zeros(3), 0)), sent, received)

expect.same("without shapes", events_of(lambda: dist.all_reduce(zeros(2)), shapes=False)[0][0], "all_reduce")
dist.all_reduce(zeros(7))  # nobody profiles
leaves("nothing", lambda: None)

# What is under way when the profile ends belongs to none that comes later.
works = []
events_of(lambda: works.append(dist.all_reduce(zeros(9), async_op=True)))
leaves("the next profile", lambda: [work.wait() for work in works])

with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
    dist.all_reduce(zeros(2))
expect.same("torch.profiler", [event.key for event in profile.events() if event.key.startswith(backend)],
            [f"{backend}:all_reduce"])

# DDP reduces in the thread of autograd, which is profiled with the program's.
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
model(zeros(3, 4)).sum().backward()
found = events_of(lambda: model(zeros(3, 4)).sum().backward())
expect.same("DDP's buckets", ("all_reduce", [[10]]) in found, True)
expect.finish()
