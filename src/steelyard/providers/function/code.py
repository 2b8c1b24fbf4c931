"""Functions as judges: where they are found, and a hash of what they do."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard.core.content_hash import canonical_json, content_hash
from steelyard.errors import ConfigError

Function = Callable[..., Any]

_SESSION: dict[str, Function] = {}
"""Functions that were handed over as objects, by name: of notebooks, closures, instances."""


def judge_model(function: Function, name: str) -> str:
    """A function as the `model` of a judge."""
    return f"python/{address_of(function, name)}"


def address_of(function: Function, name: str) -> str:
    """`module:function` where it can be imported again, or the name under which this session keeps it."""
    module, path = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module not in (None, "__main__") and _reached(sys.modules.get(module), path) is function:
        return f"{module}:{path}"
    _SESSION[name] = function
    return name


def function_at(address: str) -> Function:
    """The function that `module:function`, `file.py:function` or a name of this session stands for."""
    place, colon, path = address.rpartition(":")
    if not colon:
        if address in _SESSION:
            return _SESSION[address]
        raise ConfigError(
            f"judge python/{address}: no function of this name was handed over in this session; "
            "write python/MODULE:FUNCTION, or hand it to steelyard.measure again."
        )
    function = _reached(_module(place, address), path)
    if function is None:
        raise ConfigError(f"judge python/{address}: no {path!r} in {place}; name a function that it defines.")
    if not callable(function):
        kind = type(function).__name__
        raise ConfigError(f"judge python/{address}: found {kind}, expected a function; name another.")
    return function  # type: ignore[no-any-return]


def code_hash(function: Function) -> str:
    """Hash of a function's own code and of the plain values that it carries; what it calls is not seen."""
    return content_hash(_code(function))


def _code(function: Any) -> dict[str, Any]:
    if isinstance(function, functools.partial):
        carried = {"args": function.args, "keywords": function.keywords}
        return {**_code(function.func), "partial": _plain(carried)}
    if inspect.ismethod(function):
        return {**_code(function.__func__), "state": _plain(getattr(function.__self__, "__dict__", {}))}
    if not hasattr(function, "__code__"):
        call = type(function).__call__
        own = _code(call) if hasattr(call, "__code__") else {"builtin": repr(function)}
        return {**own, "state": _plain(getattr(function, "__dict__", {}))}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closure = {name: _content(cell) for name, cell in cells}
    return {
        "source": _source(function),
        "defaults": _plain([function.__defaults__, function.__kwdefaults__]),
        "closure": _plain(closure),
    }


def _source(function: Any) -> str:
    """The text of a function; where a session kept none, its instructions."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = function.__code__
        return f"{code.co_code.hex()} {code.co_names!r} {[c for c in code.co_consts if _simple(c)]!r}"


def _simple(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes, int, float, bool))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # assigned later, or never
        return None


def _plain(value: Any, depth: int = 8) -> Any:
    """A value as JSON holds it; of what it can not hold the type's name, part by part."""
    try:
        canonical_json(value)
    except (TypeError, ValueError, RecursionError):
        if depth and isinstance(value, dict):
            return {str(key): _plain(inner, depth - 1) for key, inner in value.items()}
        if depth and isinstance(value, (list, tuple)):
            return [_plain(inner, depth - 1) for inner in value]
        return f"{type(value).__module__}.{type(value).__qualname__}"
    return value


def _reached(module: ModuleType | None, path: str) -> Any:
    """What a dotted path leads to inside a module; None where it leads nowhere."""
    reached: Any = module
    for part in path.split("."):
        reached = getattr(reached, part, None)
    return reached if path else None


def _module(place: str, address: str) -> ModuleType:
    """A module by name, or by the path of its file; the working folder counts as a place to look."""
    try:
        with _working_folder():
            return _from_file(Path(place)) if place.endswith(".py") else import_module(place)
    except FileNotFoundError as error:
        raise ConfigError(f"judge python/{address}: no file {place}; correct the path.") from error
    except ModuleNotFoundError as error:
        missing = error.name or place
        cure = "correct the name, or run in the folder that holds it" if missing == place else "install it"
        raise ConfigError(f"judge python/{address}: no module {missing!r}; {cure}.") from error
    except Exception as error:
        raise ConfigError(
            f"judge python/{address}: {place} cannot be imported ({type(error).__name__}: {error}); mend it."
        ) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(path)
    digest = content_hash([str(path.resolve()), path.read_bytes().hex()])
    name = f"steelyard_judge_{path.stem}_{digest[7:19]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
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


@contextmanager
def _working_folder() -> Iterator[None]:
    """Modules beside the user are found, as `python -m` finds them."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
