"""Synthetic ordinal: does the judge find every level of the scale?"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.probe import METRICS
from steelyard.probes.probe import Design, Showing, pointwise
from steelyard.probes.sample import GivenSample
from steelyard.probes.written import Written
from steelyard.stimuli.authored.brief import Brief
from steelyard.tasks.scale import Ordinal
from steelyard.verdicts.observations import Observations


class SyntheticOrdinal(Written):
    """A response or several for every level of the scale, for the request of every item."""

    name = "synthetic_ordinal"
    title = "Written levels"
    metrics = tuple(metric for metric in METRICS if metric not in (INVARIANCE, EXCESS_FLIP))
    keeps_label = False
    whole = True
    question = "Does the judge give each level of the scale to responses written for that level?"
    needs = "an ordinal scale"

    def __init__(self, texts: int = 1, sample: GivenSample = None) -> None:
        """`texts` is how many are written for each item and level."""
        super().__init__(sample)
        if isinstance(texts, bool) or not isinstance(texts, int) or texts < 1:
            raise ConfigError(f"probe {self.name!r}: texts is {texts!r}, expected a number from 1 on.")
        self.texts = texts

    def briefs(self, design: Design) -> Iterable[Brief]:
        """The texts for each item and level of an ordinal scale."""
        for item in self.items(design):
            scale = item.scale or design.task.scale
            if isinstance(scale, Ordinal):
                for number, level in enumerate(scale.answers * self.texts):
                    yield Brief(self.name, item, number, self.name, level)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """The written texts alone: a response for another level is no edit of the item's own."""
        del protocols
        texts = [stimulus for stimulus in design.authored.get(self.name, ()) if stimulus.judged]
        return pointwise(texts, "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """Accuracy on the texts, and how well the judge uses the scale."""
        return super().estimates(judge, observations.filter(self.name), seed)
