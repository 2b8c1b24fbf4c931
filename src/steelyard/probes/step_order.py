"""Step order: does the verdict stay when two independent steps change places?"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from steelyard.probes.agent_edited import AgentEdited
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.stimuli.agent_edits.step_order import step_order
from steelyard.tasks.item import Item
from steelyard.tasks.transcripts.transcript import Transcript


class StepOrder(AgentEdited):
    """Every run in which two neighbouring look-ups can be swapped, with the two swapped."""

    name = "step_order"
    title = "Steps swapped"
    question = "Does the judge keep its verdict when two independent look-ups change places?"
    edit = "two independent look-ups swapped"
    needs = "transcripts of agents with two neighbouring look-ups that do not depend on each other"

    def runs(self, item: Item, transcript: Transcript, rng: Random) -> Iterator[tuple[int, RunEdit | None]]:
        """One edit of a run."""
        del item
        yield 0, step_order(transcript, rng)
