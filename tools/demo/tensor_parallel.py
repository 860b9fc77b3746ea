"""tensor_parallel: a block of the GPT split over the ranks of a group, in columns and rows (Shoeybi et al. 2019, section 3).

Not here: which ranks are a group (train_gpt_3d.py).
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class Copied(torch.autograd.Function):
    """One input for all parts of a layer: forward gives it on, backward adds the gradients of the parts."""

    @staticmethod
    def forward(context, x, group):
        context.group = group
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        total = gradient.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=context.group)
        return total, None


class Added(torch.autograd.Function):
    """The sum of what the parts of a layer give: forward adds, backward gives the gradient on."""

    @staticmethod
    def forward(context, x, group):
        total = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(context, gradient):
        return gradient, None


class ColumnParallel(nn.Module):
    """This rank's outputs of a linear layer; of each thing, where it gives several at once (q, k and v)."""

    def __init__(self, whole, group, things=1):
        super().__init__()
        part, parts = dist.get_rank(group), dist.get_world_size(group)

        def mine(rows):
            return nn.Parameter(torch.cat([thing.chunk(parts)[part] for thing in rows.detach().chunk(things)]))

        self.group, self.weight, self.bias = group, mine(whole.weight), mine(whole.bias)

    def forward(self, x):
        return F.linear(Copied.apply(x, self.group), self.weight, self.bias)


class RowParallel(nn.Module):
    """This rank's inputs of a linear layer; the bias is everybody's, and is added once."""

    def __init__(self, whole, group):
        super().__init__()
        part, parts = dist.get_rank(group), dist.get_world_size(group)
        self.group = group
        self.weight = nn.Parameter(whole.weight.detach().chunk(parts, dim=1)[part].clone())
        self.bias = nn.Parameter(whole.bias.detach().clone())

    def forward(self, x):
        return Added.apply(F.linear(x, self.weight), self.group) + self.bias


def split(block, group):
    """From now on some heads of its attention and some inner units of its perceptron are this rank's."""
    block.heads //= dist.get_world_size(group)
    block.query_key_value = ColumnParallel(block.query_key_value, group, things=3)
    block.project = RowParallel(block.project, group)
    widen, activation, narrow = block.perceptron
    block.perceptron = nn.Sequential(ColumnParallel(widen, group), activation, RowParallel(narrow, group))
