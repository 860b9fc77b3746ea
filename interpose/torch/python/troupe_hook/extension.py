"""The module built against torch, imported late: torch must be there first, and must be the torch it was built for."""
import functools
import os


@functools.lru_cache(maxsize=None)
def c10d_module():
    import sysconfig
    import torch
    try:
        import troupe_c10d
    except ImportError as why:
        raise ImportError(
            f"Troupe's c10d backend does not fit torch {torch.__version__} of this interpreter: {why}. "
            "Build it against this interpreter (troupe torch-plugin).") from why
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    troupe_c10d.exclude_from_call_sites([
        os.path.dirname(os.path.abspath(torch.__file__)) + os.sep,
        sysconfig.get_path("stdlib") + os.sep,
        ours + os.sep,
    ])
    return troupe_c10d
