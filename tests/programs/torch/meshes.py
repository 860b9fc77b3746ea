"""Groups as torch 2 makes them: device meshes of two dimensions, split_group, groups by enumeration and subgroups."""
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import expect

rank, world = expect.start()


def total_in(group):
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=group)
    return tensor.item()


assert world % 2 == 0, "an even number of ranks"
mesh = init_device_mesh("cpu", (world // 2, 2), mesh_dim_names=("outer", "inner"))
pair = rank // 2 * 2
expect.same("inner", total_in(mesh["inner"].get_group()), pair + pair + 1.0)
expect.same("outer", total_in(mesh["outer"].get_group()), float(sum(range(rank % 2, world, 2))))
expect.same("coordinate", list(mesh.get_coordinate()), [rank // 2, rank % 2])
expect.same("flat", total_in(init_device_mesh("cpu", (world,)).get_group()), float(sum(range(world))))

group, _ = dist.new_subgroups(world // 2)
first = rank // (world // 2) * (world // 2)
expect.same("new_subgroups", total_in(group), float(sum(range(first, first + world // 2))))
group, _ = dist.new_subgroups_by_enumeration([list(range(0, world, 2)), list(range(1, world, 2))])
expect.same("by enumeration", total_in(group), float(sum(range(rank % 2, world, 2))))

if expect.TORCH >= (2, 9):  # before, torch splits what NCCL made only
    halves = [list(range(world // 2)), list(range(world // 2, world))]
    group = dist.split_group(split_ranks=halves)
    mine = halves[rank // (world // 2)]
    expect.same("split_group", (total_in(group), dist.get_rank(group)), (float(sum(mine)), mine.index(rank)))
    some = dist.split_group(split_ranks=[[0, world - 1]])
    if rank in (0, world - 1):
        expect.same("split_group of some", total_in(some), world - 1.0)
    else:
        expect.same("no member", some, dist.GroupMember.NON_GROUP_MEMBER)
expect.finish()
