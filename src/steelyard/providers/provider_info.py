"""What a provider says of itself before a call is made: capabilities, keys of its own, where its calls go.

Keys of a judge that are its provider's own are strict, and checked before anything is spent: a provider names
a model of them. `planted/probit?s=0.8` and `{model: planted/probit, s: 0.8}` come to the same; what is not
said stays None or has the default that the model gives it.
"""

from __future__ import annotations

import os
import typing
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from steelyard.core.dotenv import file_of_key, holds_key, key_from
from steelyard.core.validation import checked
from steelyard.tasks.task import BestOf, Pairwise, Scale
from steelyard.trials.builtin_prompts import (
    BEST_OF_SYSTEM,
    BEST_OF_USER,
    GRADED_USER,
    PAIRWISE_SYSTEM,
    POINTWISE_SYSTEM,
    POINTWISE_USER,
)
from steelyard.trials.judge import Judge, Protocol

Own = TypeVar("Own", bound="Options")


def _one_line(text: str) -> str:
    """Refuse what would break a table or steer a terminal."""
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
        raise PydanticCustomError("control_character", "no control characters")
    return text


def _visible(text: str) -> str:
    """Refuse a name that nobody sees."""
    if not text.strip():
        raise PydanticCustomError("blank", "a name with letters or digits")
    return text


def _variable(text: str) -> str:
    """Refuse what may be a key itself; the message must not repeat it."""
    parts = text.split("_")
    is_key = any(len(part) >= _KEY_LENGTH and any(map(str.isdigit, part)) for part in parts)
    if is_key or not (text.isascii() and text.isidentifier()):
        raise ValueError(
            "found what may be a key (not repeated here), expected the name of an environment variable; put "
            "the key into a variable such as MY_API_KEY and write that name"
        )
    return text


_KEY_LENGTH = 16
"""Letters and digits in a row that no name of a variable has."""


def field_with_key(body: object) -> str | None:
    """Name of the first field, however deep, whose value may be a key."""
    fields = body if isinstance(body, dict) else dict(enumerate(body)) if isinstance(body, list) else {}
    for name, value in fields.items():
        if isinstance(value, str) and holds_key(value):
            return str(name)
        if (inner := field_with_key(value)) is not None:
            return inner
    return None


Line = Annotated[str, AfterValidator(_one_line)]

Name = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_one_line), AfterValidator(_visible)]


class Options(BaseModel):
    """Keys of a judge in a study file, beside those that every judge has; by itself, none.

    The values end up in `Judge.options` and so in the judge's fingerprint, except those that are None and
    fields with `exclude=True`, which only shape the protocols.
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        frozen=True,
        hide_input_in_errors=True,
        defer_build=True,
    )

    owner: ClassVar[str] = ""
    """Whose keys these are, where the provider's name does not say it; empty where judges of others may
    have such a key as well."""

    @classmethod
    def of(cls: type[Own], judge: Judge) -> Own:
        return checked(cls, dict(judge.options), f"judge {judge.address}", under="options")

    def stored(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)


class CallOptions(Options):
    owner = "judges behind HTTP"

    timeout: float | None = Field(default=None, gt=0)
    input_price: float | None = Field(default=None, ge=0)
    """Dollars per million tokens of the prompt."""
    output_price: float | None = Field(default=None, ge=0)
    """Dollars per million tokens of the answer."""

    @model_validator(mode="after")
    def _both_prices(self) -> CallOptions:
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError(
                "found one of input_price and output_price, expected both or neither "
                "(dollars per million tokens); add the other"
            )
        return self


class HttpOptions(CallOptions):
    base_url: Line | None = None
    """Address up to and including the version."""
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = None
    """Environment variable that holds the key."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """Calls a minute at this address, by all judges that are there; the strictest statement counts."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """Tokens a minute, of prompts and answers together."""


TRANSPORT_OPTIONS = frozenset((*HttpOptions.model_fields, "path"))


class Settings(Options):
    def applied(self, protocol: Protocol) -> Protocol:
        return replace(protocol, settings={**protocol.settings, **self.stored()})


REMOTE_SECONDS = 1.5 / 8
"""Seconds per call behind a network, several side by side."""

IN_PROCESS_SECONDS = 0.0005
"""Seconds per call that is answered without a model."""


@dataclass(frozen=True)
class JudgeExample:
    judge: str
    meaning: str

    @property
    def address(self) -> str:
        return self.judge.partition("?")[0]


@dataclass(frozen=True)
class DoctorCheck:
    subject: str
    state: str
    """`ok`, `absent` (may be fine) or `broken`."""
    found: str
    exit_code: int = 1
    """Exit code when broken."""


class InProcessProvider:
    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to release."""


def prompts(scale: Scale, options: Any) -> Mapping[str, Protocol]:
    del options
    if isinstance(scale, BestOf):
        return {"base": Protocol(BEST_OF_USER, BEST_OF_SYSTEM)}
    if not isinstance(scale, Pairwise):
        return {"base": Protocol(POINTWISE_USER, POINTWISE_SYSTEM)}
    return {name: Protocol(text, PAIRWISE_SYSTEM) for name, text in GRADED_USER.items()}


@dataclass(frozen=True)
class ProviderInfo:
    free: bool = False
    """Calls cost nothing: they run on the user's own machine."""
    sequential: bool = False
    """Uses all cores of this machine, so judges of this provider run one after the other."""
    uses_prompt: bool = True
    """Answers what the prompt says; others answer by the texts alone."""
    is_code: bool = False
    """Runs a function of the user's: it has a preflight and an answer map, and no prompt."""
    can_write: bool = True
    """Writes text, so that it can be an author or a validator."""
    can_compare: bool = True
    """Can say which of two texts is better."""
    can_score: bool = True
    """Can give a score to one text."""
    can_choose: bool = True
    """Can name the best of several texts."""
    knows_labels: bool = False
    """Answers by the labels of the data: it has `set_labels`, and can be no reference for them."""
    is_recording: bool = False
    """Its model is a file of recorded verdicts, and it has `set_replies`."""
    file_of: Callable[[str], str | None] = lambda _: None
    """The file that a model's name holds, seen from the working folder; None where it holds none."""
    files_within: Callable[[str], Iterable[str]] = lambda _: ()
    """The files that this file names in its turn, seen from its folder."""
    context: int | None = None
    """Tokens that it reads where a judge does not say; runs of agents are shortened to fit."""
    seconds_per_call: float = REMOTE_SECONDS
    """Expected time of a call, for plans; where calls run side by side, the share of one."""
    options: type[Options] = CallOptions
    """Keys of its own."""
    complete_options: Callable[[str, Any], Any] = lambda _, options: options
    """The options of a model with what it says of itself, such as a hash of its code."""
    settings: type[Settings] = Settings
    """Keys that a protocol of its judges may have beside prompt and reader."""
    protocols: Callable[[Scale, Any], Mapping[str, Protocol]] = prompts
    """The protocols that a judge has by itself on a scale, `base` among them, given its options.

    What can not be had raises a ConfigError that begins with the key.
    """
    examples: tuple[JudgeExample, ...] = ()
    """How its judges are written."""
    environment: tuple[str, ...] = ()
    """Environment variables that are read."""
    prices: str = ""
    """Name of the vendor in the table of prices, where the provider's is another."""
    batch: bool = False
    """Calls can go through the vendor's batch API, for an answer within hours."""
    batch_price: float = 1.0
    """Share of the price that the vendor takes for calls in a batch."""
    thinking_tokens: Callable[[str, Mapping[str, Any]], int] = lambda _model, _options: 0
    """Tokens that a model with such options may spend on thoughts, beside its answer."""
    checks: Callable[[], Iterator[DoctorCheck]] = lambda: iter(())
    """What else has to be in place: weights, packages."""
    models: Mapping[str, ProviderInfo] = field(default_factory=dict)
    """Information about models that differ from the rest."""

    @property
    def is_read(self) -> bool:
        """Its replies are words that may be unreadable, so it has a preflight and an answer map."""
        return self.uses_prompt or self.is_code

    def for_model(self, model: str) -> ProviderInfo:
        return self.models.get(model, self)

    def every_example(self) -> Iterator[JudgeExample]:
        yield from self.examples
        for info in self.models.values():
            yield from info.examples

    def every_check(self) -> Iterator[DoctorCheck]:
        yield from self.checks()
        yield from (DoctorCheck(name, "ok", "set") for name in self.environment if os.environ.get(name))

    @property
    def missing_key(self) -> str | None:
        return None if any(map(os.environ.get, self.environment)) else next(iter(self.environment), None)


@dataclass(frozen=True)
class Destination:
    address: str
    """Where calls go, without a query; of code, the name of the function."""
    key_variables: tuple[str, ...] = ()
    """Variables that may hold the key; the first that is set is sent."""
    is_code: bool = False
    """The judge is a Python function: calls run its code."""
    is_own: bool = True
    """The address is the vendor's, or one that the user's environment names."""
    is_named: bool = False
    """The judge names the variable itself."""
    finds_key: str = ""
    """The package that finds the key, by rules of its own: in which variable, nobody here knows."""

    @property
    def key_variable(self) -> str | None:
        """The variable that is sent; the first of them where none is set."""
        return next(filter(key_from, self.key_variables), next(iter(self.key_variables), None))

    @property
    def foreign_variable(self) -> str | None:
        """The variable whose value the judge sends to an address that is not the vendor's."""
        variable = None if self.is_own else self.key_variable
        return variable if variable and (self.is_named or key_from(variable)) else None

    @property
    def foreign_key(self) -> str | None:
        """What of the user's the judge sends to an address that is not the vendor's."""
        if self.foreign_variable is not None:
            return f"the value of {self.foreign_variable}"
        return f"the key that {self.finds_key} finds" if self.finds_key and not self.is_own else None

    @property
    def text(self) -> str:
        """The end of a sentence: `calls …`."""
        if self.is_code:
            return f"run the Python code of {self.address}"
        if self.key_variable is None:
            found = f"with the key that {self.finds_key} finds" if self.finds_key else "without a key"
            return f"go to {self.address} {found}"
        found = f" of {file}" if (file := file_of_key(self.key_variable)) else ""
        unset = "" if key_from(self.key_variable) else " (not set)"
        return f"go to {self.address} with the key in {self.key_variable}{found}{unset}"


@typing.runtime_checkable
class HasDestination(typing.Protocol):
    """A provider that says where calls go; those without one stay in this process."""

    @property
    def destination(self) -> Destination:
        """Where calls go, and with which key."""
