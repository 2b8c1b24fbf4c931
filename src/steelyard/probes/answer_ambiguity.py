"""Answer ambiguity: what does the judge do at the border of the rubric?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.scores.border import METRICS, border_estimates
from steelyard.probes.probe import REPEATS, Design, Showing
from steelyard.probes.sample import GivenSample
from steelyard.probes.stochastic_stability import REPLICATES, checked_replicates
from steelyard.probes.written import Written
from steelyard.stimuli.authored.brief import Brief
from steelyard.verdicts.observations import Observations


class AnswerAmbiguity(Written):
    """Every item rewritten so that a sound judge may go either way: repeats count, not accuracy."""

    name = "answer_ambiguity"
    title = "Border of the rubric"
    section = REPEATS
    keeps_label = False
    question = "How steady is the judge on responses that lie at the border of the rubric?"
    metrics = METRICS

    def __init__(self, replicates: int = REPLICATES, sample: GivenSample = None) -> None:
        """`replicates` is how often a text is shown, at least; a study may ask for more."""
        super().__init__(sample)
        self.replicates = checked_replicates(self.name, replicates)

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A text without a reference for every item."""
        for item in self.items(design):
            yield Brief(self.name, item, 0, self.name, None)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """The texts and the items they were made from, each several times over."""
        return super().showings(
            replace(design, replicates=max(self.replicates, design.replicates)), protocols
        )

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """Agreement of repeats at the border against that on the unchanged items."""
        return border_estimates(EstimateContext.for_protocol(judge, self.name, "base", seed), observations)
