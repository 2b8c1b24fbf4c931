"""One figure of two judges: what differs, how surely, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from steelyard.metrics.comparison.question import Question
from steelyard.metrics.comparison.units import Dropped
from steelyard.metrics.estimate import Interval
from steelyard.metrics.multiplicity import Sums
from steelyard.metrics.stats.intervals import Span
from steelyard.metrics.stats.significance import CLUSTERS

WITHIN, BEYOND = "within", "beyond"
_IN_FILES = {CLUSTERS: "tasks"}
"""Words of `compare --json` that differ from those of the code."""


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
    bounds: Span | None = None
    """Difference in the worst and best case over shared units that lack a verdict."""
    p: float | None = None
    """Exact two-sided sign-flip p."""
    flipped: str | None = None
    """Whose differences were flipped: `clusters` or `pairs`."""
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
    """Smallest difference that the corrected test on these units would have shown with 80 % power."""
    finding: str | None = None
    """`clear`: no difference beyond the margin; `flagged`: a difference; `inconclusive`: cannot tell."""
    note: str | None = None
    """Reasons and reservations."""
    sums: Sums = field(default_factory=dict, repr=False, compare=False)
    """Summed difference of every unit whose sign may be flipped."""
    reach: float = field(default=1.0, repr=False, compare=False)
    """Largest difference that there can be."""
    detectable: float | None = field(default=None, repr=False, compare=False)
    """What its own test would have shown, before it is corrected."""

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
        del body["sums"], body["reach"], body["detectable"]
        body["group"] = dict(sorted(self.group.items()))
        body["dropped_first"] = self.dropped_first.to_json()
        body["dropped_second"] = self.dropped_second.to_json()
        body["flipped"] = _IN_FILES.get(self.flipped or "", self.flipped)
        body["bounds"] = list(self.bounds) if self.bounds else None
        body["intervals"] = [interval.to_json() for interval in self.intervals]
        return body

    @classmethod
    def undefined(cls, question: Question, note: str | None = None) -> Comparison:
        """The figure before anything is counted, or with the reason why it can not be."""
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
