"""Imports what the ranks of a Python program share, then forks them: a rank costs its own pages, not torch's.

Run as `python [options] troupe_zygote.py script.py ...` (or `-m module ...`) by the launcher's warden; standard input says
where to report, how many ranks there are, and where each one's output goes. Each rank runs the program as a plain
interpreter would: as __main__, with its arguments, path, exit status and tracebacks.
Forked processes need a parent with one thread: where an import starts more, ranks execute the interpreter anew instead.
Not here: what makes torch speak to Troupe (troupe_hook).
"""
import ast
import atexit
import ctypes
import gc
import importlib.machinery
import io
import os
import random
import resource
import sys
import threading
import types

_SHARED = {
    "numpy": ("numpy",),
    "torch": ("torch", "torch.distributed", "torch.nn.parallel", "torch.optim", "torch.utils.data"),
}
_BAD_INPUT, _NO_RESOURCES = 3, 8  # messages/errc.def
_SOURCES_MAX = 200
_SOURCE_BYTES_MAX = 1 << 20

_folder = os.path.dirname(os.path.abspath(__file__))
_client = ctypes.CDLL(os.path.join(os.path.dirname(_folder), "libtroupe_client.so"))
_client.troupe_report_ended.argtypes = [ctypes.c_int, ctypes.c_uint32, ctypes.c_int32, ctypes.c_int32,
                                        ctypes.c_uint64, ctypes.c_uint64]


class Orders:
    """What the warden wrote to our standard input, which is /dev/null afterwards."""

    def __init__(self):
        with open(0, closefd=False, encoding="ascii") as orders:
            self.control, self.world, self.per_host, self.descriptors = map(int, orders.readline().split())
            self.outputs = [tuple(map(int, line.split())) for line in orders]
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)


class Program:
    """The script or module that ranks run, as the command line names it."""

    def __init__(self, arguments):
        self.is_module = arguments[0] == "-m"
        self.name = arguments[1] if self.is_module else arguments[0]
        self.arguments = arguments[2:] if self.is_module else arguments[1:]
        self.typed = arguments
        if self.is_module:
            self.search = os.getcwd()
        else:
            self.path = os.path.abspath(self.name)
            self.search = os.path.dirname(os.path.realpath(self.name))

    def source(self):
        """Where the scan for imports begins; None: not found, ranks will say so."""
        if not self.is_module:
            return self.path
        below = os.path.join(*self.name.split("."))
        for folder in [self.search, *sys.path]:
            for candidate in (below + ".py", os.path.join(below, "__main__.py")):
                if os.path.isfile(os.path.join(folder, candidate)):
                    return os.path.join(folder, candidate)
        return None

    def prepare(self):
        """sys as the interpreter leaves it when it starts the program, and a fresh __main__."""
        sys.path[0] = self.search
        sys.orig_argv = self.interpreter_command()
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        if self.is_module:
            sys.argv = ["-m", *self.arguments]
            return main
        sys.argv = [self.name, *self.arguments]
        main.__file__ = self.path
        main.__cached__ = None
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", self.path)
        main.__annotations__ = {}
        main.__builtins__ = sys.modules["builtins"]
        return main

    def interpreter_command(self):
        """The command line without us in it."""
        return [*sys.orig_argv[:-1 - len(self.typed)], *self.typed]

    def run(self, main):
        if self.is_module:
            import runpy
            runpy._run_module_as_main(self.name)  # what the interpreter itself calls for -m
            return
        with open(self.path, "rb") as file:
            code = compile(file.read(), self.path, "exec", dont_inherit=True)
        exec(code, main.__dict__)


def _imported_names(path):
    """The modules that a source imports, as it names them; none when it cannot be read or parsed."""
    try:
        if os.path.getsize(path) > _SOURCE_BYTES_MAX:
            return
        with open(path, "rb") as file:
            tree = ast.parse(file.read(), path)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if base:
                yield base
            yield from (f"{base}.{alias.name}".strip(".") for alias in node.names)


def _lies_in(folder, name):
    return any(os.path.exists(os.path.join(folder, name + ending)) for ending in ("", ".py"))


def imports_of(source):
    """What the program imports of the packages that ranks can share, itself or through modules beside it."""
    folder = os.path.dirname(os.path.realpath(source))
    shared = {name for name in _SHARED if not _lies_in(folder, name)}
    found, seen, left = set(), {source}, [source]
    while left and len(seen) < _SOURCES_MAX:
        for name in _imported_names(left.pop()):
            if name.split(".")[0] in shared:
                found.add(name)
            beside = os.path.join(folder, *name.split("."))
            for path in (beside + ".py", os.path.join(beside, "__init__.py")):
                if path not in seen and os.path.isfile(path):
                    seen.add(path)
                    left.append(path)
    return found


def import_shared(names):
    """An import that fails here fails in the ranks, where it is theirs to report."""
    for package in sorted({name.split(".")[0] for name in names}):
        for module in _SHARED[package]:
            try:
                __import__(module)
            except Exception:
                break


def missing_backend(names):
    """Why a program that is about to communicate, or whose tensors are limited, cannot; empty when it can, or when it is not
    known to. The backend that is there is loaded: ranks share it, as they share torch."""
    if "troupe_hook" not in sys.modules or "torch" not in sys.modules:
        return ""
    from troupe_hook import extension
    why_not = extension.missing()
    if not why_not:
        try:
            extension.c10d_module()
        except Exception:
            pass  # theirs to report
    communicates = any((name + ".").startswith("torch.distributed.") for name in names)
    return why_not if communicates or int(os.environ.get("TROUPE_TENSOR_MEMORY") or 0) else ""


def _is_single_threaded():
    return len(os.listdir("/proc/self/task")) == 1


def become_rank(orders, rank, parent):
    """In the forked child: everything that makes it this rank, before any of its user's code."""
    os.setpgid(0, 0)
    _client.troupe_die_with_parent()
    if os.getppid() != parent:
        os._exit(127)
    output, errors = orders.outputs[rank]
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for ends in orders.outputs[rank:]:
        for end in ends:
            os.close(end)
    os.close(orders.control)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (orders.descriptors, hard))
    os.environ["RANK"] = str(rank)
    os.environ["LOCAL_RANK"] = str(rank % orders.per_host)
    os.environ["GROUP_RANK"] = os.environ["NODE_RANK"] = str(rank // orders.per_host)
    os.environ.pop("TROUPE_ZYGOTE", None)
    if "TROUPE_SOCKET" in os.environ:  # so that no child of ours takes itself for a rank
        os.environ["TROUPE_RANK_PID"] = str(os.getpid())


def continue_as_program(program):
    """Runs the program in this forked process; returns or raises as it does."""
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy:
        numpy.random.seed()
    # torch is left alone: its default generator starts from a constant in every process.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)
    if "troupe_hook" in sys.modules:
        sys.modules["troupe_hook"].become_rank()
    program.run(program.prepare())


def fork_ranks(orders):
    """Returns a rank's number in each child; in the parent None, once all have ended or one cannot be forked."""
    ranks = {}
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    for rank in range(orders.world):
        try:
            pid = os.fork()
        except OSError as why:  # the ranks that are there end with us
            _client.troupe_report_failed(orders.control, _NO_RESOURCES,
                                         f"no process for rank {rank}: {why.strerror}".encode())
            return None
        if pid == 0:
            become_rank(orders, rank, parent)
            return rank
        ranks[pid] = rank
        _client.troupe_report_started(orders.control, rank, pid)
        for end in orders.outputs[rank]:
            os.close(end)
    while ranks:
        pid, status, used = os.wait4(-1, 0)
        rank = ranks.pop(pid, None)
        if rank is not None:
            cpu_ns = int((used.ru_utime + used.ru_stime) * 1e9)
            _client.troupe_report_ended(orders.control, rank, pid, status, cpu_ns,
                                        used.ru_maxrss * 1024)
    return None


def end_without_teardown(status):
    """Ends the process as the interpreter would, but leaves its memory as it is: to free what was shared with the parent,
    object by object, copies every page of it, a third of a second a rank. Threads are awaited, exit functions run, what the
    program's own module holds is deleted, files are flushed."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.modules["__main__"].__dict__.clear()
    gc.collect()
    files = [one for one in gc.get_objects() if isinstance(one, io.IOBase)]
    files.sort(key=lambda one: not isinstance(one, io.TextIOBase))  # they write into the others
    for file in [sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__, *files]:
        try:
            if file is not None and not file.closed:
                file.flush()
        except Exception:
            if file is sys.stdout:
                status = status or 120  # the interpreter's own
    os._exit(status & 0xFF)


def without_our_frames(traceback):
    while traceback and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def hook_imports():
    """The site's customization did so already unless an option of the interpreter kept it from being found."""
    if "TROUPE_SOCKET" not in os.environ or "troupe_hook" in sys.modules:
        return
    import troupe_hook
    troupe_hook.install()


def main():
    orders = Orders()
    program = Program(sys.argv[1:])
    if _folder not in sys.path[1:]:
        sys.path.append(_folder)  # sys.path[0] becomes the program's
    hook_imports()
    source = program.source()
    names = imports_of(source) if source else set()
    import_shared(names)
    why_not = missing_backend(names)
    if why_not:
        _client.troupe_report_failed(orders.control, _BAD_INPUT, why_not.encode())
        return
    can_fork = _is_single_threaded()
    gc.collect()
    gc.freeze()
    if fork_ranks(orders) is None:
        return
    if not can_fork:
        os.execv(sys.executable, program.interpreter_command())
    try:
        continue_as_program(program)
        end_without_teardown(0)
    except SystemExit as asked:
        if asked.code is not None and not isinstance(asked.code, int):
            raise
        end_without_teardown(asked.code or 0)
    except BaseException as raised:
        # Shown as if we were not there; then the interpreter ends as it does after such an exception, silently.
        shown = raised.with_traceback(without_our_frames(raised.__traceback__))
        sys.excepthook(type(shown), shown, shown.__traceback__)
        sys.excepthook = lambda *_: None
        raise


main()
