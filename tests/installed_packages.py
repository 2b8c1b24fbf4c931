"""Packages that are installed for one command, in this process."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steelyard.commands.decision import decidable
from steelyard.core.registry import Registry
from steelyard.datasheet.glossary import declared
from steelyard.probes.probe_metadata import installed_probes
from steelyard.run_folder.publication import plug_ins_installed

FROM_PACKAGES = (declared, decidable, installed_probes, plug_ins_installed)
"""What is gathered once for a process, from all packages that it finds."""


@contextmanager
def packages(path: str) -> Iterator[None]:
    """The packages of these folders are found by their entry points; afterwards none is left."""
    folders = [folder for folder in path.split(os.pathsep) if folder]
    kept = {id(registry): _state(registry) for registry in _registries()}
    sys.path[:0] = folders
    _forget(folders)
    for registry in _registries():
        registry._searched = False
    try:
        yield
    finally:
        del sys.path[: len(folders)]
        _forget(folders)
        for registry in _registries():
            builtin = {name: registry._lazy[name] for name in registry._builtin}
            fresh = {"_lazy": builtin, "_factories": {}, "_searched": False}
            vars(registry).update(kept.get(id(registry), fresh))


def _registries() -> list[Registry[Any]]:
    """Those that stand in a module of the program or of a test, each once."""
    ours = ("steelyard", "test_")
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(ours)]
    found = [thing for module in modules for thing in vars(module).values() if isinstance(thing, Registry)]
    return list({id(registry): registry for registry in found}.values())


def _state(registry: Registry[Any]) -> dict[str, Any]:
    return {
        "_lazy": dict(registry._lazy),
        "_factories": dict(registry._factories),
        "_searched": registry._searched,
    }


def _forget(folders: list[str]) -> None:
    """Modules of the folders but the program's own, and whatever was gathered from packages."""
    importlib.invalidate_caches()
    for gathered in FROM_PACKAGES:
        gathered.cache_clear()
    places = tuple(f"{place}{os.sep}" for folder in folders for place in {folder, os.path.realpath(folder)})
    for name, module in list(sys.modules.items()):
        own = name.partition(".")[0] == "steelyard"
        if not own and (getattr(module, "__file__", None) or "").startswith(places):
            del sys.modules[name]
