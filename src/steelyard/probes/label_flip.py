"""Label flip: does the verdict follow when the reference answer changes?"""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.probe import METRICS
from steelyard.probes.probe import Design
from steelyard.probes.written import Written
from steelyard.stimuli.authored.brief import Brief, flipped


class LabelFlip(Written):
    """Every item rewritten so that the rubric gives another answer."""

    name = "label_flip"
    title = "Label flip"
    keeps_label = False
    metrics = tuple(metric for metric in METRICS if metric not in (INVARIANCE, EXCESS_FLIP))
    question = "Does the judge change its verdict when the response is changed so that it should?"
    needs = "items with a reference label (map a column as label, or name a judge under data.reference)"

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A text for every item whose reference can be turned round."""
        for item in self.items(design):
            target = None if item.label is None else flipped(item.label, item.scale or design.task.scale)
            if target is not None:
                yield Brief(self.name, item, 0, self.name, target)
