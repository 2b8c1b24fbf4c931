"""What the probes share whose edits somebody has to write: one text for each item."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes.probe import EDITS, POINTWISE, Design, Showing, pointwise
from steelyard.probes.sample import GivenSample, checked_sample, shown_items
from steelyard.stimuli.authored.brief import Brief
from steelyard.tasks.item import Item
from steelyard.tasks.sources.sampling import Sample
from steelyard.verdicts.observations import Observations


class Written:
    """One written text for each item; a subclass names the probe and its question."""

    name: str
    question: str
    metrics: tuple[Metric, ...] = METRICS
    section = EDITS
    keeps_label = True
    forms = (POINTWISE,)

    sample: Sample | None = None
    """How many items are shown; None is all of the study's."""

    def __init__(self, sample: GivenSample = None) -> None:
        """`sample` is how many items to have texts written for; None is all of the study's."""
        self.sample = checked_sample(self.name, sample)

    def items(self, design: Design) -> tuple[Item, ...]:
        """The items that texts are made from."""
        return shown_items(design, self.sample)

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A text for every item; where the item has a reference, the text must keep it."""
        for item in self.items(design):
            yield Brief(self.name, item, 0, self.name, item.label)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """The written texts, and the items they were made from."""
        del protocols
        texts = [stimulus for stimulus in design.authored.get(self.name, ()) if stimulus.judged]
        parents = {stimulus.lineage.parent for stimulus in texts}
        originals = [o for o in design.originals if o.lineage.parent in parents]
        return pointwise([*originals, *texts], "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """Accuracy on the texts, and whether the judge's verdict on the item stays."""
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return pointwise_estimates(context, observations, keep_label=self.keeps_label)
