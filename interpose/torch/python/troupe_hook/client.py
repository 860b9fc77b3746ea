"""The client library's few calls that are needed before, or without, torch."""
import ctypes
import os

USAGE = 2  # errc::usage: this process is not to be a rank

BACKWARD_END, OPTIMIZER_STEP = 1, 2

_library = ctypes.CDLL(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "libtroupe_client.so"))
_library.troupe_error.restype = ctypes.c_char_p
_library.troupe_rank.restype = ctypes.c_uint32
_library.troupe_world.restype = ctypes.c_uint32
_library.troupe_mark.argtypes = [ctypes.c_uint8]
_library.troupe_leave.restype = None

connect = _library.troupe_connect
leave = _library.troupe_leave
mark = _library.troupe_mark
rank = _library.troupe_rank
world = _library.troupe_world


def connected():
    return bool(_library.troupe_connected())


def error():
    return (_library.troupe_error() or b"").decode(errors="replace")
