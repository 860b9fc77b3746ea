"""Every collective for every type the backend has, against closed forms."""
import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
nccl = dist.get_backend() == "nccl"
TYPES = [torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.int8, torch.uint8]
if nccl or expect.TORCH >= (2, 0):
    TYPES.append(torch.bfloat16)
LENGTHS = [0, 1, 7, 1024]


def filled(value, count, dtype):
    return torch.full((count,), value).to(dtype)


def reductions(count, dtype):
    ranks = torch.arange(1, world + 1).double()
    cells = {"SUM": ranks.sum(), "MIN": ranks.min(), "MAX": ranks.max(), "PRODUCT": ranks.prod()}
    if nccl or expect.TORCH >= (2, 8) and dtype.is_floating_point:
        cells["AVG"] = ranks.mean() if dtype.is_floating_point else ranks.mean().trunc()
    for name, wanted in cells.items():
        if dtype in (torch.int8, torch.uint8, torch.float16, torch.bfloat16) and wanted > 100:
            continue
        op = getattr(dist.ReduceOp, name)
        tensor = filled(rank + 1, count, dtype)
        dist.all_reduce(tensor, op)
        expect.same(f"all_reduce {name} {dtype} {count}", tensor, filled(wanted.item(), count, dtype))
        root = world - 1
        tensor = filled(rank + 1, count, dtype)
        dist.reduce(tensor, root, op)
        if rank == root:
            expect.same(f"reduce {name} {dtype} {count}", tensor, filled(wanted.item(), count, dtype))
        elif not expect.NATIVE:
            expect.same("reduce elsewhere", tensor, filled(rank + 1, count, dtype))


def averages_beyond_sums():
    for dtype, value in ((torch.float16, 40000.0), (torch.bfloat16, 3e38)):
        tensor = filled(value, 5, dtype)
        dist.all_reduce(tensor, dist.ReduceOp.AVG)
        expect.same(f"an average of {dtype}", tensor, filled(value, 5, dtype))


def bitwise(dtype):
    highest = torch.iinfo(dtype).bits - 2
    for ones in (0, -1):  # one bit set; all but one, the sign too
        words = [ones ^ 1 << highest - one % 6 for one in range(world)]
        every = some = odd = words[0]
        for word in words[1:]:
            every, some, odd = every & word, some | word, odd ^ word
        for op, wanted in ((dist.ReduceOp.BAND, every), (dist.ReduceOp.BOR, some), (dist.ReduceOp.BXOR, odd)):
            tensor = filled(words[rank], 3, dtype)
            dist.all_reduce(tensor, op)
            expect.same(f"{op} {dtype} {ones}", tensor, filled(wanted, 3, dtype))
            tensor = filled(words[rank], 3, dtype)
            dist.reduce(tensor, 0, op)
            if rank == 0:
                expect.same(f"reduce {op} {dtype} {ones}", tensor, filled(wanted, 3, dtype))


def moving(count, dtype):
    for root in {0, world - 1}:
        tensor = filled(rank + 1, count, dtype)
        dist.broadcast(tensor, root)
        expect.same(f"broadcast {dtype} {count}", tensor, filled(root + 1, count, dtype))
        parts = [torch.empty(count, dtype=dtype) for _ in range(world)] if rank == root else None
        dist.gather(filled(rank + 1, count, dtype), parts, root)
        for other, part in enumerate(parts or []):
            expect.same("gather", part, filled(other + 1, count, dtype))
        tensor = torch.empty(count, dtype=dtype)
        parts = [filled(one + 2, count, dtype) for one in range(world)] if rank == root else None
        dist.scatter(tensor, parts, root)
        expect.same("scatter", tensor, filled(rank + 2, count, dtype))
    if expect.NATIVE and count == 0:
        return  # gloo of torch 1.13 divides by it
    parts = [torch.empty(count, dtype=dtype) for _ in range(world)]
    dist.all_gather(parts, filled(rank + 1, count, dtype))
    for other, part in enumerate(parts):
        expect.same("all_gather", part, filled(other + 1, count, dtype))


def whole(count, dtype):
    """What gloo of torch 1.13 lacks."""
    gathered = torch.empty(world * count, dtype=dtype)
    dist.all_gather_into_tensor(gathered, filled(rank + 1, count, dtype))
    wanted = torch.arange(1, world + 1).repeat_interleave(count).to(dtype)
    expect.same("all_gather_into_tensor", gathered, wanted)
    total = sum(range(1, world + 1))
    part = torch.empty(count, dtype=dtype)
    dist.reduce_scatter_tensor(part, torch.arange(world).repeat_interleave(count).to(dtype))
    expect.same("reduce_scatter_tensor", part, filled(rank * world, count, dtype))
    dist.reduce_scatter(part, [filled(rank + 1 + one, count, dtype) for one in range(world)])
    expect.same("reduce_scatter", part, filled(total + rank * world, count, dtype))
    parts = [torch.empty(count, dtype=dtype) for _ in range(world)]
    dist.all_to_all(parts, [filled(10 * rank + one, count, dtype) for one in range(world)])
    for other, found in enumerate(parts):
        expect.same("all_to_all", found, filled(10 * other + rank, count, dtype))


def splits():
    given = [(rank + other) % 3 for other in range(world)]
    taken = [(other + rank) % 3 for other in range(world)]
    rows = torch.full((sum(given), 2), float(rank))
    found = torch.empty(sum(taken), 2)
    dist.all_to_all_single(found, rows, taken, given)
    expect.same("all_to_all_single with splits", found,
                torch.cat([torch.full((taken[other], 2), float(other)) for other in range(world)]))
    found = torch.empty(world)
    dist.all_to_all_single(found, torch.arange(world) + 10.0 * rank)
    expect.same("all_to_all_single", found, torch.arange(world) * 10.0 + rank)
    # One silent rank: only rank 0 has rows to give.
    given = [1] * world if rank == 0 else [0] * world
    taken = [1] + [0] * (world - 1)
    found = torch.empty(1, 3)
    dist.all_to_all_single(found, torch.full((sum(given), 3), 7.0), taken, given)
    expect.same("all_to_all_single from one", found, torch.full((1, 3), 7.0))


def not_in_a_row():
    tensor = torch.full((4, 6), float(rank)).t()[1:4]
    dist.all_reduce(tensor)
    expect.same("all_reduce of a view", tensor, torch.full((3, 4), float(sum(range(world)))))
    base = torch.zeros(4, world * 2)
    parts = [base[:, 2 * other + 1] for other in range(world)]
    dist.all_gather(parts, torch.full((8,), float(rank + 1))[::2])
    expect.same("all_gather into columns", base[:, 1::2], torch.arange(1.0, world + 1).expand(4, world))
    expect.same("columns between", base[:, ::2], torch.zeros(4, world))
    tensor = torch.full((3, 5), float(rank)).t()
    dist.broadcast(tensor, 0)
    expect.same("broadcast of a view", tensor, torch.zeros(5, 3))


def several_at_once():
    tensors = [torch.ones(3), torch.full((2, 2), 2.0), torch.empty(0)]
    dist.all_reduce_coalesced(tensors)
    for tensor, wanted in zip(tensors, (torch.full((3,), 1.0 * world), torch.full((2, 2), 2.0 * world), torch.empty(0))):
        expect.same("all_reduce_coalesced", tensor, wanted)
    lists = [[torch.empty(2), torch.empty(3)] for _ in range(world)]
    dist.all_gather_coalesced(lists, [torch.full((2,), float(rank)), torch.full((3,), rank + 0.5)])
    for other, (two, three) in enumerate(lists):
        expect.same("all_gather_coalesced", two, torch.full((2,), float(other)))
        expect.same("all_gather_coalesced", three, torch.full((3,), other + 0.5))


def eight_bit_floats():
    if not hasattr(torch, "float8_e5m2"):
        return
    for dtype in (torch.float8_e5m2, torch.float8_e4m3fn):
        mine = torch.full((3,), rank + 1.0).to(dtype)
        if nccl:
            parts = [torch.empty_like(mine) for _ in range(world)]
            dist.all_gather(parts, mine)
            for other, part in enumerate(parts):
                expect.same("eight-bit floats", part.float(), torch.full((3,), other + 1.0))
        if nccl and expect.TORCH >= (2, 8):
            eight_bit_reductions(dtype)
        else:
            expect.refused("a sum of eight-bit floats", lambda: dist.all_reduce(mine), "all_reduce", "Float8")
    if nccl:
        other = torch.zeros(3, dtype=torch.uint8).view(torch.float8_e5m2fnuz)
        expect.refused("a sum that NCCL has not", lambda: dist.all_reduce(other), "all_reduce", "Float8_e5m2fnuz")


def eight_bit_reductions(dtype):
    largest = torch.finfo(dtype).max
    values = torch.tensor([[1.0, -2.0, largest, 0.25], [2.0, 3.0, largest, 0.5], [1.0, 3.0, largest, 8.0]])
    values = torch.stack([values[one % 3] for one in range(world)])
    found = {"SUM": values.sum(0).clamp(max=largest), "PRODUCT": values.prod(0).clamp(max=largest), "MIN": values.amin(0),
             "MAX": values.amax(0), "AVG": values.mean(0)}
    for op, wanted in found.items():
        tensor = values[rank].to(dtype)
        dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
        expect.same(f"all_reduce {op} {dtype}", tensor.float(), wanted.to(dtype).float())
    part = torch.empty(4, dtype=dtype)
    dist.reduce_scatter_tensor(part, values[rank].repeat(world).to(dtype))
    expect.same(f"reduce_scatter {dtype}", part.float(), found["SUM"].to(dtype).float())


def complex_numbers():
    """NCCL's and, since 2.9, gloo's calls take them as pairs, not only by the view that torch.distributed makes."""
    ranks = torch.arange(1.0, world + 1)
    for dtype in (torch.complex64, torch.complex128):
        one = torch.tensor([1 + 2j, 3 - 1j], dtype=dtype)
        tensor = one * (rank + 1)
        dist.reduce(tensor, 0)
        if rank == 0:
            expect.same(f"reduce {dtype}", torch.view_as_real(tensor), torch.view_as_real(one * ranks.sum()))
        part = torch.empty(2, dtype=dtype)
        dist.reduce_scatter_tensor(part, one.repeat(world) * (rank + 1), dist.ReduceOp.AVG)
        expect.same(f"reduce_scatter_tensor {dtype}", torch.view_as_real(part), torch.view_as_real(one * ranks.mean()))
        expect.refused("a product of complex numbers", lambda: dist.reduce(tensor, 0, dist.ReduceOp.PRODUCT), "")


def uneven_parts():
    """reduce_scatter of parts of different sizes: NCCL's, and gloo's since it has the call."""
    part = torch.empty(rank + 1)
    dist.reduce_scatter(part, [torch.full((one + 1,), float(rank + one)) for one in range(world)])
    expect.same("uneven reduce_scatter", part, torch.full((rank + 1,), float(sum(range(world)) + world * rank)))


def numbers_of_other_kinds():
    tensor = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex64) * (rank + 1)
    dist.all_reduce(tensor)
    total = sum(range(1, world + 1))
    expect.same("complex", torch.view_as_real(tensor), torch.tensor([[1.0, 2.0], [3.0, -1.0]]) * total)
    if nccl or expect.TORCH >= (2, 0):
        for op, wanted in ((dist.ReduceOp.SUM, [True, True, False]), (dist.ReduceOp.PRODUCT, [True, False, False])):
            tensor = torch.tensor([True, rank == 0, False])
            if world == 1:
                wanted = [True, True, False]
            dist.all_reduce(tensor, op)
            expect.same("truth values", tensor, torch.tensor(wanted))


def premultiplied():
    def by(factor):  # torch 1.13 takes a list, of one tensor a device
        listed = isinstance(factor, torch.Tensor) and expect.TORCH < (2, 0)
        return dist._make_nccl_premul_sum([factor] if listed else factor)

    types = [torch.float32, torch.float64, torch.float16]
    if expect.TORCH >= (2, 0):
        types.append(torch.bfloat16)
    for dtype in types:
        # 1/3 is rounded to the type before it multiplies.
        third = torch.tensor([1 / 3], dtype=dtype)
        for factor in (1 / 3, third, third[0]):
            for shape in ((3,), ()):
                tensor = torch.full(shape, 3.0 * (rank + 1), dtype=dtype)
                dist.all_reduce(tensor, by(factor))
                wanted = sum((third[0] * 3 * (one + 1)).double() for one in range(world))
                expect.same(f"premultiplied sum {dtype} {factor} {shape}", tensor, torch.full(shape, wanted.item()).to(dtype))
        part = torch.empty(2, dtype=dtype)
        dist.reduce_scatter_tensor(part, filled(2, 2 * world, dtype), by(torch.tensor([0.5], dtype=dtype)))
        expect.same(f"premultiplied reduce_scatter {dtype}", part, filled(world, 2, dtype))
    tensor = torch.tensor([1 + 2j, 3 - 1j])
    dist.all_reduce(tensor, by(0.5))
    expect.same("premultiplied complex", torch.view_as_real(tensor), torch.tensor([[0.5, 1.0], [1.5, -0.5]]) * world)


for dtype in TYPES:
    for count in LENGTHS:
        reductions(count, dtype)
        moving(count, dtype)
        if not expect.NATIVE:
            whole(count, dtype)
if nccl:
    premultiplied()
else:
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        bitwise(dtype)
if not expect.NATIVE and (nccl or expect.TORCH >= (2, 8)):
    averages_beyond_sums()
splits()
if nccl or expect.TORCH >= (2, 9):
    complex_numbers()
if nccl or expect.TORCH >= (2, 8):
    uneven_parts()
numbers_of_other_kinds()
eight_bit_floats()
if not expect.NATIVE:
    not_in_a_row()
    if not nccl or hasattr(dist, "all_gather_coalesced"):
        several_at_once()
scalar = torch.tensor(float(rank))
dist.all_reduce(scalar)
expect.same("a scalar", scalar, torch.tensor(float(sum(range(world)))))
expect.finish()
