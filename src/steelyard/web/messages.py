"""A run of an agent as messages for a page: the parts that a judge is shown, and what an edit changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.transcripts.transcript import Turn, TurnChange, render_block

LONG = 600
"""Characters above which a message stands behind a click."""


@dataclass(frozen=True)
class RunMessage:
    number: int
    """From 1, as the judge is shown it."""
    role: str
    tool: str
    parts: tuple[tuple[str, str], ...]
    """What a part is and its text; the agent's own words have no name."""
    edited: bool = False
    before: tuple[tuple[str, str], ...] = ()
    """The parts before the edit; empty where the message was added, or nobody edited it."""

    @property
    def folded(self) -> bool:
        """True where it stands behind a click: boilerplate, or long; an edited message never does."""
        length = sum(len(text) for _, text in self.parts)
        return not self.edited and (self.role in ("system", "tool") or length > LONG)


def run_messages(shown: Stimulus, *, edits: bool = True) -> tuple[RunMessage, ...]:
    """The messages of a run; none for a text. `edits` marks those that the stimulus changed."""
    if shown.transcript is None:
        return ()
    found = _edited_places(shown.changes or ()) if edits else {}
    return tuple(
        RunMessage(
            place + 1,
            turn.role,
            turn.function or "",
            _parts(turn),
            edited=place in found,
            before=_parts(old) if (old := found.get(place)) else (),
        )
        for place, turn in enumerate(shown.transcript.turns)
    )


def _parts(turn: Turn) -> tuple[tuple[str, str], ...]:
    parts = [
        (block.kind, block.text) if block.kind == "reasoning" else ("", render_block(block))
        for block in turn.blocks
    ]
    for call in turn.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False, indent=1)
        parts.append((f"calls {call.function}", arguments))
        if call.fault:
            parts.append(("arguments", call.fault))
    if turn.error is not None:
        parts.append(("error", turn.error))
    return tuple(parts)


def _edited_places(changes: Iterable[TurnChange]) -> dict[int, Turn | None]:
    """Place in the edited run to the message as it was; None for one that was added."""
    shift, found = 0, dict[int, Turn | None]()
    for change in changes:
        if change.after is None:
            shift -= 1
            continue
        found[change.place + shift] = change.before
        shift += change.before is None
    return found
