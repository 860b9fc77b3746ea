"""train_gpt_fsdp: train_gpt.py with parameters, gradients and optimizer state sharded. Nothing of Troupe.

    torchrun --nproc_per_node 8 tools/demo/train_gpt_fsdp.py --backend gloo

FSDP2 (fully_shard) where torch has it for CPUs too (2.6 and newer), else FSDP1, which needs a GPU in torch 1.13. Model, data
and losses are those of train_gpt.py in the same world, to rounding.
"""
import functools
import sys

import torch
import torch.distributed as dist

import gpt

TORCH = tuple(int(number) for number in torch.__version__.split("+")[0].split(".")[:2])


def sharded(model, device):
    """A unit of sharding for each block, and one for what is around them."""
    if TORCH >= (2, 6):
        from torch.distributed.fsdp import fully_shard
        mesh = dist.init_device_mesh(device.type, (dist.get_world_size(),))
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        return fully_shard(model, mesh=mesh)
    if device.type == "cpu" and TORCH < (2, 0):
        sys.exit(f"torch {torch.__version__} shards (FSDP) on GPUs only, and there is none")
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={gpt.Block})
    return FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=device)


def main():
    options = gpt.options_of_all(__doc__.splitlines()[0], batch=4, layers=4).parse_args()
    rank, world, device = gpt.start(options.backend)
    torch.manual_seed(1)
    model = sharded(gpt.GPT(options.context, options.width, options.layers).to(device), device)
    if rank == 0:
        held = sum(p.numel() if TORCH < (2, 6) else p.to_local().numel() for p in model.parameters())
        print(f"{held} parameters on the first of {world} ranks", flush=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = gpt.batches(rank, world, options.batch, options.context)
    for step in range(options.steps):
        letters, targets = next(data)
        loss = model(letters.to(device), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        gpt.print_loss(step, loss / world)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
