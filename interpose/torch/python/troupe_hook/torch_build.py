"""What a build of the c10d backend is for: one torch, one C++ ABI, one Python. Where such builds lie, and what makes one.

A build is a folder named for these three that holds the module. It lies in this installation, or in the user's cache,
where `troupe torch-plugin` puts it with a note of the sources it was made from: a cached build of other sources than this
installation's is as good as none. Run as a program, this file says as JSON what a compiler needs, or loads the module that
is named.
"""
import ctypes
import hashlib
import importlib.util
import json
import os
import sys
import sysconfig

MODULE = "troupe_c10d.so"
SOURCES_NOTE = "sources.sha256"
_HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = os.path.dirname(os.path.dirname(_HERE))  # what `troupe` calls its library folder
SOURCES = os.path.join(LIBRARIES, "torch-plugin")


def key(torch):
    """torch-2.15.0+cu130-cxx11-cpython-311-x86_64-linux-gnu"""
    abi = "cxx11" if torch._C._GLIBCXX_USE_CXX11_ABI else "precxx11"
    return f"torch-{torch.__version__}-{abi}-{sysconfig.get_config_var('SOABI')}"


def cache():
    """The folder of the user's own builds."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "troupe")


def sources_digest():
    """Of this installation's sources, with their names; nothing when there are none."""
    digest, files = hashlib.sha256(), []
    for folder, _, names in os.walk(SOURCES):
        files += [os.path.relpath(os.path.join(folder, name), SOURCES) for name in names]
    for name in sorted(files):
        with open(os.path.join(SOURCES, name), "rb") as file:
            content = file.read()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest() if files else ""


def _note_of(folder):
    try:
        with open(os.path.join(folder, SOURCES_NOTE), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def find(torch):
    """The module built for this torch, or a sentence that says why there is none."""
    name = key(torch)
    own = os.path.join(LIBRARIES, "python", name, MODULE)
    if os.path.isfile(own):
        return own, ""
    folder = os.path.join(cache(), name)
    module = os.path.join(folder, MODULE)
    makes = f"`{command()}` makes it"
    if not os.path.isfile(module):
        return "", f"no c10d backend is built for torch {torch.__version__} of {sys.executable}; {makes}"
    if _note_of(folder) != sources_digest():
        return "", f"{folder} was built by another version of Troupe; `{command()}` builds it anew"
    return module, ""


def load(path):
    """The module at this path, whatever else of its name could be found. What it needs is in the process already."""
    spec = importlib.util.spec_from_file_location(MODULE.partition(".")[0], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[spec.name] = module
    return module


def command():
    return f"troupe torch-plugin --python {sys.executable}"


def supported(version):
    """1.13, and from 2.4 on."""
    numbers = tuple(int(number) for number in version.split("+")[0].split(".")[:2])
    return numbers == (1, 13) or numbers >= (2, 4)


def _existing(*folders):
    return [folder for folder in folders if os.path.isdir(folder)]


def _lacks_headers(includes):
    """Which of the headers are nowhere, and what brings them. Debian keeps torch's and pybind11's where compilers look."""
    for header, package in (("Python.h", "python3-dev"), ("pybind11/pybind11.h", "pybind11-dev"),
                            ("torch/csrc/distributed/c10d/Store.hpp", "libtorch-dev")):
        places = [*includes, "/usr/local/include", "/usr/include"]
        if not any(os.path.isfile(os.path.join(folder, header)) for folder in places):
            return f"{header} is not there for {sys.executable} (Debian: apt install {package})"
    return ""


def describe():
    """What a compiler needs; where `missing` is a sentence there is no use in trying."""
    try:
        import torch
        import torch.distributed
    except ImportError as why:
        return {"missing": f"{sys.executable} has no torch: {why}"}
    below = os.path.dirname(torch.__file__)
    include = os.path.join(below, "include")
    module, why_not = find(torch)
    found = {
        "version": torch.__version__, "key": key(torch), "cxx11_abi": int(torch._C._GLIBCXX_USE_CXX11_ABI),
        "includes": _existing(include, os.path.join(include, "torch", "csrc", "api", "include"),
                              sysconfig.get_path("include")),
        "library_folders": _existing(os.path.join(below, "lib")),
        # So that our module and torch's share their table of types.
        "definitions": [f'PYBIND11_{name}="{getattr(torch._C, "_PYBIND11_" + name)}"'
                        for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")
                        if getattr(torch._C, "_PYBIND11_" + name, None)],
        "cache": cache(), "sources": SOURCES, "sources_digest": sources_digest(), "module": module,
        "why_no_module": why_not,
    }
    if not supported(torch.__version__):
        found["missing"] = (f"torch {torch.__version__} of {sys.executable} is none that Troupe has a backend for: "
                            "1.13, or 2.4 and newer")
    elif not torch.distributed.is_available():
        found["missing"] = f"torch {torch.__version__} of {sys.executable} was built without torch.distributed"
    elif _lacks_headers(found["includes"]):
        found["missing"] = _lacks_headers(found["includes"])
    return found


if __name__ == "__main__":
    del sys.path[0]  # this folder's modules have common names
    if len(sys.argv) > 1:
        import torch
        ctypes.CDLL(os.path.join(LIBRARIES, "libtroupe_client.so"))
        load(sys.argv[1])
    else:
        json.dump(describe(), sys.stdout)
