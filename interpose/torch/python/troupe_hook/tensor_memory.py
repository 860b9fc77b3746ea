"""What a rank's tensors hold on the CPU: counted from the import of torch on, and limited by `troupe run --tensor-memory`.

The account is the c10d backend's (interpose/torch/counted_allocator.hpp): without one nothing is counted.
"""
import os
import sys

from . import client, extension

_counting = False


def capacity():
    """Of a rank, in bytes; 0: none."""
    return int(os.environ.get("TROUPE_TENSOR_MEMORY") or 0)


def count_if_imported():
    """For a process that becomes a rank with torch in it."""
    if "torch" in sys.modules:
        count(sys.modules["torch"])


def count(torch):
    global _counting
    if _counting or not client.connected():
        return
    why_not = extension.missing()
    if why_not and not capacity():
        return
    if why_not:
        raise ImportError(f"--tensor-memory needs the backend, which counts what tensors hold: {why_not}")
    from .cuda_as_cpu import devices

    try:
        allocator = extension.c10d_module().count_tensors(capacity(), devices.mapped())
    except RuntimeError:
        if capacity():
            raise
        return
    _count_storages(torch, allocator)
    _counting = True


def account():
    """The module that has the figures, or None where nothing is counted."""
    return extension.c10d_module() if _counting else None


def _count_storages(torch, allocator):
    """Storages made in Python (copy.deepcopy of a tensor does) ask for torch's own allocator by its name."""
    original, kind = torch.UntypedStorage.__new__, torch.UntypedStorage

    def new(cls, *arguments, device=None, **named):
        if named or device is not None and torch.device(device).type != "cpu":
            return original(cls, *arguments, **named, **({} if device is None else {"device": device}))
        return original(cls, *arguments, allocator=allocator)

    kind.__new__ = staticmethod(new)


PATCHES = [("torch", count)]
