"""Forged result: does the judge hold what the agent says against what its tools returned?"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from steelyard.probes.agent_edited import RunBreaking
from steelyard.stimuli.agent_edits.forged_result import forged_results
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.tasks.item import Item
from steelyard.tasks.transcripts.transcript import Transcript


class ForgedResult(RunBreaking):
    """Every passing run with another value in the tool result that its last words report."""

    name = "forged_result"
    title = "Forged tool result"
    question = "Does the judge fail a run whose last words contradict what its tools returned?"
    edit = "a tool's result contradicts the agent's last words"

    def runs(self, item: Item, transcript: Transcript, rng: Random) -> Iterator[tuple[int, RunEdit | None]]:
        """One edit for each of at most three results, from the first to the last."""
        del item
        yield from enumerate(forged_results(transcript, rng))
