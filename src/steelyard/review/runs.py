"""Runs of agents on the bench: a person changes the words of a message, or the arguments of a tool call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from steelyard.core.content_hash import canonical_json
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.transcripts.changes import TurnChange, changes
from steelyard.tasks.transcripts.transcript import ToolCall, Transcript, Turn, render_transcript


class ArgumentsError(Exception):
    """Arguments of a tool call that are no JSON object."""


@dataclass(frozen=True)
class TurnEdit:
    """What a person typed at one message."""

    text: str | None = None
    """Its words; None where they stay."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Id of a call to its arguments, as JSON."""


def with_run(made: Stimulus, run: Transcript) -> Stimulus:
    """The stimulus with another version of its run: what a judge reads, and what differs, go with it."""
    return replace(
        made, transcript=run, texts=(render_transcript(run),), changes=changes(before_edit(made), run)
    )


def run_of(text: str) -> Transcript:
    """The run that a vote carries."""
    return Transcript.from_json(json.loads(text))


def run_text(run: Transcript) -> str:
    """How a vote carries a run."""
    return canonical_json(run.to_json())


def edited_run(run: Transcript, edits: Mapping[int, TurnEdit]) -> Transcript:
    """The run with what a person typed; a place that it has not is left alone."""
    places = {place: edit for place, edit in edits.items() if 0 <= place < len(run.turns)}
    return run.with_turns({place: _edited(run.turns[place], edit) for place, edit in places.items()})


def _edited(turn: Turn, edit: TurnEdit) -> Turn:
    spoken = turn if edit.text is None or edit.text == turn.text else turn.saying(edit.text)
    calls = tuple(_called(call, edit.arguments.get(call.id)) for call in turn.calls)
    return replace(spoken, calls=calls)


def _called(call: ToolCall, arguments: str | None) -> ToolCall:
    if arguments is None:
        return call
    try:
        body = json.loads(arguments)
    except ValueError as error:
        raise ArgumentsError(
            f"the arguments of {call.function} are not JSON ({error}): correct them."
        ) from error
    if not isinstance(body, dict):
        raise ArgumentsError(f"the arguments of {call.function} must be an object: write {{…}}.")
    return call if body == call.arguments else replace(call, arguments=body, fault=None)


def before_edit(made: Stimulus) -> Transcript:
    """The run as it was before any edit: its changes, taken back."""
    if made.transcript is None:
        raise ValueError(f"{made.id} is no run")
    if not made.changes:
        return made.transcript
    return replace(made.transcript, turns=tuple(_before(made.transcript.turns, made.changes)))


def _before(after: tuple[Turn, ...], found: tuple[TurnChange, ...]) -> list[Turn]:
    by_place: dict[int, list[TurnChange]] = {}
    for change in found:
        by_place.setdefault(change.place, []).append(change)
    turns: list[Turn] = []
    here = 0
    for place in range(found[0].of + 1):
        own = by_place.get(place, [])
        here += sum(change.after is not None for change in own)
        olds = [change.before for change in own if change.before is not None]
        turns += olds
        if not olds and place < found[0].of:
            turns.append(after[here])
            here += 1
    return turns
