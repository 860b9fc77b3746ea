"""Groups of some ranks: who is who in them, overlapping ones used in different orders, one member, none."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()


def total(ranks):
    return torch.tensor([float(sum(ranks))])


def reduced(group):
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=group)
    return tensor


# Whatever the order they are named in, ranks of a group are sorted.
backwards = dist.new_group(list(range(world))[::-1])
expect.same("rank in it", dist.get_rank(backwards), rank)
gathered = [torch.empty(1) for _ in range(world)]
dist.all_gather(gathered, torch.tensor([float(rank)]), group=backwards)
expect.same("order", [one.item() for one in gathered], [float(one) for one in range(world)])

# A root is named by its rank in the world.
evens = dist.new_group(list(range(0, world, 2)))
odds = dist.new_group(list(range(1, world, 2))) if world > 1 else None
mine, members = (evens, range(0, world, 2)) if rank % 2 == 0 else (odds, range(1, world, 2))
expect.same("half", reduced(mine), total(members))
expect.same("size", dist.get_world_size(mine), len(members))
tensor = torch.tensor([float(rank)])
dist.broadcast(tensor, members[-1], group=mine)
expect.same("root of a half", tensor, total([members[-1]]))
if odds is not None and rank % 2 == 0:
    expect.same("not a member", dist.get_rank(odds), -1)

# A ring of pairs: each rank is in two and uses them in its own order.
if world > 2:
    pairs = [dist.new_group(sorted({one, (one + 1) % world})) for one in range(world)]
    to_right, to_left = pairs[rank], pairs[rank - 1]
    first, second = (to_right, to_left) if rank % 2 else (to_left, to_right)
    one, two = torch.tensor([float(rank)]), torch.tensor([float(rank)])
    works = [dist.all_reduce(one, group=first, async_op=True), dist.all_reduce(two, group=second, async_op=True)]
    for work in works:
        work.wait()
    at_right, at_left = (one, two) if rank % 2 else (two, one)
    expect.same("pair to the right", at_right, total([rank, (rank + 1) % world]))
    expect.same("pair to the left", at_left, total([rank, (rank - 1) % world]))

# Alone; and two groups of the same members are two.
alone = [dist.new_group([one]) for one in range(world)][rank]
expect.same("alone", reduced(alone), total([rank]))
again = dist.new_group(list(range(world)))
first = dist.all_reduce(torch.ones(1), async_op=True)
expect.same("the same members again", reduced(again), total(range(world)))
first.wait()
dist.destroy_process_group(again)
expect.finish()
