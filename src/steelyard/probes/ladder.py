"""Sensitivity and same-quality behaviour on a ladder of known quality."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.pairs.decomposition import (
    NO_PREFERENCE,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    STABLE_CROSS_SENSITIVITY,
)
from steelyard.metrics.pairs.dprime import DPRIME, DPRIME_2AFC
from steelyard.metrics.pairs.equals import OTHER_CONFLICT, RAW_FALSE_PREFERENCE, TIE_RATE
from steelyard.metrics.pairs.flip_estimates import FLIP_EXCESS, REPEAT_FLIP_RATE, SWAP_FLIP_RATE
from steelyard.metrics.pairs.ladder import PADDED_PREFERENCE, ladder_estimates
from steelyard.metrics.pairs.length import LENGTH_LEAN
from steelyard.metrics.pairs.sensitivity import MISS_BY_TIE, NONTIE_ACCURACY, TARGET_SENSITIVITY, WRONG_CHOICE
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.pairs.threshold import DELTA75
from steelyard.probes.probe import PAIRWISE, Design, Showing, both_orders, catalogued
from steelyard.stimuli.ladder import different_subset_pair, filler_pair, prefix_pair, same_subset_pair
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.checklist import ELEMENTS
from steelyard.verdicts.observations import Observations

QUICK_QUALITIES = ((0, 3), (1, 4), (2, 5), (1, 3))
"""Qualities of the same-quality pairs of each quick checklist."""


class Ladder:
    """Prefix pairs at every quality step, same-quality pairs, and controls reported apart."""

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
        """The ladder and its controls under the base protocol."""
        del protocols
        yield from arm(design, "base")
        yield from both_orders(catalogued(controls(design), design), "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """Every ladder figure of the base protocol."""
        return arm_estimates(Heading.under(judge, "ladder", "base", seed), observations)


def arm(design: Design, protocol: str) -> Iterable[Showing]:
    """The ladder without its controls, under one protocol."""
    yield from both_orders(catalogued(same_quality(design), design), protocol, design.replicates)
    yield from both_orders(catalogued(steps(design), design), protocol, design.replicates)


def same_quality(design: Design) -> Iterable[Stimulus]:
    """One same-subset pair per quality and checklist; quick takes two per checklist."""
    for number, checklist in enumerate(design.checklists):
        qualities = QUICK_QUALITIES[number] if design.profile == "quick" else range(ELEMENTS + 1)
        for quality in qualities:
            yield same_subset_pair(checklist, quality, design.seed)


def steps(design: Design) -> Iterable[Stimulus]:
    """Every prefix pair of every checklist; quick takes one per step and checklist; full adds half-steps."""
    for number, checklist in enumerate(design.checklists):
        for delta in range(1, ELEMENTS + 1):
            lows = range(ELEMENTS + 1 - delta)
            for low in [lows[number % len(lows)]] if design.profile == "quick" else lows:
                yield prefix_pair(checklist, low, low + delta, design.seed)
        if design.profile == "full":
            for half in range(2 * ELEMENTS):
                yield prefix_pair(checklist, half / 2, half / 2 + 0.5, design.seed)


def controls(design: Design) -> Iterable[Stimulus]:
    """Different-subset and filler pairs; quick takes one pair per checklist, alternating."""
    for number, checklist in enumerate(design.checklists):
        if design.profile == "quick":
            build = filler_pair if number % 2 else different_subset_pair
            yield build(checklist, 2 + number // 2, design.seed)
        else:
            for quality in range(1, ELEMENTS):
                yield different_subset_pair(checklist, quality, design.seed)
            for quality in (1, 3):
                yield filler_pair(checklist, quality, design.seed)


def arm_estimates(heading: Heading, observations: Observations) -> list[Estimate]:
    """The figures of one arm."""
    return ladder_estimates(heading, collect(observations.among("ladder", heading.protocol)))
