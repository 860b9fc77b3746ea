"""torch.cuda's functions: what can be answered is, what is left of torch.cuda refuses by its name."""
import functools
import os
import types

from .. import tensor_memory
from . import devices
from .devices import count, index_of, refuse

_CAPABILITY = (8, 0)  # the oldest that has bfloat16: nothing newer is promised
_CUDA_VERSION, _NCCL_VERSION = "12.1", (2, 18, 1)
_NAME = "CPU (cuda mapped by Troupe)"


def map_devices(torch):
    class device:
        """`with torch.cuda.device(1)`; None or a negative number leaves the current one."""

        def __init__(self, device):
            none = device is None or isinstance(device, int) and device < 0
            self.idx, self.prev_idx = -1 if none else index_of(device), -1

        def __enter__(self):
            self.prev_idx = devices.current()
            if self.idx >= 0:
                devices.make_current(self.idx)

        def __exit__(self, *how):
            devices.make_current(self.prev_idx)

    def set_device(device):
        if not (isinstance(device, int) and device < 0):
            devices.make_current(index_of(device))

    def get_device_capability(device=None):
        index_of(device)
        return _CAPABILITY

    def get_device_name(device=None):
        index_of(device)
        return _NAME

    def get_device_properties(device=None):
        index_of(device)
        return types.SimpleNamespace(
            name=_NAME, major=_CAPABILITY[0], minor=_CAPABILITY[1], total_memory=_memory()[1],
            multi_processor_count=os.cpu_count(), max_threads_per_multi_processor=1, warp_size=1, is_integrated=True,
            is_multi_gpu_board=False, regs_per_multiprocessor=0, gcnArchName="")

    def can_device_access_peer(device, peer_device):
        return index_of(device) != index_of(peer_device)

    _set(torch.cuda, locals(), except_for="torch")
    _set(torch.cuda, {
        "is_available": lambda: count() > 0,
        "device_count": count,
        "_device_count_nvml": count,
        "current_device": lambda: index_of(),
        "device_of": lambda tensor: device(None),  # tensors are on the cpu
        "is_initialized": lambda: True,
        "init": lambda: None,
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: True,
        "is_current_stream_capturing": lambda: False,
        "synchronize": _nothing,
        "ipc_collect": lambda: None,
        "get_arch_list": lambda: [],
        "get_gencode_flags": lambda: "",
        "get_sync_debug_mode": lambda: 0,
        "set_sync_debug_mode": lambda debug_mode: None,
    })
    torch.version.cuda = torch.version.cuda or _CUDA_VERSION
    torch.cuda.nccl.version = lambda: _NCCL_VERSION
    _set(torch.cuda.nvtx, {"range_push": lambda *_, **__: 0, "range_pop": lambda: 0, "mark": lambda *_, **__: None,
                           "range_start": lambda *_, **__: 0, "range_end": lambda *_: None})
    _set(torch.cuda.profiler, {"start": lambda: None, "stop": lambda: None, "init": lambda *_, **__: None})


def _nothing(device=None):
    if device is not None:
        index_of(device)


def map_memory(torch):
    """What the rank's CPU tensors hold; where they are not counted, the process' resident memory."""

    def mem_get_info(device=None):
        index_of(device)
        return _memory()

    def memory_summary(device=None, abbreviated=False):
        what = "CPU tensors of the rank" if tensor_memory.account() else "resident memory of the process"
        return f"{what}: {held(device) >> 20} MiB, at most {most(device) >> 20} MiB"

    def held(device=None):
        _nothing(device)
        account = tensor_memory.account()
        return account.tensor_bytes() if account else _process_bytes("VmRSS")

    def most(device=None):
        _nothing(device)
        account = tensor_memory.account()
        return account.tensor_bytes_peak() if account else _process_bytes("VmHWM")

    def reset_most(device=None):
        _nothing(device)
        account = tensor_memory.account()
        if account:
            account.reset_tensor_peak()

    def statistics(device=None):
        account = tensor_memory.account()
        kinds = {"current": held(device), "peak": most(device)}
        return {f"{what}_bytes.all.{kind}": value for what in ("allocated", "reserved", "active")
                for kind, value in kinds.items()} | {
                    "num_alloc_retries": 0, "num_ooms": account.tensor_refusals() if account else 0}

    def set_per_process_memory_fraction(fraction, device=None):
        index_of(device)
        account = tensor_memory.account()
        if not account:
            refuse("torch.cuda.set_per_process_memory_fraction", "tensors are not counted")
        if not isinstance(fraction, float):
            raise TypeError("Invalid type for fraction argument, must be `float`")
        if not 0 <= fraction <= 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        account.limit_tensors(max(1, int(fraction * _memory()[1])))

    figures = {name: held for name in ("memory_allocated", "memory_reserved", "memory_cached")}
    figures.update({f"max_{name}": most for name in tuple(figures)})
    figures.update({name: reset_most for name in (
        "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached")})
    figures.update({
        "mem_get_info": mem_get_info, "memory_summary": memory_summary, "memory_stats": statistics,
        "empty_cache": lambda: None, "list_gpu_processes": lambda device=None: "no GPU processes",
        "reset_accumulated_memory_stats": _nothing,
        "set_per_process_memory_fraction": set_per_process_memory_fraction,
    })
    _set(torch.cuda, figures)
    _set(torch.cuda.memory, figures)


def _process_bytes(field):
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


def _memory():
    """Free and in all: of the rank's capacity if it has one, else of the machine."""
    account, capacity = tensor_memory.account(), tensor_memory.capacity()
    if account and capacity:
        return capacity - account.tensor_bytes(), capacity
    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page


def map_randomness(torch):
    """One generator draws for the CPU and for the GPU that it stands for: seeds and states of the two are one."""
    default = torch.default_generator

    def manual_seed(seed):
        default.manual_seed(int(seed))

    def get_rng_state(device="cuda"):
        index_of(device)
        return default.get_state()

    def set_rng_state(new_state, device="cuda"):
        index_of(device)
        default.set_state(new_state)

    def seed():
        default.seed()

    mapped = {
        "manual_seed": manual_seed, "manual_seed_all": manual_seed, "seed": seed, "seed_all": seed,
        "initial_seed": default.initial_seed, "get_rng_state": get_rng_state, "set_rng_state": set_rng_state,
        "get_rng_state_all": lambda: [default.get_state() for _ in range(count())],
        "set_rng_state_all": lambda new_states: set_rng_state(list(new_states)[devices.current()]),
    }
    _set(torch.cuda, mapped)
    _set(torch.cuda.random, mapped)

    class Generators:
        """torch.cuda.default_generators: as long as there are devices."""

        def __len__(self):
            return count()

        def __getitem__(self, index):
            index_of(index)
            return default

    torch.cuda.default_generators = Generators()


def map_accelerator(torch):
    """torch.accelerator, from torch 2.6 on: the same under names that do not say cuda."""
    cuda, accelerator = torch.cuda, getattr(torch, "accelerator", None)
    for name in ("_get_accelerator", "_accelerator_getAccelerator"):  # a torch built without CUDA has none
        if hasattr(torch._C, name):
            setattr(torch._C, name, lambda *_: torch.device("cuda"))
    if not accelerator:
        return

    def get_device_capability(device=None):
        index_of(device)
        return {"supported_dtypes": {value for value in vars(torch).values() if isinstance(value, torch.dtype)}}

    memory = "empty_cache memory_allocated memory_reserved max_memory_allocated max_memory_reserved memory_stats " \
             "reset_peak_memory_stats reset_accumulated_memory_stats"
    memory = {name: getattr(cuda, name) for name in memory.split()}
    memory.update({"get_memory_info": cuda.mem_get_info, "empty_host_cache": lambda: None})
    same = "is_available device_count synchronize current_stream set_stream"
    mapped = {**memory, **{name: getattr(cuda, name) for name in same.split()}}
    mapped.update({
        "current_accelerator": lambda check_available=False: (
            torch.device("cuda") if count() or not check_available else None),
        "current_device_index": cuda.current_device, "current_device_idx": cuda.current_device,
        "set_device_index": cuda.set_device, "set_device_idx": cuda.set_device,
        "device_index": cuda.device, "get_device_capability": get_device_capability,
        "Graph": _refusing("torch.accelerator.Graph", getattr(accelerator, "Graph", object)),
    })
    for holder, names in ((accelerator, mapped), (getattr(accelerator, "memory", None), memory)):
        _set(holder, {name: what for name, what in names.items() if hasattr(holder, name)})


_KEPT = """check_error classproperty cudaStatus CudaError DeferredCudaCallError OutOfMemoryError AcceleratorError
           Device StreamContext lru_cache NewType Any cast""".split()


def refuse_the_rest(torch):
    """Whatever torch.cuda has besides, in this torch or a later one. After all that is mapped."""
    for name, value in list(vars(torch.cuda).items()):
        own = (getattr(value, "__module__", None) or "").startswith(("torch.cuda", "torch._C"))
        if own and callable(value) and not name.startswith("_") and name not in _KEPT:
            if not name.endswith(("Tensor", "Storage")):
                setattr(torch.cuda, name, _refusing(f"torch.cuda.{name}", value))


def _refusing(name, value):
    def refused(*_, **__):
        refuse(name)

    if isinstance(value, type):
        return type(value.__name__, (), {"__init__": refused, "__doc__": value.__doc__})
    return functools.wraps(value)(refused)


def _set(module, functions, except_for=""):
    for name, function in functions.items():
        if name != except_for and (hasattr(module, name) or not name.startswith("_")):
            setattr(module, name, function if isinstance(function, type) else _own(function, name))


def _own(function, name):
    """A function of its own for each name: torch 2's compiler tells functions apart by identity."""
    def called(*arguments, **named):
        return function(*arguments, **named)

    called.__name__ = called.__qualname__ = name
    return called


PATCHES = [("torch", patch) for patch in (map_devices, map_memory, map_randomness, map_accelerator,
                                          refuse_the_rest)]
