"""gloo's all_reduce of sparse tensors, against the sum of dense ones; other backends refuse it."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()


def sparse(places, values, shape):
    return torch.sparse_coo_tensor(torch.tensor(places, dtype=torch.int64), torch.tensor(values), shape)


def of_rank(one):
    """One entry that every rank has, one that only it has, and one of it twice."""
    return sparse([[0, one + 1, one + 1]], [1.0, float(one), 10.0], (world + 1,))


def total(of):
    return sum(of(one).to_dense() for one in range(world))


def summed(what, of):
    tensor = of(rank)
    dist.all_reduce(tensor)
    expect.same(f"{what}: sparse", (tensor.is_sparse, tensor.is_coalesced()), (True, True))
    expect.same(what, tensor.to_dense(), total(of))
    return tensor


def is_refused():
    tensor = torch.eye(3).to_sparse()
    expect.refused("sparse", lambda: dist.all_reduce(tensor), "")
    ones = torch.ones(2)
    dist.all_reduce(ones)
    expect.same("usable", ones, torch.full((2,), float(world)))


def values():
    tensor = summed("overlapping", of_rank)
    expect.same("entries of everyone", tensor._nnz(), world + 1)
    summed("coalesced", lambda one: of_rank(one).coalesce())
    summed("two dimensions", lambda one: sparse([[one, 0], [1, one]], [2.0, 3.0], (world, world + 2)))
    summed("hybrid", lambda one: sparse([[one, world]], [[1.0, one], [2.0, 3.0]], (world + 1, 2)))
    summed("integers", lambda one: sparse([[one, world]], [one, -5], (world + 1,)))
    summed("doubles", lambda one: of_rank(one).double())
    summed("nothing", lambda one: torch.sparse_coo_tensor(torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0), (4,)))
    # As many entries as the rank's number: rank 0 has none.
    tensor = summed("uneven", lambda one: torch.sparse_coo_tensor(
        torch.arange(one).reshape(1, one), torch.ones(one), (world,)))
    expect.same("entries of the largest", tensor._nnz(), world - 1)
    explicit = sparse([[rank]], [0.0], (world,))  # a zero is an entry
    dist.all_reduce(explicit)
    expect.same("zeros", explicit._nnz(), world)


def under_way():
    """Several at once, dense ones between, awaited in another order."""
    tensors = [of_rank(rank) for _ in range(3)]
    works, dense = [], torch.ones(2)
    for tensor in tensors:
        works.append(dist.all_reduce(tensor, async_op=True))
        dist.all_reduce(dense)
    expect.same("dense between", dense, torch.full((2,), float(world) ** 3))
    for work in reversed(works):
        work.wait()
        expect.same("is_completed", work.is_completed(), True)
    for tensor in tensors:
        expect.same("several", tensor.to_dense(), total(of_rank))
    # The call itself waits for nobody: who is in it may send first.
    mine, word = of_rank(rank), torch.zeros(1)
    if rank == 0:
        work = dist.all_reduce(mine, async_op=True)
        for other in range(1, world):
            dist.send(torch.full((1,), 7.0), other)
        work.wait()
    else:
        dist.recv(word, 0)
        expect.same("the word", word, torch.full((1,), 7.0))
        dist.all_reduce(mine)
    expect.same("after a word", mine.to_dense(), total(of_rank))


def futures():
    tensor = of_rank(rank)
    found = dist.all_reduce(tensor, async_op=True).get_future().wait()
    expect.same("future", [one.to_dense().tolist() for one in found], [total(of_rank).tolist()])
    tensor = of_rank(rank)
    doubled = dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0].to_dense() * 2)
    expect.same("then", doubled.wait(), total(of_rank) * 2)
    tensor = of_rank(rank)
    work = dist.all_reduce(tensor, async_op=True)
    while not work.is_completed():
        pass
    expect.same("polled", tensor.to_dense(), total(of_rank))


def what_does_not_exist():
    tensor = of_rank(rank)
    expect.refused("a maximum", lambda: dist.all_reduce(tensor, dist.ReduceOp.MAX), "SUM")
    expect.refused("short integers", lambda: dist.all_reduce(tensor.to(torch.int16)), "Invalid scalar type")
    other = torch.eye(3 if rank == 0 else 4).to_sparse()
    if world > 1:
        expect.refused("shapes", lambda: dist.all_reduce(other), "Sparse dimensions do not match", "ranks 0 and 1")
    expect.refused("a broadcast", lambda: dist.broadcast(torch.eye(3).to_sparse(), 0), "")
    summed("afterwards", of_rank)


def in_a_group():
    groups = [dist.new_group([one, (one + 1) % world]) for one in range(world if world > 2 else 1)]
    tensor = of_rank(rank)
    dist.all_reduce(tensor, group=groups[0])
    wanted = sum(of_rank(one).to_dense() for one in range(2)) if rank < 2 else of_rank(rank).to_dense()
    expect.same("in a group", tensor.to_dense(), wanted)


def trained():
    """DDP of an embedding with sparse gradients: each rank's own words, everyone's mean."""
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Embedding(world + 2, 3, sparse=True))
    for _ in range(2):
        model.zero_grad()
        model(torch.tensor([rank, world + 1])).sum().backward()
        gradient = model.module.weight.grad
        wanted = torch.full((world + 2, 3), 1 / world)
        wanted[world], wanted[world + 1] = 0.0, 1.0
        expect.same("sparse gradient", gradient.is_sparse, True)
        expect.same("gradient", gradient.to_dense(), wanted)


if dist.get_backend() == "gloo":
    values()
    under_way()
    futures()
    what_does_not_exist()
    in_a_group()
    trained()
else:
    is_refused()
expect.finish()
