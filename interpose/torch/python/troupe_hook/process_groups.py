"""torch.distributed's process groups, over Troupe's backend, whichever of nccl, gloo and mpi the program names.

What torch decides (ranks, names, order of groups, checks of arguments) stays torch's; replaced are the classes it makes
a group of, and the barrier it polls.
"""
import functools
import inspect

from . import client
from .extension import c10d_module


class _Creation:
    """The group that torch is about to make: its helper knows the ranks, the class it calls does not."""
    ranks = ()
    name = description = store = None
    met_over = None  # the store over which all ranks have met already, in this initialisation


def _has_backends(c10d):
    """Since torch 2 a process group holds a backend for each device."""
    return hasattr(c10d, "BackendConfig")


class _Replacement(type):
    """A class that makes our backend when called; `asked` is what the program calls it by.

    Before torch 2 nothing is an instance of it: torch asks "is it a ProcessGroupNCCL?" only to put object collectives and
    barriers on a GPU. Since then it asks to be sure of what it made.
    """
    asked = None

    def __instancecheck__(cls, instance):
        ours = c10d_module().backend
        return ours.is_per_device and isinstance(instance, ours) and instance.asked == cls.asked


def replace_gloo(c10d):
    """ProcessGroupGloo(store, rank, size, timeout=…)."""

    class ProcessGroupGloo(metaclass=_Replacement):
        asked = "gloo"

        def __new__(cls, store, rank, size, timeout=c10d.default_pg_timeout, **_newer):
            return _make(c10d, "gloo", store, rank, size, timeout)

    _keep_members(ProcessGroupGloo, getattr(c10d, "ProcessGroupGloo", None))
    c10d.ProcessGroupGloo = ProcessGroupGloo
    c10d._GLOO_AVAILABLE = True


def replace_nccl(c10d):
    """ProcessGroupNCCL(store, rank, size, options), whether or not torch was built with NCCL."""

    class Options:
        def __init__(self, is_high_priority_stream=False):
            self.is_high_priority_stream = is_high_priority_stream
            self._timeout = c10d.default_pg_timeout

    class ProcessGroupNCCL(metaclass=_Replacement):
        asked = "nccl"

        def __new__(cls, store, rank, size, options=None, *_, **named):
            timeout = getattr(options, "_timeout", named.get("timeout", c10d.default_pg_timeout))
            return _make(c10d, "nccl", store, rank, size, timeout)

    ProcessGroupNCCL.Options = Options
    _keep_members(ProcessGroupNCCL, getattr(c10d, "ProcessGroupNCCL", None))
    c10d.ProcessGroupNCCL = ProcessGroupNCCL
    c10d._NCCL_AVAILABLE = True
    _export(c10d, "ProcessGroupNCCL")


def _keep_members(replacement, original):
    """Programs ask the class for its options and constants: torch's own, where it has them."""
    for name in dir(original) if original is not None else ():
        value = getattr(original, name)
        if not name.startswith("_") and (isinstance(value, type) or not callable(value)):
            setattr(replacement, name, value)


def replace_mpi(c10d):
    """ProcessGroupMPI.create(ranks): ranks and world are the run's; None for who is not a member."""

    class ProcessGroupMPI(metaclass=_Replacement):
        asked = "mpi"

        @staticmethod
        def create(ranks):
            members = list(ranks) or list(range(client.world()))
            if client.rank() not in members:
                return None
            return c10d_module().make_backend(
                members, members.index(client.rank()), "mpi", _group_name(c10d),
                c10d.default_pg_timeout)

    c10d.ProcessGroupMPI = ProcessGroupMPI
    c10d._MPI_AVAILABLE = True
    _export(c10d, "ProcessGroupMPI")


def register_by_name(c10d):
    """Newer versions of torch make every backend by a function registered for its name, their own ones too."""
    if not hasattr(c10d, "_register_builtin_gloo_backend"):
        return
    types = c10d.ProcessGroup.BackendType

    def creator(rules):
        def create(options, _backend_options):
            if rules == "mpi":
                return c10d.ProcessGroupMPI.create(options.global_ranks_in_group)
            return _make(c10d, rules, options.store, options.group_rank, options.group_size, options.timeout)

        return create

    # Not GLOO: DDP's logger takes what is called so for a ProcessGroupGloo, and reads its threads out of it.
    for name, rules, kind in (("gloo", "gloo", types.CUSTOM), ("nccl", "nccl", types.NCCL), ("mpi", "mpi", types.MPI),
                              ("nccl-legacy", "nccl", types.CUSTOM), ("nccl2", "nccl", types.CUSTOM),
                              ("nccl-lazy", "nccl", types.CUSTOM)):
        c10d.Backend.register_backend(
            name, creator(rules), extended_api=True, devices=["cpu", "cuda"], _backend_type=kind)


def serve_host_memory(c10d):
    """The ranks' memory is the host's: whatever devices a group is for, its backend takes tensors on the CPU."""
    if not _has_backends(c10d):
        return
    import torch

    if hasattr(c10d.Backend, "backend_capability"):
        c10d.Backend.backend_capability["nccl"] = ["cpu", "cuda"]
    original = c10d._new_process_group_helper

    @functools.wraps(original)
    def helper(*arguments, **named):
        made = original(*arguments, **named)
        group = made[0]
        if isinstance(group, c10d.ProcessGroup):
            devices = group._device_types
            if devices and torch.device("cpu") not in devices:
                group._register_backend(
                    torch.device("cpu"), c10d.ProcessGroup.BackendType.CUSTOM, group._get_backend(devices[0]))
        return made

    c10d._new_process_group_helper = helper


class Splits:
    """What is left of ncclCommSplit: groups are made anew, but one that NCCL would split off another has to wait until every
    rank of that other one takes part, members or not."""
    bound = False  # the default group is bound to a device: its groups are split off it
    _meetings = {}  # ranks of the group to split -> ours, in which they meet

    @classmethod
    def take_part(cls, c10d, ranks, name):
        """The run's ranks of the group that is split, in its order. The work that is done when all take part."""
        meeting = cls._meetings.get(tuple(ranks))
        if meeting is None:
            meeting = cls._meetings[tuple(ranks)] = c10d_module().make_backend(
                ranks, ranks.index(client.rank()), "nccl", f"{name}, in ncclCommSplit", c10d.default_pg_timeout)
        return meeting.barrier()


def split_with_everyone(c10d):
    """new_group of a world bound to a device (device_id=), and split_group."""
    if not hasattr(c10d, "_get_split_source"):
        return
    c10d._get_split_source = lambda *_, **__: None
    original = c10d._new_process_group_helper
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def helper(*arguments, **named):
        given = parameters.bind(*arguments, **named).arguments
        ranks = given["global_ranks_in_group"]
        if not ranks:  # the default group; a map of devices may have taken the device away
            Splits.bound = Splits.bound or given.get("device_id") is not None
        elif Splits.bound and "nccl" in str(given["backend"]):
            taken_part = Splits.take_part(c10d, _world_members, "world")
            if c10d.get_rank() in ranks:
                taken_part.wait()
        return original(*arguments, **named)

    c10d._new_process_group_helper = helper
    _forget_binding(c10d)
    if hasattr(c10d, "split_group"):
        _split_group_with_everyone(c10d)


def _forget_binding(c10d):
    original = c10d.destroy_process_group

    @functools.wraps(original)
    def destroy(*arguments, **named):
        original(*arguments, **named)
        Splits.bound = Splits.bound and c10d.is_initialized()

    c10d.destroy_process_group = destroy


def _split_group_with_everyone(c10d):
    original = c10d.split_group
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def split_group(*arguments, **named):
        parent = parameters.bind(*arguments, **named).arguments.get("parent_pg") or c10d._get_default_group()
        made = original(*arguments, **named)
        if c10d.get_backend(parent) == "nccl":
            ranks = [_world_members[rank] for rank in c10d.get_process_group_ranks(parent)]
            name = "world" if parent is c10d._get_default_group() else f"group {parent.group_name}"
            taken_part = Splits.take_part(c10d, ranks, name)
            if made is not c10d.GroupMember.NON_GROUP_MEMBER:
                taken_part.wait()
        return made

    c10d.split_group = split_group


def _export(c10d, name):
    if name not in c10d.__all__:
        c10d.__all__.append(name)


def note_ranks(c10d):
    """_new_process_group_helper is given the ranks of the group (none: the whole world)."""
    original = c10d._new_process_group_helper
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def helper(*arguments, **named):
        given = parameters.bind(*arguments, **named)
        given.apply_defaults()
        _Creation.ranks = given.arguments["global_ranks_in_group"]
        _Creation.name = given.arguments["group_name"]
        _Creation.description = given.arguments.get("group_desc")
        _Creation.store = given.arguments.get("store")
        return original(*arguments, **named)

    c10d._new_process_group_helper = helper


def _group_name(c10d):
    """For sentences: torch 2 numbers every group, the world too, and knows what some are for."""
    if not _Creation.ranks:
        return "world"
    if _Creation.description not in (None, "", "undefined"):
        return str(_Creation.description)
    return f"group {_Creation.name or c10d._group_count - 1}"


_world_members = []  # of the default group: the run's rank of each of its ranks


def _make(c10d, backend, store, rank, size, timeout):
    if not _Creation.ranks:
        _world_members[:] = _exchange_members(store, rank, size)
        _Creation.met_over = _Creation.store
    members = [_world_members[other] for other in _Creation.ranks] or _world_members
    return c10d_module().make_backend(members, rank, backend, _group_name(c10d), timeout)


def _exchange_members(store, rank, size):
    """Programs number their ranks as they like: who is who is settled over the store, once an init.

    Usually everyone is who the environment says, and one key tells so.
    """
    me = client.rank()
    entered = store.add("troupe/entered", 1)
    place = f"troupe/{(entered - 1) // size}"  # the store may be older than this init
    if rank != me:
        store.add(f"{place}/rank/{rank}", me + 1)
    arrived = store.add(f"{place}/arrived", 1 if rank == me else 1 + (1 << 32))
    if arrived & 0xFFFFFFFF == size:
        members = []
        if arrived >> 32:  # a key that nobody added to counts 0
            said = [store.add(f"{place}/rank/{other}", 0) for other in range(size)]
            members = [one - 1 if one else other for other, one in enumerate(said)]
        store.set(f"{place}/members", ",".join(map(str, members)) or "as numbered")
    found = store.get(f"{place}/members").decode()
    return list(range(size)) if found == "as numbered" else [int(one) for one in found.split(",")]


def wait_in_barrier(c10d):
    """_store_based_barrier polls add(key, 0) every 10 ms; the last to come wakes the others instead.

    The one that ends an initialisation would be the second meeting of all ranks, and is left out.
    """
    parameters = inspect.signature(c10d._store_based_barrier)

    def barrier(*arguments, **named):
        given = parameters.bind(*arguments, **named).arguments
        store = given["store"]
        if store is _Creation.met_over:
            _Creation.met_over = None
            return
        size = given.get("rendezvous_count", None) or c10d.get_world_size()
        name = given.get("group_name", None) or c10d._group_count
        key = f"{c10d.STORE_BASED_BARRIER_PREFIX}:{name}"
        arrived = store.add(key, 1)
        done = f"{key}:{(arrived - 1) // size}:done"
        if arrived % size == 0:
            store.set(done, "")
        store.wait([done], given["timeout"])

    c10d._store_based_barrier = barrier


def leave_checks_to_troupe(c10d):
    """TORCH_DISTRIBUTED_DEBUG=DETAIL wraps groups in a gloo helper; Troupe compares every rank's call anyway."""
    if hasattr(c10d, "_create_process_group_wrapper"):
        c10d._create_process_group_wrapper = lambda wrapped_pg, *_, **__: wrapped_pg


PATCHES = [
    ("torch.distributed.distributed_c10d", patch)
    for patch in (replace_gloo, replace_nccl, replace_mpi, register_by_name, serve_host_memory, note_ranks,
                  split_with_everyone, wait_in_barrier, leave_checks_to_troupe)
]
