"""The module built against torch, imported late: torch must be there first, and must be the torch it was built for."""
import functools
import os

from . import torch_build


def missing():
    """Why this interpreter's torch has no backend; empty when it has one."""
    import torch
    return torch_build.find(torch)[1]


@functools.lru_cache(maxsize=None)
def c10d_module():
    """ImportError says how to get one."""
    import sysconfig
    import torch
    path, why_not = torch_build.find(torch)
    if not path:
        raise ImportError(why_not)
    module = torch_build.load(path)
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    module.exclude_from_call_sites([
        os.path.dirname(os.path.abspath(torch.__file__)) + os.sep,
        sysconfig.get_path("stdlib") + os.sep,
        ours + os.sep,
    ])
    return module
