"""What an edit of a tool call leaves behind: results and later messages that still speak of the old value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from steelyard.stimuli.agent_edits.evidence import occurs
from steelyard.tasks.transcripts.transcript import ASSISTANT, Transcript

SHORTEST = 2
"""Signs below which a value may stand in a message by chance."""
_SHOWN = 60


def misfits(original: Transcript, edited: Transcript) -> tuple[str, ...]:
    """One sentence for each message that speaks of an argument which its call does not have any more.

    Tool results are never edited, and a result that answers another call than the one that stands there
    gives the edit away.
    """
    return tuple(
        f"message {number} speaks of {_shown(old)}, which message {place + 1} asks for no longer"
        for place, old, new in _changed(original, edited)
        for number in _speaking(edited, place, old, new)
    )


def _changed(original: Transcript, edited: Transcript) -> Iterator[tuple[int, str, str]]:
    """Place, old value and all new values of every argument that an edit changed."""
    for place, (before, after) in enumerate(zip(original.turns, edited.turns, strict=True)):
        for old, new in zip(before.calls, after.calls, strict=True):
            if old.arguments != new.arguments:
                spelled = json.dumps(new.arguments, ensure_ascii=False)
                kept = set(_leaves(new.arguments))
                for value in dict.fromkeys(_leaves(old.arguments)):
                    if value not in kept and len(value) >= SHORTEST:
                        yield place, value, spelled


def _speaking(edited: Transcript, place: int, old: str, new: str) -> Iterator[int]:
    """Numbers of the messages of others after the call that name the old value."""
    if occurs(old, new):
        return
    for number, turn in enumerate(edited.turns, start=1):
        if number > place + 1 and turn.role != ASSISTANT and occurs(old, turn.text):
            yield number


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


def _shown(value: str) -> str:
    return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")
