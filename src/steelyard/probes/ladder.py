"""Sensitivity and same-quality behaviour on a ladder of known quality."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.pairs.decomposition import (
    NO_PREFERENCE,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    STABLE_CROSS_SENSITIVITY,
)
from steelyard.metrics.pairs.dprime import DPRIME, DPRIME_2AFC
from steelyard.metrics.pairs.equals import OTHER_CONFLICT, RAW_FALSE_PREFERENCE, TIE_RATE
from steelyard.metrics.pairs.flips import FLIP_EXCESS, REPEAT_FLIP_RATE, SWAP_FLIP_RATE
from steelyard.metrics.pairs.ladder import (
    DELTA75,
    MISS_BY_TIE,
    NONTIE_ACCURACY,
    PADDED_PREFERENCE,
    TARGET_SENSITIVITY,
    WRONG_CHOICE,
    ladder_estimates,
)
from steelyard.metrics.pairs.length import LENGTH_LEAN
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.probes.probe import PAIRWISE, Design, Showing, both_orders, with_checklist_task
from steelyard.stimuli.allocation import Kind
from steelyard.stimuli.ladder import different_subset_pair, filler_pair, prefix_pair, same_subset_pair
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.checklist import ELEMENTS
from steelyard.verdicts.observations import Observations


def _whole_steps(step: int) -> tuple[tuple[float, float], ...]:
    return tuple((low, low + step) for low in range(ELEMENTS + 1 - step))


_HALF_STEPS = tuple((half / 2, half / 2 + 0.5) for half in range(2 * ELEMENTS))

STEPS: tuple[Kind[tuple[float, float]], ...] = (
    Kind(_whole_steps(1), (12, 50, 120)),
    Kind(_whole_steps(2), (0, 40, 96)),
    Kind(_whole_steps(3), (4, 30, 72)),
    Kind(_whole_steps(4), (3, 20, 48)),
    Kind(_whole_steps(5), (3, 10, 24)),
    Kind(_HALF_STEPS, (0, 0, 240)),
)
"""Prefix pairs by their levels. Quick has what two questions take: whether a judge without an error at one
step lies above the limit with its whole interval, and whether steps of three and more are seen."""
SAME_QUALITY = (Kind(tuple(range(ELEMENTS + 1)), (8, 60, 144)),)
CONTROLS = (
    Kind((("filler", 1), ("filler", 3)), (2, 52, 96)),
    Kind(tuple(("different_subset", quality) for quality in range(1, ELEMENTS)), (0, 8, 48)),
)
"""Controls by kind and quality. 11 filler pairs clear a judge that always answers tie of a lean to length; 52
clear nine in ten of those that name a text at random in three calls of ten."""
_BUILDERS = {"filler": filler_pair, "different_subset": different_subset_pair}
_STEPS_START, _SAME_START, _CONTROLS_START = 6, 28, 36
"""Quick puts vacuum on the six checklists before, so that all its pairs have checklists of their own."""


class Ladder:
    name = "ladder"
    title = "Quality ladder"
    question = (
        "How small a quality difference does the judge see, and what does it prefer when there is none?"
    )
    metrics = (
        RAW_FALSE_PREFERENCE,
        STABLE_CROSS_SENSITIVITY,
        POSITIONAL_FALSE_PREFERENCE,
        ONE_SIDED_COMMIT,
        OTHER_CONFLICT,
        NO_PREFERENCE,
        NET_SLOT_PREFERENCE,
        REPEAT_FLIP_RATE,
        SWAP_FLIP_RATE,
        FLIP_EXCESS,
        PADDED_PREFERENCE,
        LENGTH_LEAN,
        TARGET_SENSITIVITY,
        NONTIE_ACCURACY,
        MISS_BY_TIE,
        WRONG_CHOICE,
        DELTA75,
        DPRIME,
        DPRIME_2AFC,
        TIE_RATE,
        UNREADABLE_RATE,
        FAILED_RATE,
    )
    forms = (PAIRWISE,)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del protocols
        yield from arm(design, "base")
        yield from both_orders(with_checklist_task(controls(design), design), "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        return arm_estimates(EstimateContext.for_protocol(judge, "ladder", "base", seed), observations)


def arm(design: Design, protocol: str) -> Iterable[Showing]:
    yield from both_orders(with_checklist_task(same_quality(design), design), protocol, design.replicates)
    yield from both_orders(with_checklist_task(steps(design), design), protocol, design.replicates)


def same_quality(design: Design) -> Iterable[Stimulus]:
    for checklist, quality in design.allocate(SAME_QUALITY, _SAME_START):
        yield same_subset_pair(checklist, quality, design.seed)


def steps(design: Design) -> Iterable[Stimulus]:
    for checklist, (low, high) in design.allocate(STEPS, _STEPS_START):
        yield prefix_pair(checklist, low, high, design.seed)


def controls(design: Design) -> Iterable[Stimulus]:
    for checklist, (kind, quality) in design.allocate(CONTROLS, _CONTROLS_START):
        yield _BUILDERS[kind](checklist, quality, design.seed)


def arm_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    return ladder_estimates(context, collect(observations.filter("ladder", context.protocol)))
