"""What the probes share that edit runs of agents by rule: a transcript in, another out, rendered alike."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from steelyard.core.rng import rng_for
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.probes.edited import Edited
from steelyard.probes.probe import Design
from steelyard.probes.sample import GivenSample
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.stimuli.original import perturbed
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.item import Item
from steelyard.tasks.transcripts.render import rendered
from steelyard.tasks.transcripts.transcript import Transcript
from steelyard.verdicts.observations import Observations

FAIL, NOTHING = EXPECTED = ("fail", "none")
"""What a sound judge says of a run that an edit breaks: that it fails, or nothing that is known."""


class AgentEdited(Edited):
    """Every run edited by a rule; a subclass names the probe and makes the edits."""

    transcripts = True
    """It shows runs of agents and nothing else."""
    needs = "transcripts of agents"

    @abstractmethod
    def runs(self, item: Item, transcript: Transcript, rng: Random) -> Iterator[tuple[int, RunEdit | None]]:
        """Number and edit of each form; None where this run can not be edited so."""

    def label(self, item: Item) -> str | None:
        """Reference of an edited run, where it is not the item's own."""
        del item
        return None

    def labelled(self, item: Item) -> bool:
        """Whether an edited run has a reference."""
        return item.label is not None

    def edits(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """The edits of one run, the same for every judge of a seed."""
        transcript = item.transcript
        if transcript is None:
            return
        item = replace(item, scale=item.scale or design.task.scale)
        rng = rng_for(design.seed, self.name, item.id)
        for number, edit in self.runs(item, transcript, rng):
            if edit is not None and edit.transcript.turns != transcript.turns:
                yield perturbed(
                    item,
                    design.task,
                    self.name,
                    number,
                    rendered(edit.transcript),
                    edit.told,
                    label=self.label(item),
                    labelled=self.labelled(item),
                    transcript=edit.transcript,
                )


class RunBreaking(AgentEdited):
    """Runs that pass, edited so that the rubric fails them; a subclass makes the edits."""

    keeps_label = False
    needs = "transcripts of agents that do not fail already"
    usual = FAIL
    """What is expected where a study does not say."""
    rests_on_truth = True
    """A run that it breaks fails only by a rubric that asks for true reports."""

    def __init__(self, expected: str | None = None, sample: GivenSample = None) -> None:
        """`expected` is `fail`, or `none` where the rubric does not say that such a run fails."""
        super().__init__(sample)
        self.expected = expected or self.usual
        if self.expected not in EXPECTED:
            raise ConfigError(f"probe {self.name!r}: expected is {expected!r}, expected fail or none.")

    def label(self, item: Item) -> str | None:
        """The failing answer, where such a run fails."""
        return item.failing if self.expected == FAIL else None

    def labelled(self, item: Item) -> bool:
        """Only where it is said that such a run fails."""
        del item
        return self.expected == FAIL

    def edits(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """The edits of a run that does not fail already."""
        if item.label is None or item.label != item.failing:
            yield from super().edits(item, design)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """The same figures; that a verdict moves is what such an edit is for, so no word blames it."""
        return [
            replace(e, finding=None, p=None) if e.metric in _MOVED else e
            for e in super().estimates(judge, observations, seed)
        ]


_MOVED = (INVARIANCE.id, EXCESS_FLIP.id)
"""Metrics by which an edit is found to move verdicts."""
