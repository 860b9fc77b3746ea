"""train_gpt: the GPT of gpt.py, trained data-parallel with DDP. Plain torch.distributed; nothing of Troupe.

    torchrun --nproc_per_node 16 tools/demo/train_gpt.py --backend gloo

Every rank takes its own part of the text. Rank 0 prints the mean loss of all ranks, a line a step.
"""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import gpt


def main():
    options = gpt.options_of_all(__doc__.splitlines()[0], batch=4, layers=4).parse_args()
    rank, world, device = gpt.start(options.backend)
    torch.manual_seed(1)
    model = gpt.GPT(options.context, options.width, options.layers).to(device)
    if rank == 0:
        print(f"{sum(p.numel() for p in model.parameters())} parameters, {world} ranks", flush=True)
    model = DistributedDataParallel(model)
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
