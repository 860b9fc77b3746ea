"""What torch 2 shards: FSDP2, FSDP1, tensor parallelism over DTensor and pipelining, each against one process's own training."""
import copy

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed._tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import expect

rank, world = expect.start()
STEPS = 3


def model():
    torch.manual_seed(5)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))


def batch(who, step):
    generator = torch.Generator().manual_seed(100 * step + who)
    return torch.randn(4, 8, generator=generator), torch.randn(4, 4, generator=generator)


def train(module, batches):
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    losses = []
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(module(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


mine = [batch(rank, step) for step in range(STEPS)]
together = [tuple(map(torch.cat, zip(*(batch(other, step) for other in range(world))))) for step in range(STEPS)]
reference = model()
wanted_losses = train(reference, together)
wanted = {name: parameter.detach() for name, parameter in reference.named_parameters()}


def mean(losses):
    tensor = torch.tensor(losses)
    dist.all_reduce(tensor)
    return tensor / world


def close(what, found, right):
    if not torch.allclose(found, right, atol=1e-5):
        expect.fail(f"{what}: differs by {(found - right).abs().max()}")


mesh = init_device_mesh("cpu", (world,))
if expect.TORCH >= (2, 6):  # FSDP2; torch 2.4's own wants a GPU
    from torch.distributed.fsdp import fully_shard

    sharded = model()
    for layer in (sharded[0], sharded[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    close("FSDP2's losses", mean(train(sharded, mine)), torch.tensor(wanted_losses))
    for name, parameter in sharded.named_parameters():
        close(f"FSDP2's {name}", parameter.full_tensor(), wanted[name])

# FSDP1.
wrapped = FullyShardedDataParallel(model(), device_id=torch.device("cpu"))
close("FSDP1's losses", mean(train(wrapped, mine)), torch.tensor(wanted_losses))
with FullyShardedDataParallel.summon_full_params(wrapped):
    for name, parameter in wrapped.named_parameters():
        close(f"FSDP1's {name}", parameter.detach(), wanted[name.replace("_fsdp_wrapped_module.", "")])

# Tensors in parts, and a model whose layers are split.
whole = torch.arange(float(4 * world * 3)).reshape(4 * world, 3)
parts = distribute_tensor(whole, mesh, [Shard(0)])
expect.same("own part", parts.to_local(), whole[4 * rank:4 * rank + 4])
expect.same("whole again", parts.full_tensor(), whole)
expect.same("resharded", parts.redistribute(mesh, [Replicate()]).to_local(), whole)
close("a product", (parts @ distribute_tensor(torch.ones(3, 2), mesh, [Replicate()])).full_tensor(), whole @ torch.ones(3, 2))
partial = DTensor.from_local(torch.full((2,), float(rank)), mesh, [Shard(0)]).sum()
expect.same("a sum over parts", partial.full_tensor(), torch.tensor(2.0 * sum(range(world))))
split = parallelize_module(model(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
close("tensor parallel losses", torch.tensor(train(split, together)), torch.tensor(wanted_losses))
for name, parameter in split.named_parameters():
    found = parameter.full_tensor() if isinstance(parameter, DTensor) else parameter
    close(f"tensor parallel {name}", found.detach(), wanted[name])

# A pipeline of as many stages as ranks, two micro-batches a step.
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

for schedule in (ScheduleGPipe, Schedule1F1B):
    torch.manual_seed(7)
    layers = [torch.nn.Linear(8, 8) for _ in range(world)]
    alone = copy.deepcopy(torch.nn.Sequential(*layers))
    inputs = torch.randn(2 * world, 8)
    targets = torch.randn(2 * world, 8)
    stage = PipelineStage(layers[rank], rank, world, torch.device("cpu"), input_args=inputs[:2])
    runner = schedule(stage, n_microbatches=world, loss_fn=torch.nn.functional.mse_loss)
    losses = []
    if rank == 0:
        runner.step(inputs, **({"target": targets, "losses": losses} if world == 1 else {}))
    elif rank == world - 1:
        runner.step(target=targets, losses=losses)
    else:
        runner.step()
    pieces = [torch.nn.functional.mse_loss(alone(x), y) for x, y in zip(inputs.chunk(world), targets.chunk(world))]
    (sum(pieces) / (world if expect.TORCH >= (2, 6) else 1)).backward()  # torch 2.4 adds gradients without scaling them
    close(f"{schedule.__name__}'s gradient", layers[rank].weight.grad, alone[rank].weight.grad)
    if rank == world - 1:
        close(f"{schedule.__name__}'s losses", torch.stack(losses).detach(), torch.stack(pieces).detach())
expect.finish()
