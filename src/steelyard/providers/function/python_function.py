"""A Python function as a judge: `(request, first, second)` names the better, `(request, response)` scores.

Whatever makes the verdict stays the user's: a chain, a client with a key of its own, a rule. The answer is
read like any other reply, so a function may also return the text of a model and have a reader find the
answer in it. The hash of its code is part of the judge.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from pydantic import Field

from steelyard.core.content_hash import canonical_json, content_hash
from steelyard.core.foreign_code import import_place
from steelyard.core.registry import Spec
from steelyard.core.threads import run_in_daemon_thread
from steelyard.errors import CallError, ConfigError, PermanentError, TransientError
from steelyard.providers.destination import Destination
from steelyard.providers.function.unrun_code import may_run, text_of
from steelyard.providers.options import CallOptions, Line
from steelyard.providers.provider_info import JudgeExample, ProviderInfo
from steelyard.tasks.scale import Pairwise, Scale
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply

Function = Callable[..., Any]

_SESSION: dict[str, Function] = {}


def judge_model(function: Function, name: str) -> str:
    return f"python/{address_of(function, name)}"


def address_of(function: Function, name: str) -> str:
    module, path = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module not in (None, "__main__") and _reached(sys.modules.get(module), path) is function:
        return f"{module}:{path}"
    _SESSION[name] = function
    return name


def function_at(address: str) -> Function:
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
    reached: Any = module
    for part in path.split("."):
        reached = getattr(reached, part, None)
    return reached if path else None


def _module(place: str, address: str) -> ModuleType:
    try:
        return import_place(place)
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


SIGNATURES = {1: "(request, response)", 2: "(request, first, second)"}

MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""Errors of the function's own making: calling it again would end the same way."""


class FunctionOptions(CallOptions):
    owner = "python judges"

    concurrency: int = Field(default=8, ge=1, le=4096)
    """Calls side by side; 1 for a function that may not run twice at once."""
    version: Line | None = None
    """Any text; another one makes it another judge, as when something changed that the function calls."""
    source: Line | None = None


def asked_of_a_function(scale: Scale, options: Any) -> Mapping[str, Protocol]:
    del options
    texts = 2 if isinstance(scale, Pairwise) else 1
    return {"base": Protocol("", reader=Spec("choice"), settings={"texts": texts})}


def with_code_hash(model: str, options: FunctionOptions) -> FunctionOptions:
    """The options with the hash of the function's code, so that an edited function is another judge."""
    if may_run(model):
        return options.model_copy(update={"source": code_hash(function_at(model))})
    text = text_of(model)
    code = None if text is None else {"source": text[0], "defaults": _plain(text[1]), "closure": {}}
    return options.model_copy(update={"source": None if code is None else content_hash(code)})


class PythonFunction:
    info = ProviderInfo(
        uses_prompt=False,
        can_write=False,
        options=FunctionOptions,
        complete_options=with_code_hash,
        protocols=asked_of_a_function,
        examples=(
            JudgeExample(
                "python/MODULE:FUNCTION", "your own function (request, first, second) or (request, response)"
            ),
        ),
    )

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.concurrency = FunctionOptions.of(judge).concurrency
        if not may_run(judge.model):
            return
        self._function = function_at(judge.model)
        for protocol in judge.protocols.values():
            _check_signature(self._function, int(protocol.settings.get("texts", 2)), judge.address)

    @property
    def destination(self) -> Destination:
        return Destination(self._judge.address, is_code=True)

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to release."""

    async def ask(self, presentation: Presentation) -> Reply:
        slots = presentation.slots
        try:
            answer = await _call(self._function, (slots.request, *slots.texts))
        except CallError:
            raise
        except Exception as error:
            raise self._failure(error) from error
        return answer if isinstance(answer, Reply) else Reply(self._text(answer))

    def _failure(self, error: Exception) -> CallError:
        kind = type(error).__name__
        sentence = f"judge {self._judge.name}: the function raised {kind}: {error}"
        if isinstance(error, MISTAKES):
            return PermanentError(f"raised {kind}", sentence)
        return TransientError(f"raised {kind}", sentence)

    def _text(self, answer: Any) -> str:
        if answer is None:
            return ""
        if isinstance(answer, str):
            return answer
        try:
            number = float(answer)
        except (TypeError, ValueError, OverflowError) as error:
            raise PermanentError(
                f"returned {type(answer).__name__} instead of text or a number",
                f"judge {self._judge.name}: the function returned {type(answer).__name__}, expected text or "
                "a number; return '1', '2', 'tie' or a score.",
            ) from error
        return str(int(number)) if number.is_integer() else repr(number)


def _check_signature(function: Function, texts: int, address: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built-in functions need not say what they take
        return
    try:
        signature.bind(*[""] * (1 + texts))
    except TypeError as error:
        what = "two texts" if texts == 2 else "one text"
        raise ConfigError(
            f"judge {address}: found {signature}, expected {SIGNATURES[texts]} on a scale for {what}; "
            "change the function, or choose another scale."
        ) from error


async def _call(function: Function, arguments: tuple[str, ...]) -> Any:
    if _is_async(function):
        return await function(*arguments)
    value = await run_in_daemon_thread(lambda: function(*arguments), "judge")
    return await value if inspect.isawaitable(value) else value


@cache
def _is_async(function: Function) -> bool:
    call = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    return inspect.iscoroutinefunction(inspect.unwrap(call))
