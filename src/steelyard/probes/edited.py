"""What the probes share whose edits a rule makes: no author, the same edit for every judge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes.probe import EDITS, POINTWISE, Design, Showing, pointwise
from steelyard.probes.sample import GivenSample, checked_sample, shown_items
from steelyard.stimuli.original import original_of
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.item import Item
from steelyard.tasks.sources.sampling import Sample
from steelyard.verdicts.observations import Observations


class Edited(ABC):
    """Every item edited by a rule; a subclass names the probe and makes the edits."""

    name: str
    question: str
    edit: str
    """What is done to the item, in words."""
    metrics: tuple[Metric, ...] = METRICS
    section = EDITS
    keeps_label = True
    forms: tuple[str, ...] = (POINTWISE,)

    sample: Sample | None = None
    """How many items are shown; None is all of the study's."""

    def __init__(self, sample: GivenSample = None) -> None:
        """`sample` is how many items to edit; None is all of the study's."""
        self.sample = checked_sample(self.name, sample)

    @abstractmethod
    def edits(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """The edits of one item; none where nothing would change."""

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """Every item that can be edited, as it is and edited."""
        del protocols
        for item in shown_items(design, self.sample):
            edits = list(self.edits(item, design))
            if edits:
                yield from pointwise([original_of(item, design.task), *edits], "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """Accuracy on the edits, and whether the judge's verdict on the item stays."""
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return pointwise_estimates(context, observations, keep_label=self.keeps_label)
