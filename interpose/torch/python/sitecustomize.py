"""Runs before a rank's program: takes the rank's slot, hooks the imports, then lets the site's own customization run.

Active only in a run (TROUPE_SOCKET is set). The parent that forks ranks (TROUPE_ZYGOTE) hooks imports but is no rank; a
child process of a rank is neither. In a program that starts its ranks itself a process may become one later.
"""
import os
import sys


def _chain():
    """Runs the sitecustomize that this one hides."""
    here = os.path.realpath(__file__)
    for folder in sys.path:
        path = os.path.join(folder, "sitecustomize.py")
        if os.path.isfile(path) and os.path.realpath(path) != here:
            with open(path, encoding="utf-8") as file:
                code = compile(file.read(), path, "exec")
            exec(code, {"__name__": "sitecustomize", "__file__": path})
            return


if os.environ.get("TROUPE_SOCKET"):
    import troupe_hook

    if os.environ.get("TROUPE_ZYGOTE") == "1":
        troupe_hook.install()
    elif troupe_hook.become_rank():
        troupe_hook.install()
    else:
        troupe_hook.install_late()
_chain()
