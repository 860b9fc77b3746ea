"""SyncBatchNorm where cuda is mapped: values, gradients and running statistics of one process with the batches of all."""
import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import expect

rank, world = expect.start()
STEPS = 3


def close(what, found, right, atol=1e-5):
    if found.shape != right.shape or not torch.allclose(found.double(), right.double(), atol=atol, rtol=1e-4):
        expect.fail(f"{what}: found {found}, wanted {right}")


def batch(who, step, shape=(4, 5)):
    """Each rank's has another size."""
    generator = torch.Generator().manual_seed(100 * step + who)
    return torch.randn(who + 2, 3, *shape, generator=generator) * (1 + who) + who


def check(what, layer, shape=(4, 5), change=lambda tensor: tensor, atol=1e-5):
    """Some steps of a layer alone: outputs, and the gradients of inputs and parameters."""
    alone, ours = copy.deepcopy(layer), torch.nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(layer)).cuda()
    expect.same(f"{what} is converted", type(ours), torch.nn.SyncBatchNorm)
    for step in range(STEPS):
        pieces = [batch(who, step, shape) for who in range(world)]
        whole = change(torch.cat(pieces)).requires_grad_()
        mine = change(pieces[rank]).cuda().requires_grad_()
        slopes = [batch(who, 50 + step, shape) for who in range(world)]
        wanted, found = alone(whole), ours(mine)
        expect.same(f"{what}: type", found.dtype, wanted.dtype)
        begin = sum(piece.shape[0] for piece in pieces[:rank])
        own = slice(begin, begin + mine.shape[0])
        close(f"{what}: output {step}", found, wanted[own], atol)
        (wanted * torch.cat(slopes)).sum().backward()
        (found * slopes[rank]).sum().backward()
        close(f"{what}: gradient {step}", mine.grad, whole.grad[own], atol)
    for (name, parameter), right in zip(ours.named_parameters(), alone.parameters()):
        dist.all_reduce(parameter.grad)
        close(f"{what}: {name}", parameter.grad, right.grad, 10 * atol)
    for (name, buffer), right in zip(ours.named_buffers(), alone.buffers()):
        close(f"{what}: {name}", buffer, right, atol)
    alone.eval(), ours.eval()
    last = change(batch(rank, 9, shape))
    close(f"{what}: in use", ours(last), alone(last), 10 * atol)


def in_groups():
    """Of the first two ranks, and of the others alone."""
    pairs = [dist.new_group(members) for members in ([0, 1], list(range(2, world))) if members]
    members = [0, 1] if rank < 2 else list(range(2, world))
    layer = torch.nn.SyncBatchNorm(3, process_group=pairs[0 if rank < 2 else 1])
    pieces = [batch(who, 0) for who in members]
    begin = sum(piece.shape[0] for piece in pieces[:members.index(rank)])
    wanted = torch.nn.BatchNorm2d(3)(torch.cat(pieces))
    close("a group's", layer(batch(rank, 0)), wanted[begin:begin + batch(rank, 0).shape[0]])


def without_elements():
    """A rank whose batch is empty takes part, and gives no gradient."""
    layer, alone = torch.nn.SyncBatchNorm(3), torch.nn.BatchNorm2d(3)
    pieces = [batch(who, 0)[:0 if who == 0 else None] for who in range(world)]
    found, wanted = layer(pieces[rank].requires_grad_()), alone(torch.cat(pieces))
    begin = sum(piece.shape[0] for piece in pieces[:rank])
    close("beside an empty batch", found, wanted[begin:begin + pieces[rank].shape[0]])
    (found ** 3).sum().backward()


def trained():
    """DDP's mean of gradients over ranks with batches of one size."""
    torch.manual_seed(3)
    plain = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
                                torch.nn.Linear(4 * 2 * 3, 2))
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain)).cuda()
    model = DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1, momentum=0.9) for one in (plain, model)]
    for step in range(STEPS):
        pieces = [batch(who, step)[:2] for who in range(world)]
        wanted, found = (plain(torch.cat(pieces)) ** 2).mean(), (model(pieces[rank].cuda()) ** 2).mean()
        for optimizer, loss in zip(optimizers, (wanted, found)):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        dist.all_reduce(found.detach())
        close(f"loss {step}", found.detach() / world, wanted.detach())
    for (name, found), right in zip(model.module.state_dict().items(), plain.state_dict().values()):
        close(f"after training, {name}", found, right, 1e-4)


check("two dimensions", torch.nn.BatchNorm2d(3))
check("one dimension", torch.nn.BatchNorm1d(3), ())
check("three dimensions", torch.nn.BatchNorm3d(3), (2, 3, 2))
check("channels last", torch.nn.BatchNorm2d(3), change=lambda tensor: tensor.to(memory_format=torch.channels_last))
check("an average over all steps", torch.nn.BatchNorm2d(3, momentum=None))
check("without parameters", torch.nn.BatchNorm2d(3, affine=False))
check("without statistics", torch.nn.BatchNorm2d(3, track_running_stats=False))
check("f64", torch.nn.BatchNorm2d(3).double(), change=lambda tensor: tensor.double())
if expect.TORCH >= (2, 0):  # before, the CPU's own lacks halves with f32 parameters
    check("bf16", torch.nn.BatchNorm2d(3), change=lambda tensor: tensor.bfloat16(), atol=3e-2)
if world > 1:
    in_groups()
    without_elements()
trained()
expect.finish()
