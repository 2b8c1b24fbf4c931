"""Bounds on the time and the memory that work of somebody else's making may take, in any thread."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = threading.Condition()
_DEADLINES: dict[int, float] = {}
"""By thread."""
_STOPPED: set[int] = set()
"""Threads that were told to stop and have not left their work yet."""


class TooSlowError(Exception):
    """The work takes too long."""


@contextmanager
def time_bound(seconds: float) -> Iterator[None]:
    """Have Python code that takes longer raise TooSlowError; one step of C code is not cut short."""
    thread = threading.get_ident()
    with _LOCK:
        if not _WATCHER.is_alive():
            _start()
        outer = _DEADLINES.get(thread)
        _DEADLINES[thread] = time.monotonic() + seconds
        _LOCK.notify()
    try:
        yield
    finally:
        with _LOCK:
            _DEADLINES.pop(thread, None)
            if outer is not None:
                _DEADLINES[thread] = outer
            was_stopped = thread in _STOPPED
            _STOPPED.discard(thread)
            if was_stopped:  # the error may not have been raised yet, and must not be raised later
                _raise_in(thread, None)
        if was_stopped:
            raise TooSlowError(f"it takes more than {seconds:g} s")


def _watch() -> None:
    with _LOCK:
        while True:
            now = time.monotonic()
            for thread in [each for each, deadline in _DEADLINES.items() if deadline <= now]:
                del _DEADLINES[thread]
                _STOPPED.add(thread)
                _raise_in(thread, TooSlowError)
            _LOCK.wait(min(_DEADLINES.values()) - now if _DEADLINES else None)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


_WATCHER = threading.Thread(target=_watch, daemon=True)


def _start() -> None:
    """Again after a fork, which has no threads but its own."""
    global _WATCHER
    _WATCHER = threading.Thread(target=_watch, daemon=True, name="time bound")
    _WATCHER.start()


_ONE_AT_A_TIME = threading.RLock()
"""The bound is the process's, and is put back as it was."""


@contextmanager
def memory_bound(more: int) -> Iterator[None]:
    """Have what takes so many bytes more than the process has raise a MemoryError, where it can (Linux)."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        yield
        return
    with _ONE_AT_A_TIME:
        before, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = pages * resource.getpagesize() + more
        stated = [limit for limit in (before, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([most, *stated]), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (before, hard))
