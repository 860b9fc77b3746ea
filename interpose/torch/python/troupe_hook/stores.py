"""torch's TCPStore and FileStore, over the run's store: every wait for a key lets other ranks run.

The address or the file keeps apart what would be different servers. A native store's server ends with the process group
it was made for; so the n-th rendezvous of a process at an address has keys of its own.
"""
import os
import socket
import sys
import threading
from datetime import timedelta

from .extension import c10d_module

_rendezvous = threading.local()  # .ordinal while a rendezvous makes its store
_met = {}  # rendezvous URL without its query -> how often


def _host(name):
    """One name for all that mean this machine."""
    if name in ("localhost", "::1", "0.0.0.0", socket.gethostname()) or name.startswith("127."):
        return "localhost"
    return name


def _name(kind, address):
    ordinal = getattr(_rendezvous, "ordinal", 0)
    return f"{kind}/{address}/{ordinal}" if ordinal else f"{kind}/{address}"


def _chosen_port(port):
    """Port 0 asks for one nobody uses."""
    if port != 0:
        return port
    ports = c10d_module().store("troupe/ports", timedelta(seconds=300))
    return 32768 + ports.add("next", 1) % 28000


def _base():
    """What our stores derive from; without a backend for this torch whoever makes a store learns why."""
    try:
        return c10d_module().store
    except ImportError as why:
        sentence = str(why)

    class Refusing:
        def __init__(self, *_, **__):
            raise ImportError(sentence)

    return Refusing


def make_tcp_store():
    base = _base()

    class TCPStore(base):
        """torch.distributed.TCPStore without a server: all ranks reach the run's store."""

        def __init__(self, host_name, port, world_size=None, is_master=False,
                     timeout=timedelta(seconds=300), wait_for_workers=True, multi_tenant=False,
                     **_newer):
            self.host, self.port = host_name, _chosen_port(port)
            super().__init__(_name("tcp", f"{_host(host_name)}:{self.port}"), timeout)

    return TCPStore


def make_file_store():
    base = _base()

    class FileStore(base):
        """torch.distributed.FileStore without a file."""

        def __init__(self, file_name, world_size=-1, **_newer):
            self.path = file_name
            super().__init__(_name("file", os.path.abspath(file_name)), timedelta(seconds=300))

    return FileStore


def replace_in_rendezvous(rendezvous):
    """env://, tcp:// and file:// make their stores in this module; torch checks rank and world as ever."""
    rendezvous.TCPStore, rendezvous.FileStore = make_tcp_store(), make_file_store()
    original = rendezvous.rendezvous

    def numbered(url, *arguments, **named):
        address = str(url).partition("?")[0]
        ordinal = _met[address] = _met.get(address, 0) + 1
        handler = original(url, *arguments, **named)

        def steps():
            _rendezvous.ordinal = ordinal
            try:
                met = next(handler)
            finally:
                _rendezvous.ordinal = 0
            yield met
            yield from handler

        return steps()

    rendezvous.rendezvous = numbered


def replace_in_torch(distributed):
    """Programs make stores themselves: torch.distributed.TCPStore."""
    rendezvous = sys.modules["torch.distributed.rendezvous"]
    for name in ("TCPStore", "FileStore"):
        setattr(distributed, name, getattr(rendezvous, name))
        setattr(sys.modules["torch._C._distributed_c10d"], name, getattr(rendezvous, name))


PATCHES = [
    ("torch.distributed.rendezvous", replace_in_rendezvous),
    ("torch.distributed", replace_in_torch),
]
