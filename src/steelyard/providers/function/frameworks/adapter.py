"""Adapter of a framework's judge: which fields it needs, how it is called, and its grade on its own range."""

from __future__ import annotations

import functools
import inspect
import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import CellType, FunctionType
from typing import Any, ClassVar

from steelyard.errors import ConfigError, DataError, UnreadableError
from steelyard.providers.function.code_hash import Fingerprint
from steelyard.stimuli.rubric_edits import with_rubric
from steelyard.trials.judge import Reply, Slots


@dataclass(frozen=True)
class Grade:
    """What a framework's judge said."""

    value: float | str | bool | None
    """Its number or word; None where it has none."""
    low: float | None = None
    high: float | None = None
    """Ends of the framework's own range; None where it has none."""
    passed: bool | None = None
    """Whether it passes the framework's own threshold, where there is one."""
    label: str | None = None
    """The word behind a number."""
    why: str = ""
    """Why there is no value."""


class FrameworkAdapter(ABC):
    name: ClassVar[str]
    package: ClassVar[str] = ""
    classes: ClassVar[tuple[str, ...]] = ()
    """Where the classes of its judges are, and their names."""
    attributes: ClassVar[tuple[str, ...]] = ()
    """Those of a judge that decide a verdict."""
    texts = 1
    """2 for a judge that compares."""
    caveat: str | None = None
    """What can not be measured from outside."""
    unchecked: ClassVar[re.Pattern[str] | None] = None
    """Numbers in a model's reply that the framework grades by, although they are off its scale."""
    unseen: str | None = "the client of its model (address, sampling)"
    """What `settings` leave out on purpose; what could not be looked into is told beside it."""

    def __init__(self, judge: Any, module: Mapping[str, Any]) -> None:
        """`module` holds the variables of the user's file."""
        self.judge, self.module = judge, module
        self._rewritten: dict[str, FrameworkAdapter] = {}

    @classmethod
    def fits(cls, judge: Any) -> bool:
        """By class and module name alone; the framework is not imported."""
        return has_base(judge, cls.package, *cls.classes)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What decides a verdict, for the fingerprint."""
        return {name: getattr(self.judge, name, None) for name in self.attributes}

    @classmethod
    def model_settings(cls, model: Any) -> Mapping[str, Any] | None:
        """What decides a verdict of the framework's model, for the fingerprint; None for all else."""
        del model
        return None

    @property
    def template(self) -> str | None:
        """The prompt, where it can be seen and changed."""
        return None

    def showing(self, rubric: str | None) -> FrameworkAdapter:
        """The judge with this rubric in its prompt, where the prompt holds its points; else as it is."""
        if rubric is None or self.template is None:
            return self
        text = with_rubric(self.template, rubric)
        if text is None or text == self.template:
            return self
        if text not in self._rewritten:
            self._rewritten[text] = type(self)(self.with_template(text), self.module)
        return self._rewritten[text]

    def with_template(self, text: str) -> Any:
        """The framework's judge with another prompt; adapters that show a template have one."""
        raise NotImplementedError

    @property
    def left_out(self) -> str:
        """Which probes do not apply to it, and why."""
        if self.texts == 2:
            return "criterion is left out: it has no tie instruction that could be changed"
        return left_out_of(self.template)

    @abstractmethod
    async def grade(self, slots: Slots) -> Grade: ...


def left_out_of(template: str | None) -> str:
    """What does not apply to a judge of one text."""
    if template is None:
        return "rubric_order and score_range are left out: its prompt can not be changed from outside"
    return (
        "score_range is left out: its numbers are the framework's; rubric_order applies where its prompt "
        "holds the study's rubric word for word"
    )


def has_base(judge: Any, package: str, *names: str) -> bool:
    """Whether a class of the object, or one it derives from, has one of these names in a package."""
    return any(
        kind.__name__ in names and f"{kind.__module__}.".startswith(f"{package}.")
        for kind in type(judge).__mro__
    )


_ROLES = {
    **dict.fromkeys(("request", "input", "inputs", "question", "query", "prompt", "user_input"), "request"),
    **dict.fromkeys(("response", "output", "outputs", "answer", "completion", "generation"), "response"),
    **dict.fromkeys(("actual_output", "submission"), "response"),
    **dict.fromkeys(("reference", "expected", "expected_output", "expected_response", "target"), "reference"),
    **dict.fromkeys(("reference_outputs", "ground_truth", "reference_answer"), "reference"),
    **dict.fromkeys(
        ("context", "contexts", "retrieved_contexts", "retrieval_context", "documents"), "context"
    ),
    **dict.fromkeys(("document", "document_text", "reference_text"), "context"),
}
"""Names that frameworks' templates give to the parts of a question."""


def bind(names: Iterable[str], slots: Slots, where: str, lists: Sequence[str] = ()) -> dict[str, Any]:
    """A value for each field of a template; one that the data lack is demanded by name, never left empty."""
    metadata = {} if slots.metadata is None else json.loads(slots.metadata)
    values = {"request": slots.request, "response": slots.texts[0], "reference": slots.reference}
    bound: dict[str, Any] = {}
    for name in names:
        role = _ROLES.get(name)
        if name in metadata:
            bound[name] = metadata[name]
        elif role is None:
            raise ConfigError(
                f"{where} needs the field {name!r}, which is none of request, response, reference and "
                "context; put it into a JSON object of your data, and map that: --columns metadata=COLUMN."
            )
        elif role == "context":
            passages = require(passages_of(slots), where, "context")
            bound[name] = passages if name in lists else "\n\n".join(passages)
        else:
            bound[name] = require(values[role], where, role)
    return bound


def require(value: Any, where: str, name: str) -> Any:
    if value is None:
        raise missing_field(where, name)
    return value


def missing_field(where: str, name: str) -> DataError:
    return DataError(
        f"{where} needs {name!r}, and a text that it is shown has none; measure it on your data with "
        f"--columns {name}=COLUMN."
    )


def passages_of(slots: Slots) -> list[str] | None:
    """The context as a list: as it is written in JSON, or the text as its one passage."""
    if slots.context is None:
        return None
    try:
        found = json.loads(slots.context)
    except ValueError:
        found = None
    return list(map(str, found)) if isinstance(found, list) else [slots.context]


def reply_of(grade: Grade, scale: Sequence[str], words: Mapping[str, str], threshold: float | None) -> Reply:
    """A grade on the scale of the study, or why there is none.

    A number is mapped only inside the framework's own range. The judge's answer map comes first: what is not
    in it has no meaning. Then comes the threshold on a binary scale.
    """
    value = grade.value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise UnreadableError(grade.why or "the framework gave no score")
    said = grade.label if grade.label is not None else value
    if isinstance(said, str) and (words or isinstance(value, str)):
        return Reply(said)
    number = float(value)
    if words:
        if _spelled(number) in words:
            return Reply(_spelled(number))
        raise UnreadableError(f"scored {number:g}, which is none of the answers {', '.join(words)}")
    low, high = grade.low, grade.high
    if low is None or high is None:
        return Reply(_spelled(number))
    if not low <= number <= high:
        return Reply(f"scored {number:g}, outside its range {low:g} to {high:g}", finish="off_scale")
    if tuple(scale) == ("0", "1"):
        if threshold is not None or grade.passed is not None:
            passed = grade.passed if threshold is None else number >= threshold
            return Reply(str(int(bool(passed))))
        if number not in (low, high):
            told = f"scored {number:g}, between {low:g} and {high:g}: say what passes with ?threshold="
            return Reply(told, finish="off_scale")
        return Reply(str(int(number == high)))
    first, last = int(scale[0]), int(scale[-1])
    return Reply(str(math.floor(first + (number - low) / (high - low) * (last - first) + 0.5)))


def _spelled(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def with_cell(function: Any, name: str, value: Any) -> Any:
    """The same function with another value of one variable that it closes over."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[name] = CellType(value)
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[each] for each in function.__code__.co_freevars),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return functools.wraps(function)(made)


ADAPTERS = {
    "autoevals": "scorers:AutoevalsScorer",
    "deepeval": "deepeval_metric:DeepEvalMetric",
    "inspect_ai": "scorers:InspectScorer",
    "mlflow": "scorers:MlflowJudge",
    "openevals": "scorers:OpenevalsJudge",
    "phoenix": "scorers:PhoenixEvaluator",
    "ragas": "ragas_metric:RagasMetric",
}
"""Top-level package to the adapter of its judges, which is loaded when a judge fits."""


TELEMETRY_OFF = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_MODEL_CATALOG_URI": "",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
}
"""Variables that keep the frameworks from reporting to their makers, and from asking them for updates."""


def turn_telemetry_off() -> None:
    """Have no framework report what is measured; a variable that the user has set stays as it is."""
    for name, value in TELEMETRY_OFF.items():
        os.environ.setdefault(name, value)


def adapter_for(judge: Any, module: Mapping[str, Any] | None = None) -> FrameworkAdapter | None:
    """The adapter of a framework's judge; None for everything else. No framework is imported for this."""
    return next((adapter(judge, module or {}) for adapter in _adapters(judge) if adapter.fits(judge)), None)


def _adapters(judge: Any) -> Iterator[type[FrameworkAdapter]]:
    """The adapters of the frameworks that an object has to do with."""
    modules = [kind.__module__ for kind in type(judge).__mro__]
    modules.append(str(getattr(judge, "__module__", "")))
    # Inspect marks what it made; a user's own scorer is otherwise a function of the user's module.
    modules += ["inspect_ai"] if hasattr(judge, "__registry_info__") else []
    for package in dict.fromkeys(name.partition(".")[0] for name in modules):
        if package in ADAPTERS:
            file, _, kind = ADAPTERS[package].partition(":")
            yield getattr(import_module(f"{__package__}.{file}"), kind)


def settings_of(
    judge: Any, fingerprint: Fingerprint, module: Mapping[str, Any] | None = None
) -> Mapping[str, Any] | None:
    """What decides a verdict of a framework's judge, with the code and the attributes that its user wrote.

    Inside such a judge, of a framework's model too.
    """
    if isinstance(judge, type):
        return None
    adapter = adapter_for(judge, module)
    settings = adapter.settings if adapter is not None else _model_settings(judge, fingerprint)
    if settings is None:
        return None
    held: dict[str, Any] = getattr(judge, "__dict__", {})
    kinds = [judge] if inspect.isfunction(judge) else type(judge).__mro__
    own = [kind for kind in kinds if _package(kind) == _package(kinds[0]) and _package(kind) not in ADAPTERS]
    wrapped = [each for each in held.values() if inspect.isfunction(each) and _package(each) not in ADAPTERS]
    if not own and not wrapped:
        return settings
    # What a run leaves behind, such as a score, is among the attributes that the framework names.
    theirs = [vars(kind) for kind in kinds if _package(kind) in ADAPTERS]
    named = {name for one in theirs for name in (*one, *one.get("__annotations__", ()))}
    state = {name: value for name, value in held.items() if own and name not in {*named, *REGISTERED}}
    code = [fingerprint.code_hash(each) for each in (*own, *wrapped)]
    return {**settings, "code": code, "state": state}


def _model_settings(model: Any, fingerprint: Fingerprint) -> Mapping[str, Any] | None:
    if not fingerprint.in_framework:
        return None
    found = (adapter.model_settings(model) for adapter in _adapters(model))
    return next((settings for settings in found if settings is not None), None)


REGISTERED = ("__registry_info__", "__registry_params__")
"""Inspect's marks on what it made; the parameters are among the settings."""


def _package(code: Any) -> str:
    return str(code.__module__).partition(".")[0]
