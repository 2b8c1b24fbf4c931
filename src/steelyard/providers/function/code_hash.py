"""Fingerprint of a Python judge: its code and the values that it carries or names.

Seen are the function's source, defaults, closure and attributes, the constants of its module that it names,
the functions and classes of its own package that it calls, and the versions of other packages. An object of
another package is known by its class and version alone, and listed as unseen.
"""

from __future__ import annotations

import dis
import enum
import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from types import CodeType, ModuleType
from typing import Any

from steelyard.core.content_hash import canonical_json, content_hash

DEEPEST = 8
_SECRET = re.compile(r"(^|_)(key|apikey|token|secret|password|passwd|credentials?)$", re.I)
"""Names of values that a fingerprint leaves out: another key is no other judge."""


def code_hash(function: Any) -> str:
    return Fingerprint(function).hash


class Fingerprint:
    """`known` gives the plain settings of an object of a known framework, or None."""

    def __init__(self, judge: Any, known: Callable[[Any], Mapping[str, Any] | None] = lambda _: None) -> None:
        self._known = known
        module = getattr(judge, "__module__", None) or type(judge).__module__
        self._package = str(module).partition(".")[0]
        self._versions: dict[str, str] = {}
        self._unseen: dict[str, None] = {}
        self._seen: set[int] = set()
        settings = known(judge)
        if settings is None:
            body = self._code(judge)
        else:
            self._note_version(type(judge).__module__)
            body = {"class": _name(type(judge)), "settings": self._plain(dict(settings))}
        self.hash = content_hash({**body, **({"versions": self._versions} if self._versions else {})})

    @property
    def unseen(self) -> str | None:
        """What the hash does not cover, in words; None where it covers everything that is named."""
        return ", ".join(sorted(self._unseen)) or None

    def _code(self, function: Any) -> dict[str, Any]:
        self._seen.add(id(function))
        if isinstance(function, functools.partial):
            carried = {"args": function.args, "keywords": function.keywords}
            return {**self._code(function.func), "partial": self._plain(carried)}
        if inspect.ismethod(function):
            return {**self._code(function.__func__), "state": self._state(function.__self__)}
        if inspect.isclass(function):
            return self._class(function)
        if not hasattr(function, "__code__"):
            call = type(function).__call__
            own = self._code(call) if hasattr(call, "__code__") else {"builtin": repr(function)}
            return {**own, "state": self._state(function)}
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        closure = {name: _content(cell) for name, cell in cells}
        named = self._named(function)
        return {
            "source": _source(function),
            "defaults": self._plain([function.__defaults__, function.__kwdefaults__]),
            "closure": self._plain(closure),
            **({"named": named} if named else {}),
        }

    def _class(self, kind: type) -> dict[str, Any]:
        """A class with the values that its methods name."""
        self._seen.add(id(kind))
        methods = {name: self._named(each) for name, each in vars(kind).items() if inspect.isfunction(each)}
        return {"class": _source(kind), "named": {name: found for name, found in methods.items() if found}}

    def _named(self, function: Any) -> dict[str, Any]:
        """Values of the module that the function names; modules and foreign functions by their version."""
        found = {}
        for name in sorted(_names(function.__code__)):
            value = function.__globals__.get(name)
            if name not in function.__globals__ or id(value) in self._seen or _SECRET.search(name):
                continue
            if isinstance(value, ModuleType):
                self._note_version(value.__name__)
            else:
                found[name] = self._plain(value, DEEPEST, name)
        return {name: value for name, value in found.items() if value is not None}

    def _state(self, owner: Any) -> Any:
        return self._plain(dict(getattr(owner, "__dict__", {})))

    def _plain(self, value: Any, depth: int = DEEPEST, name: str = "") -> Any:
        if isinstance(value, dict) and depth:  # whether or not all of it is plain: a key in it stays out
            return self._walk(value, depth, name)
        try:
            canonical_json(value)
        except (TypeError, ValueError, RecursionError):
            return self._walk(value, depth, name) if depth else self._label(type(value))
        return value

    def _walk(self, value: Any, depth: int, name: str) -> Any:
        if isinstance(value, dict):
            open_keys = {str(key): inner for key, inner in value.items() if not _SECRET.search(str(key))}
            return {key: self._plain(inner, depth - 1, key) for key, inner in open_keys.items()}
        if isinstance(value, (list, tuple)):
            return [self._plain(inner, depth - 1, name) for inner in value]
        if isinstance(value, enum.Enum):
            return self._plain(value.value, depth - 1, name)
        settings = self._known(value)
        if settings is not None:
            self._note_version(type(value).__module__)
            return {"class": _name(type(value)), "settings": self._plain(dict(settings), depth - 1, name)}
        place = getattr(value, "__module__", None) or type(value).__module__
        is_code = inspect.isroutine(value) or inspect.isclass(value)
        if not self._is_own(place):
            self._note_version(place)
            if not is_code and place != "builtins":
                self._unseen[f"{name} ({_name(type(value))})" if name else _name(type(value))] = None
            return _name(value if is_code else type(value))
        if id(value) in self._seen:
            return self._label(type(value))
        self._seen.add(id(value))
        if inspect.isclass(value):
            return self._class(value)
        if is_code:
            return self._code(value)
        return {**self._class(type(value)), "state": self._plain(vars(value), depth - 1, name)}

    def _label(self, kind: Any) -> str:
        """A class by its name; in a file of the user's without the module, which is named for its place."""
        return str(kind.__qualname__) if self._is_own(kind.__module__) else _name(kind)

    def _is_own(self, module: str) -> bool:
        return str(module).partition(".")[0] == self._package

    def _note_version(self, module: str) -> None:
        package = str(module).partition(".")[0]
        if package in sys.stdlib_module_names or package in (self._package, "builtins", "steelyard"):
            return
        stated = getattr(sys.modules.get(package), "__version__", None)
        try:
            self._versions[package] = str(stated or version(package))
        except PackageNotFoundError:
            self._versions[package] = "?"


def _names(code: CodeType) -> set[str]:
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    own = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*map(_names, inner))


def _name(kind: Any) -> str:
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', type(kind).__qualname__)}"


def _source(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        if code is None:
            return _name(function)
        return f"{code.co_code.hex()} {code.co_names!r} {[c for c in code.co_consts if _simple(c)]!r}"


def _simple(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes, int, float, bool))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # assigned later, or never
        return None
