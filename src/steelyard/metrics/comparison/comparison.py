"""Two judges on the units that both answered: difference, limits, tests and missing data of each figure.

Then all figures together, for multiple testing: one global test, and the adjusted p of each finding.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.common import ABSTENTION_RATE, CONTRADICTION_RATE
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.comparison.rows import ComparisonCriterion, UnitEvent
from steelyard.metrics.comparison.unit_events import UNSURE, Dropped, UnitEvents, Units
from steelyard.metrics.estimate import DECIDES, Interval
from steelyard.metrics.faults import Faults, FigureFault
from steelyard.metrics.findings import (
    CLEAR,
    FLAGGED,
    INCONCLUSIVE,
    MARGIN,
    MISSING_DECIDE,
    SURE,
    missingness_shift,
)
from steelyard.metrics.metric import Amount
from steelyard.metrics.multiplicity import JointSignFlip, Sums
from steelyard.metrics.proportions import join
from steelyard.metrics.stats.distributions import normal_probability
from steelyard.metrics.stats.intervals import ALPHA, Span
from steelyard.metrics.stats.sample_size import POWER
from steelyard.metrics.stats.significance import CLUSTERS, mcnemar_exact, mcnemar_mid_p

WITHIN, BEYOND = "within", "beyond"
_IN_FILES = {CLUSTERS: "tasks"}
"""Words of `compare --json` that differ from those of the code."""


@dataclass(frozen=True)
class Comparison:
    probe: str
    metric: str
    group: Mapping[str, str | float]
    unit: str
    first: float | None = None
    second: float | None = None
    difference: float | None = None
    n_shared: int = 0
    n_pairs: int = 0
    n_clusters: int = 0
    dropped_first: Dropped = field(default_factory=Dropped)
    dropped_second: Dropped = field(default_factory=Dropped)
    gained: int = 0
    lost: int = 0
    intervals: tuple[Interval, ...] = ()
    """95 % and 90 % interval of the difference; then the one that the word is read from, where it is another:
    it holds for all figures of the table at once, and however missing verdicts had come out."""
    bounds: Span | None = None
    """Difference in the worst and best case over shared units that lack a verdict."""
    p: float | None = None
    """Exact two-sided sign-flip p."""
    flipped: str | None = None
    """Whose differences were flipped: `clusters` or `pairs`."""
    q: float | None = None
    """p corrected for all figures of the family, by flipping them together; never below the family's own."""
    differs: bool | None = None
    """The corrected test shows a difference among the verdicts at hand: q is at most .05."""
    against_margin: str | None = None
    """`within` where the interval that decides lies inside ±margin; `beyond` where it lies wholly outside;
    None where it reaches over."""
    mcnemar_exact: float | None = None
    """Exact McNemar p, units taken as independent; for reference."""
    mcnemar_mid_p: float | None = None
    minimum_detectable: float | None = None
    """Smallest difference that the corrected test on these units would have shown with 80 % power."""
    status: str | None = None
    """`clear`: no difference beyond the margin; `flagged`: a difference; `inconclusive`: cannot tell."""
    note: str | None = None
    sums: Sums = field(default_factory=dict, repr=False, compare=False)
    """Summed difference of every unit whose sign may be flipped."""
    paired: Paired | None = field(default=None, repr=False, compare=False)
    """The units behind it; None where it is no mean of units."""

    @property
    def decides(self) -> Span:
        """Ends of the interval that the word is read from; only rows with a difference have one."""
        shown = next((each for each in self.intervals if each.method == DECIDES), self.intervals[0])
        return shown.low or 0.0, shown.high or 0.0

    @property
    def conclusion_text(self) -> str:
        if self.against_margin == WITHIN:
            return "differ, within the margin" if self.differs else "alike within the margin"
        if self.status == FLAGGED:
            return "differ by more than the margin" if self.against_margin == BEYOND else "differ"
        return "cannot tell"

    def to_json(self) -> dict[str, Any]:
        plain = asdict(replace(self, sums={}, paired=None))
        body = {"finding" if name == "status" else name: value for name, value in plain.items()}
        del body["sums"], body["paired"]
        body["group"] = dict(sorted(self.group.items()))
        body["dropped_first"] = self.dropped_first.to_json()
        body["dropped_second"] = self.dropped_second.to_json()
        body["flipped"] = _IN_FILES.get(self.flipped or "", self.flipped)
        body["bounds"] = list(self.bounds) if self.bounds else None
        body["intervals"] = [interval.to_json() for interval in self.intervals]
        return body

    @classmethod
    def undefined(cls, question: ComparisonCriterion, note: str | None = None) -> Comparison:
        return cls(question.probe, question.metric, question.condition, question.unit, note=note)


THESE_CLUSTERS = "these clusters only"
NO_SHARED = "no unit has a verdict of both judges"
ONE_OUTCOME = "all shared answers of one are right, or all are wrong: nothing to tell apart"
ADDS_NOTHING = {"abstained", UNSURE}
"""Why a unit that has a verdict has no value."""
ONE_SIDE = "every reference is on one side: errors to the other can not be seen"


def compare_units(mine: Units, other: Units, question: ComparisonCriterion) -> Comparison:
    first, second, amount = mine.events, other.events, question.amount
    shown = mine.shared(other)
    answered = [key for key in shown if first[key].loss is None and second[key].loss is None]
    head = replace(
        Comparison.undefined(question),
        n_shared=len(answered),
        n_pairs=len({first[key].pair for key in answered}),
        n_clusters=len({first[key].cluster for key in answered}),
        dropped_first=mine.dropped(other, shown),
        dropped_second=other.dropped(mine, shown),
    )
    if not answered:
        return replace(head, note=NO_SHARED)
    rows = [
        (first[key].happened or 0, second[key].happened or 0, first[key].cluster, first[key].pair)
        for key in answered
    ]
    paired = Paired.of(rows)
    if amount is not None and amount.among is not None:
        found = _among(amount.among, paired, [(first[key].side, second[key].side) for key in answered])
        if found is None:
            return replace(head, note=ONE_OUTCOME)
        paired = found
    elif amount is not None:
        weight = _weights(amount, [first[key] for key in answered])
        if np.isnan(weight).any():
            return replace(head, note=ONE_SIDE)
        reach = max(first[key].ends[1] - first[key].ends[0] for key in answered)
        paired = replace(paired, weight=weight, reach=reach)
    p, flipped = paired.flip()
    method = "t_cluster"
    if paired.of_events:
        method = "tango_cluster" if paired.n_clusters > 1 else "tango"
    could = [
        (first[key], second[key]) for key in shown if not {first[key].loss, second[key].loss} & ADDS_NOTHING
    ]
    return replace(
        head,
        first=paired.mean(paired.first),
        second=paired.mean(paired.second),
        difference=paired.difference,
        gained=paired.gained,
        lost=paired.lost,
        intervals=(
            Interval(method, *paired.limits(1 - ALPHA / 2)),
            Interval(method, *paired.limits(1 - ALPHA), confidence=0.90),
        ),
        bounds=None if paired.exchanged is not None else _bounds(could, amount),
        p=p,
        flipped=flipped,
        mcnemar_exact=mcnemar_exact(paired.gained, paired.lost) if paired.of_events else None,
        mcnemar_mid_p=mcnemar_mid_p(paired.gained, paired.lost) if paired.of_events else None,
        sums=_sums(rows, paired.flippable.tolist(), flipped),
        paired=paired,
        note=None if flipped == CLUSTERS else THESE_CLUSTERS,
    )


def _among(
    parts: Callable[[Floats, Ints], Floats], paired: Paired, sides: Sequence[tuple[int, int]]
) -> Paired | None:
    """What units add among the others of their judge, and among those of both; None where nothing is told."""
    side = np.array(sides, dtype=np.int64)
    values = np.stack([paired.first, paired.second], axis=1).astype(np.float64)
    first, second = (parts(values[:, judge], side[:, judge]) for judge in (0, 1))
    if np.isnan(first).any() or np.isnan(second).any():
        return None
    both = parts(values.T.ravel(), side.T.ravel())
    ones = np.ones(paired.size)
    exchanged = both[paired.size :] - both[: paired.size]
    return replace(paired, first=first, second=second, weight=ones, exchanged=exchanged)


def _sums(rows: Sequence[tuple[float, float, str, str]], changes: Sequence[float], flipped: str) -> Sums:
    """The difference of each cluster, or of each pair where pairs are flipped; pairs sort first."""
    sums: dict[str, float] = {}
    for (_, _, cluster, pair), change in zip(rows, changes, strict=True):
        name = f"2 {cluster}" if flipped == CLUSTERS else f"1 {pair}"
        sums[name] = sums.get(name, 0) + change
    return sums


def _bounds(shown: Sequence[tuple[UnitEvent, UnitEvent]], amount: Amount | None) -> Span:
    """The mean change if every missing verdict had gone one way, or the other."""
    reach = np.array(
        [
            [event.ends if event.happened is None else (event.happened, event.happened) for event in both]
            for both in shown
        ],
        dtype=np.float64,
    )
    changes = reach[:, 1] - reach[:, 0, ::-1]
    if amount is not None:
        changes *= _weights(amount, [first for first, _ in shown])[:, None]
    low, high = changes.mean(axis=0).tolist()
    return low, high


def _weights(amount: Amount, events: Iterable[UnitEvent]) -> Floats:
    return amount.weigh(np.array([event.side for event in events], dtype=np.int64))


@dataclass(frozen=True)
class ComparisonFamily:
    rows: tuple[Comparison, ...]
    p: float | None
    """p of "the judges do not differ in any figure"; None where no unit is shared."""
    faults: tuple[FigureFault, ...] = ()

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p <= ALPHA


def _is_told(row: Comparison) -> bool:
    """Abstentions where one judge abstained, for many never may; contradictions where both give reasons."""
    if row.metric == ABSTENTION_RATE.id:
        return bool(row.first or row.second)
    return row.metric != CONTRADICTION_RATE.id or row.first is not None


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
    ordered = [rows[question] for question in places if _is_told(rows[question])]
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
