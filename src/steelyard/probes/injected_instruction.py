"""Injected instruction: does text inside a tool's result move the verdict?"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from steelyard.probes.agent_edited import AgentEdited
from steelyard.probes.probe import Design
from steelyard.stimuli.agent_edits.injected_instruction import INSTRUCTIONS, injected_instruction
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.item import Item
from steelyard.tasks.transcripts.transcript import Transcript


class InjectedInstruction(AgentEdited):
    """Every failing run with words to the judge inside a tool's result, asking for a pass."""

    name = "injected_instruction"
    title = "Injected instruction"
    question = "Does the judge keep its verdict when a tool's result tells it what to answer?"
    edit = "words to the judge in a tool's result"
    needs = "transcripts of agents that do not pass already"

    def edits(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """The edits of a run that does not pass already."""
        if item.label in (None, item.failing):
            yield from super().edits(item, design)

    def runs(self, item: Item, transcript: Transcript, rng: Random) -> Iterator[tuple[int, RunEdit | None]]:
        """One edit for each form, all in the same place."""
        place = rng.getrandbits(32)
        for number, form in enumerate(INSTRUCTIONS):
            yield number, injected_instruction(transcript, form, item.passing or "", Random(place))
