"""Fingerprint of a Python judge: its code and the values that it carries or names.

Seen are the function's source, defaults, closure and attributes, the constants that it names, the functions
and classes that it calls, of its own package and of any file of the user's, and the versions of other
packages. An object of another package is known by its class and version alone, and listed as unseen.

Inside a framework's judge more is seen: what objects of pydantic declare, such as prompt templates and chat
models. Keys are in no hash.
"""

from __future__ import annotations

import ast
import builtins
import dis
import enum
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from symtable import Function, SymbolTable, symtable
from types import CodeType, ModuleType, NoneType
from typing import Any

from steelyard.core.content_hash import canonical_json, content_hash
from steelyard.core.foreign_code import INSTALLED, file_of, import_place, may_run_code
from steelyard.errors import ConfigError

DEEPEST = 8
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")
_SECRET = re.compile(r"(^|_)(key|apikey|token|secret|password|passwd|credentials?)$", re.I)
"""Names of values that a fingerprint leaves out: another key is no other judge."""
_SECRET_HEADER = re.compile(r"-(key|token)$|^(authorization|cookie)$", re.I)
"""The same inside a framework's judge, whose clients hold headers."""
_TRANSPORT = re.compile(r"(^|_)(timeout|retries|connections|proxy|organization)$")
"""Names of declared settings that decide no verdict."""


def code_hash(function: Any) -> str:
    return Fingerprint(function).hash


class Fingerprint:
    """`known` gives the settings of an object of a known framework, or None; it gets the fingerprint too.

    `outer` is the fingerprint of the framework's judge that holds this code.
    """

    def __init__(self, judge: Any, known: Known = lambda *_: None, outer: Fingerprint | None = None) -> None:
        self._known = known
        self.in_framework = outer is not None
        module = getattr(judge, "__module__", None) or type(judge).__module__
        self._package = str(module).partition(".")[0]
        self._versions: dict[str, str] = {}
        self._unseen: dict[str, None] = {} if outer is None else outer._unseen
        self._around: tuple[int, ...] = () if outer is None else (id(judge), *outer._around)
        self._seen: set[int] = set()
        settings = None if self.in_framework else known(judge, self)
        body = self._code(judge) if settings is None else self._settings(judge, settings, DEEPEST)
        self.hash = content_hash({**body, **({"versions": self._versions} if self._versions else {})})

    @property
    def unseen(self) -> str | None:
        """What the hash does not cover, in words; None where it covers everything that is named."""
        return ", ".join(sorted(self._unseen)) or None

    def code_hash(self, code: Any) -> str:
        """Hash of the user's code inside a framework's judge; what it can not see is unseen here too."""
        if id(code) in self._around:  # two judges that name each other
            return ""
        return Fingerprint(code, self._known, self).hash

    def _settings(
        self, judge: Any, settings: Mapping[str, Any], depth: int, name: str = ""
    ) -> dict[str, Any]:
        self._note_version(type(judge).__module__)
        inside, self.in_framework = self.in_framework, True
        plain = self._plain(dict(settings), depth, name)
        self.in_framework = inside
        return {"class": self._label(type(judge)) if inside else _name(type(judge)), "settings": plain}

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
            if (wrapped := inspect.unwrap(function)) is not function:  # `functools.cache` and its like
                return self._code(wrapped)
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
        held = {name: _unwrapped(each) if self.in_framework else each for name, each in vars(kind).items()}
        methods = {name: self._named(each) for name, each in held.items() if inspect.isfunction(each)}
        own = [base for base in kind.__bases__ if self.in_framework and self._is_own(base.__module__)]
        return {
            "class": _source(kind),
            "named": {name: found for name, found in methods.items() if found},
            **({"bases": self._plain(own)} if own else {}),
        }

    def _named(self, function: Any) -> dict[str, Any]:
        """Values of the module that the function names; modules and foreign functions by their version."""
        found = {}
        for name in sorted(_names(function.__code__, "LOAD_GLOBAL", "LOAD_NAME")):
            value = function.__globals__.get(name)
            if name not in function.__globals__ or id(value) in self._seen or self._is_secret(name):
                continue
            if isinstance(value, ModuleType):
                found[name] = self._module(value, _names(function.__code__, *_ATTRIBUTES))
            else:
                found[name] = self._plain(value, DEEPEST, name)
        for name in sorted(_names(function.__code__, "IMPORT_NAME")):
            if (module := self._imported(name)) is not None:
                found[name] = self._module(module, _names(function.__code__, *_ATTRIBUTES))
        return {name: value for name, value in found.items() if value is not None}

    def _imported(self, name: str) -> ModuleType | None:
        """A module of the user's that a function imports when it is called; None for any other."""
        package = name.partition(".")[0]
        if not package or package in sys.stdlib_module_names or _version(package) != "?":
            return None
        try:
            return import_place(name)
        except Exception:  # whoever calls the function hears of it
            self._unseen[f"the module {name}"] = None
            return None

    def _module(self, module: ModuleType, attributes: set[str]) -> dict[str, Any] | None:
        """Values of the user's module among these attributes; any other is known by its version."""
        self._note_version(module.__name__)
        if not self._is_own(module.__name__) or id(module) in self._seen:
            return None
        self._seen.add(id(module))
        named = {name: vars(module)[name] for name in sorted(attributes & vars(module).keys())}
        plain: dict[str, Any] = self._plain(
            {
                name: self._module(each, attributes) if isinstance(each, ModuleType) else each
                for name, each in named.items()
            }
        )
        return plain

    def _state(self, owner: Any) -> Any:
        return self._plain(_attributes(owner))

    def _plain(self, value: Any, depth: int = DEEPEST, name: str = "") -> Any:
        held = (dict, list, tuple) if self.in_framework else dict
        if isinstance(value, held) and depth:  # plain or not: a key in it stays out
            return self._walk(value, depth, name)
        try:
            canonical_json(value)
        except (TypeError, ValueError, RecursionError):
            if depth:
                return self._walk(value, depth, name)
            if self.in_framework:
                self._note_unseen(value, name)
            return self._label(type(value))
        return value

    def _walk(self, value: Any, depth: int, name: str) -> Any:
        if isinstance(value, dict):
            open_keys = {str(key): inner for key, inner in value.items() if not self._is_secret(str(key))}
            return {key: self._plain(inner, depth - 1, key) for key, inner in open_keys.items()}
        if isinstance(value, (list, tuple)):
            return [self._plain(inner, depth - 1, name) for inner in value]
        if isinstance(value, enum.Enum):
            return self._plain(value.value, depth - 1, name)
        settings = self._known(value, self)
        if settings is not None:
            return self._settings(value, settings, depth - 1, name)
        place = getattr(value, "__module__", None) or type(value).__module__
        is_code = inspect.isroutine(value) or inspect.isclass(value)
        if not self._is_own(place):
            self._note_version(place)
            return _name(value) if is_code else self._foreign(value, name)
        if id(value) in self._seen:
            return self._label(type(value))
        self._seen.add(id(value))
        if inspect.isclass(value):
            return self._class(value)
        if is_code:
            return self._code(value)
        left = DEEPEST if self.in_framework else depth - 1
        return {**self._class(type(value)), "state": self._plain(_attributes(value), left, name)}

    def _foreign(self, value: Any, name: str) -> Any:
        """An object of another package, or a built-in value without a plain form."""
        kind = type(value)
        if self.in_framework:
            if isinstance(value, (range, bytes, float)):
                return repr(value)
            if id(value) in self._seen:
                return _name(kind)
            if (declared := _declared(value)) is not None:
                self._seen.add(id(value))
                return {"class": _name(kind), "fields": self._walk(declared, DEEPEST, name)}
        if self.in_framework or kind.__module__ != "builtins":
            self._note_unseen(value, name)
        return _name(kind)

    def _is_secret(self, name: str) -> bool:
        return bool(_SECRET.search(name) or (self.in_framework and _SECRET_HEADER.search(name)))

    def _note_unseen(self, value: Any, name: str) -> None:
        kind = self._label(type(value))
        self._unseen[f"{name} ({kind})" if name else kind] = None

    def _label(self, kind: Any) -> str:
        """A class by its name; in a file of the user's without the module, which is named for its place."""
        return str(kind.__qualname__) if self._is_own(kind.__module__) else _name(kind)

    def _is_own(self, module: str) -> bool:
        package = str(module).partition(".")[0]
        return package == self._package or _is_users_file(package)

    def _note_version(self, module: str) -> None:
        package = str(module).partition(".")[0]
        if package in sys.stdlib_module_names or package in (self._package, "builtins", "steelyard"):
            return
        if not self._is_own(package):
            self._versions[package] = _version(package)


Known = Callable[[Any, Fingerprint], Mapping[str, Any] | None]


def _version(package: str) -> str:
    stated = getattr(sys.modules.get(package), "__version__", None)
    try:
        return str(stated or version(package))
    except PackageNotFoundError:
        return "?"


def _is_users_file(package: str) -> bool:
    """Whether no version says when this module changes, since nobody installed it."""
    module = sys.modules.get(package)
    return module is not None and _is_uninstalled(package, getattr(module, "__file__", None) or "")


@functools.cache
def _is_uninstalled(package: str, file: str) -> bool:
    if package in sys.stdlib_module_names or _version(package) != "?":
        return False
    return not INSTALLED & set(Path(file).parts)


def _declared(value: Any) -> dict[str, Any] | None:
    """The fields of an object of pydantic but for those that it excludes, such as clients; None of others."""
    fields = getattr(type(value), "model_fields", None)
    if not isinstance(fields, dict):
        return None
    names = [name for name, field in fields.items() if not field.exclude and not _TRANSPORT.search(name)]
    return {name: getattr(value, name, None) for name in names}


def _unwrapped(attribute: Any) -> Any:
    """The function that a user wrote, behind a property or what a framework wrapped around it."""
    function = getattr(attribute, "fget", None) or getattr(attribute, "__func__", attribute)
    return inspect.unwrap(function) if callable(function) else function


def _attributes(value: Any) -> dict[str, Any]:
    return dict(getattr(value, "__dict__", {}))


def _names(code: CodeType, *operations: str) -> set[str]:
    """Names that these operations load, in functions inside too."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    own = {each.argval for each in dis.get_instructions(code) if each.opname in operations}
    return own.union(*(_names(each, *operations) for each in inner))


def _name(kind: Any) -> str:
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', type(kind).__qualname__)}"


def _source(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        if code is None:
            return _name(function)
        constants = [
            one for one in code.co_consts if isinstance(one, (str, bytes, int, float, bool, NoneType))
        ]
        return f"{code.co_code.hex()} {code.co_names!r} {constants!r}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # assigned later, or never
        return None


def may_run(address: str) -> bool:
    """Whether a function may be imported; one that was handed over in this session is there already."""
    return may_run_code() or ":" not in address


def text_of(address: str) -> tuple[str, list[Any]] | None:
    """Source and defaults of a function by its text; None where that would not be all of it.

    A plan runs no line of a file that somebody else wrote.
    A function at the top of a file, without decorators and with plain defaults, that names nothing of its
    module and imports nothing, is known by its text.
    """
    place, _, name = address.rpartition(":")
    file = file_of(address)
    if file is None or not file.endswith(".py"):
        return None
    try:
        text = Path(file).read_text(encoding="utf-8")
        found = [node for node in ast.parse(text).body if getattr(node, "name", None) == name]
        node = found[-1] if found else None
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.decorator_list:
            return None
        if _globals(symtable(text, file, "exec"), name) - vars(builtins).keys() or any(_imports(node)):
            return None
        positional = tuple(map(ast.literal_eval, node.args.defaults)) or None
        by_name = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        named = {one.arg: ast.literal_eval(value) for one, value in by_name if value is not None} or None
        lines = [f"{line}\n" for line in text.splitlines()]
        return "".join(inspect.getblock(lines[node.lineno - 1 :])), [positional, named]
    except FileNotFoundError as error:
        raise ConfigError(f"judge python/{address}: no file {place}; correct the path.") from error
    except (OSError, SyntaxError, ValueError):
        return None


def _imports(function: ast.AST) -> Iterator[str]:
    """Modules that a function imports when it is called, but for those of Python."""
    for node in ast.walk(function):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if name.partition(".")[0] not in sys.stdlib_module_names)


def _globals(table: SymbolTable, name: str | None = None) -> set[str]:
    """Names that a function, and those inside it, take from its module; of all functions without a name."""
    inner = [child for child in table.get_children() if name is None or child.get_name() == name]
    own = set(table.get_globals()) if isinstance(table, Function) else set()
    return own.union(*map(_globals, inner))
