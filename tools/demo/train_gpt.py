"""train_gpt: a small character-level GPT, trained data-parallel. Plain torch.distributed; nothing of Troupe.

    torchrun --nproc_per_node 16 tools/demo/train_gpt.py --backend gloo

Every rank takes its own part of the text; seeds are fixed, so two runs of the same world print the same losses. Rank 0
prints the mean loss of all ranks, a line a step: `step 3 loss 3.1415926536`.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

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
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.query_key_value(self.norm_1(x)).split(width, dim=2))
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(future, float("-inf")).softmax(dim=-1) @ v
        x = x + self.project(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.perceptron(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self, letters, context, width, heads, layers):
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters, bias=False)

    def forward(self, letters, targets):
        x = self.letter(letters) + self.place(torch.arange(letters.shape[1], device=letters.device))
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def batches(rank, world, batch, context):
    """Endless (letters, targets) of this rank's part of the text."""
    alphabet = sorted(set(TEXT))
    text = torch.tensor([alphabet.index(letter) for letter in TEXT])
    part = len(text) // world
    shard = text[rank * part:(rank + 1) * part]
    chance = torch.Generator().manual_seed(1000 + rank)
    while True:
        starts = torch.randint(len(shard) - context, (batch,), generator=chance)
        yield (torch.stack([shard[s:s + context] for s in starts]),
               torch.stack([shard[s + 1:s + 1 + context] for s in starts]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=4, help="sequences a rank and step")
    parser.add_argument("--context", type=int, default=32, help="letters a sequence")
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=4)
    options = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group(options.backend)
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)

    torch.manual_seed(1)
    model = GPT(len(set(TEXT)), options.context, options.width, heads=4, layers=options.layers).to(device)
    if rank == 0:
        print(f"{sum(p.numel() for p in model.parameters())} parameters, {world} ranks", flush=True)
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = batches(rank, world, options.batch, options.context)
    for step in range(options.steps):
        letters, targets = next(data)
        loss = model(letters.to(device), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().double()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"step {step} loss {mean.item() / world:.10f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
