"""A step of DDP with eight buckets: bucket_waits.py futures|waits STEPS.

futures: as DDP does it, backward goes on while buckets are reduced. waits: a hook that completes each before it returns, as
a backend must whose futures cannot be waited for in C++.
"""
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

hook, steps = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo")
torch.manual_seed(1)
layers = [torch.nn.Linear(512, 512, bias=False) for _ in range(8)]  # a MiB each
model = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=1)


def wait_for_each(_, bucket):
    dist.all_reduce(bucket.buffer().div_(dist.get_world_size()))
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


if hook == "waits":
    model.register_comm_hook(None, wait_for_each)
data = torch.randn(256, 512)
for _ in range(steps):
    model(data).square().mean().backward()
dist.destroy_process_group()
