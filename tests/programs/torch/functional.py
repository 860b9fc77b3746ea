"""Functional collectives, as torch.compile and DTensor call them: values, and that several can be under way."""
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

import expect

rank, world = expect.start()
group = dist.group.WORLD
total = float(sum(range(world)))
mine = torch.full((4,), float(rank))

expect.same("all_reduce", functional.all_reduce(mine, "sum", group) + 0, torch.full((4,), total))
expect.same("untouched", mine, torch.full((4,), float(rank)))
several = functional.all_reduce_coalesced([mine, mine * 2], "sum", group)
for factor, found in enumerate(several, 1):
    expect.same("all_reduce_coalesced", found + 0, torch.full((4,), total * factor))
gathered = functional.all_gather_tensor(mine, 0, group)
expect.same("all_gather_tensor", gathered + 0, torch.arange(world).repeat_interleave(4).float())
gathered = functional.all_gather_into_tensor_coalesced([mine, mine[:2]], group)
for count, found in zip((4, 2), gathered):
    expect.same("all_gather_into_tensor_coalesced", found + 0, torch.arange(world).repeat_interleave(count).float())
whole = torch.arange(world).repeat_interleave(4).float()
expect.same("reduce_scatter_tensor", functional.reduce_scatter_tensor(whole, "sum", 0, group) + 0,
            torch.full((4,), float(rank * world)))
scattered = functional.reduce_scatter_tensor_coalesced([whole, whole * 2], "sum", [0, 0], group)
for factor, found in enumerate(scattered, 1):
    expect.same("reduce_scatter_tensor_coalesced", found + 0, torch.full((4,), float(factor * rank * world)))
rows = torch.arange(world * 2).float() + 100 * rank
expect.same("all_to_all_single", functional.all_to_all_single(rows, None, None, group) + 0,
            torch.cat([torch.arange(2 * rank, 2 * rank + 2).float() + 100 * other for other in range(world)]))
expect.same("broadcast", functional.broadcast(mine, world - 1, group) + 0, torch.full((4,), world - 1.0))
waiting = [functional.all_reduce(mine + extra, "sum", group) for extra in range(5)]
for extra, found in reversed(list(enumerate(waiting))):
    expect.same("under way together", found + 0, torch.full((4,), total + extra * world))
expect.finish()
