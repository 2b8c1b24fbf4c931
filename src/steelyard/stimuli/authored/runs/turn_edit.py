"""One message of an agent, edited: words and arguments of its tool calls, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.stimuli.authored.checks import foreign, is_refusal, leaked, shared_pairs, words
from steelyard.stimuli.authored.rejection import (
    COPY,
    EMPTY,
    OTHER_ROLE,
    REFUSAL_TEXT,
    REPEATED,
    WRONG_CALL,
    Rejection,
)
from steelyard.tasks.transcripts.render import rendered
from steelyard.tasks.transcripts.transcript import ASSISTANT, Transcript, Turn

_TO_REFUSE = re.compile(
    r"refus|declin|turns? (?:\w+ ){0,3}down"
    r"|(?:not|n't|never|cannot|unable to) (?:help|assist|comply|carry out)",
    re.I,
)
"""Words of a plan that has an agent say no."""
_HEADS = re.compile(
    r"^\s*(?:\[\d{3,}\] (?:SYSTEM|USER|ASSISTANT|TOOL RESULT)\b|(?:user|human|system|tool(?: result)?)\s*:)",
    re.I | re.M,
)
"""How a message of somebody begins, as runs are shown or as chats are written out."""
LONGEST_ECHO = 6
"""Words from which on a message that repeats somebody else's nearly word for word is told from chance."""
MOST_ECHOED = 0.9
"""Share of word pairs from which on it is somebody else's."""


@dataclass(frozen=True)
class TurnEdit:
    """What an editor gives back."""

    text: str | None = None
    """The words of the message; None leaves them as they are."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Id of a call to its arguments; calls that are not named stay as they are."""

    def applied(self, turn: Turn) -> Turn | Rejection:
        """The message after the edit; reasoning, ids and names of tools stay."""
        ids = {call.id for call in turn.calls}
        for name, arguments in self.arguments.items():
            if name not in ids:
                return Rejection(WRONG_CALL, f"the message has no tool call {name!r}")
            if not isinstance(arguments, dict):
                return Rejection(WRONG_CALL, f"the arguments of the tool call {name!r} are no JSON object")
        said = turn if self.text is None else turn.saying(self.text)
        calls = (
            replace(call, arguments=self.arguments[call.id], fault=None)
            if call.id in self.arguments
            else call
            for call in said.calls
        )
        return replace(said, calls=tuple(calls))


def unplanned_refusal(edited: Turn, original: Transcript, plan: str) -> Rejection | None:
    """A message that declines though no word of the plan asks for that: the editor's own refusal."""
    spoken = "\n".join(turn.text for turn in original.turns if turn.role == ASSISTANT)
    if not is_refusal(edited.text) or is_refusal(spoken) or _TO_REFUSE.search(plan):
        return None
    return Rejection(REFUSAL_TEXT, "the message declines, and the plan asks for no refusal")


def fault_of(
    edited: Turn, place: int, transcript: Transcript, original: Transcript, rubric: str
) -> Rejection | None:
    """The first thing that is wrong with an edited message; `transcript` is the run before this edit."""
    source = rendered(original)
    for rejection in _faults(edited, place, transcript, original, source, rubric):
        if rejection is not None:
            return rejection
    return None


def _faults(
    edited: Turn, place: int, transcript: Transcript, original: Transcript, source: str, rubric: str
) -> Iterator[Rejection | None]:
    text, before = edited.text, original.turns[place]
    spoken = "\n".join(turn.text for turn in original.turns if turn.role == ASSISTANT)
    yield Rejection(EMPTY, "the message says nothing and calls nothing") if _silent(edited) else None
    yield _same(edited, before)
    if words(text) != words(before.text):
        yield _others(text, transcript, spoken)
        yield _again(text, place, transcript, original)
        yield foreign(text, source)
        yield leaked(text, source, rubric)


def _silent(turn: Turn) -> bool:
    return not turn.calls and not words(turn.text)


def _same(edited: Turn, before: Turn) -> Rejection | None:
    if words(edited.text) == words(before.text) and edited.calls == before.calls:
        return Rejection(COPY, "the message is as it was, word for word")
    return None


def _others(text: str, transcript: Transcript, spoken: str) -> Rejection | None:
    """Words that are not the agent's: a message of another role, or several messages in one."""
    head = _HEADS.search(text)
    if head and head[0].strip() not in spoken:
        return Rejection(OTHER_ROLE, f"the message holds a message of its own ({head[0].strip()!r})")
    if len(words(text)) < LONGEST_ECHO:
        return None
    for number, turn in enumerate(transcript.turns, start=1):
        if turn.role != ASSISTANT and _echoes(text, turn.text):
            return Rejection(OTHER_ROLE, f"the message repeats message {number}, of the role {turn.role}")
    return None


def _echoes(text: str, other: str) -> bool:
    """Whether a text is another, nearly word for word, and not merely holds a part of it."""
    return min(shared_pairs(text, other), shared_pairs(other, text)) >= MOST_ECHOED


def _again(text: str, place: int, transcript: Transcript, original: Transcript) -> Rejection | None:
    """The words of another edit of the run; what the agent says twice by itself may stay so."""
    for other, (now, before) in enumerate(zip(transcript.turns, original.turns, strict=True)):
        if other != place and now != before and words(text) and words(now.text) == words(text):
            return Rejection(REPEATED, f"message {other + 1} was given the same words")
    return None
