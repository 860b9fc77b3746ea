"""train_gpt_3d: the GPT of gpt.py with tensor, pipeline and data parallelism, as Megatron-LM has them. Nothing of Troupe.

    torchrun --nproc_per_node 8 tools/demo/train_gpt_3d.py --tensor 2 --pipeline 2

Ranks are numbered tensor first, then data, then pipeline. Every rank draws the whole model and the whole batch and keeps its
part of both: the losses of any split, and those of one rank by itself (--tensor 1 --pipeline 1), are the same to rounding.
"""
import torch
import torch.distributed as dist

import gpt
from pipeline import Pipeline, Stage
from tensor_parallel import split


def average_gradients(parameters, group):
    flat = torch.cat([p.grad.flatten() for p in parameters])
    dist.all_reduce(flat, group=group)
    flat /= dist.get_world_size(group)
    for p, mean in zip(parameters, flat.split([p.numel() for p in parameters])):
        p.grad.copy_(mean.view_as(p))


def parsed():
    parser = gpt.options_of_all(__doc__.splitlines()[0], batch=16, layers=4)
    parser.add_argument("--tensor", type=int, default=2, help="ranks that share each layer")
    parser.add_argument("--pipeline", type=int, default=2, help="stages of as many layers each")
    parser.add_argument("--micro", type=int, default=4, help="micro-batches a step and data-parallel rank")
    return parser.parse_args()


def main():
    options = parsed()
    rank, world, device = gpt.start(options.backend)
    tensor, stages = options.tensor, options.pipeline
    data = world // (tensor * stages)
    gpt.divides("the ranks", world, tensor * stages)
    gpt.divides("the layers", options.layers, stages)
    gpt.divides("the heads", gpt.HEADS, tensor)
    gpt.divides("the batch", options.batch, data * options.micro)
    stage_ranks = tensor * data  # ranks of one stage stand side by side
    my_data, my_stage = rank // tensor % data, rank // stage_ranks
    tensor_group = gpt.group_of(rank, [range(first, first + tensor) for first in range(0, world, tensor)])
    data_group = gpt.group_of(rank, [range(stage * stage_ranks + part, (stage + 1) * stage_ranks, tensor)
                                     for stage in range(stages) for part in range(tensor)])

    torch.manual_seed(1)
    model = gpt.GPT(options.context, options.width, options.layers)
    for block in model.blocks:
        split(block, tensor_group)
    stage = Stage(model, my_stage, stages).to(device)
    shape = options.batch // (data * options.micro), options.context, options.width
    pipeline = Pipeline(stage, rank - stage_ranks, rank + stage_ranks, shape, device)
    parameters = list(stage.parameters())
    if rank == 0:
        print(f"{world} ranks: tensor {tensor} x data {data} x pipeline {stages}; "
              f"{sum(p.numel() for p in parameters)} parameters on the first", flush=True)
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    batches = gpt.batches(0, 1, options.batch, options.context)
    for step in range(options.steps):
        mine = (whole.to(device).chunk(data)[my_data] for whole in next(batches))
        optimizer.zero_grad()
        loss = pipeline.step(list(zip(*(part.chunk(options.micro) for part in mine))))
        average_gradients(parameters, data_group)
        optimizer.step()
        gpt.print_loss(step, loss / (tensor * data))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
