"""cuda_as_cpu: programs that insist on cuda run on the CPU: what names a GPU is understood and done in host memory.

In place where no GPU can be used (TROUPE_CUDA=auto), always (cpu) or never (real). A rank sees as many GPUs as its host has
ranks. What is mapped gives what a GPU would give but for rounding; tensors say that they are on the cpu. What cannot be
mapped raises NotImplementedError with the call's name.
"""
from . import attention, calls, devices, normalization, parallel, random_parts, streams, tensors, training


def _where_mapped(patch):
    return lambda module: patch(module) if devices.mapped() else None


PATCHES = [
    (module, _where_mapped(patch))
    for part in (tensors, streams, calls, training, attention, normalization, parallel, random_parts)
    for module, patch in part.PATCHES
]
