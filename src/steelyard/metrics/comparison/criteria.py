"""Criteria of a comparison: the figures on which two judges can be paired, and what each unit showed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from steelyard.metrics.basis import Group
from steelyard.metrics.metric import Amount, Metric
from steelyard.metrics.stats.intervals import Span
from steelyard.verdicts.verdict import Failed, Unreadable, Verdict

Key = tuple[str, str, int]
"""Which unit: what was shown, in which order (empty where both make one unit), which replicate."""
Figure = tuple[str, str, str]


@dataclass(frozen=True)
class ComparisonCriterion:
    """A figure whose units are events or not, or add an amount each."""

    probe: str
    """Probe whose stimuli are the units; `run` for all calls."""
    metric: str
    group: tuple[tuple[str, str | float], ...]
    unit: str
    place: int = field(default=0, compare=False)
    amount: Amount | None = field(default=None, compare=False)
    """What each unit adds, where the figure is no share of events."""

    @property
    def condition(self) -> dict[str, str | float]:
        return dict(self.group)

    @property
    def figure(self) -> Figure:
        return self.probe, self.metric, str(self.condition.get("protocol", ""))

    @property
    def title(self) -> str:
        return f"comparison of {self.metric} in {self.probe}"


class UnitEvent(NamedTuple):
    happened: float | None
    """Whether it showed the event, or what it adds to a mean; None without a verdict."""
    loss: str | None
    """`unreadable` or `failed` where there is no verdict, `abstained` where the verdict adds nothing."""
    pair: str
    """The pair or item behind the unit; its orders and replicates are not independent."""
    cluster: str
    against: str = ""
    side: int = 0
    """The side of a balance that it stands on; 0 for none."""
    ends: Span = (0.0, 1.0)


def criterion_for(probe: str, protocol: str, metric: Metric, group: Group, place: int) -> ComparisonCriterion:
    own = {} if metric.amount is None else metric.amount.group
    items = tuple(sorted({**group, **own, "protocol": protocol}.items()))
    return ComparisonCriterion(probe, metric.id, items, metric.unit, place, metric.amount)


def loss_of(verdicts: Iterable[Verdict]) -> str | None:
    """Why a unit that rests on these verdicts has none, `failed` first; None where it has one."""
    kinds = {type(verdict) for verdict in verdicts}
    return "failed" if Failed in kinds else "unreadable" if Unreadable in kinds else None
