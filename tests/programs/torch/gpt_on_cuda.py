"""A training script as people write them for GPUs: nothing in it allows for there being none.

    gpt_on_cuda.py nccl cuda    |    gpt_on_cuda.py gloo cpu

Plain torch.distributed, nothing of Troupe. Seeds are fixed: rank 0 prints the mean loss of all ranks, a line a step,
`step 3 loss 3.141593`, whatever the backend and the device.
"""
import contextlib
import inspect
import io
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

BACKEND, DEVICE_TYPE = sys.argv[1:3]
LETTERS, CONTEXT, WIDTH, HEADS, STEPS, ACCUMULATED = 16, 24, 32, 4, 6, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.perceptron = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in self.query_key_value(self.norm_1(x)).split(WIDTH, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (WIDTH // HEADS) ** -0.5
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(future, float("-inf")).softmax(dim=-1) @ v
        x = x + self.project(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.perceptron(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.letter, self.place = nn.Embedding(LETTERS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks, self.norm = nn.Sequential(Block(), Block()), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, LETTERS, bias=False)
        self.letter.weight = self.head.weight

    def forward(self, letters, targets):
        x = self.letter(letters) + self.place(torch.arange(letters.shape[1], dtype=torch.long, device=letters.device))
        return F.cross_entropy(self.head(self.norm(self.blocks(x))).flatten(0, 1), targets.flatten())


def to_device(batch, device):
    return [part.to(device, non_blocking=True) for part in batch]


def main():
    dist.init_process_group(BACKEND)
    rank, local_rank, world = dist.get_rank(), int(os.environ["LOCAL_RANK"]), dist.get_world_size()
    device, on_gpu = DEVICE_TYPE, DEVICE_TYPE == "cuda"
    if on_gpu:
        device = f"cuda:{local_rank}"
        torch.cuda.set_device(device)
        assert torch.cuda.is_available() and torch.cuda.device_count() >= 1
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
    torch.manual_seed(1337)
    dtype = "bfloat16" if not on_gpu or torch.cuda.is_bf16_supported() else "float16"
    context = torch.autocast(device_type=DEVICE_TYPE, dtype=getattr(torch, dtype))

    model = GPT().to(device)
    scaler = torch.cuda.amp.GradScaler(enabled=on_gpu)
    fused = on_gpu and "fused" in inspect.signature(torch.optim.AdamW).parameters
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), **({"fused": True} if fused else {}))
    if on_gpu:
        model = torch.compile(model)
    model = DistributedDataParallel(model, device_ids=[local_rank] if on_gpu else None)

    chance = torch.Generator().manual_seed(7)
    rows = (torch.arange(CONTEXT + 1) + torch.randint(LETTERS, (8 * world * STEPS, 1), generator=chance)) % LETTERS
    data = TensorDataset(rows[:, :-1].contiguous(), rows[:, 1:].contiguous())
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, world, rank, seed=3), pin_memory=on_gpu)
    batches = iter(loader)
    if on_gpu:
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        began.record()
    for step in range(STEPS):
        total = torch.zeros((), device=device)
        for part in range(ACCUMULATED):
            last = part == ACCUMULATED - 1
            with contextlib.nullcontext() if last else model.no_sync(), context:
                loss = model(*to_device(next(batches), device)) / ACCUMULATED
            scaler.scale(loss).backward()
            total += loss.detach().float()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        dist.all_reduce(total)
        if rank == 0:
            print(f"step {step} loss {total.item() / world:.6f}", flush=True)
    if on_gpu:
        ended.record()
        torch.cuda.synchronize()
        assert began.elapsed_time(ended) > 0 and torch.cuda.max_memory_allocated() > 0

    checkpoint = io.BytesIO()
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint)
    checkpoint.seek(0)
    saved = torch.load(checkpoint, map_location=device)
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    dist.barrier()
    dist.destroy_process_group()


main()
