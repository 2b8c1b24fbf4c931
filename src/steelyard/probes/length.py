"""Length against quality: does a worse text win by more words?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.instrument.length_worth import BEATS_PADDED, LENGTH_WORTH, length_estimates
from steelyard.probes.probe import PAIRWISE, Design, Showing, both_orders, with_checklist_task
from steelyard.stimuli.allocation import Kind
from steelyard.stimuli.cues import DOUBLED, LENGTH_PROBE, cued_pair
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observations import Observations


@cache
def padded_steps(depth: int) -> tuple[Kind[tuple[int, int]], ...]:
    """Pairs by their levels, the worse text padded. Quick has none: so few would decide nothing."""
    return tuple(
        Kind(tuple((low, low + step) for low in range(depth + 1 - step)), sizes)
        for step, sizes in ((1, (0, 10, 18)), (2, (0, 14, 22)))
    )


_START = 20


class Length:
    name = LENGTH_PROBE
    title = "Length against quality"
    question = "Does a worse text win where it has twice as many words, and how many steps is that worth?"
    metrics = (BEATS_PADDED, LENGTH_WORTH, UNREADABLE_RATE, FAILED_RATE)
    forms = (PAIRWISE,)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del protocols
        yield from both_orders(with_checklist_task(self.pairs(design), design), "base", design.replicates)

    def pairs(self, design: Design) -> Iterable[Stimulus]:
        for checklist, (low, high) in design.allocate(padded_steps(design.depth), _START):
            yield cued_pair(checklist, DOUBLED, low, high, design.seed, self.name)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return length_estimates(context, observations.filter(protocol="base"))
