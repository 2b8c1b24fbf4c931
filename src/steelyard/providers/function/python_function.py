"""A Python function as a judge: `(request, first, second)` names the better, `(request, response)` scores.

Whatever makes the verdict stays the user's: a chain, a client with a key of its own, a rule. The answer is
read like any other reply, so a function may also return the text of a model and have a reader find the
answer in it.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import Field

from steelyard.core.registry import Spec
from steelyard.errors import CallError, ConfigError, PermanentError, TransientError
from steelyard.providers.function.code import Function, code_hash, function_at
from steelyard.providers.options import CallOptions, Line
from steelyard.providers.provider_info import Example, ProviderInfo
from steelyard.tasks.scale import Pairwise, Scale
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply

SIGNATURES = {1: "(request, response)", 2: "(request, first, second)"}
"""How a function is called, by the number of texts that it is shown."""

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
    """Of judges that are functions."""

    owner = "python judges"

    concurrency: int = Field(default=8, ge=1, le=4096)
    """Calls side by side; 1 for a function that may not run twice at once."""
    version: Line | None = None
    """Any text; another one makes it another judge, as when something changed that the function calls."""
    source: Line | None = None
    """Hash of the function's code, filled in by itself."""


def asked_of_a_function(scale: Scale, options: Any) -> Mapping[str, Protocol]:
    """One protocol: nothing is prompted, and the answer is the whole reply."""
    del options
    texts = 2 if isinstance(scale, Pairwise) else 1
    return {"base": Protocol("", reader=Spec("choice"), settings={"texts": texts})}


def with_code_hash(model: str, options: FunctionOptions) -> FunctionOptions:
    """The options with the hash of the function's code, so that an edited function is another judge."""
    return options.model_copy(update={"source": code_hash(function_at(model))})


class PythonFunction:
    """Calls a function of the user's, in this process."""

    info = ProviderInfo(
        prompted=False,
        writes=False,
        options=FunctionOptions,
        complete_options=with_code_hash,
        protocols=asked_of_a_function,
        examples=(
            Example(
                "python/MODULE:FUNCTION", "your own function (request, first, second) or (request, response)"
            ),
        ),
    )

    def __init__(self, judge: Judge) -> None:
        """Find the function and check that it takes what it will be shown."""
        self._judge = judge
        self._function = function_at(judge.model)
        self.concurrency = FunctionOptions.of(judge).concurrency
        for protocol in judge.protocols.values():
            _check_signature(self._function, int(protocol.settings.get("texts", 2)), judge.address)

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to release."""

    async def ask(self, presentation: Presentation) -> Reply:
        """Call the function once; what it raises is a failure of this call."""
        slots = presentation.slots
        try:
            answer = await _called(self._function, (slots.request, *slots.texts))
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
        """An answer as a reply would spell it."""
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


async def _called(function: Function, arguments: tuple[str, ...]) -> Any:
    """The result; a plain function runs in a thread that does not keep the program from ending."""
    if _is_async(function):
        return await function(*arguments)
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if result.done():  # given up in the meantime
            return
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(error)

    def work() -> None:
        value: Any = None
        error: Exception | None = None
        try:
            value = function(*arguments)
        except StopIteration:
            error = RuntimeError("StopIteration")
        except BaseException as raised:
            error = raised if isinstance(raised, Exception) else RuntimeError(repr(raised))
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name="judge", daemon=True).start()
    value = await result
    return await value if inspect.isawaitable(value) else value


@cache
def _is_async(function: Function) -> bool:
    call = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    return inspect.iscoroutinefunction(inspect.unwrap(call))
