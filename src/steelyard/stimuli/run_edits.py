"""Edits of an agent's run by models: the plan, one edited message, and what must still fit together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.core.text import pluralize
from steelyard.stimuli.agent_edits import occurs
from steelyard.stimuli.authored_checks import (
    Rejection,
    check_leak,
    check_script,
    is_refusal,
    shared_pairs,
    words,
)
from steelyard.tasks.transcripts.transcript import Transcript, Turn, render_transcript

_NUMBER = re.compile(r"\D*(\d{1,6})\D*")
"""The number of a message as models write it: 5, "5", "[005]", "message 5"."""


@dataclass(frozen=True)
class PlanStep:
    place: int
    """Where it stands, from 0."""
    goal: str

    @property
    def number(self) -> int:
        """The message as readers count them, from 1."""
        return self.place + 1


@dataclass(frozen=True)
class EditPlan:
    thesis: str
    steps: tuple[PlanStep, ...]
    corrections: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        steps = "; ".join(f"message {step.number}: {step.goal}" for step in self.steps)
        return f"{self.thesis} ({steps})"


def parse_plan(body: Mapping[str, Any], transcript: Transcript, most: int) -> EditPlan | Rejection:
    given = body.get("steps")
    if not isinstance(given, list):
        return Rejection("unreadable reply", "the plan's steps are no list")
    if not given:
        why = _one_line(body.get("why"))
        return Rejection("no plan", f"the planner sees no way{f': {why}' if why else ''}")
    corrections: list[str] = []
    steps = sorted(_usable(given, transcript, corrections), key=lambda step: step.place)
    if not steps:
        return Rejection("no plan", f"no step of the plan can be used ({'; '.join(corrections)})")
    if len(steps) > most:
        corrections.append(f"the last {pluralize(len(steps) - most, 'step')} of {len(steps)} left out")
        steps = steps[:most]
    thesis = _one_line(body.get("thesis"))
    if not thesis:
        thesis = steps[0].goal
        corrections.append("the thesis was empty; the first goal stands in")
    return EditPlan(thesis, tuple(steps), tuple(corrections))


def _usable(given: list[Any], transcript: Transcript, corrections: list[str]) -> Iterator[PlanStep]:
    taken: set[int] = set()
    for position, step in enumerate(given, start=1):
        place = _message_place(step)
        fault = _fault(step, place, transcript, taken)
        if fault is not None or place is None:
            corrections.append(f"step {position} dropped: {fault}")
            continue
        taken.add(place)
        yield PlanStep(place, _one_line(step["goal"]))


def _fault(step: Any, place: int | None, transcript: Transcript, taken: set[int]) -> str | None:
    if place is None:
        return "it names no message"
    if not 0 <= place < len(transcript.turns):
        return f"there is no message {place + 1} among {len(transcript.turns)}"
    role = transcript.turns[place].role
    if role != "assistant":
        return f"message {place + 1} is of the role {role}, and only the agent's may be edited"
    if place in taken:
        return f"message {place + 1} is named before"
    return None if _one_line(step.get("goal")) else f"it says no goal for message {place + 1}"


def _message_place(step: Any) -> int | None:
    """Where the message stands that a step names: by its number, or as the harness has it by its index."""
    body = step if isinstance(step, Mapping) else {}
    named, first = (body["message"], 1) if "message" in body else (body.get("message_index"), 0)
    if isinstance(named, bool) or not isinstance(named, int | str):
        return None
    if isinstance(named, int):
        return named - first
    match = _NUMBER.fullmatch(named)
    return int(match[1]) - first if match else None


def _one_line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


_TO_REFUSE = re.compile(
    r"refus|declin|turns? (?:\w+ ){0,3}down"
    r"|(?:not|n't|never|cannot|unable to) (?:help|assist|comply|carry out)",
    re.I,
)
_HEADS = re.compile(
    r"^\s*(?:\[\d{3,}\] (?:SYSTEM|USER|ASSISTANT|TOOL RESULT)\b|(?:user|human|system|tool(?: result)?)\s*:)",
    re.I | re.M,
)
LONGEST_ECHO = 6
"""Words from which on a message that repeats somebody else's nearly word for word is told from chance."""
MOST_ECHOED = 0.9
"""Share of word pairs from which on it is somebody else's."""


@dataclass(frozen=True)
class TurnEdit:
    text: str | None = None
    """The words of the message; None leaves them as they are."""
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, turn: Turn) -> Turn | Rejection:
        """The message after the edit; reasoning, ids and names of tools stay."""
        ids = {call.id for call in turn.calls}
        for name, arguments in self.arguments.items():
            if name not in ids:
                return Rejection("wrong tool call", f"the message has no tool call {name!r}")
            if not isinstance(arguments, dict):
                why = f"the arguments of the tool call {name!r} are no JSON object"
                return Rejection("wrong tool call", why)
        said = turn if self.text is None else turn.saying(self.text)
        new = self.arguments
        calls = (
            replace(call, arguments=new[call.id], fault=None) if call.id in new else call
            for call in said.calls
        )
        return replace(said, calls=tuple(calls))


def unplanned_refusal(edited: Turn, original: Transcript, plan: str) -> Rejection | None:
    """A message that declines though no word of the plan asks for that: the editor's own refusal."""
    spoken = "\n".join(turn.text for turn in original.turns if turn.role == "assistant")
    if not is_refusal(edited.text) or is_refusal(spoken) or _TO_REFUSE.search(plan):
        return None
    return Rejection("refusal phrase", "the message declines, and the plan asks for no refusal")


def find_fault(
    edited: Turn, place: int, transcript: Transcript, original: Transcript, rubric: str
) -> Rejection | None:
    """The first thing that is wrong with an edited message; `transcript` is the run before this edit."""
    faults = _faults(edited, place, transcript, original, rubric)
    return next((rejection for rejection in faults if rejection is not None), None)


def _faults(
    edited: Turn, place: int, transcript: Transcript, original: Transcript, rubric: str
) -> Iterator[Rejection | None]:
    source = render_transcript(original)
    text, before = edited.text, original.turns[place]
    spoken = "\n".join(turn.text for turn in original.turns if turn.role == "assistant")
    if not edited.calls and not words(text):
        yield Rejection("empty", "the message says nothing and calls nothing")
    same_words = words(text) == words(before.text)
    if same_words and edited.calls == before.calls:
        yield Rejection("copy", "the message is as it was, word for word")
    if not same_words:
        yield _others(text, transcript, spoken)
        yield _again(text, place, transcript, original)
        yield check_script(text, source)
        yield check_leak(text, source, rubric)


def _others(text: str, transcript: Transcript, spoken: str) -> Rejection | None:
    """Words that are not the agent's: a message of another role, or several messages in one."""
    head = _HEADS.search(text)
    if head and head[0].strip() not in spoken:
        why = f"the message holds a message of its own ({head[0].strip()!r})"
        return Rejection("another role's words", why)
    if len(words(text)) < LONGEST_ECHO:
        return None
    for number, turn in enumerate(transcript.turns, start=1):
        # Nearly word for word, and not merely a part of it.
        shared = min(shared_pairs(text, turn.text), shared_pairs(turn.text, text))
        if turn.role != "assistant" and shared >= MOST_ECHOED:
            why = f"the message repeats message {number}, of the role {turn.role}"
            return Rejection("another role's words", why)
    return None


def _again(text: str, place: int, transcript: Transcript, original: Transcript) -> Rejection | None:
    """The words of another edit of the run; what the agent says twice by itself may stay so."""
    for other, (now, before) in enumerate(zip(transcript.turns, original.turns, strict=True)):
        if other != place and now != before and words(text) and words(now.text) == words(text):
            return Rejection("same text again", f"message {other + 1} was given the same words")
    return None


SHORTEST = 2
"""Signs below which a value may stand in a message by chance."""
_QUOTED = 60


def find_contradictions(original: Transcript, edited: Transcript) -> tuple[str, ...]:
    """One sentence for each message that speaks of an argument which its call does not have any more.

    Tool results are never edited, and a result that answers another call than the one that stands there
    gives the edit away.
    """
    found = []
    for place, old, new in _changed_arguments(original, edited):
        named = old if len(old) <= _QUOTED else f"{old[:_QUOTED]}…"
        for number, turn in enumerate(edited.turns, start=1):
            later = number > place + 1 and turn.role != "assistant"
            if later and not occurs(old, new) and occurs(old, turn.text):
                asked = f"which message {place + 1} asks for no longer"
                found.append(f"message {number} speaks of {named!r}, {asked}")
    return tuple(found)


def _changed_arguments(original: Transcript, edited: Transcript) -> Iterator[tuple[int, str, str]]:
    for place, (before, after) in enumerate(zip(original.turns, edited.turns, strict=True)):
        for old, new in zip(before.calls, after.calls, strict=True):
            if old.arguments != new.arguments:
                spelled = json.dumps(new.arguments, ensure_ascii=False)
                kept = set(_leaves(new.arguments))
                for value in dict.fromkeys(_leaves(old.arguments)):
                    if value not in kept and len(value) >= SHORTEST:
                        yield place, value, spelled


def _leaves(value: Any) -> Iterator[str]:
    """Every value in arguments, spelled as it would stand in a text; yes and no are no values."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
