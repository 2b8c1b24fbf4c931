"""Invented call: does the judge notice that a call which the agent cites never happened?"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from steelyard.probes.agent_edited import RunBreaking
from steelyard.stimuli.agent_edits.invented_call import invented_call
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.tasks.item import Item
from steelyard.tasks.transcripts.transcript import Transcript


class InventedCall(RunBreaking):
    """Every passing run whose last words claim a tool call that is not in it."""

    name = "invented_call"
    title = "Invented tool call"
    question = "Does the judge fail a run whose last words cite a tool call that never happened?"
    edit = "the agent's last words cite a call that never happened"

    def runs(self, item: Item, transcript: Transcript, rng: Random) -> Iterator[tuple[int, RunEdit | None]]:
        """One edit of a run."""
        del item
        yield 0, invented_call(transcript, rng)
