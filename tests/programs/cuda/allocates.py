"""allocates: rank R holds R + 1 times 3 MiB and once 1000 bytes of its device, frees them, and holds less again."""
import ctypes
import os

cudart = ctypes.CDLL("libcudart.so.13")


def malloc(size):
    at = ctypes.c_void_p()
    assert cudart.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(size)) == 0
    return at


rank = int(os.environ["RANK"])
assert cudart.cudaSetDevice(rank) == 0
for at in [malloc(3 << 20) for _ in range(rank + 1)] + [malloc(1000)]:
    assert cudart.cudaFree(at) == 0
malloc(1 << 20)
