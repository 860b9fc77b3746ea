"""Programs that start their ranks themselves: torchrun, mpirun, torch.multiprocessing, and whatever else makes processes.

A process is a rank from its start where its launcher has numbered it (RANK); otherwise when it first calls
init_process_group, with the rank that it gives there. Until then torch's own stores serve it: a launcher's agent needs them.
What the program says of its world must be the run's.
"""
import inspect
import os
import sys
import urllib.parse

from . import client, finder


def is_launched():
    return "TROUPE_NOTICES" in os.environ


def check_world():
    """Of a process whose launcher has told it: ends it when the run has another number of ranks."""
    for name in ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        if name in os.environ:
            wrong = _disagreement(client.rank(), os.environ[name], name)
            if wrong:
                sys.stderr.write(f"troupe: {wrong}\n")
                sys.stderr.flush()
                os._exit(1)
            return


def _disagreement(rank, world, who):
    if str(client.world()) == str(world):
        return ""
    return (f"rank {rank} is told of {world} ranks ({who}), but the run has {client.world()}: "
            "`troupe run --world` is to say how many the program starts")


def install_late(became_rank):
    """In a process that may become a rank: what is mended before it is one, and the moment when it is."""
    from . import cuda_as_cpu, debian

    for module, patch in debian.PATCHES + cuda_as_cpu.PATCHES:
        finder.after_import(module, patch)
    for module, replacements in debian.SOURCES:
        finder.with_source(module, replacements)
    finder.after_import("torch.distributed.distributed_c10d", lambda c10d: _become_rank_at_init(c10d, became_rank))
    finder.install()


def _become_rank_at_init(c10d, became_rank):
    original = c10d.init_process_group
    parameters = inspect.signature(original)

    def init_process_group(*arguments, **named):
        if not client.connected():
            rank, world = _numbers(parameters.bind(*arguments, **named).arguments)
            if rank is not None:
                _connect(rank, world)
                became_rank()
                c10d.rendezvous = sys.modules["torch.distributed.rendezvous"].rendezvous
        return original(*arguments, **named)

    init_process_group.__doc__ = original.__doc__
    init_process_group.__signature__ = parameters
    c10d.init_process_group = init_process_group


def _numbers(given):
    """Rank and world as init_process_group finds them; (None, None) where it will complain itself."""
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(str(given.get("init_method") or "")).query)
    found = []
    for argument, variables in (("rank", ("RANK", "OMPI_COMM_WORLD_RANK")),
                                ("world_size", ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"))):
        values = [given.get(argument, -1), *query.get(argument, [])]
        values += [os.environ[name] for name in variables if name in os.environ]
        found.append(next((int(value) for value in values if int(value) >= 0), None))
    return tuple(found)


def _connect(rank, world):
    before = os.environ.get("RANK")
    os.environ["RANK"] = str(rank)  # where the client library looks
    try:
        status = client.connect()
    finally:
        if before is None:
            del os.environ["RANK"]
        else:
            os.environ["RANK"] = before
    if status != 0:
        raise RuntimeError(f"troupe: {client.error()}")
    if world is not None:
        wrong = _disagreement(rank, world, "init_process_group")
        if wrong:
            raise RuntimeError(wrong)
