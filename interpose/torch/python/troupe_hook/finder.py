"""Mends modules after their import (or before, in their source), whoever imports them.

A meta-path finder that finds nothing itself: it asks the others and wraps the loader of a module that is to be mended.
"""
import importlib.abc
import importlib.util
import sys
import threading

_patches = {}  # module name -> functions of the module
_sources = {}  # module name -> (text, text instead) pairs
_known = set()  # (module name, function): a module is mended once in each way
_asking = threading.local()


def after_import(name, patch):
    """patch(module) runs after the module's own code; at once if it ran already; never twice."""
    if (name, patch) in _known:
        return
    _known.add((name, patch))
    if name in sys.modules:
        patch(sys.modules[name])
    else:
        _patches.setdefault(name, []).append(patch)


def with_source(name, replacements):
    """The module's source is compiled with these texts replaced."""
    if name not in sys.modules:
        _sources[name] = replacements


def install():
    if not any(isinstance(other, _Finder) for other in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in _patches and name not in _sources:
            return None
        if name in getattr(_asking, "names", ()):
            return None  # it is we who ask
        _asking.names = getattr(_asking, "names", ()) + (name,)
        try:
            spec = self._ask_others(name, path, target)
        finally:
            _asking.names = _asking.names[:-1]
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec

    def _ask_others(self, name, path, target):
        for other in sys.meta_path:
            if other is not self and hasattr(other, "find_spec"):
                spec = other.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None


class _Loader(importlib.abc.Loader):
    """A module's own loader, followed by its patches."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        replacements = _sources.pop(module.__name__, None)
        if replacements is None:
            self._loader.exec_module(module)
        else:
            self._execute(module, replacements)
        for patch in _patches.pop(module.__name__, ()):
            patch(module)

    def _execute(self, module, replacements):
        source = self._loader.get_source(module.__name__)
        for text, instead in replacements:
            source = source.replace(text, instead)
        exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)
