"""Truncated tail: does the judge fail a run that breaks off before its end?"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from steelyard.probes.agent_edited import RunBreaking
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.stimuli.agent_edits.truncated_tail import truncated_tail
from steelyard.tasks.item import Item
from steelyard.tasks.transcripts.transcript import Transcript

SHARES = (0.0, 0.5)
"""Shares of the messages that are removed at least; 0 is the last words alone."""


class TruncatedTail(RunBreaking):
    """Every passing run without its last words, and without its second half."""

    name = "truncated_tail"
    title = "Run broken off"
    question = "Does the judge fail a run that breaks off before the agent has answered?"
    edit = "the end of the run removed"

    def runs(self, item: Item, transcript: Transcript, rng: Random) -> Iterator[tuple[int, RunEdit | None]]:
        """One edit for each share."""
        del item, rng
        seen: set[int] = set()
        for number, share in enumerate(SHARES):
            edit = truncated_tail(transcript, share)
            if edit is not None and len(edit.transcript.turns) not in seen:
                seen.add(len(edit.transcript.turns))
                yield number, edit
