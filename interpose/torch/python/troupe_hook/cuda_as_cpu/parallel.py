"""Where torch's data parallelism and its process groups are told a device."""
import functools
import inspect

from ..process_groups import Splits
from .devices import count, index_of, is_cuda, on_cpu, refuse

_meshes_on_cuda = False


def meshes_on_cuda():
    """Whether the program made a device mesh for cuda: it is said to be on the CPU."""
    return _meshes_on_cuda


def without_device_ids(ddp):
    """DDP(module, device_ids=[1], output_device=1): a module in host memory takes none."""
    kind = ddp.DistributedDataParallel
    original = kind.__init__
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def init(*arguments, **named):
        given = parameters.bind(*arguments, **named)
        ids = given.arguments.get("device_ids")
        if ids is not None and len(ids) <= 1:  # more are torch's to refuse
            for device in ids:
                index_of(device)
            given.arguments["device_ids"] = None
            given.arguments["output_device"] = None
        original(*given.args, **given.kwargs)

    kind.__init__ = init


def without_replicas(data_parallel):
    """torch.nn.DataParallel: one process for all GPUs. On one GPU it is the module itself."""
    kind = data_parallel.DataParallel
    original = kind.__init__

    @functools.wraps(original)
    def init(self, module, device_ids=None, output_device=None, dim=0):
        if count() > 1 and (device_ids is None or len(device_ids) > 1):
            refuse("torch.nn.DataParallel over several devices", "use DistributedDataParallel")
        original(self, module, device_ids, output_device, dim)
        self.device_ids = []

    kind.__init__ = init


class _Unexamined(list):
    """Parameters of which FSDP does not ask whether they are on the CPU: it looks at them only where there are any."""

    def __bool__(self):
        return False


def compute_on_cpu(fsdp):
    """FSDP of torch before 2: its device, and where it moves inputs."""
    import torch

    kind = fsdp.FullyShardedDataParallel
    if not hasattr(kind, "_get_compute_device"):
        return

    def given(self, device_id):
        if device_id is not None:
            on_cpu(device_id)
        return torch.device("cpu")

    kind._get_device_from_device_id = given
    kind._get_compute_device = lambda self, *_: torch.device("cpu")
    original = kind._sync_module_states
    kind._sync_module_states = lambda self, module, params: original(self, module, _Unexamined(params))
    fsdp._to_kwargs = lambda inputs, named, *_: ((inputs,), (named,))


def shard_on_cpu(init_utils):
    """The same for FSDP of torch 2."""
    import torch

    def given(device_id, *_, **__):
        if device_id is not None:
            on_cpu(device_id)
        return torch.device("cpu")

    init_utils._get_device_from_device_id = given
    init_utils._get_compute_device = lambda *_, **__: torch.device("cpu")
    init_utils._check_module_states_for_sync_module_states = lambda module_states: None


def bind_to_no_device(c10d):
    """init_process_group(device_id=…), new_group(device_id=…), barrier(device_ids=…)."""
    for name in ("init_process_group", "new_group", "barrier"):
        original = getattr(c10d, name)
        for argument in ("device_id", "device_ids"):
            if argument in inspect.signature(original).parameters:
                setattr(c10d, name, _without(original, argument))


def _without(original, argument):
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def called(*arguments, **named):
        given = parameters.bind(*arguments, **named)
        devices = given.arguments.pop(argument, None)
        if devices is not None:
            for device in devices if isinstance(devices, (list, tuple)) else [devices]:
                on_cpu(device)
            if original.__name__ == "init_process_group":
                Splits.bound = True
        return original(*given.args, **given.kwargs)

    return called


def mesh_of_hosts(mesh):
    """init_device_mesh("cuda", …), from torch 2.2 on."""
    for holder, name in ((mesh, "init_device_mesh"), (getattr(mesh, "DeviceMesh", None), "__init__")):
        if holder is None or not hasattr(holder, name):
            continue
        original = getattr(holder, name)
        parameters = inspect.signature(original)

        def made(*arguments, _original=original, _parameters=parameters, **named):
            global _meshes_on_cuda
            given = _parameters.bind(*arguments, **named)
            kind = given.arguments["device_type"]
            _meshes_on_cuda = _meshes_on_cuda or is_cuda(kind)
            given.arguments["device_type"] = on_cpu(kind)
            return _original(*given.args, **given.kwargs)

        setattr(holder, name, functools.wraps(original)(made))


PATCHES = [
    ("torch.nn.parallel.distributed", without_device_ids),
    ("torch.nn.parallel.data_parallel", without_replicas),
    ("torch.distributed.fsdp.fully_sharded_data_parallel", compute_on_cpu),
    ("torch.distributed.fsdp._init_utils", shard_on_cpu),
    ("torch.distributed.distributed_c10d", bind_to_no_device),
    ("torch.distributed.device_mesh", mesh_of_hosts),
]
