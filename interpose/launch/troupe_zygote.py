"""troupe_zygote: the parent from which the ranks of a Python program are forked.

It imports what the ranks share (torch costs 1.2 s and 160 MB a rank when each imports it), freezes it, and forks the ranks;
each then runs the program as a plain interpreter would: as __main__, with its own output, its rank set before user code.

Rules: one thread until the last fork; nothing of the program is run or imported here; everything that must differ between
ranks (connections, random seeds) is made after the fork.
"""
import ast
import ctypes
import gc
import os
import signal
import sys

LIBRARIES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = ("torch", "numpy")  # imported here when the program mentions them
TORCH_PARTS = ("torch.distributed", "torch.nn.parallel", "torch.optim", "torch.utils.data")
ENOUGH_SOURCE = 200  # files looked at for imports


def client():
    return ctypes.CDLL(os.path.join(LIBRARIES, "libtroupe_client.so"), mode=ctypes.RTLD_GLOBAL)


def imported_names(source):
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set()  # the ranks will say so
    names = set()
    for part in ast.walk(tree):
        if isinstance(part, ast.Import):
            names.update(alias.name.split(".")[0] for alias in part.names)
        elif isinstance(part, ast.ImportFrom) and part.module and not part.level:
            names.add(part.module.split(".")[0])
    return names


def find_source(name, folder):
    for path in (os.path.join(folder, name + ".py"), os.path.join(folder, name, "__init__.py")):
        if os.path.isfile(path):
            return path
    return None


def mentioned(script):
    """The top-level names that the script imports, itself or through modules beside it."""
    folder = os.path.dirname(os.path.abspath(script))
    waiting, seen, names = [script], set(), set()
    while waiting and len(seen) < ENOUGH_SOURCE:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        try:
            with open(path, "rb") as file:
                found = imported_names(file.read())
        except OSError:
            continue
        names |= found
        waiting += [source for name in found for source in [find_source(name, folder)] if source]
    return names


def import_shared(arguments):
    if arguments[0] == "-m":
        import importlib.util

        sys.path.insert(0, os.getcwd())
        try:
            spec = importlib.util.find_spec(arguments[1].split(".")[0])
        except (ImportError, ValueError):
            spec = None
        sys.path.pop(0)
        script = spec.origin if spec and spec.origin and os.path.isfile(spec.origin) else None
    else:
        script = arguments[0]
    names = mentioned(script) if script else set(SHARED)
    for name in SHARED:
        if name not in names:
            continue
        try:
            __import__(name)
        except ImportError:
            continue  # the ranks will say so, if they need it
        if name == "torch":
            import importlib

            for part in TORCH_PARTS:
                importlib.import_module(part)
            sys.modules["torch"].set_num_threads(1)


def threads():
    return len(os.listdir("/proc/self/task"))


def reseed():
    """As a fresh interpreter: these are seeded from the system. torch starts from a fixed seed and is left alone."""
    if "random" in sys.modules:
        sys.modules["random"].seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def without_our_frames(traceback):
    while traceback and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def run_program(arguments):
    """Runs the program as the interpreter's own main module; exceptions leave as they came, less our frames."""
    import types

    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    if arguments[0] == "-m":
        import runpy

        sys.argv = ["-m"] + arguments[2:]
        sys.path.insert(0, os.getcwd())
        runpy._run_module_as_main(arguments[1])
        return
    script = arguments[0]
    sys.argv = list(arguments)
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    main.__file__ = script
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    exec(code, main.__dict__)


def be_rank(rank, arguments, library, outputs, control):
    library.troupe_die_with_parent()
    os.dup2(outputs[rank][0], 1)
    os.dup2(outputs[rank][1], 2)
    for out, err in outputs[rank:]:
        os.close(out)
        os.close(err)
    os.close(control)
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(rank)
    for name in ("TROUPE_ZYGOTE", "TROUPE_ZYGOTE_OUTPUTS", "TROUPE_ZYGOTE_CONTROL"):
        os.environ.pop(name, None)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    reseed()
    if library.troupe_connect() != 0:
        sys.stderr.write("troupe: rank %d: %s\n" % (rank, ctypes.c_char_p(library.troupe_error()).value.decode()))
        os._exit(70)
    import atexit

    atexit.register(library.troupe_leave)  # registered first: runs last
    plain_hook = sys.excepthook
    sys.excepthook = lambda kind, value, traceback: plain_hook(kind, value, without_our_frames(traceback))
    run_program(arguments)


def main():
    arguments = sys.argv[1:]
    outputs = [tuple(map(int, pair.split(":"))) for pair in os.environ["TROUPE_ZYGOTE_OUTPUTS"].split(",")]
    control = int(os.environ["TROUPE_ZYGOTE_CONTROL"])
    sys.path.pop(0)  # our own folder; PYTHONPATH names it once more
    library = client()
    library.troupe_error.restype = ctypes.c_void_p
    library.troupe_report_ended.argtypes = [ctypes.c_int, ctypes.c_uint32, ctypes.c_int32, ctypes.c_int32,
                                            ctypes.c_uint64, ctypes.c_uint64]
    import_shared(arguments)
    if threads() != 1:
        library.troupe_report_failed(control, b"a module started threads when it was imported: ranks cannot be forked")
        os._exit(1)
    gc.collect()
    gc.freeze()
    ranks = {}
    for rank in range(len(outputs)):
        try:
            child = os.fork()
        except OSError as why:
            library.troupe_report_failed(control, ("cannot fork rank %d: %s" % (rank, why)).encode())
            os._exit(1)
        if child == 0:
            return be_rank(rank, arguments, library, outputs, control)
        ranks[child] = rank
        library.troupe_report_started(control, rank, child)
        for descriptor in outputs[rank]:
            os.close(descriptor)
    nothing = os.open(os.devnull, os.O_WRONLY)  # lets go of rank 0's pipes
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    while ranks:
        child, status, used = os.wait4(-1, 0)
        rank = ranks.pop(child, None)
        if rank is not None:
            cpu_ns = int((used.ru_utime + used.ru_stime) * 1e9)
            library.troupe_report_ended(control, rank, child, status, cpu_ns, used.ru_maxrss * 1024)
    os._exit(0)


main()
