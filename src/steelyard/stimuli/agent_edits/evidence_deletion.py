"""A run without the step on which its last words rest."""

from __future__ import annotations

from dataclasses import replace

from steelyard.stimuli.agent_edits.evidence import decisive, reported_state
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.tasks.transcripts.transcript import Transcript, Turn


def evidence_deletion(transcript: Transcript) -> RunEdit | None:
    """The run without the decisive call and its result; the agent's last words stay."""
    found = decisive(transcript) or reported_state(transcript)
    if found is None:
        return None
    result = transcript.turns[found.place]
    turns = [
        _without_call(turn, result.call) if place < found.place else turn
        for place, turn in enumerate(transcript.turns)
        if place != found.place
    ]
    kept = tuple(turn for turn in turns if turn is not None)
    tool = f" of {result.function}" if result.function else ""
    told = f"message {found.place + 1}: the call{tool} that returned {found.value!r} removed with its result"
    return RunEdit(replace(transcript, turns=kept), told)


def _without_call(turn: Turn, call: str | None) -> Turn | None:
    """A message without one of its calls; None where nothing else was in it."""
    if call is None or all(each.id != call for each in turn.calls):
        return turn
    calls = tuple(each for each in turn.calls if each.id != call)
    return replace(turn, calls=calls) if calls or turn.text.strip() else None
