"""Attention where cuda is mapped: split over heads or batches by DTensor, over the sequence by a ring, and FlexAttention.

Each against plain attention in one process, forward and backward. Torch 2.5 and newer.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import expect

rank, world = expect.start()
BATCH, HEADS, LENGTH, WIDTH = 2 * world, world, 16 * world, 8
mesh = init_device_mesh("cuda", (world,))


def close(what, found, right, atol=1e-5):
    if found.shape != right.shape or not torch.allclose(found, right, atol=atol):
        expect.fail(f"{what}: differs by {(found - right).abs().max() if found.shape == right.shape else found.shape}")


def inputs():
    torch.manual_seed(4)
    return [torch.randn(BATCH, HEADS, LENGTH, WIDTH, device="cuda") for _ in range(4)]


def plain(*leaves, slope, **named):
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    output = F.scaled_dot_product_attention(*leaves, **named)
    output.backward(slope)
    return output.detach(), [leaf.grad for leaf in leaves]


def by_tensor_parts():
    *leaves, slope = inputs()
    mask = torch.randn(LENGTH, LENGTH)
    for what, named in (("plain", {}), ("causal", {"is_causal": True}), ("scaled", {"scale": 0.3, "is_causal": True}),
                        ("masked", {"attn_mask": mask})):
        wanted, grads = plain(*leaves, slope=slope, **named)
        for placement in (Shard(1), Shard(0), Replicate()):
            split = [distribute_tensor(leaf, mesh, [placement]).requires_grad_() for leaf in leaves]
            if "attn_mask" in named:
                named = {"attn_mask": distribute_tensor(mask, mesh, [Replicate()])}
            output = F.scaled_dot_product_attention(*split, **named)
            if not output.placements[0] == placement:
                expect.fail(f"{what} attention of {placement} is {output.placements}")
            output.backward(distribute_tensor(slope, mesh, [placement]))
            close(f"{what} attention of {placement}", output.full_tensor().detach(), wanted)
            for name, part, grad in zip("qkv", split, grads):
                close(f"{what} attention of {placement}: gradient of {name}", part.grad.full_tensor(), grad)


def by_a_ring():
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import context_parallel_unshard

    *leaves, slope = inputs()
    wanted, grads = plain(*leaves, slope=slope, is_causal=True)
    split = [leaf.clone() for leaf in leaves]
    part = slope.clone()
    with context_parallel(mesh, buffers=(*split, part), buffer_seq_dims=(2, 2, 2, 2)):
        for leaf in split:
            leaf.requires_grad_()
        output = F.scaled_dot_product_attention(*split, is_causal=True)
        expect.same("the ring's part", output.shape[2], LENGTH // world)
        output.backward(part)
        found = context_parallel_unshard(mesh, [output.detach(), *(leaf.grad for leaf in split)], [2, 2, 2, 2])
        for leaf in split:
            leaf.requires_grad_(False)
            leaf.grad = None
    for name, whole, right in zip(("output", "q", "k", "v"), found, (wanted, *grads)):
        close(f"context parallel {name}", whole, right, 1e-4)


def flexible():
    *leaves, slope = inputs()
    causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, LENGTH, LENGTH, device="cuda")
    wanted, grads = plain(*leaves, slope=slope, is_causal=True)
    for what, function in (("flex", flex_attention), ("compiled flex", torch.compile(flex_attention))):
        own = [leaf.clone().requires_grad_() for leaf in leaves]
        output = function(*own, block_mask=causal)
        output.backward(slope)
        close(what, output.detach(), wanted)
        for name, leaf, grad in zip("qkv", own, grads):
            close(f"{what}: gradient of {name}", leaf.grad, grad)

    bias, query, key, value = torch.randn(HEADS, requires_grad=True), *(leaf[:2] for leaf in leaves)
    output, sums = flex_attention(query, key, value, return_lse=True,
                                  score_mod=lambda score, b, h, q, k: score + bias[h] * (q - k))
    found, = torch.autograd.grad((output * slope[:2]).sum() + sums.sum(), bias)
    place = torch.arange(LENGTH)
    scores = query @ key.transpose(-1, -2) / WIDTH ** 0.5 + bias.view(-1, 1, 1) * (place[:, None] - place)
    right = scores.softmax(-1) @ value
    close("flex with a bias", output.detach(), right.detach())
    close("its sums", sums.detach(), scores.logsumexp(-1).detach(), 1e-4)
    wanted, = torch.autograd.grad((right * slope[:2]).sum() + scores.logsumexp(-1).sum(), bias)
    if not torch.allclose(found, wanted, rtol=1e-3, atol=1e-2):
        expect.fail(f"flex: gradient of what is captured: found {found}, wanted {wanted}")
    strided = [leaf.transpose(1, 2).contiguous().transpose(1, 2) for leaf in leaves]
    expect.same("laid out as the query", flex_attention(*strided).stride(), strided[0].stride())


by_tensor_parts()
by_a_ring()
flexible()
expect.finish()
