"""What training loops switch on: mixed precision, loss scaling, compilation, fused optimizers."""
import functools

from .devices import is_cuda


def autocast_in_bfloat16(torch):
    """The CPU has no float16 products and norms: what would be float16 is bfloat16. float32 means no autocast."""
    autocast = torch.amp.autocast_mode.autocast
    original = autocast.__init__

    @functools.wraps(original)
    def init(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if is_cuda(device_type):
            device_type, enabled = "cpu", enabled and dtype in (None, torch.float16, torch.bfloat16)
            dtype = torch.bfloat16
        original(self, device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    autocast.__init__ = init
    enabled, dtype_of = torch.is_autocast_enabled, torch.get_autocast_cpu_dtype

    def is_autocast_enabled(device_type="cuda"):
        return torch.is_autocast_cpu_enabled() if is_cuda(device_type) else enabled(device_type)

    torch.is_autocast_enabled = is_autocast_enabled
    torch.get_autocast_gpu_dtype = lambda: dtype_of()
    if hasattr(torch, "get_autocast_dtype"):
        any_dtype_of = torch.get_autocast_dtype
        torch.get_autocast_dtype = lambda kind: dtype_of() if is_cuda(kind) else any_dtype_of(kind)


def scale_nothing(torch):
    """bfloat16 has float32's range: a GradScaler that is off takes its place."""
    scaler = torch.cuda.amp.GradScaler
    for kind in scaler.__mro__:
        if "__init__" in vars(kind) and kind.__name__ == "GradScaler":
            original = kind.__init__

            def off(self, *arguments, _original=original, **named):
                _original(self, *arguments, **named)
                self._enabled = False

            kind.__init__ = functools.wraps(original)(off)


def compile_nothing(torch):
    """A compiler for cuda has nothing to compile for, and one for the CPU would meet devices that it does not map."""

    def compile(model=None, **_options):
        return (lambda function: function) if model is None else model

    torch.compile = compile
    if hasattr(torch.nn.Module, "compile"):
        torch.nn.Module.compile = lambda self, *_, **__: None


def step_unfused(optimizer):
    """Fused steps are CUDA's alone before torch 2.4; the same sums, one parameter at a time."""
    import torch

    if tuple(int(number) for number in torch.__version__.split("+")[0].split(".")[:2]) >= (2, 4):
        return
    for name in ("Adam", "AdamW"):
        kind = vars(optimizer).get(name)
        if kind is not None and kind.__module__ == optimizer.__name__:
            original = kind.__init__

            def init(self, *arguments, _original=original, **named):
                if named.get("fused"):
                    del named["fused"]
                _original(self, *arguments, **named)

            kind.__init__ = functools.wraps(original)(init)


PATCHES = [("torch", patch) for patch in (autocast_in_bfloat16, scale_nothing, compile_nothing)]
PATCHES += [(f"torch.optim.{name}", step_unfused) for name in ("adam", "adamw")]
