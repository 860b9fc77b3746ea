"""pipeline: a stage of the GPT, and its forwards and backwards in the order 1F1B (Narayanan et al. 2021, section 2.2).

Not here: which ranks are stages of one pipeline (train_gpt_3d.py).
"""
import collections

import torch
import torch.distributed as dist
from torch import nn


class Stage(nn.Module):
    """A run of the model's blocks, with what is before the first and after the last."""

    def __init__(self, model, number, stages):
        super().__init__()
        self.first, self.last, self.after_me = number == 0, number == stages - 1, stages - 1 - number
        each = len(model.blocks) // stages
        model.blocks = model.blocks[number * each:(number + 1) * each]
        if not self.first:
            del model.letter, model.place
        if not self.last:
            del model.norm, model.head
        self.model = model

    def forward(self, x, targets):
        """From letters (first stage) or activations to activations or the loss (last stage)."""
        x = self.model.blocks(self.model.embed(x) if self.first else x)
        return self.model.loss(x, targets) if self.last else x


class Pipeline:
    """Steps of one stage; PREVIOUS and NEXT are the neighbours' ranks, SHAPE is that of what goes between stages."""

    def __init__(self, stage, previous, next, shape, device):
        self.stage, self.shape, self.device = stage, shape, device
        self.previous = None if stage.first else previous
        self.next = None if stage.last else next

    def step(self, micro_batches):
        """Leaves the gradients of the mean loss in the stage. Returns that loss on the last stage, elsewhere 0."""
        self.count, self.under_way = len(micro_batches), collections.deque()
        self.loss = torch.zeros((), device=self.device)
        warm_up = min(self.stage.after_me, self.count)
        for batch in micro_batches[:warm_up]:
            self.exchange(self.next, send=self.forward(batch, self.exchange(self.previous, receive=True)))
        x = self.exchange(self.previous, receive=True) if warm_up < self.count else None
        for number in range(warm_up, self.count):
            gradient = self.exchange(self.next, send=self.forward(micro_batches[number], x), receive=True)
            x = self.exchange(self.previous, send=self.backward(gradient), receive=number + 1 < self.count)
        for _ in range(warm_up):
            self.exchange(self.previous, send=self.backward(self.exchange(self.next, receive=True)))
        return self.loss

    def forward(self, batch, x):
        letters, targets = batch
        y = self.stage(letters if self.stage.first else x.requires_grad_(), targets)
        if self.stage.last:
            y = y / self.count
            self.loss += y.detach()
        self.under_way.append((x, y))
        return y.detach()

    def backward(self, gradient):
        """Of the oldest micro-batch under way; the last stage's gradient is none."""
        x, y = self.under_way.popleft()
        y.backward(gradient)
        return None if x is None else x.grad

    def exchange(self, peer, send=None, receive=False):
        """With a neighbour, both ways at once: each of two who first sent would wait for the other."""
        if peer is None:
            return None
        received = torch.empty(self.shape, device=self.device) if receive else None
        operations = [dist.P2POp(dist.isend, send, peer)] if send is not None else []
        operations += [dist.P2POp(dist.irecv, received, peer)] if receive else []
        for request in dist.batch_isend_irecv(operations):
            request.wait()
        return received
