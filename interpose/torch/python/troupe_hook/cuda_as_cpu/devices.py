"""Devices as programs name them, whether they are mapped, and saying so once."""
import functools
import glob
import os
import sys
import threading

from .. import client

_current = threading.local()  # .index, as CUDA keeps it by thread
_said = False


@functools.lru_cache(maxsize=None)
def mapped():
    """Whether cuda means the CPU here. Nothing is asked that would start a driver: ranks are forked afterwards."""
    choice = os.environ.get("TROUPE_CUDA", "auto")
    if choice not in ("auto", "cpu", "real"):
        raise ValueError(f"TROUPE_CUDA is {choice!r}; it can be auto, cpu or real")
    return choice == "cpu" or choice == "auto" and not _has_gpu()


def _has_gpu():
    if not hasattr(sys.modules["torch"]._C, "_cuda_getDeviceCount"):
        return False  # built without CUDA
    return bool(glob.glob("/dev/nvidia[0-9]*")) or os.path.exists("/dev/dxg")


def count():
    """GPUs of this rank's host: one a rank, unless the program hid them all."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return 0
    return max(1, int(os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("TROUPE_WORLD") or 1))


def current():
    return getattr(_current, "index", 0)


def make_current(index):
    _current.index = index


def is_cuda(device):
    """As device arguments are read: a number is a GPU's."""
    if isinstance(device, str):
        return device == "cuda" or device.startswith("cuda:")
    if isinstance(device, int):
        return not isinstance(device, bool)
    return getattr(device, "type", None) == "cuda"


def index_of(device=None):
    """The number of a GPU that is there; without a number (or a device) the current one."""
    import torch

    say_once()
    if device is None:
        return current()
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type == "cpu":  # what tensors on a GPU say here
            return current()
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        device = current() if device.index is None else device.index
        if -128 <= device < 0 and device + 256 < count():  # a torch.device keeps 8 bits, with a sign
            device += 256
    if not 0 <= device < count():
        raise RuntimeError(f"CUDA error: invalid device ordinal: cuda:{device} on a host of {count()} "
                           "(cuda is mapped to the CPU, one device for each rank of a host)")
    return device


def on_cpu(device):
    """Where it is instead: a GPU that is there becomes the CPU, anything else stays."""
    if not is_cuda(device):
        return device
    index_of(device)
    return "cpu"


def say_once():
    """The first rank says it for all, at the first use: a program may well not mean cuda at all."""
    global _said
    if _said or not client.connected():
        return
    _said = True
    if client.rank() == 0:
        sys.stderr.write("troupe: cuda is mapped to the CPU (no GPU is used): autocast computes in bfloat16, GradScaler and "
                         "torch.compile do nothing; `troupe run --cuda real` turns this off\n")
        sys.stderr.flush()


def refuse(what, why=""):
    raise NotImplementedError(f"{what} cannot be mapped from cuda to the CPU{why and ': ' + why} "
                              "(`troupe run --cuda real` leaves cuda alone)")
