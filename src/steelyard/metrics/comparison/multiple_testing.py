"""Multiple testing over all figures of two judges: one global test, then the adjusted p of each finding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from steelyard.metrics.common import ABSTENTION_RATE
from steelyard.metrics.comparison.comparison import BEYOND, WITHIN, Comparison, compare_units
from steelyard.metrics.comparison.criteria import ComparisonCriterion
from steelyard.metrics.comparison.unit_events import UnitEvents, Units
from steelyard.metrics.estimate import DECIDES, Interval
from steelyard.metrics.faults import Fault, Faults
from steelyard.metrics.findings import (
    CLEAR,
    FLAGGED,
    INCONCLUSIVE,
    MARGIN,
    MISSING_DECIDE,
    SURE,
    missingness_shift,
)
from steelyard.metrics.multiplicity import JointSignFlip
from steelyard.metrics.proportions import join
from steelyard.metrics.stats.distributions import normal_probability
from steelyard.metrics.stats.intervals import Span
from steelyard.metrics.stats.sample_size import ALPHA, POWER


@dataclass(frozen=True)
class ComparisonFamily:
    rows: tuple[Comparison, ...]
    p: float | None
    """p of "the judges do not differ in any figure"; None where no unit is shared."""
    faults: tuple[Fault, ...] = ()

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p <= ALPHA


def compare(
    first: UnitEvents, second: UnitEvents, margin: float = MARGIN, order: Sequence[str] = ()
) -> ComparisonFamily:
    """Every question that either judge was asked; words and q over the whole family.

    `order` are names of probes as a reader meets them. A figure that can not be computed is undefined, and
    the others stand.
    """
    faults = Faults()
    broken = {**first.faults, **second.faults}
    figures = {question.figure for question in broken}
    whole = {question for question in (*first, *second) if question.figure not in figures}
    rows = {question: _guarded(faults, question, first, second) for question in whole}
    rows |= {question: Comparison.undefined(question, fault.note) for question, fault in broken.items()}
    places = sorted(rows, key=lambda question: _place(question, order))
    # Abstentions are left out where neither judge ever abstained: many never may.
    ordered = [
        row
        for question, row in ((question, rows[question]) for question in places)
        if question.metric != ABSTENTION_RATE.id or row.first or row.second
    ]
    family = faults.guarded(
        "",
        "all figures together",
        lambda: adjust_comparisons(ordered, margin),
        lambda _: ComparisonFamily(tuple(ordered), None),
    )
    return replace(family, faults=(*broken.values(), *faults.found))


def _guarded(
    faults: Faults, question: ComparisonCriterion, first: UnitEvents, second: UnitEvents
) -> Comparison:
    """The figure; undefined where it raises, or where JSON has no spelling for it."""

    def compute() -> Comparison:
        row = compare_units(Units.of(question, first), Units.of(question, second), question)
        json.dumps(row.to_json(), allow_nan=False)
        return row

    return faults.guarded(
        "", question.title, compute, lambda fault: Comparison.undefined(question, fault.note)
    )


def adjust_comparisons(rows: Sequence[Comparison], margin: float = MARGIN) -> ComparisonFamily:
    tested = [row for row in rows if row.p is not None]
    if not tested:
        return ComparisonFamily(tuple(rows), None)
    flips = JointSignFlip.of([row.sums for row in tested])
    together = flips.global_p()
    # No figure is surer than the family, and drawn flips may fall a little short of the exact p.
    adjusted = iter(zip(flips.adjusted_p_values(), flips.detectable_factors(POWER), strict=True))
    sure = max(SURE, normal_probability(flips.joint_critical))
    with_words = []
    for row in rows:
        if row.p is None:
            with_words.append(row)
            continue
        q, factor = next(adjusted)
        assert row.paired is not None, "what has a p has units"
        least = min(row.paired.reach, row.paired.detectable * factor)
        known, joint = replace(row, minimum_detectable=least), row.paired.limits(sure)
        with_words.append(with_word(known, max(q, row.p, together), margin, joint))
    return ComparisonFamily(tuple(with_words), together)


def with_word(row: Comparison, q: float, margin: float, joint: Span) -> Comparison:
    """The row with its word and the interval that the word is read from.

    Alike where the 95 % interval lies within the margin. Else the test decides, and the interval for all
    figures at once, `joint`, ends at zero where test and interval part. Missing verdicts count at worst and
    best: a word that they could undo is withheld.
    """
    value, usual = row.difference or 0.0, (row.intervals[0].low or 0.0, row.intervals[0].high or 0.0)
    moved, reach = missingness_shift(value, row.bounds), inf if row.paired is None else row.paired.reach

    def decided(moved: Span) -> tuple[str, Span]:
        low, high = usual[0] + moved[0], usual[1] + moved[1]
        if -margin < low and high < margin:
            return CLEAR, (low, high)
        low, high = max(-reach, joint[0] + moved[0]), min(reach, joint[1] + moved[1])
        if q > ALPHA or (any(moved) and low <= 0 <= high):
            return INCONCLUSIVE, (min(low, 0.0), max(high, 0.0))
        return FLAGGED, (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))

    word, (low, high) = decided(moved)
    against = WITHIN if word == CLEAR else BEYOND if low > margin or high < -margin else None
    # A row that has a word is read once more in another family, and has its remark.
    withheld = row.status is None and word != decided((0.0, 0.0))[0]
    deciding = () if (low, high) == usual else (Interval(DECIDES, low, high),)
    return replace(
        row,
        q=q,
        status=word,
        note=join([row.note, MISSING_DECIDE if withheld else None]),
        differs=q <= ALPHA,
        against_margin=against,
        intervals=(*row.intervals[:2], *deciding),
    )


def _place(question: ComparisonCriterion, order: Sequence[str]) -> tuple[Any, ...]:
    """Base before other protocols, probes and metrics as a reader meets them, losses last."""
    group = question.condition
    protocol = str(group.get("protocol", ""))
    return (
        question.probe == "run",
        protocol != "base",
        protocol,
        order.index(question.probe) if question.probe in order else len(order),
        question.probe,
        question.place,
        float(group.get("delta", inf)),
        question.metric,
        repr(question.group),
    )
