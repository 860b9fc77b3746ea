"""Attention that torch splits over devices, or differentiates, on GPUs only.

DTensor's rules (tensor parallelism) and the ring of context parallelism are written for the operators that attention is on
CUDA. On the CPU it is others: for DTensors they are called as CUDA's, whose kernels are given here as the CPU's own.
FlexAttention has its unfused form, for training too. On torch without these operators nothing is changed.
"""


def give_operators(torch):
    """CUDA's flash and efficient attention in host memory, where the CPU has flash attention: from torch 2.2 on."""
    aten = torch.ops.aten
    if not hasattr(aten, "_scaled_dot_product_flash_attention_for_cpu"):
        return
    library = torch.library.Library("aten", "IMPL")
    attend = aten._scaled_dot_product_flash_attention_for_cpu.default
    differentiate = aten._scaled_dot_product_flash_attention_for_cpu_backward.default

    def drawn():
        return torch.zeros((), dtype=torch.int64)  # the state of a generator that nothing is drawn from

    def flash(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
        output, sums = attend(query, key, value, dropout_p, is_causal, scale=scale)
        return (output, sums, None, None, query.shape[2], key.shape[2], drawn(), drawn(), query.new_empty(0))

    def flash_backward(grad_out, query, key, value, out, sums, _starts_q, _starts_k, _max_q, _max_k, dropout_p, is_causal,
                       _seed, _offset, *, scale=None):
        return differentiate(grad_out, query, key, value, out, sums, dropout_p, is_causal, scale=scale)

    def efficient(query, key, value, attn_bias, _compute_sums, dropout_p=0.0, is_causal=False, *, scale=None):
        output, sums = attend(query, key, value, dropout_p, is_causal, attn_mask=attn_bias, scale=scale)
        return output, sums, drawn(), drawn()

    def efficient_backward(grad_out, query, key, value, attn_bias, out, sums, _seed, _offset, dropout_p, _wanted,
                           is_causal=False, *, scale=None):
        grads = differentiate(grad_out, query, key, value, out, sums, dropout_p, is_causal, attn_mask=attn_bias, scale=scale)
        return (*grads, None)

    for name, function in {"flash_attention": flash, "flash_attention_backward": flash_backward,
                           "efficient_attention": efficient, "efficient_attention_backward": efficient_backward}.items():
        library.impl(f"_scaled_dot_product_{name}", function, "CPU")
    give_operators.kept = library  # its operators go with it


def split_as_on_cuda(tensor):
    """DTensor's dispatcher: the CPU's operators become those that it has rules for."""
    import torch

    aten = torch.ops.aten
    dispatcher = getattr(getattr(tensor, "DTensor", None), "_op_dispatcher", None)
    if not hasattr(dispatcher, "_custom_op_handlers") or not hasattr(aten, "_scaled_dot_product_flash_attention_for_cpu"):
        return

    def attend(_operator, arguments, named):
        query, key, value, *rest = arguments
        mask, scale = named.get("attn_mask"), named.get("scale")
        if mask is None:
            return aten._scaled_dot_product_flash_attention.default(query, key, value, *rest, scale=scale)[:2]
        return aten._scaled_dot_product_efficient_attention.default(
            query, key, value, _whole(mask, query, key), True, *rest, scale=scale)[:2]

    def differentiate(_operator, arguments, named):
        grad_out, query, key, value, out, sums, dropout_p, is_causal = arguments
        mask, scale = named.get("attn_mask"), named.get("scale")
        seed = torch.zeros((), dtype=torch.int64)
        if mask is None:
            return aten._scaled_dot_product_flash_attention_backward.default(
                grad_out, query, key, value, out, sums, None, None, query.shape[2], key.shape[2], dropout_p, is_causal,
                seed, seed, scale=scale)
        return aten._scaled_dot_product_efficient_attention_backward.default(
            grad_out, query, key, value, _whole(mask, query, key), out, sums, seed, seed, dropout_p,
            [True, True, True, False], is_causal, scale=scale)[:3]

    dispatcher._custom_op_handlers[aten._scaled_dot_product_flash_attention_for_cpu.default] = attend
    dispatcher._custom_op_handlers[aten._scaled_dot_product_flash_attention_for_cpu_backward.default] = differentiate


def _whole(mask, query, key):
    """For every batch and head, as CUDA's operators are given it."""
    return mask.expand(*query.shape[:3], key.shape[2])


def attend_unfused(flex):
    """flex_attention by torch's own definition of it, which autograd sees through: the CPU's kernel cannot be differentiated.

    What a score_mod captures gets its gradients too.
    """
    import torch

    def attention(query, key, value, *rest):
        from torch._higher_order_ops.flex_attention import math_attention

        if torch.is_autocast_cpu_enabled():
            kind = torch.get_autocast_cpu_dtype()
            query, key, value = (tensor.to(kind) for tensor in (query, key, value))
        with torch.autocast("cpu", enabled=False):
            output, *others = math_attention(query, key, value, *rest)
        order = sorted(range(query.dim() - 1), key=query.stride, reverse=True) + [query.dim() - 1]
        ordered = output.permute(order).contiguous()  # laid out as the query is
        return (ordered.permute([order.index(dim) for dim in range(query.dim())]), *others)

    flex.flex_attention_hop = attention
    flex._validate_device = lambda *_: None
    flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True  # no compiler, no advice to use one, and sums in base 2 throughout


PATCHES = [
    ("torch", give_operators),
    ("torch.distributed._tensor", split_as_on_cuda),
    ("torch.distributed.tensor", split_as_on_cuda),
    ("torch.nn.attention.flex_attention", attend_unfused),
]
