"""A world bound to a device: its groups are split off it, by all its ranks. `alone`: only a group's members make it, and wait
for the others for ever, as ncclCommSplit does."""
import os
import sys

import torch
import torch.distributed as dist

import expect

alone = sys.argv[2:] == ["alone"]
dist.init_process_group(sys.argv[1], device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
rank, world = dist.get_rank(), dist.get_world_size()


def total_in(group):
    tensor = torch.tensor([float(rank)], device="cuda")
    dist.all_reduce(tensor, group=group)
    return tensor.item()


if alone and rank == 0:
    total_in(dist.new_group([0]))
if not alone:
    halves = [list(range(world // 2)), list(range(world // 2, world))]
    groups = [dist.new_group(half) for half in halves]
    mine = int(rank >= world // 2)
    expect.same("new_group", total_in(groups[mine]), float(sum(halves[mine])))
    if expect.TORCH >= (2, 9):
        expect.same("split_group", total_in(dist.split_group(split_ranks=halves)), float(sum(halves[mine])))
expect.same("world", total_in(None), float(sum(range(world))))
dist.destroy_process_group()
