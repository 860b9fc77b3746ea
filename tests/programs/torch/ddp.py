"""DistributedDataParallel against the same model on all the data in one process: gradients, buffers, hooks, no_sync."""
import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import expect

rank, world = expect.start()
STEPS, BATCH = 3, 4


class Model(torch.nn.Module):
    """`branches`: one of two layers is used, by the step; the other's parameters get no gradient."""

    def __init__(self, branches):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.left, self.right = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
        self.last = torch.nn.Linear(16, 2)
        self.register_buffer("seen", torch.zeros(1))
        self.branches = branches

    def forward(self, batch, step):
        self.seen += 1
        hidden = torch.relu(self.first(batch))
        if not self.branches:
            hidden = self.left(hidden) + self.right(hidden)
        else:
            hidden = (self.left if step % 2 else self.right)(hidden)
        return self.last(hidden)


def data(who, step):
    generator = torch.Generator().manual_seed(1000 * step + who)
    return torch.randn(BATCH, 8, generator=generator), torch.randn(BATCH, 2, generator=generator)


def trained(model, steps_data, accumulate):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step, batches in enumerate(steps_data):
        optimizer.zero_grad()
        for position, (inputs, targets) in enumerate(batches):
            hold = accumulate and position + 1 < len(batches)
            with model.no_sync() if hold else contextlib.nullcontext():
                loss = torch.nn.functional.mse_loss(model(inputs, step), targets)
                (loss / len(batches) if accumulate else loss).backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


def averaged_by_hook(state, bucket):
    tensor = bucket.buffer().div_(world)
    return dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0])


def check(name, branches=False, hook=None, compressed=False, accumulate=False, **options):
    torch.manual_seed(1)
    reference = Model(branches)
    torch.manual_seed(1 if rank == 0 else 99)  # DDP gives everyone rank 0's parameters
    model = DistributedDataParallel(Model(branches), **options)
    if hook:
        model.register_comm_hook(None, hook)
    if compressed:
        model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    rounds = 2 if accumulate else 1

    def of(ranks, step):
        drawn = [data(other + world * one, step) for one in range(rounds) for other in ranks]
        return drawn if accumulate else [(torch.cat([x for x, _ in drawn]), torch.cat([y for _, y in drawn]))]

    found = trained(model, [of([rank], step) for step in range(STEPS)], accumulate)
    everything = [[(torch.cat([x for x, _ in of(range(world), step)]), torch.cat([y for _, y in of(range(world), step)]))]
                  for step in range(STEPS)]
    wanted = trained(reference, everything, False)
    for one, other in zip(found, wanted):
        if not torch.allclose(one, other, atol=1e-3 if compressed else 1e-5):
            expect.fail(f"{name}: parameters differ by {(one - other).abs().max()}")


check("plain")
check("small buckets", bucket_cap_mb=0.0005)
check("bucket views", gradient_as_bucket_view=True)
check("unused parameters", branches=True, find_unused_parameters=True)
check("static graph", static_graph=True)
check("hook in Python", hook=averaged_by_hook)
check("hook, small buckets", hook=averaged_by_hook, bucket_cap_mb=0.0005)
check("built-in hook", compressed=True)
check("no_sync", accumulate=True)
expect.finish()
