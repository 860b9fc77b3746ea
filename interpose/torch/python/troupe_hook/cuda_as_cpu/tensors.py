"""Tensors: where they are made, and where they are moved.

A move to or from a GPU copies, so that writing to the one never changes the other: .cuda(), .to("cuda:1"), .cpu() and
.to("cpu") give a tensor of their own. Only a torch.device that says cpu does not tell such a move from none, since
tensor.device says cpu of every tensor.
"""
import functools
import inspect

from .devices import is_cuda, on_cpu, refuse

_FACTORIES = """
    arange asarray bartlett_window blackman_window empty empty_like empty_permuted empty_quantized empty_strided
    eye from_file full full_like hamming_window hann_window kaiser_window linspace logspace normal ones ones_like rand
    rand_like randint randint_like randn randn_like randperm range scalar_tensor sparse_bsc_tensor sparse_bsr_tensor
    sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices zeros
    zeros_like""".split()
_NEW = "new_empty new_empty_strided new_full new_ones new_tensor new_zeros new".split()


def _overridable(function):
    """Subclasses of Tensor and modes that override torch's functions are told which by identity: ours, as programs name it."""
    from torch.overrides import handle_torch_function, has_torch_function

    @functools.wraps(function)
    def called(*arguments, **named):
        if has_torch_function(arguments):
            return handle_torch_function(called, arguments, *arguments, **named)
        return function(*arguments, **named)

    return called


def _placing(function):
    """A function with device= and pin_memory= (some take the device as their third argument)."""

    @_overridable
    @functools.wraps(function)
    def placed(*arguments, **named):
        if named:
            device = named.get("device")
            if device is not None and is_cuda(device):
                named["device"] = on_cpu(device)
            if named.get("pin_memory"):
                named["pin_memory"] = False
        return function(*arguments, **named)

    return placed


def _replace(module, name, function):
    from torch.jit import _builtins

    scripted = _builtins._find_builtin(getattr(module, name))
    if scripted:  # TorchScript knows functions by identity
        _builtins._register_builtin(function, scripted)
    setattr(module, name, function)


def place_factories(torch):
    for module, names in ((torch, _FACTORIES), (torch.fft, ("fftfreq", "rfftfreq")),
                          (getattr(torch, "nested", None), ("nested_tensor", "as_nested_tensor"))):
        for name in names:
            if hasattr(module, name):
                _replace(module, name, _placing(getattr(module, name)))
    as_tensor = torch.as_tensor
    _replace(torch, "as_tensor", _overridable(functools.wraps(as_tensor)(
        lambda data, dtype=None, device=None: as_tensor(data, dtype=dtype, device=on_cpu(device)))))
    for name in _NEW:
        setattr(torch.Tensor, name, _placing(getattr(torch.Tensor, name)))


def move_tensors(torch):
    original_to, original_type = torch.Tensor.to, torch.Tensor.type

    @_overridable
    @functools.wraps(original_to)
    def to(self, *arguments, **named):
        device = named.get("device") if "device" in named else arguments[0] if arguments else None
        if device is None or not (is_cuda(device) or isinstance(device, str) and device == "cpu"):
            return original_to(self, *arguments, **named)
        device = on_cpu(device)
        if "device" in named:
            named["device"] = device
        else:
            arguments = (device, *arguments[1:])
        if len(arguments) > 3:  # device, dtype, non_blocking, copy
            arguments = arguments[:3]
        return original_to(self, *arguments, **{**named, "copy": True})

    @_overridable
    def cuda(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
        return to(self, "cuda" if device is None else device, non_blocking=non_blocking, memory_format=memory_format)

    @_overridable
    def cpu(self, memory_format=torch.preserve_format):
        return to(self, "cpu", memory_format=memory_format)

    @_overridable
    @functools.wraps(original_type)
    def as_type(self, dtype=None, *arguments, **named):
        if isinstance(dtype, str):
            dtype = dtype.replace("torch.cuda.", "torch.")
        return original_type(self, *([] if dtype is None else [dtype]), *arguments, **named)

    torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.type = to, cuda, cpu, as_type
    torch.Tensor.pin_memory = lambda self, device=None: self.clone()
    torch.Tensor.record_stream = lambda self, stream: None


def move_storages(torch):
    """In map_location's function, say."""

    def cuda(self, device=None, non_blocking=False, **_older):
        on_cpu("cuda" if device is None else device)
        return self.clone()

    for kind in {torch.storage._StorageBase, torch.UntypedStorage}:
        kind.cuda = cuda
        kind.pin_memory = lambda self, device=None: self.clone()


def load_to_cpu(torch):
    """What was saved from a GPU, or is to be loaded to one: torch asks this before its own for cuda (20)."""
    torch.serialization.register_package(
        15, lambda storage: None,
        lambda storage, location: storage if is_cuda(location) and on_cpu(location) else None)


def name_types(torch):
    """torch.cuda.FloatTensor and the like are the CPU's."""
    for name in dir(torch.cuda):
        if name.endswith(("Tensor", "Storage")) and hasattr(torch, name):
            setattr(torch.cuda, name, getattr(torch, name))
    original = torch.set_default_tensor_type
    torch.set_default_tensor_type = functools.wraps(original)(
        lambda kind: original(kind.replace("torch.cuda.", "torch.") if isinstance(kind, str) else kind))


def make_generators(torch):
    original = torch.Generator

    class _Kind(type(original)):
        def __instancecheck__(cls, instance):
            return isinstance(instance, original)

    class Generator(original, metaclass=_Kind):
        def __new__(cls, device="cpu"):
            return original(on_cpu(device))

    Generator.__doc__ = original.__doc__
    torch.Generator = Generator


def place_by_default(_device):
    """`with torch.device("cuda")`, or "meta", and torch.set_default_device, from torch 2 on.

    They know by identity the functions that they give a device to: ours, and torch's own where something calls them past ours.
    """
    original, constructors = _device.DeviceContext.__init__, _device._device_constructors
    _device.DeviceContext.__init__ = lambda self, device: original(self, _torch_device(on_cpu(device)))
    _device._device_constructors = functools.lru_cache(1)(
        lambda: constructors() | {inspect.unwrap(function) for function in constructors()})


def _torch_device(device):
    import torch
    return torch.device(device)


def refuse_the_rest(torch):
    """A call that is not mapped comes to this function to start CUDA; the program's line is what can be named."""
    import traceback

    def start():
        for frame in reversed(traceback.extract_stack()[:-1]):
            if "/troupe_hook/" not in frame.filename:
                refuse(f"{frame.filename}:{frame.lineno}: {frame.line}")

    torch.cuda._lazy_init = start


PATCHES = [("torch", patch) for patch in (place_factories, move_tensors, move_storages, load_to_cpu, name_types,
                                          make_generators, refuse_the_rest)]
PATCHES.append(("torch.utils._device", place_by_default))
