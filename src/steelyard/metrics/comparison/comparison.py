"""One figure of two judges on the units that both answered: difference, limits, tests, missing data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.comparison.criteria import ComparisonCriterion, UnitEvent
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.comparison.unit_events import Dropped, Units
from steelyard.metrics.estimate import DECIDES, Interval
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.metric import Amount
from steelyard.metrics.multiplicity import Sums
from steelyard.metrics.stats.intervals import Span
from steelyard.metrics.stats.sample_size import ALPHA
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
    first: float | None
    second: float | None
    difference: float | None
    n_shared: int
    n_pairs: int
    n_clusters: int
    dropped_first: Dropped
    dropped_second: Dropped
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
        return cls(
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
            note=note,
        )


THESE_CLUSTERS = "these clusters only"
NO_SHARED = "no unit has a verdict of both judges"
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
    if amount is not None:
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
        (first[key], second[key]) for key in shown if "abstained" not in (first[key].loss, second[key].loss)
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
        bounds=_bounds(could, amount),
        p=p,
        flipped=flipped,
        mcnemar_exact=mcnemar_exact(paired.gained, paired.lost) if paired.of_events else None,
        mcnemar_mid_p=mcnemar_mid_p(paired.gained, paired.lost) if paired.of_events else None,
        sums=_sums(rows, paired.change.tolist(), flipped),
        paired=paired,
        note=None if flipped == CLUSTERS else THESE_CLUSTERS,
    )


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
