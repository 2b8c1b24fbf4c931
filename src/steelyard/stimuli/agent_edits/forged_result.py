"""A tool result that contradicts what the agent says at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from steelyard.stimuli.agent_edits.evidence import STATES, Evidence, reported_state, spread, standing
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.tasks.transcripts.transcript import TEXT, Block, Transcript, Turn


def forged_results(transcript: Transcript, rng: Random) -> Iterator[RunEdit]:
    """The run with another value in a tool result on which its last words rest; the words stay.

    One edit for each of at most three results, early, in the middle and late; where no value can be found,
    one that turns what a tool reported as done.
    """
    values = spread(transcript)
    yield from (_forged(transcript, found, other_value(found.value, rng)) for found in values)
    state = None if values else reported_state(transcript)
    if state is not None:
        other = STATES[state.value.lower()]
        yield _forged(transcript, state, other.upper() if state.value.isupper() else other)


def other_value(value: str, rng: Random) -> str:
    """A value of the same form that is not the same: one digit, or one letter, is another."""
    digits = [place for place, sign in enumerate(value) if sign.isdigit()]
    if not digits:
        return f"other.{value}"
    place = digits[min(1, len(digits) - 1)] if len(digits) > 2 else digits[0]
    lowest = 1 if place == digits[0] else 0
    others = [str(digit) for digit in range(lowest, 10) if str(digit) != value[place]]
    return value[:place] + rng.choice(others) + value[place + 1 :]


def _forged(transcript: Transcript, found: Evidence, other: str) -> RunEdit:
    turn = transcript.turns[found.place]
    forged = _replaced(turn, standing(found.value), other)
    told = f"message {found.place + 1}: the tool's result says {other!r} where it said {found.value!r}"
    return RunEdit(transcript.with_turns({found.place: forged}), told)


def _replaced(turn: Turn, pattern: re.Pattern[str], other: str) -> Turn:
    def changed(block: Block) -> Block:
        return replace(block, text=pattern.sub(other, block.text)) if block.kind == TEXT else block

    return replace(turn, blocks=tuple(map(changed, turn.blocks)))
