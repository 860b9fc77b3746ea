"""gpt: what the demo's programs train: a small character-level GPT, and the text it learns. Nothing of Troupe.

Seeds are fixed: two runs of the same world print the same losses. Not here: how a program spreads model and data over
ranks (train_gpt.py: data parallel; train_gpt_fsdp.py: sharded; train_gpt_3d.py: tensor, pipeline and data parallel;
train_gpt_moe.py: experts and data).
"""
import argparse
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

HEADS = 4
TEXT = """
All the world's a stage,
And all the men and women merely players;
They have their exits and their entrances,
And one man in his time plays many parts,
His acts being seven ages. At first, the infant,
Mewling and puking in the nurse's arms.
Then the whining schoolboy, with his satchel
And shining morning face, creeping like snail
Unwillingly to school. And then the lover,
Sighing like furnace, with a woeful ballad
Made to his mistress' eyebrow. Then a soldier,
Full of strange oaths and bearded like the pard,
Jealous in honour, sudden and quick in quarrel,
Seeking the bubble reputation
Even in the cannon's mouth. And then the justice,
In fair round belly with good capon lined,
With eyes severe and beard of formal cut,
Full of wise saws and modern instances;
And so he plays his part. The sixth age shifts
Into the lean and slippered pantaloon,
With spectacles on nose and pouch on side;
His youthful hose, well saved, a world too wide
For his shrunk shank, and his big manly voice,
Turning again toward childish treble, pipes
And whistles in his sound. Last scene of all,
That ends this strange eventful history,
Is second childishness and mere oblivion,
Sans teeth, sans eyes, sans taste, sans everything.
"""


def attend(query_key_value, heads):
    """Each letter's mix of the letters up to it; (batch, length, 3 * width) -> (batch, length, width)."""
    batch, length, width = query_key_value.shape
    width //= 3
    q, k, v = (part.view(batch, length, heads, width // heads).transpose(1, 2)
               for part in query_key_value.split(width, dim=2))
    scores = q @ k.transpose(-2, -1) / (width // heads) ** 0.5
    future = torch.ones(length, length, dtype=torch.bool, device=scores.device).triu(1)
    mixed = scores.masked_fill(future, float("-inf")).softmax(dim=-1) @ v
    return mixed.transpose(1, 2).reshape(batch, length, width)


class Block(nn.Module):
    """Attention over what came before, then a perceptron; both with residuals."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.perceptron = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.project(attend(self.query_key_value(self.norm_1(x)), self.heads))
        return x + self.perceptron(self.norm_2(x))


class GPT(nn.Module):
    """forward() is the loss; embed(), blocks and loss() are its parts, for stages of a pipeline."""

    def __init__(self, context, width, layers):
        super().__init__()
        letters = len(set(TEXT))
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, HEADS) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters, bias=False)

    def embed(self, letters):
        return self.letter(letters) + self.place(torch.arange(letters.shape[1], device=letters.device))

    def loss(self, x, targets):
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())

    def forward(self, letters, targets):
        return self.loss(self.blocks(self.embed(letters)), targets)


def batches(rank, world, batch, context):
    """Endless (letters, targets) of this rank's part of the text; parts overlap where there are many ranks."""
    alphabet = sorted(set(TEXT))
    text = torch.tensor([alphabet.index(letter) for letter in TEXT])
    part = max(len(text) // world, 2 * context)
    first = rank * (len(text) - part) // max(world - 1, 1)
    shard = text[first:first + part]
    chance = torch.Generator().manual_seed(1000 + rank)
    while True:
        starts = torch.randint(len(shard) - context, (batch,), generator=chance)
        yield (torch.stack([shard[s:s + context] for s in starts]),
               torch.stack([shard[s + 1:s + 1 + context] for s in starts]))


def options_of_all(description, batch, layers):
    """A parser for what every program here can be told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=batch, help="sequences a step, of a rank or (3d, moe) of the world")
    parser.add_argument("--context", type=int, default=32, help="letters a sequence")
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=layers)
    return parser


def start(backend):
    """The default group; returns this rank, how many there are, and the device to compute on."""
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    return dist.get_rank(), dist.get_world_size(), device


def divides(what, number, parts):
    """Ends every rank with one sentence where NUMBER cannot be shared out evenly."""
    if parts < 1 or number % parts != 0 or number == 0:
        sys.exit(f"{what}, {number}, cannot be divided by {parts}")


def group_of(rank, groups):
    """Every rank makes every group; returns the one that has this rank."""
    made = [(members, dist.new_group(members)) for members in groups]
    return next(group for members, group in made if rank in members)


def print_loss(step, part):
    """The sum of all ranks' parts, in a line of rank 0's: `step 3 loss 3.1415926536`.

    The last sum outlives the group: torch 1.13, which ends a group while it holds the interpreter, then waits for gloo's
    thread, which wants the interpreter to give up a tensor that nobody else has.
    """
    loss = print_loss.latest = part.detach().double()
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"step {step} loss {loss.item():.10f}", flush=True)
