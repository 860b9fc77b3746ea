"""train_gpt_moe: the GPT of gpt.py with a mixture of experts in each block: expert and data parallelism. Nothing of Troupe.

    torchrun --nproc_per_node 8 tools/demo/train_gpt_moe.py --expert 4

Neighbours, four here, share the experts out. A letter goes to its two best experts, wherever they are, and comes back:
all_to_all_single with as many letters for each rank as happen to want it; none is dropped. Every rank draws all experts and the
whole batch and keeps its part of both: the losses of any number of ranks, also of one (--expert 1), are the same to rounding.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import gpt


class Exchanged(torch.autograd.Function):
    """Rows to the ranks of a group, the first SENT[0] to its first, …; backward, their gradients go back."""

    @staticmethod
    def forward(context, rows, sent, received, group):
        context.back = received, sent, group
        return exchange(rows, sent, received, group)

    @staticmethod
    def backward(context, gradient):
        return exchange(gradient, *context.back), None, None, None


def exchange(rows, sent, received, group):
    found = rows.new_empty(sum(received), rows.shape[1])
    dist.all_to_all_single(found, rows.contiguous(), received, sent, group=group)
    return found


class Mixture(nn.Module):
    """What a block has for a perceptron: several, some of them on this rank, of which each letter asks two."""

    CHOSEN = 2

    def __init__(self, width, experts, group):
        super().__init__()
        self.group = group
        part, here = dist.get_rank(group), experts // dist.get_world_size(group)
        self.router = nn.Linear(width, experts, bias=False)
        everyones = [nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
                     for _ in range(experts)]
        self.experts = nn.ModuleList(everyones[part * here:(part + 1) * here])

    def forward(self, x):
        ranks, here = dist.get_world_size(self.group), len(self.experts)
        letters = x.flatten(0, 1)
        weights, chosen = self.router(letters).softmax(dim=1).topk(self.CHOSEN, dim=1)
        weights = weights / weights.sum(dim=1, keepdim=True)
        order = chosen.flatten().argsort(stable=True)  # by expert, so by rank
        wanted = chosen.flatten().bincount(minlength=ranks * here).view(ranks, here)
        offered = torch.empty_like(wanted)  # of each rank, for each expert here
        dist.all_to_all_single(offered, wanted, group=self.group)
        sent, received = wanted.sum(dim=1).tolist(), offered.sum(dim=1).tolist()
        rows = Exchanged.apply(letters[order // self.CHOSEN], sent, received, self.group)
        pieces = rows.split(offered.flatten().tolist())  # rank by rank, of each expert by expert
        answers = [expert(torch.cat(pieces[number::here])).split(offered[:, number].tolist())
                   for number, expert in enumerate(self.experts)]
        rows = torch.cat([answers[number][rank] for rank in range(ranks) for number in range(here)])
        rows = Exchanged.apply(rows, received, sent, self.group)
        back = torch.empty_like(rows).index_copy(0, order, rows).view(len(letters), self.CHOSEN, -1)
        return (back * weights.unsqueeze(2)).sum(dim=1).view_as(x)


def average_gradients(model, data_group):
    """An expert has the gradients of all letters that its own group sent; the rest is everybody's."""
    for name, p in model.named_parameters():
        dist.all_reduce(p.grad, group=data_group if ".experts." in name else None)
        p.grad /= dist.get_world_size()


def main():
    parser = gpt.options_of_all(__doc__.splitlines()[0], batch=16, layers=2)
    parser.add_argument("--experts", type=int, default=8, help="of each block")
    parser.add_argument("--expert", type=int, default=4, help="ranks that share the experts out")
    options = parser.parse_args()
    rank, world, device = gpt.start(options.backend)
    gpt.divides("the ranks", world, options.expert)
    gpt.divides("the experts", options.experts, options.expert)
    gpt.divides("the batch", options.batch, world)
    expert_group = gpt.group_of(rank, [range(first, first + options.expert) for first in range(0, world, options.expert)])
    data_group = gpt.group_of(rank, [range(first, world, options.expert) for first in range(options.expert)])
    torch.manual_seed(1)
    model = gpt.GPT(options.context, options.width, options.layers)
    for block in model.blocks:
        block.perceptron = Mixture(options.width, options.experts, expert_group)
    model = model.to(device)
    if rank == 0:
        print(f"{world} ranks: expert {options.expert} x data {world // options.expert}; "
              f"{sum(p.numel() for p in model.parameters())} parameters on the first", flush=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    batches = gpt.batches(0, 1, options.batch, options.context)
    for step in range(options.steps):
        letters, targets = (whole.to(device).chunk(world)[rank] for whole in next(batches))
        optimizer.zero_grad()
        loss = model(letters, targets)
        loss.backward()
        average_gradients(model, data_group)
        optimizer.step()
        gpt.print_loss(step, loss / world)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
