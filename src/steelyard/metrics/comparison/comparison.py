"""Two judges on the units that both answered: difference, limits, tests and missing data of each figure.

Then all figures together, for multiple testing: one global test, and the adjusted p of each finding.

The worth of a cue in steps of quality is no mean over pairs, so no unit of it can be flipped. The limits of
both worths are combined instead (MOVER, variance recovered from the limits). That both judges were shown the
same pairs is not used, so that the interval is rather too long. Holm's method adjusts over the cues.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import hypot, inf
from typing import Any

import numpy as np

from steelyard.core.text import join_notes
from steelyard.metrics import findings
from steelyard.metrics.comparison.paired import Paired, change_bounds, change_sums, weights_of
from steelyard.metrics.comparison.rows import ComparisonCriterion, Figure, criterion_for
from steelyard.metrics.comparison.unit_events import UNSURE, Dropped, UnitEvents, Units
from steelyard.metrics.estimate import DECIDES, Estimate, Interval
from steelyard.metrics.faults import Faults, FigureFault
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MARGIN, MISSING_DECIDE, SURE
from steelyard.metrics.instrument.worth_estimates import FAULT, WORTH
from steelyard.metrics.multiplicity import JointSignFlip, Sums, bonferroni_alpha, holm
from steelyard.metrics.pairs.choices import WEIGHED
from steelyard.metrics.proportions import ABSTENTION_RATE, ACCURACY, CONTRADICTION_RATE, MERIT
from steelyard.metrics.stats.distributions import normal_probability, t_probability, t_quantile
from steelyard.metrics.stats.intervals import ALPHA, CLUSTERS, Span, mcnemar_exact, mcnemar_mid_p
from steelyard.metrics.stats.sample_size import POWER

WITHIN, BEYOND = "within", "beyond"
LENGTH = "length"
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
    explained_by: str | None = None
    """`length`: merit whatever the length does not show the difference, so that it makes neither better."""
    sums: Sums = field(default_factory=dict, repr=False, compare=False)
    """Summed difference of every unit whose sign may be flipped."""
    paired: Paired | None = field(default=None, repr=False, compare=False)
    """The units behind it; None where it is no mean of units."""

    @property
    def figure(self) -> Figure:
        return self.probe, self.metric, str(self.group.get("protocol", ""))

    @property
    def sign(self) -> float:
        """1 where B has more of it, −1 where A has, 0 where neither or where nobody knows."""
        return float(np.sign(self.difference or 0.0))

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


ADDS_NOTHING = {"abstained", UNSURE}
"""Why a unit that has a verdict has no value."""


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
        return replace(head, note="no unit has a verdict of both judges")
    events = ((first[key], second[key]) for key in answered)
    rows = [(one.happened or 0, other.happened or 0, one.cluster, one.pair) for one, other in events]
    paired = Paired.of(rows)
    if amount is not None and amount.among is not None:
        found = paired.among(amount.among, [(first[key].side, second[key].side) for key in answered])
        if found is None:
            why = "all shared answers of one are right, or all are wrong: nothing to tell apart"
            return replace(head, note=why)
        paired = found
    elif amount is not None:
        weight = weights_of(amount, [first[key] for key in answered])
        if np.isnan(weight).any():
            return replace(head, note=amount.one_side)
        reach = max(first[key].ends[1] - first[key].ends[0] for key in answered)
        paired = replace(paired, weight=weight, reach=reach)
    p, flipped = paired.flip()
    method = "t_cluster"
    if paired.of_events:
        method = "tango_cluster" if paired.n_clusters > 1 else "tango"
    both = ((first[key], second[key]) for key in shown)
    could = [each for each in both if not {event.loss for event in each} & ADDS_NOTHING]
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
        bounds=None if paired.exchanged is not None else change_bounds(could, amount),
        p=p,
        flipped=flipped,
        mcnemar_exact=mcnemar_exact(paired.gained, paired.lost) if paired.of_events else None,
        mcnemar_mid_p=mcnemar_mid_p(paired.gained, paired.lost) if paired.of_events else None,
        sums=change_sums(rows, paired.flippable.tolist(), flipped),
        paired=paired,
        note=None if flipped == CLUSTERS else "these clusters only",
    )


@dataclass(frozen=True)
class ComparisonFamily:
    rows: tuple[Comparison, ...]
    p: float | None
    """p of "the judges do not differ in any figure"; None where no unit is shared."""
    faults: tuple[FigureFault, ...] = ()

    @property
    def defined(self) -> list[Comparison]:
        return [row for row in self.rows if row.status is not None]

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
    places = sorted(rows, key=lambda question: question.sort_key(order))
    ordered = [rows[question] for question in places if _is_told(rows[question])]
    family = faults.guarded(
        "",
        "all figures together",
        lambda: adjust_comparisons(ordered, margin),
        lambda _: ComparisonFamily(tuple(ordered), None),
    )
    told = tuple(beside_length(family.rows))
    return replace(family, rows=told, faults=(*broken.values(), *faults.found))


def beside_length(rows: Sequence[Comparison]) -> Iterator[Comparison]:
    """The rows; where lengths are known, being right more often counts if it is shown whatever the length."""
    weighed = {row.figure: row for row in rows if WEIGHED in row.group}
    for row in rows:
        beside = weighed.get((row.probe, MERIT.id, row.figure[2]))
        counts = row.metric in (MERIT.id, ACCURACY.id) and row.status == FLAGGED and row is not beside
        if beside is not None and counts and (beside.status, beside.sign) != (FLAGGED, row.sign):
            row = replace(row, explained_by=LENGTH)
        yield row


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
    moved = findings.missingness_shift(value, row.bounds)
    reach = inf if row.paired is None else row.paired.reach

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
    note = join_notes([row.note, MISSING_DECIDE if withheld else None])
    row = replace(row, q=q, status=word, note=note, differs=q <= ALPHA, against_margin=against)
    return replace(row, intervals=(*row.intervals[:2], *deciding))


OPEN = "one worth has an open end: their difference is not known"


def compare_worths(first: Sequence[Estimate], second: Sequence[Estimate]) -> list[Comparison]:
    """One row for each cue that both judges were shown, B less A."""
    others = {e.group.get("cue"): e for e in second if e.metric == WORTH.id}
    mine = (e for e in first if e.metric == WORTH.id and e.group.get("cue") in others)
    both = [(e, others[e.group.get("cue")]) for e in mine]
    rows = [_compared_worths(mine, other) for mine, other in both]
    adjusted = holm([row.p for row in rows if row.p is not None])
    sure, after = 1 - bonferroni_alpha(max(1, len(adjusted))) / 2, iter(adjusted)
    return [row if row.p is None else _with_word(row, next(after), sure) for row in rows]


def _compared_worths(mine: Estimate, other: Estimate) -> Comparison:
    group = {key: value for key, value in mine.group.items() if key != "protocol"}
    head = Comparison.undefined(criterion_for(mine.probe, "base", WORTH, group, 0))
    units, clusters = min(mine.n_units, other.n_units), min(mine.n_clusters, other.n_clusters)
    head = replace(head, n_shared=units, n_pairs=units, n_clusters=clusters)
    head = replace(head, first=mine.value, second=other.value)
    if mine.value is None or other.value is None:
        why = mine.note if mine.value is None else other.note
        return replace(head, note=f"not known of both: {why}")
    reaches = _reaches(mine), _reaches(other)
    if mine.censored or other.censored or None in reaches:
        return replace(head, note=OPEN)
    (down_a, up_a), (down_b, up_b) = (reach or (0.0, 0.0) for reach in reaches)
    difference, down, up = other.value - mine.value, hypot(down_b, up_a), hypot(up_b, down_a)
    freedom = max(1, head.n_clusters - 1)
    usual, inner = (t_quantile(sure, freedom) for sure in (1 - ALPHA / 2, 1 - ALPHA))
    toward_zero = down if difference > 0 else up
    shown = usual * abs(difference) / toward_zero if toward_zero > 0 else 0.0
    spans = ((1.0, 1 - ALPHA), (inner / usual, 1 - 2 * ALPHA))
    return replace(
        head,
        difference=difference,
        intervals=tuple(
            Interval("mover_profiles", difference - part * down, difference + part * up, confidence=level)
            for part, level in spans
        ),
        p=2 * t_probability(-shown, freedom),
        flipped=CLUSTERS,
        minimum_detectable=(down + up) / 2 * (1 + t_quantile(0.8, freedom) / usual),
        note=f"in {'levels of the scale' if mine.unit == 'item' else 'steps of quality'}, margin {FAULT:g}",
    )


def _reaches(estimate: Estimate) -> tuple[float, float] | None:
    """How far the limits lie below and above the value; None where one is open."""
    limits, value = estimate.interval, estimate.value or 0.0
    if limits is None or limits.low is None or limits.high is None:
        return None
    return value - limits.low, limits.high - value


def _with_word(row: Comparison, q: float, sure: float) -> Comparison:
    """The word, with limits that are as far from the difference as all cues at once take."""
    freedom, (low, high), value = max(1, row.n_clusters - 1), row.decides, row.difference or 0.0
    times = t_quantile(sure, freedom) / t_quantile(1 - ALPHA / 2, freedom)
    return with_word(row, q, FAULT, (value - times * (value - low), value + times * (high - value)))
