"""allocates: rank R holds R + 1 times 3 MiB and once 1000 bytes of its device, frees them, and holds less again;
then it copies 4096 bytes there, 100 of them on the device, and 300 back."""
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
at = malloc(1 << 20).value
host = ctypes.create_string_buffer(4096)
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
for to, source, size, kind in [(at, host, 4096, TO_DEVICE), (at + 8192, at, 100, ON_DEVICE), (host, at, 300, TO_HOST)]:
    to, source = (ctypes.c_void_p(x) if isinstance(x, int) else x for x in (to, source))
    assert cudart.cudaMemcpy(to, source, ctypes.c_size_t(size), kind) == 0
