"""What the import hook does to a program: call sites, repairs of Debian's torch, and a program's child that is no rank."""
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist

import expect

rank, world = expect.start()
if not expect.NATIVE:  # both are broken in torch 1.13 on Python 3.11
    import torch.distributed.fsdp
    from torch.distributed.elastic.multiprocessing.api import Std

    expect.same("Std", Std.from_str("0"), Std.NONE)
    expect.same("Std of ranks", Std.from_str("0:3,1:0"), {0: Std.ALL, 1: Std.NONE})

if not expect.NATIVE:
    import troupe_c10d

    def step():
        return troupe_c10d.call_site()

    line = step.__code__.co_firstlineno + 1
    expect.same("call site", step().endswith(f"imports.py:{line} in step"), True)
    began = time.perf_counter()
    for _ in range(10000):
        troupe_c10d.call_site()
    if rank == 0:
        print(f"a call site takes {(time.perf_counter() - began) / 10000 * 1e6:.2f} us", flush=True)

    child = "import torch.distributed as dist; print(type(dist.ProcessGroupGloo).__name__)"
    said = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, timeout=120)
    expect.same("here they are replaced", type(dist.ProcessGroupGloo).__name__, "_Replacement")
    expect.same("a child is no rank", (said.stdout.split(), said.returncode), (["pybind11_type"], 0))

    # The backend is ours though DDP must not take it for gloo's.
    group = dist.group.WORLD
    if hasattr(group, "_get_backend"):
        group = group._get_backend(torch.device("cpu"))
    expect.same("backend's own name", group.name(), "troupe")
expect.same("asked for", dist.get_backend(), sys.argv[1] if len(sys.argv) > 1 else "gloo")
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
expect.finish()
