"""What DTensors draw on meshes made for cuda, where that is mapped: alike on replicas, different on shards. Torch 2.5 and newer."""
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, ones, rand

import expect

rank, world = expect.start()


def of_all(tensor):
    found = [torch.empty_like(tensor) for _ in range(world)]
    dist.all_gather(found, tensor.contiguous())
    return found


def check(what, alike, tensor):
    """alike(a, b): whether ranks a and b are to have the same."""
    every = of_all(tensor)
    for a in range(world):
        for b in range(a):
            if torch.equal(every[a], every[b]) != alike(a, b):
                expect.fail(f"{what}: ranks {b} and {a} have {every[b]} and {every[a]}")


def in_step(what):
    check(f"the generator after {what}", lambda a, b: True, torch.get_rng_state())


line = init_device_mesh("cuda", (world,))
plane = init_device_mesh("cuda", (2, world // 2))
torch.manual_seed(rank)  # torch takes rank 0's
check("a whole tensor", lambda a, b: True, ones(8, 8, device_mesh=line).uniform_().to_local())
in_step("a whole tensor")
torch.manual_seed(7)
wanted = torch.rand(8, 8)
torch.manual_seed(7)
expect.same("as one process draws it", ones(8, 8, device_mesh=line).uniform_().to_local(), wanted)
for dim in (0, 1):
    sharded = ones(4 * world, 4 * world, device_mesh=line, placements=[Shard(dim)])
    check("shards", lambda a, b: False, sharded.uniform_().to_local())
    in_step("shards")
    check("shards made at random", lambda a, b: False, rand(4 * world, 4 * world, device_mesh=line, placements=[Shard(dim)]).to_local())
half = ones(8, 8, device_mesh=plane, placements=[Replicate(), Shard(0)])
check("shards on one dimension of the mesh", lambda a, b: a % (world // 2) == b % (world // 2), half.normal_().to_local())
both = ones(4 * world, 8, device_mesh=plane, placements=[Shard(0), Shard(1)])
check("shards on both", lambda a, b: False, both.normal_().to_local())
in_step("shards on a plane")

drop = torch.nn.Dropout(0.5)
check("dropout of replicas", lambda a, b: True, drop(ones(64, device_mesh=line)).to_local())
check("dropout of shards", lambda a, b: False, drop(ones(64 * world, device_mesh=line, placements=[Shard(0)])).to_local())
generator = torch.Generator("cuda").manual_seed(3)
before = torch.get_rng_state()
whole = torch.rand(16, generator=torch.Generator().manual_seed(3))
expect.same("a generator's", ones(16, device_mesh=line).uniform_(generator=generator).to_local(), whole)
check("a generator's shards", lambda a, b: False,
      ones(16 * world, device_mesh=line, placements=[Shard(0)]).uniform_(generator=generator).to_local())
check("the generator", lambda a, b: True, generator.get_state())
expect.same("the default generator", torch.get_rng_state(), before)
expect.same("again", torch.equal(ones(4 * world, device_mesh=line, placements=[Shard(0)]).uniform_().to_local(),
                                 ones(4 * world, device_mesh=line, placements=[Shard(0)]).uniform_().to_local()), False)
expect.finish()
