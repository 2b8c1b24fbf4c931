"""Work of somebody else's making: code that a study names and is imported, and bounds on time and memory."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from steelyard.core.content_hash import content_hash

_runs_code: ContextVar[bool] = ContextVar("runs_code", default=True)


@contextmanager
def without_code() -> Iterator[None]:
    """Judges and cues are built without importing the modules of functions, which may do anything."""
    token = _runs_code.set(False)
    try:
        yield
    finally:
        _runs_code.reset(token)


def may_run_code() -> bool:
    return _runs_code.get()


def import_problem(package: str, error: Exception) -> str:
    """Why a package that is not required could not be imported: it is absent, or there and damaged."""
    if isinstance(error, ModuleNotFoundError) and error.name == package:
        return f"is not installed; run pip install {package}"
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    return f"cannot be loaded ({reason}); run pip install --force-reinstall {package}"


def import_place(place: str) -> ModuleType:
    """The module of this name, or of this file where it ends in `.py`; the working folder is searched too."""
    here, finder = str(Path.cwd()), _FreshFinder(Path.cwd())
    sys.path.insert(0, here)
    sys.meta_path.insert(0, finder)
    try:
        return _from_file(Path(place)) if place.endswith(".py") else import_module(place)
    finally:
        sys.meta_path.remove(finder)
        sys.path.remove(here)


def file_of(address: str) -> str | None:
    """The file of `FILE.py:NAME`, or of `MODULE:NAME`, which is not imported; None where it names none."""
    place = address.rpartition(":")[0]
    if place.endswith(".py") or not place:
        return place or None
    if place in sys.builtin_module_names:
        return sys.executable
    where: list[str] | None = [str(Path.cwd()), *sys.path]
    parts, origin = place.split("."), None
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), where)
        if spec is None:
            return None
        where, origin = list(spec.submodule_search_locations or ()), spec.origin
    return origin


class _FreshLoader(SourceFileLoader):
    """Compiles the file as it is; bytecode on disk is that of another text where both are of one second."""

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


class _FreshFinder:
    """Finds the modules below the working folder, what is installed there apart, for that loader."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        file = Path(spec.origin)
        if not file.is_relative_to(self._folder) or INSTALLED & set(file.parts):
            return None
        spec.loader = _FreshLoader(name, spec.origin)
        return spec


INSTALLED = {"site-packages", "dist-packages"}
"""Folders of modules that have versions."""


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(path)
    digest = content_hash([str(path.resolve()), path.read_bytes().hex()])
    name = f"steelyard_judge_{path.stem}_{digest[7:19]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path, loader=_FreshLoader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


_LOCK = threading.Lock()
"""Not that of a condition: an error that arrives while Python code takes it would leave it taken."""
_CHANGED = threading.Condition(_LOCK)
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
        if outer is None:
            _STOPPED.discard(thread)  # an error between two steps left it there
        _DEADLINES[thread] = time.monotonic() + seconds
        _CHANGED.notify()
    try:
        yield
    finally:
        if _leave(thread, outer):
            raise TooSlowError(f"it takes more than {seconds:g} s")


def _leave(thread: int, outer: float | None) -> bool:
    """Whether the thread was told to stop; the error that told it so has been raised when this returns.

    An error that is still on its way is replaced by one that is raised here. Taking it back would leave
    Python before 3.13 looking for it at every step, without end where a debugger traces the thread.
    """
    was_stopped = False
    while True:
        with suppress(TooSlowError), _LOCK:
            _DEADLINES.pop(thread, None)
            if outer is not None:
                _DEADLINES[thread] = outer
            if thread not in _STOPPED:
                return was_stopped
            was_stopped = True
            _STOPPED.discard(thread)
            _raise_in(thread)
            while True:
                pass  # the error is raised at the next step


def _watch() -> None:
    with _LOCK:
        while True:
            now = time.monotonic()
            for thread in [each for each, deadline in _DEADLINES.items() if deadline <= now]:
                del _DEADLINES[thread]
                _STOPPED.add(thread)
                _raise_in(thread)
            _CHANGED.wait(min(_DEADLINES.values()) - now if _DEADLINES else None)


def _raise_in(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TooSlowError))


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
