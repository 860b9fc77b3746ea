"""Futures as programs use them in Python: made of others with then(), polled with done(), awaited with wait()."""
from .extension import c10d_module


def watch_children(_distributed):
    """Future.then: DDP waits in C++ for the future that a Python comm hook made of the operation's."""
    import torch

    original = torch._C.Future.then

    def then(self, callback):
        child = original(self, callback)
        c10d_module().watch_child(self, child)
        return child

    then.__doc__ = original.__doc__
    torch._C.Future.then = then


def watch_collected(_distributed):
    """torch.futures.collect_all and wait_all: one future for several."""
    import torch

    original = torch._C._collect_all

    def collect_all(futures):
        child = original(futures)
        for parent in futures:
            c10d_module().watch_child(parent, child)
        return child

    torch._C._collect_all = collect_all


def yield_when_polled(_distributed):
    """Future.done: a rank that polls lets those run for whom it waits."""
    import torch

    original = torch._C.Future.done

    def done(self):
        return original(self) or (c10d_module().others_first(self) and original(self))

    done.__doc__ = original.__doc__
    torch._C.Future.done = done


def wait_for_operation(_distributed):
    """Future.wait: awaits the operations first, so that it works in a callback too, in the thread that reads answers."""
    import torch

    original = torch._C.Future.wait

    def wait(self):
        c10d_module().await_operations(self)
        return original(self)

    wait.__doc__ = original.__doc__
    torch._C.Future.wait = wait


PATCHES = [
    ("torch.distributed", patch)
    for patch in (watch_children, watch_collected, yield_when_polled, wait_for_operation)
]
