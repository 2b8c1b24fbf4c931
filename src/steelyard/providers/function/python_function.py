"""A Python function as a judge: `(request, first, second)` names the better, `(request, response)` scores.

Whatever makes the verdict stays the user's: a chain, a client with a key of its own, a rule. The answer is
read like any other reply, so a function may also return the text of a model and have a reader find the
answer in it. The hash of its code is part of the judge. Whatever it raises or returns, a failure is no grade.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from types import ModuleType
from typing import Any

from pydantic import Field

from steelyard.core.content_hash import content_hash
from steelyard.core.dotenv import known_keys
from steelyard.core.foreign_code import file_of, import_place
from steelyard.core.registry import Spec
from steelyard.core.threads import run_in_daemon_thread, run_in_lasting_loop
from steelyard.core.validation import format_value
from steelyard.errors import CallError, ConfigError, UnreadableError
from steelyard.providers.function.code_hash import Fingerprint, may_run, text_of
from steelyard.providers.function.frameworks.adapter import (
    ADAPTERS,
    adapter_for,
    missing_field,
    reply_of,
    settings_of,
    turn_telemetry_off,
)
from steelyard.providers.function.request_meter import RequestMeter, metered, outcome, redacted_reply
from steelyard.providers.http.redaction import Redactor
from steelyard.providers.http.response_errors import excerpt
from steelyard.providers.provider_info import (
    CallOptions,
    Destination,
    InProcessProvider,
    JudgeExample,
    Line,
    ProviderInfo,
)
from steelyard.tasks.task import BestOf, Pairwise, Scale
from steelyard.trials.judge import Judge, Presentation, Protocol, Reply, Slots

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
    turn_telemetry_off()  # before a framework is imported
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
    if isinstance(function, type):
        raise ConfigError(
            f"judge python/{address}: found the class {path}, expected a function or an object; name an "
            f"object, such as judge = {path}(…)."
        )
    if not callable(function) and adapter_for(function) is None:
        kind = type(function).__name__
        raise ConfigError(f"judge python/{address}: found {kind}, expected a function; name another.")
    return function  # type: ignore[no-any-return]


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
    except (Exception, SystemExit) as error:
        words = Redactor(known_keys()).redact(str(error), is_error=True)
        raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
        unset = isinstance(error, KeyError) and raised_in in (os.__file__, "<frozen os>")
        raise ConfigError(
            f"judge python/{address}: {place} cannot be imported ({type(error).__name__}: {words}); "
            f"{'set this environment variable' if unset else 'mend it'}."
        ) from (error if words == str(error) else None)


SIGNATURES = {1: "(request, response)", 2: "(request, first, second)"}
SEVERAL = "(request, responses)"
"""Of several texts a function gets a list."""


class FunctionOptions(CallOptions):
    owner = "python judges"

    concurrency: int = Field(default=8, ge=1, le=4096)
    """Calls side by side; 1 for a function that may not run twice at once."""
    version: Line | None = None
    """Any text; another one makes it another judge, as when something changed that the function calls."""
    source: Line | None = None
    unseen: Line | None = None
    """What the hash of the code does not cover."""
    caveat: Line | None = None
    """What can not be measured from outside, where a framework hides or shuffles."""
    template: str | None = None
    """Prompt of a framework's judge where it can be seen and changed; empty where not."""
    threshold: float | None = None
    """Score from which a framework's judge passes on a binary scale, where it has no threshold of its own."""
    llm: Line | None = None
    """Variable of the same file that holds the model of a Ragas metric."""
    unreadable: Line | None = None
    """Names of exceptions, with commas, that say that a reply could not be read."""


def asked_of_a_function(scale: Scale, options: Any) -> Mapping[str, Protocol]:
    del options
    texts = scale.responses if isinstance(scale, BestOf) else 2 if isinstance(scale, Pairwise) else 1
    return {"base": Protocol("", reader=Spec("choice"), settings={"texts": texts})}


def with_code_hash(model: str, options: FunctionOptions) -> FunctionOptions:
    """The options with the hash of the function's code, so that an edited function is another judge."""
    if may_run(model):
        judge, variables = function_at(model), _variables(model, options.llm)
        adapter, seen = adapter_for(judge), Fingerprint(judge, partial(settings_of, module=variables))
        left_out = None if adapter is None else adapter.unseen
        unseen = ", ".join(each for each in (left_out, seen.unseen) if each) or None
        told = () if adapter is None else (adapter.caveat, adapter.left_out)
        caveat = "; ".join(each for each in told if each) or None
        template = (None if adapter is None else adapter.template) or ""
        return options.model_copy(
            update={"source": seen.hash, "unseen": unseen, "caveat": caveat, "template": template}
        )
    text = text_of(model)
    code = None if text is None else {"source": text[0], "defaults": text[1], "closure": {}}
    return options.model_copy(update={"source": None if code is None else content_hash(code)})


class PythonFunction(InProcessProvider):
    info = ProviderInfo(
        uses_prompt=False,
        is_code=True,
        file_of=file_of,
        can_write=False,
        options=FunctionOptions,
        complete_options=with_code_hash,
        protocols=asked_of_a_function,
        examples=(
            JudgeExample(
                "python/MODULE:FUNCTION",
                "your own function (request, first, second), (request, response) or (request, responses), or "
                "a judge of DeepEval, Ragas, openevals, autoevals, Phoenix, MLflow or Inspect",
            ),
        ),
    )

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._where = f"judge {judge.name}: the function"
        options = FunctionOptions.of(judge)
        self.concurrency = options.concurrency
        self._unreadable = tuple(filter(None, map(str.strip, (options.unreadable or "").split(","))))
        if not may_run(judge.model):
            return
        self._function = function_at(judge.model)
        self._threshold = options.threshold
        self._adapter = adapter_for(self._function, _variables(judge.model, options.llm))
        if self._adapter is not None:
            self._where = f"judge {judge.name}: the {self._adapter.name} judge"
        signature = None if self._adapter else _signature(self._function)
        parameters = signature.parameters if signature else {}
        self._fields = {
            name: parameters[name].default is inspect.Parameter.empty for name in FIELDS if name in parameters
        }
        """The fields that the function names, each with whether it needs them."""
        for protocol in judge.protocols.values():
            texts = int(protocol.settings.get("texts", 2))
            if self._adapter is None:
                _check_signature(signature, texts, tuple(self._fields), judge.address)
            elif texts != self._adapter.texts:
                needed = "pairwise" if self._adapter.texts == 2 else "binary or a range such as 1-5"
                raise ConfigError(
                    f"judge {judge.address}: this {self._adapter.name} judge takes {self._adapter.texts} "
                    f"text(s), the scale shows {texts}; choose the scale {needed}."
                )

    @property
    def destination(self) -> Destination:
        return Destination(self._judge.address, is_code=True)

    async def ask(self, presentation: Presentation) -> Reply:
        begun = time.perf_counter()
        with metered() as meter:
            try:
                reply = await self._answer(presentation, meter)
            except asyncio.CancelledError as error:  # by the time limit, which asks how many there were
                error.requests = len(meter.exchanges)  # type: ignore[attr-defined]
                raise
            except Exception as error:
                owned = self._adapter is not None
                found = outcome(error, meter, self._where, self._unreadable, owned)
                if not isinstance(found, Reply):
                    if isinstance(found, CallError):
                        found.requests = len(meter.exchanges)
                    words = "".join(traceback.format_exception(error))
                    # A traceback shows no cause whose words hold a key.
                    is_clean = meter.redactor.redact(words, is_error=True) == words
                    raise found from (error if is_clean else None)
                reply = found
        reply = redacted_reply(reply, meter.redactor)
        return _with_requests(reply, meter, time.perf_counter() - begun)

    async def _answer(self, presentation: Presentation, meter: RequestMeter) -> Reply:
        slots = presentation.slots
        if self._adapter is None:
            extra = self._extra(slots)
            texts = ([*slots.texts],) if len(slots.texts) > 2 else slots.texts
            answer = await _call(self._function, (slots.request, *texts), extra)
            return self._reply(answer, meter.redactor)
        words = self._judge.protocols["base"].reader.args.get("answers", {})
        try:
            grade = await run_in_lasting_loop(self._adapter.showing(slots.rubric).grade(slots))
        except (AttributeError, ImportError) as error:
            if not _is_other_version(error, self._adapter.judge):
                raise
            raise ConfigError(
                f"{self._where} is of a version that is not known here ({error}); install a version of "
                "docs/guides/frameworks/failures.md, or write a function around it."
            ) from error
        if meter.last is not None and meter.last.truncated:  # a grade that was repaired from half a reply
            raise UnreadableError(f"graded {grade.value} by a reply that the token limit cut off", "length")
        if (pattern := self._adapter.unchecked) is not None:
            for odd in (pattern.search(exchange.text) for exchange in meter.exchanges):
                if odd is not None:
                    raise UnreadableError(f"graded {grade.value} by a reply that says {odd[0]}", "off_scale")
        return reply_of(grade, presentation.answers, words, self._threshold)

    def _extra(self, slots: Slots) -> dict[str, Any]:
        """What the function asks for by name; a field without a default has to be in the data."""
        metadata = None if slots.metadata is None else json.loads(slots.metadata)
        given = {"reference": slots.reference, "context": slots.context, "metadata": metadata}
        for name, needed in self._fields.items():
            if needed and given[name] is None:
                raise missing_field(self._where, name)
        return {name: given[name] for name in self._fields if given[name] is not None}

    def _reply(self, answer: Any, redactor: Redactor) -> Reply:
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, UnreadableError):
            raise answer
        if answer is None or isinstance(answer, str):
            return Reply(answer or "")
        try:
            number = float(answer)
        except (TypeError, ValueError, OverflowError):
            raise UnreadableError(
                f"returned {_shown(answer, redactor)} ({type(answer).__name__}), expected text or a number: "
                "'1', '2', 'tie' or a score"
            ) from None
        if not math.isfinite(number):
            return Reply(repr(number), finish="off_scale")
        return Reply(str(int(number)) if number.is_integer() else repr(number))


def _is_other_version(error: AttributeError | ImportError, judge: Any) -> bool:
    """Whether a framework lacks what its adapter uses: a module, or an attribute of one or of the judge."""
    if isinstance(error, ImportError):
        return str(error.name).partition(".")[0] in ADAPTERS
    return isinstance(error.obj, (ModuleType, type(judge)))


def _shown(answer: Any, redactor: Redactor) -> str:
    """A value, cut short; redacted first, since a cut may leave half a key."""
    whole = repr(answer)
    words = redactor.redact(whole)
    return format_value(answer) if words == whole else excerpt(words, 100)


def _variables(address: str, llm: str | None) -> Mapping[str, Any]:
    """What the judge's own file holds under the name of a model; empty where no model is named."""
    place, colon, _ = address.rpartition(":")
    if llm is None or not colon:
        return {}
    found = getattr(_module(place, address), llm, None)
    if found is None:
        raise ConfigError(f"judge python/{address}: no {llm!r} in {place}; name a variable that it holds.")
    return {"llm": found}


def _with_requests(reply: Reply, meter: RequestMeter, seconds: float) -> Reply:
    """The reply with its time and what the meter saw; tokens that the function states itself stay."""
    seen, usage = meter.usage, reply.usage
    if usage.input_tokens or usage.output_tokens or usage.billed is not None:
        seen = replace(usage, requests=seen.requests)
    model = reply.served_model or next((each.model for each in meter.exchanges if each.model), None)
    if not meter.exchanges and reply.latency_ms:
        return reply
    return replace(
        reply, usage=seen if meter.exchanges else usage, served_model=model, latency_ms=1000 * seconds
    )


FIELDS = ("reference", "context", "metadata")
"""Fields of the data that a function gets when it names them."""


def _signature(function: Function) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # built-in functions need not say what they take
        return None


def _check_signature(
    signature: inspect.Signature | None, texts: int, fields: tuple[str, ...], address: str
) -> None:
    if signature is None:
        return
    try:
        signature.bind(*[""] * (2 if texts > 2 else 1 + texts), **dict.fromkeys(fields, ""))
    except TypeError as error:
        what = {1: "one text", 2: "two texts"}.get(texts, f"{texts} texts")
        raise ConfigError(
            f"judge {address}: found {signature}, expected {SIGNATURES.get(texts, SEVERAL)} on a scale for "
            f"{what}; change the function, or choose another scale."
        ) from error


async def _call(function: Function, arguments: tuple[Any, ...], extra: Mapping[str, Any]) -> Any:
    if _is_async(function):
        return await run_in_lasting_loop(function(*arguments, **extra))
    value = await run_in_daemon_thread(lambda: function(*arguments, **extra), "judge")
    return await run_in_lasting_loop(_awaited(value)) if inspect.isawaitable(value) else value


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


@cache
def _is_async(function: Function) -> bool:
    call = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    return inspect.iscoroutinefunction(inspect.unwrap(call))
