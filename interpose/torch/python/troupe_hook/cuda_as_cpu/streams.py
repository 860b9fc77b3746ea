"""torch's streams and events on cuda: work is done when its call returns, so that nothing is left to wait for."""
import contextlib
import itertools
import threading
import time

from . import devices
from .devices import is_cuda, refuse


def _base(torch, name):
    """What torch takes for a stream or an event, from torch 2.1 on, and then from 2.5 on."""
    abstract = getattr(torch, "_streambase", None)
    if abstract:
        return getattr(abstract, f"_{name}Base")
    return getattr(torch, name) if hasattr(torch, "accelerator") else object


def _make(torch, kind):
    native = hasattr(torch, "accelerator")
    return next(base for base in kind.__mro__ if "troupe_hook" not in base.__module__).__new__(
        kind, *(["cpu"] if native else []))


def map_streams(torch):
    numbers = itertools.count(1)
    current = threading.local()  # .streams: device index -> stream

    class Stream(_base(torch, "Stream")):
        """What torch.cuda.Stream offers; always idle."""

        def __new__(cls, *_, **__):
            return _make(torch, cls)

        def __init__(self, device=None, priority=0, **named):
            if named:
                refuse(f"torch.cuda.Stream({', '.join(named)}=...)", "it belongs to another library")
            self._index, self._priority, self._number = devices.index_of(device), priority, next(numbers)

        device = property(lambda self: torch.device("cuda", self._index))
        device_index = property(lambda self: self._index)
        priority = property(lambda self: self._priority)
        stream_id = cuda_stream = property(lambda self: self._number)

        def __eq__(self, other):
            return self is other

        def __hash__(self):
            return self._number

        def query(self):
            return True

        def is_capturing(self):
            return False

        def synchronize(self):
            pass

        def wait_event(self, event):
            pass

        def wait_stream(self, stream):
            pass

        def record_event(self, event=None):
            event = event or Event()
            event.record(self)
            return event

        def __enter__(self):
            self._entered = stream(self)
            return self._entered.__enter__()

        def __exit__(self, *how):
            return self._entered.__exit__(*how)

        def __repr__(self):
            return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    class Event(_base(torch, "Event")):
        """What torch.cuda.Event offers; recorded when asked to, over at once."""

        def __new__(cls, *_, **__):
            return _make(torch, cls)

        def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
            if interprocess:
                refuse("torch.cuda.Event(interprocess=True)")
            self._timed, self._at_ns, self._index = enable_timing, None, devices.index_of()

        device = property(lambda self: torch.device("cuda", self._index))

        def record(self, stream=None):
            self._at_ns = time.perf_counter_ns()

        def wait(self, stream=None):
            pass

        def query(self):
            return True

        def synchronize(self):
            pass

        def elapsed_time(self, end_event):
            """Milliseconds."""
            if not (self._timed and end_event._timed):
                raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
            if self._at_ns is None or end_event._at_ns is None:
                raise RuntimeError("Both events must be recorded before calculating elapsed time.")
            return (end_event._at_ns - self._at_ns) / 1e6

    defaults = {}

    def default_stream(device=None):
        index = devices.index_of(device)
        if index not in defaults:
            defaults[index] = Stream(index)
            defaults[index]._number = 0
        return defaults[index]

    def current_stream(device=None):
        index = devices.index_of(device)
        return getattr(current, "streams", {}).get(index) or default_stream(index)

    def set_stream(chosen):
        if chosen is not None:
            current.streams = {**getattr(current, "streams", {}), chosen.device_index: chosen}

    @contextlib.contextmanager
    def stream(chosen):
        """The stream's device is current too, as long as the stream is."""
        if chosen is None:
            yield
            return
        device, before = devices.current(), current_stream(chosen.device_index)
        devices.make_current(chosen.device_index)
        set_stream(chosen)
        try:
            yield chosen
        finally:
            set_stream(before)
            devices.make_current(device)

    for name, what in {"Stream": Stream, "Event": Event, "default_stream": default_stream, "stream": stream,
                       "current_stream": current_stream, "set_stream": set_stream}.items():
        setattr(torch.cuda, name, what)
        if hasattr(torch.cuda.streams, name):
            setattr(torch.cuda.streams, name, what)


def map_any_streams(torch):
    """torch.Stream and torch.Event, from torch 2.4 on: of no device in particular, and of cuda, they are those above."""
    if hasattr(torch, "Event"):
        torch.Stream = _of_any_device(torch.Stream, torch.cuda.Stream)
        torch.Event = _of_any_device(torch.Event, torch.cuda.Event)


def _of_any_device(original, mapped):
    takes_device = mapped.__name__ == "Stream"

    class _Kind(type(original)):
        def __instancecheck__(cls, instance):
            return isinstance(instance, (original, mapped))

    class AnyDevice(original, metaclass=_Kind):
        def __new__(cls, device=None, *arguments, **named):
            if arguments or "stream_id" in named or not (device is None or is_cuda(device)):
                return original(*([] if device is None else [device]), *arguments, **named)
            devices.index_of(device)
            return mapped(device, **named) if takes_device else mapped(**named)

    AnyDevice.__name__ = AnyDevice.__qualname__ = original.__name__
    AnyDevice.__module__, AnyDevice.__doc__ = "torch", original.__doc__
    return AnyDevice


PATCHES = [("torch", map_streams), ("torch", map_any_streams)]
