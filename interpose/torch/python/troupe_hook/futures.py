"""Futures that programs make of others with then(): DDP waits in C++ for what a Python comm hook returned."""
from .extension import c10d_module


def watch_children(_distributed):
    """torch._C.Future.then: the new future is waited for in place of the old one."""
    import torch

    original = torch._C.Future.then

    def then(self, callback):
        child = original(self, callback)
        c10d_module().watch_child(self, child)
        return child

    then.__doc__ = original.__doc__
    torch._C.Future.then = then


PATCHES = [("torch.distributed", watch_children)]
