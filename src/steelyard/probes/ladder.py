"""Sensitivity and same-quality behaviour on a ladder of known quality."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache

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
from steelyard.verdicts.observations import Observations

LARGE = 3


@cache
def step_kinds(depth: int, half_steps: bool = True) -> tuple[Kind[tuple[float, float]], ...]:
    """Prefix pairs by their levels.

    Of a step as many pairs as ten checklists have in standard, and two dozen in full. Quick has what two
    questions take: whether a judge without an error at one step lies above the limit with its whole interval,
    and whether steps of three and more are seen.
    """
    quick = {1: QUICK_SINGLE, 2: 0, **_spread(QUICK_LARGE, range(LARGE, depth + 1))}
    whole = []
    for step in range(1, depth + 1):
        levels: tuple[tuple[float, float], ...] = tuple((low, low + step) for low in range(depth + 1 - step))
        whole.append(Kind(levels, (quick[step], 10 * len(levels), 24 * len(levels))))
    halves = tuple((half / 2, half / 2 + 0.5) for half in range(2 * depth))
    return (*whole, *([Kind(halves, (0, 0, 24 * len(halves)))] if half_steps else []))


def _spread(total: int, steps: Sequence[int]) -> dict[int, int]:
    share, rest = divmod(total, len(steps))
    return {step: share + (place < rest) for place, step in enumerate(steps)}


QUICK_SINGLE, QUICK_LARGE = 12, 10
"""Pairs of the quick profile at one step, and at three and more together."""


@cache
def same_quality_kinds(depth: int) -> tuple[Kind[int], ...]:
    return (Kind(tuple(range(depth + 1)), (8, 60, 144)),)


@cache
def control_kinds(depth: int) -> tuple[Kind[tuple[str, int]], ...]:
    """Controls by kind and quality.

    11 filler pairs clear a judge that always answers tie of a lean to length; 28 clear all but one in a
    hundred of those that name a text at random in one call of ten, and six in ten of those that do in three.
    What length is worth against quality is asked by the probe `length`.
    """
    return (
        Kind((("filler", 1), ("filler", 3)), (0, 28, 56)),
        Kind(tuple(("different_subset", quality) for quality in range(1, depth)), (0, 8, 48)),
    )


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
    for checklist, quality in design.allocate(same_quality_kinds(design.depth), _SAME_START):
        yield same_subset_pair(checklist, quality, design.seed)


def steps(design: Design) -> Iterable[Stimulus]:
    kinds = step_kinds(design.depth, design.has_half_steps)
    for checklist, (low, high) in design.allocate(kinds, _STEPS_START):
        yield prefix_pair(checklist, low, high, design.seed)


def controls(design: Design) -> Iterable[Stimulus]:
    for checklist, (kind, quality) in design.allocate(control_kinds(design.depth), _CONTROLS_START):
        yield _BUILDERS[kind](checklist, quality, design.seed)


def arm_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    return ladder_estimates(context, collect(observations.filter("ladder", context.protocol)))
