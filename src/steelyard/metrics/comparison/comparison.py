"""Two judges on the same units: what differs, how surely, and what was left out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Any

from steelyard.metrics.comparison.outcomes import Outcomes
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.comparison.question import Outcome, Question
from steelyard.metrics.comparison.units import Dropped, Units
from steelyard.metrics.estimate import Interval
from steelyard.metrics.faults import Fault, Faults
from steelyard.metrics.findings import CLEAR, FLAGGED, MARGIN, UNDERPOWERED, difference_word
from steelyard.metrics.proportions import join
from steelyard.metrics.stats import mcnemar
from steelyard.metrics.stats.intervals import Limits
from steelyard.metrics.stats.joint_flips import JointFlips, Sums
from steelyard.metrics.stats.power import ALPHA
from steelyard.metrics.stats.significance import FLIPPED_CLUSTERS

THESE_CLUSTERS = "these clusters only"
NO_SHARED = "no unit has a verdict of both judges"
WITHIN, BEYOND = "within", "beyond"


@dataclass(frozen=True)
class Comparison:
    """One figure of two judges on the units that both answered."""

    probe: str
    """Probe whose stimuli are the units."""
    metric: str
    """Metric id."""
    group: Mapping[str, str | float]
    """Condition."""
    unit: str
    """What is counted: `call`, `pair` or `comparison`."""
    first: float | None
    """Share of the first judge on shared units."""
    second: float | None
    """Share of the second judge on shared units."""
    difference: float | None
    """Second less first."""
    n_shared: int
    """Units with a verdict of both."""
    n_pairs: int
    """Pairs or items behind them."""
    n_clusters: int
    """Clusters behind them."""
    dropped_first: Dropped
    """Units left out on the side of the first judge."""
    dropped_second: Dropped
    """Units left out on the side of the second judge."""
    gained: int = 0
    """Units with the event under the second judge alone."""
    lost: int = 0
    """Units with the event under the first judge alone."""
    intervals: tuple[Interval, ...] = ()
    """95 % interval of the difference, then the 90 % interval that the word is read from."""
    bounds: Limits | None = None
    """Difference in the worst and best case over shared units that lack a verdict."""
    p: float | None = None
    """Exact two-sided sign-flip p."""
    flipped: str | None = None
    """Whose differences were flipped: `FLIPPED_CLUSTERS` or `pairs`."""
    q: float | None = None
    """p corrected for all figures of the family, by flipping them together; never below the family's own."""
    differs: bool | None = None
    """The corrected test shows a difference: q is at most .05."""
    against_margin: str | None = None
    """`within` where the 90 % interval, and the worst case over missing verdicts, lie inside ±margin;
    `beyond` where the judges differ and the interval lies wholly outside; None where it reaches over."""
    mcnemar_exact: float | None = None
    """Exact McNemar p, units taken as independent; for reference."""
    mcnemar_mid_p: float | None = None
    """Its mid-p form."""
    minimum_detectable: float | None = None
    """Smallest difference these units would have shown with 80 % power."""
    finding: str | None = None
    """`clear`: no difference beyond the margin; `flagged`: a difference; `underpowered`: cannot tell."""
    note: str | None = None
    """Reasons and reservations."""
    sums: Sums = field(default_factory=dict, repr=False, compare=False)
    """Summed difference of every unit whose sign may be flipped."""

    @property
    def said(self) -> str:
        """Whether the judges differ, and by how much, in words."""
        if self.differs:
            return {WITHIN: "differ, within the margin", BEYOND: "differ by more than the margin"}.get(
                self.against_margin or "", "differ"
            )
        return "alike within the margin" if self.against_margin == WITHIN else "cannot tell"

    def to_json(self) -> dict[str, Any]:
        """A plain mapping."""
        body = asdict(replace(self, sums={}))
        del body["sums"]
        body["group"] = dict(sorted(self.group.items()))
        body["dropped_first"] = self.dropped_first.to_json()
        body["dropped_second"] = self.dropped_second.to_json()
        body["bounds"] = list(self.bounds) if self.bounds else None
        body["intervals"] = [interval.to_json() for interval in self.intervals]
        return body


@dataclass(frozen=True)
class Family:
    """Figures that were read together."""

    rows: tuple[Comparison, ...]
    """Every figure, with q and word."""
    p: float | None
    """p of "the judges do not differ in any figure"; None where no unit is shared."""
    faults: tuple[Fault, ...] = ()
    """Figures that could not be computed."""

    @property
    def differs(self) -> bool:
        """The judges differ somewhere."""
        return self.p is not None and self.p <= ALPHA


def compare(first: Outcomes, second: Outcomes, margin: float = MARGIN, order: Sequence[str] = ()) -> Family:
    """Every question that either judge was asked; words and q over the whole family.

    `order` are names of probes as a reader meets them. A figure that can not be computed is undefined, and
    the others stand.
    """
    faults = Faults()
    questions = sorted({*first, *second}, key=lambda question: _place(question, order))
    rows = [_guarded(faults, question, first, second) for question in questions]
    family = faults.guarded(
        "", "all figures together", lambda: read_together(rows, margin), lambda _: Family(tuple(rows), None)
    )
    return replace(family, faults=tuple(faults.found))


def _guarded(faults: Faults, question: Question, first: Outcomes, second: Outcomes) -> Comparison:
    """The figure; undefined where it raises, or where JSON has no spelling for it."""

    def made() -> Comparison:
        row = _compare(Units.of(question, first), Units.of(question, second), _blank(question))
        json.dumps(row.to_json(), allow_nan=False)
        return row

    figure = f"comparison of {question.metric} in {question.probe}"
    return faults.guarded("", figure, made, lambda fault: replace(_blank(question), note=fault.note))


def read_together(
    rows: Sequence[Comparison], margin: float = MARGIN, beside: Sequence[Comparison] = ()
) -> Family:
    """The same rows, with q and word for this family.

    Figures that stand `beside` it have a say in whether the judges differ at all, and get no word.
    """
    tested = [row for row in rows if row.p is not None]
    if not tested:
        return Family(tuple(rows), None)
    others = [row for row in beside if row.p is not None]
    flips = JointFlips.of([row.sums for row in (*tested, *others)])
    chosen = range(len(tested))
    together = flips.together(chosen)
    # No figure is surer than the family, and drawn flips may fall a little short of the exact p.
    found = (max(q, row.p or 0.0, together) for q, row in zip(flips.corrected(chosen), tested, strict=True))
    read = (row if row.p is None else _worded(row, next(found), margin) for row in rows)
    return Family(tuple(read), together)


def _worded(row: Comparison, q: float, margin: float) -> Comparison:
    limits = row.intervals[1].low or 0.0, row.intervals[1].high or 0.0
    reach = row.bounds or (0.0, 0.0)
    differs = q <= ALPHA
    word, note, against = difference_word(limits, q, margin), row.note, None
    if word == CLEAR and not -margin < reach[0] <= reach[1] < margin:
        word = FLAGGED if differs else UNDERPOWERED
        note = join([note, "the missing verdicts could hide a difference beyond the margin"])
    if word == CLEAR:
        against = WITHIN
    elif differs and (limits[0] > margin or limits[1] < -margin):
        against = BEYOND
    return replace(row, q=q, finding=word, note=note, differs=differs, against_margin=against)


def _compare(mine: Units, other: Units, head: Comparison) -> Comparison:
    first, second = mine.outcomes, other.outcomes
    shown = mine.shared(other)
    answered = [key for key in shown if first[key].lost is None and second[key].lost is None]
    head = replace(
        head,
        n_shared=len(answered),
        n_pairs=len({first[key].pair for key in answered}),
        n_clusters=len({first[key].cluster for key in answered}),
        dropped_first=mine.dropped(other),
        dropped_second=other.dropped(mine),
    )
    if not answered:
        return replace(head, note=NO_SHARED)
    rows = [
        (bool(first[key].event), bool(second[key].event), first[key].cluster, first[key].pair)
        for key in answered
    ]
    measured = _measured(head, Paired.of(rows), _bounds([(first[key], second[key]) for key in shown]))
    return replace(measured, sums=_sums(rows, measured.flipped or ""))


def _blank(question: Question) -> Comparison:
    """The figure before anything is counted."""
    return Comparison(
        probe=question.probe,
        metric=question.metric,
        group=question.condition,
        unit=question.unit,
        first=None,
        second=None,
        difference=None,
        n_shared=0,
        n_pairs=0,
        n_clusters=0,
        dropped_first=Dropped(),
        dropped_second=Dropped(),
    )


def _sums(rows: Sequence[tuple[bool, bool, str, str]], flipped: str) -> Sums:
    """The difference of each cluster, or of each pair where pairs are flipped."""
    found: dict[str, int] = {}
    for first, second, cluster, pair in rows:
        unit = f"{flipped} {cluster if flipped == FLIPPED_CLUSTERS else pair}"
        found[unit] = found.get(unit, 0) + second - first
    return found


def _measured(head: Comparison, paired: Paired, bounds: Limits) -> Comparison:
    p, flipped = paired.flip()
    method = "tango_cluster" if paired.n_clusters > 1 else "tango"
    return replace(
        head,
        first=int(paired.first.sum()) / paired.size,
        second=int(paired.second.sum()) / paired.size,
        difference=paired.difference,
        gained=paired.gained,
        lost=paired.lost,
        intervals=(
            Interval(method, *paired.limits(1 - ALPHA / 2)),
            Interval(method, *paired.limits(1 - ALPHA), confidence=0.90),
        ),
        bounds=bounds,
        p=p,
        flipped=flipped,
        mcnemar_exact=mcnemar.exact(paired.gained, paired.lost),
        mcnemar_mid_p=mcnemar.mid_p(paired.gained, paired.lost),
        minimum_detectable=paired.detectable,
        note=None if flipped == FLIPPED_CLUSTERS else THESE_CLUSTERS,
    )


def _bounds(shown: Iterable[tuple[Outcome, Outcome]]) -> Limits:
    """The mean change if every missing verdict had gone one way, or the other."""
    lows, highs = [], []
    for first, second in shown:
        first_low, first_high = _reach(first)
        second_low, second_high = _reach(second)
        lows.append(second_low - first_high)
        highs.append(second_high - first_low)
    return sum(lows) / len(lows), sum(highs) / len(highs)


def _reach(outcome: Outcome) -> tuple[int, int]:
    return (0, 1) if outcome.event is None else (int(outcome.event), int(outcome.event))


def _place(question: Question, order: Sequence[str]) -> tuple[Any, ...]:
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
