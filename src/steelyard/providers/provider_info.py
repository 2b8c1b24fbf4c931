"""Capabilities and requirements of a provider: all that is asked of it before a call is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.providers.options import CallOptions, Options, Settings
from steelyard.tasks.scale import BestOf, Pairwise, Scale
from steelyard.trials.builtin_prompts import (
    BEST_OF_SYSTEM,
    BEST_OF_USER,
    GRADED_USER,
    PAIRWISE_SYSTEM,
    POINTWISE_SYSTEM,
    POINTWISE_USER,
)
from steelyard.trials.judge import Protocol

REMOTE_SECONDS = 1.5 / 8
"""Seconds per call behind a network, several side by side."""

IN_PROCESS_SECONDS = 0.0005
"""Seconds per call that is answered without a model."""


@dataclass(frozen=True)
class JudgeExample:
    """A judge as people write it, and what it is."""

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
    """A provider without a connection."""

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
