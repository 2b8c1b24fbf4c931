"""Code that a study names: where it may run, and how a module is imported by name or from a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
