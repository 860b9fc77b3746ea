"""collectives: the C interface of libtroupe_client.so for test programs that need ranks, not torch.

TEST_CLIENT names the library. With TEST_PIDS set, each rank leaves its pid in that folder, in a file named for it
(and sums.py in one more, RANK.summed, after its first sum).
"""
import array
import ctypes
import os
import sys

ALL_REDUCE, BROADCAST, SEND, RECV = 0, 1, 9, 10  # messages/collective.hpp
F64, F32 = 0, 1
NONE, SUM = 0, 1
GLOO = 0


class Call(ctypes.Structure):
    _fields_ = [("op", ctypes.c_uint8), ("type", ctypes.c_uint8), ("reduction", ctypes.c_uint8), ("batched", ctypes.c_uint8),
                ("count", ctypes.c_uint64), ("root", ctypes.c_int32), ("tag", ctypes.c_int32),
                ("send_counts", ctypes.c_void_p), ("recv_counts", ctypes.c_void_p)]


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_uint64)]


class Failed(RuntimeError):
    pass


class World:
    """Every rank of the run, as one communicator."""

    def __init__(self):
        self.client = ctypes.CDLL(os.environ["TEST_CLIENT"])
        self.client.troupe_error.restype = ctypes.c_char_p
        self.check(self.client.troupe_connect())
        self.rank, self.size = self.client.troupe_rank(), self.client.troupe_world()
        if "TEST_PIDS" in os.environ:
            self.leave_pid(str(self.rank))
        members = (ctypes.c_uint32 * self.size)(*range(self.size))
        self.communicator = ctypes.c_uint64()
        self.check(self.client.troupe_open_communicator(members, self.size, GLOO, b"world",
                                                        ctypes.byref(self.communicator)))

    def leave_pid(self, name):
        """TEST_PIDS/NAME, there only when it is whole."""
        unfinished = os.path.join(os.environ["TEST_PIDS"], f".{name}")
        with open(unfinished, "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        os.rename(unfinished, os.path.join(os.environ["TEST_PIDS"], name))

    def check(self, status):
        if status != 0:
            raise Failed(f"status {status}: {self.client.troupe_error().decode()}")

    def issue(self, values, op=ALL_REDUCE, reduction=SUM, kind="d", root=0):
        """Posts a call on a copy of VALUES; (operation, result), where wait(operation) fills the result."""
        given, result = array.array(kind, values), array.array(kind, values)
        call = Call(op, F64 if kind == "d" else F32, reduction, 0, len(values), root, 0, None, None)
        spans = [Bytes(a.buffer_info()[0], len(a) * a.itemsize) for a in (given, result)]
        frame = sys._getframe(1)
        while frame.f_code.co_filename == __file__:
            frame = frame.f_back
        site = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}".encode()
        operation = ctypes.c_uint64()
        self.check(self.client.troupe_issue(self.communicator, ctypes.byref(call), ctypes.byref(spans[0]), op != RECV,
                                            ctypes.byref(spans[1]), op != SEND, site, None, None, ctypes.byref(operation)))
        return operation, result

    def wait(self, operation):
        self.check(self.client.troupe_wait(operation, ctypes.c_uint64(0)))

    def all_reduce(self, values):
        operation, result = self.issue(values)
        self.wait(operation)
        return result

    def send(self, values, to):
        self.wait(self.issue(values, op=SEND, reduction=NONE, root=to)[0])

    def recv(self, values, source):
        operation, result = self.issue(values, op=RECV, reduction=NONE, root=source)
        self.wait(operation)
        return result

    def leave(self):
        self.client.troupe_leave()
