"""Which messages of a run are to be edited, and to what end: a planner's answer, cleaned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.core.text import pluralize
from steelyard.stimuli.authored.rejection import NO_PLAN, UNREADABLE, Rejection
from steelyard.tasks.transcripts.transcript import ASSISTANT, Transcript

_NUMBER = re.compile(r"\D*(\d{1,6})\D*")
"""The number of a message as models write it: 5, "5", "[005]", "message 5"."""


@dataclass(frozen=True)
class Step:
    """One message that is to be edited."""

    place: int
    """Where it stands, from 0."""
    goal: str
    """What the edit is to bring about."""

    @property
    def number(self) -> int:
        """The message as readers count them, from 1."""
        return self.place + 1


@dataclass(frozen=True)
class Plan:
    """Steps in the order of their messages, and the thought that joins them."""

    thesis: str
    """How the run comes to its target."""
    steps: tuple[Step, ...]
    """Never empty."""
    corrections: tuple[str, ...] = ()
    """What was wrong with the planner's answer and was put right, in words."""

    @property
    def words(self) -> str:
        """The plan in a line."""
        steps = "; ".join(f"message {step.number}: {step.goal}" for step in self.steps)
        return f"{self.thesis} ({steps})"


def cleaned(body: Mapping[str, Any], transcript: Transcript, most: int) -> Plan | Rejection:
    """The plan that a planner's answer holds, without what can not be done; or why there is none."""
    given = body.get("steps")
    if not isinstance(given, list):
        return Rejection(UNREADABLE, "the plan's steps are no list")
    if not given:
        why = _words(body.get("why"))
        return Rejection(NO_PLAN, f"the planner sees no way{f': {why}' if why else ''}")
    corrections: list[str] = []
    steps = sorted(_usable(given, transcript, corrections), key=lambda step: step.place)
    if not steps:
        return Rejection(NO_PLAN, f"no step of the plan can be used ({'; '.join(corrections)})")
    if len(steps) > most:
        corrections.append(f"the last {pluralize(len(steps) - most, 'step')} of {len(steps)} left out")
        steps = steps[:most]
    thesis = _words(body.get("thesis"))
    if not thesis:
        thesis = steps[0].goal
        corrections.append("the thesis was empty; the first goal stands in")
    return Plan(thesis, tuple(steps), tuple(corrections))


def _usable(given: list[Any], transcript: Transcript, corrections: list[str]) -> Iterator[Step]:
    """Steps on the agent's own messages, each once, with a goal; all others are told."""
    taken: set[int] = set()
    for position, step in enumerate(given, start=1):
        place = _place(step)
        fault = _fault(step, place, transcript, taken)
        if fault is not None or place is None:
            corrections.append(f"step {position} dropped: {fault}")
            continue
        taken.add(place)
        yield Step(place, _words(step["goal"]))


def _fault(step: Any, place: int | None, transcript: Transcript, taken: set[int]) -> str | None:
    if place is None:
        return "it names no message"
    if not 0 <= place < len(transcript.turns):
        return f"there is no message {place + 1} among {len(transcript.turns)}"
    role = transcript.turns[place].role
    if role != ASSISTANT:
        return f"message {place + 1} is of the role {role}, and only the agent's may be edited"
    if place in taken:
        return f"message {place + 1} is named before"
    return None if _words(step.get("goal")) else f"it says no goal for message {place + 1}"


def _place(step: Any) -> int | None:
    """Where the message of a step stands, from 0; None where no number is named."""
    named = step.get("message") if isinstance(step, Mapping) else None
    if isinstance(named, bool) or not isinstance(named, int | str):
        return None
    if isinstance(named, int):
        return named - 1
    match = _NUMBER.fullmatch(named)
    return int(match[1]) - 1 if match else None


def _words(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
