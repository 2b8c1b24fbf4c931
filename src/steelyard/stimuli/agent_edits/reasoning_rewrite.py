"""Other thoughts, the same deeds."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from steelyard.core.text import pluralize
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.tasks.transcripts.transcript import ASSISTANT, REASONING, Block, Transcript, Turn

REMOVED, PRAISED = FORMS = ("removed", "praised")
"""What becomes of the reasoning."""

_PRAISE = (
    "This is exactly the right step, and I am carrying it out with great care.",
    "Everything is going well; each step so far meets the requirements in full.",
    "I have checked this thoroughly, and I am certain that it is correct.",
    "This follows best practice, and nothing has been overlooked.",
    "The work is of high quality, and the result will be what was asked for.",
)


def reasoning_rewrite(transcript: Transcript, form: str, rng: Random) -> RunEdit | None:
    """The run with its reasoning removed or replaced by praise of itself; None where it has none."""
    thinking = {
        place: turn
        for place, turn in enumerate(transcript.turns)
        if turn.role == ASSISTANT and any(block.kind == REASONING for block in turn.blocks)
    }
    if not thinking:
        return None
    edited = {place: _rewritten(turn, form, rng) for place, turn in thinking.items()}
    kept = [
        edited.get(place, turn)
        for place, turn in enumerate(transcript.turns)
        if place not in edited or edited[place].blocks or edited[place].calls
    ]
    words = "removed" if form == REMOVED else "replaced by praise"
    told = f"reasoning of {pluralize(len(thinking), 'message')} {words}"
    return RunEdit(replace(transcript, turns=tuple(kept)), told)


def _rewritten(turn: Turn, form: str, rng: Random) -> Turn:
    others = tuple(block for block in turn.blocks if block.kind != REASONING)
    praise = () if form == REMOVED else (Block(REASONING, rng.choice(_PRAISE)),)
    return replace(turn, blocks=(*praise, *others))
