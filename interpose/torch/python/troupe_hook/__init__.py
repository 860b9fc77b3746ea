"""troupe_hook: makes an unmodified program's torch speak to Troupe.

install() registers what is to be mended in which module; each module is mended right after its import, by small
functions of the files here. A launcher that forks ranks calls install(), imports what ranks share, forks, and calls
become_rank() in each child.
"""
import atexit
import os
import sys

from . import client, finder, launched, tensor_memory


def become_rank():
    """Connects as the rank the environment names and takes its slot (blocks until it has one).

    False in a process that is not to be a rank (the child of one). Ends the process when Troupe cannot be reached: the
    program must not run on as if it were alone.
    """
    status = client.connect()
    if status == 0:
        _entered()
        if launched.is_launched():
            launched.check_world()
        return True
    if status == client.USAGE:
        return False
    sys.stderr.write(f"troupe: {client.error()}\n")
    sys.stderr.flush()
    os._exit(1)


def _entered():
    tensor_memory.count_if_imported()
    atexit.register(_leave)  # first in, last out
    processes = sys.modules.get("multiprocessing.process")
    if processes and processes.parent_process() is not None:  # such a process runs no atexit
        from multiprocessing import util
        util.Finalize(None, _leave, exitpriority=0)


def _leave():
    """Says that the program ended in order; one that raised did not, and its exit status will tell."""
    if not hasattr(sys, "last_type"):
        client.leave()


def install_late():
    """For a process of a program that starts its ranks itself: it may yet say that it is one."""

    def became_rank():
        _entered()
        install()

    if launched.is_launched() and "TROUPE_RANK_PID" not in os.environ:
        launched.install_late(became_rank)


def install():
    """Registers the patches. Modules imported already are mended at once."""
    from . import cuda_as_cpu, debian, futures, markers, process_groups, stores

    for patches in (tensor_memory, stores, process_groups, futures, markers, debian, cuda_as_cpu):
        for module, patch in patches.PATCHES:
            finder.after_import(module, patch)
    for module, replacements in debian.SOURCES:
        finder.with_source(module, replacements)
    finder.install()
