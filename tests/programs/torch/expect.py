"""What the programs here share: starting up, and a check that ends the program with status 1 on a wrong value.

Run by `troupe run --world N -- PROGRAM [gloo|nccl]`, or as plain processes with the variables torchrun sets: then torch's
own gloo runs what it has.
"""
import os
import sys

import torch
import torch.distributed as dist

NATIVE = "TROUPE_SOCKET" not in os.environ
TORCH = tuple(int(number) for number in torch.__version__.split("+")[0].split(".")[:2])


def start():
    """The default group of the backend named on the command line; returns (rank, world)."""
    torch.set_num_threads(1)
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "gloo")
    return dist.get_rank(), dist.get_world_size()


def fail(text):
    rank = dist.get_rank() if dist.is_initialized() else os.environ.get("RANK")
    sys.stderr.write(f"WRONG on rank {rank}: {text}\n")
    sys.stderr.flush()
    os._exit(1)


def same(what, found, wanted):
    """Equal: to the bit for whole numbers, to rounding for fractions."""
    if isinstance(wanted, torch.Tensor):
        alike = found.shape == wanted.shape and found.dtype == wanted.dtype
        if alike and wanted.is_floating_point():
            alike = torch.allclose(found.double(), wanted.double(), rtol=1e-2 if wanted.element_size() < 4 else 1e-5)
        elif alike:
            alike = torch.equal(found, wanted)
    else:
        alike = found == wanted
    if not alike:
        fail(f"{what}: found {found}, wanted {wanted}")


def refused(what, call, *words):
    """call() raises a RuntimeError that has these words."""
    try:
        call()
    except RuntimeError as why:
        for word in words:
            if word not in str(why):
                fail(f"{what}: {word!r} is not in the refusal: {why}")
        return
    fail(f"{what} was not refused")


def finish():
    """Everyone got here: nobody's checks are skipped by another's early end."""
    dist.barrier()
    if dist.get_rank() == 0:
        print("PASS", os.path.basename(sys.argv[0]), dist.get_backend(), dist.get_world_size(), flush=True)
    dist.destroy_process_group()
