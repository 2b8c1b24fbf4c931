"""Reasoning rewrite: does the verdict go by what the agent did, or by what it thought of itself?"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from steelyard.probes.agent_edited import AgentEdited
from steelyard.stimuli.agent_edits.reasoning_rewrite import FORMS, reasoning_rewrite
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.tasks.item import Item
from steelyard.tasks.transcripts.transcript import Transcript


class ReasoningRewrite(AgentEdited):
    """Every run without its reasoning, and with praise in its place; every deed stays."""

    name = "reasoning_rewrite"
    title = "Reasoning rewritten"
    question = "Does the judge keep its verdict when the agent's reasoning is removed or praises itself?"
    edit = "reasoning removed or replaced by praise"
    needs = "transcripts of agents with reasoning"

    def runs(self, item: Item, transcript: Transcript, rng: Random) -> Iterator[tuple[int, RunEdit | None]]:
        """One edit for each form."""
        del item
        for number, form in enumerate(FORMS):
            yield number, reasoning_rewrite(transcript, form, rng)
