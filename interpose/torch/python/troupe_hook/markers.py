"""Where iterations end, in the program's own words: the end of a backward pass and of an optimizer's step."""
import functools
import threading

from . import client

_depth = threading.local()


def _marking(function, kind):
    """Marks when the outermost call returns: checkpoints run a backward in a backward, optimizers call super().step()."""
    name = f"of_{kind}"

    @functools.wraps(function)
    def marked(*arguments, **named):
        depth = getattr(_depth, name, 0)
        setattr(_depth, name, depth + 1)
        try:
            returned = function(*arguments, **named)
        finally:
            setattr(_depth, name, depth)
        if depth == 0 and client.connected():
            client.mark(kind)
        return returned

    marked.troupe_marks = True
    return marked


def mark_backward(autograd):
    """Tensor.backward calls torch.autograd.backward too."""
    autograd.backward = _marking(autograd.backward, client.BACKWARD_END)


def mark_steps(optimizer):
    """Before torch 2 there is no hook for every optimizer: step is wrapped where torch's profiler wraps it."""
    if hasattr(optimizer, "register_optimizer_step_post_hook"):
        optimizer.register_optimizer_step_post_hook(
            lambda *_: client.mark(client.OPTIMIZER_STEP) if client.connected() else None)
        return
    original = optimizer.Optimizer._hook_for_profile

    @functools.wraps(original)
    def hook(self):
        original(self)
        if not hasattr(self.__class__.step, "troupe_marks"):
            self.__class__.step = _marking(self.__class__.step, client.OPTIMIZER_STEP)

    optimizer.Optimizer._hook_for_profile = hook


PATCHES = [
    ("torch.autograd", mark_backward),
    ("torch.optim.optimizer", mark_steps),
]
