"""Estimate context: the judge, probe and condition that estimates made from the same rows share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Required, TypedDict, Unpack

from steelyard.core.content_hash import canonical_json
from steelyard.core.rng import seed_for
from steelyard.metrics.basis import Group
from steelyard.metrics.estimate import Estimate, Interval, Reason
from steelyard.metrics.metric import Metric

NO_CALLS = "no calls in this condition"
NO_VERDICTS = "no call of this condition ended in a verdict"


class EstimateFields(TypedDict, total=False):
    """Fields of an `Estimate` that its context does not set; `Estimate` says what each means."""

    unit: Required[str]
    value: Required[float | None]
    numerator: int | None
    denominator: int | None
    intervals: tuple[Interval, ...]
    n_calls: int
    n_units: int
    n_clusters: int
    design_effect: float | None
    effective_size: float | None
    quantile: float | None
    excluded: Mapping[str, int]
    abstained: int
    left_out: int
    bounds: tuple[float, float] | None
    censored: str | None
    chance: float | None
    status: str | None
    minimum_detectable: float | None
    note: str | None
    calls_needed: int | None
    reading: str | None
    p: float | None
    p_corrected: float | None
    reason: str | None
    missing_decides: bool
    details: Mapping[str, Any]


@dataclass(frozen=True)
class EstimateContext:
    """Judge, probe and condition of an estimate, and the random streams that belong to them."""

    judge: str
    probe: str
    group: Group
    seed: int

    @classmethod
    def for_protocol(cls, judge: str, probe: str, protocol: str, seed: int) -> EstimateContext:
        """The context of all that a probe asked a judge under one protocol."""
        return cls(judge, probe, {"protocol": protocol}, seed)

    @property
    def protocol(self) -> str:
        """The protocol of the condition; `base` where it names none."""
        return str(self.group.get("protocol", "base"))

    def for_subgroup(self, **group: str | float) -> EstimateContext:
        """The context of a narrower condition."""
        return replace(self, group={**self.group, **group})

    def bootstrap_seed(self, figure: str) -> int:
        """A random stream of its own for each figure."""
        return seed_for(
            self.seed, "bootstrap", self.judge, self.probe, figure, canonical_json(dict(self.group))
        )

    def permutation_seed(self, figure: str) -> int:
        """A random stream for a permutation test: the same answers give the same p under any name."""
        return seed_for(self.seed, "deal", self.probe, figure, canonical_json(dict(self.group)))

    def estimate(self, metric: Metric, **fields: Unpack[EstimateFields]) -> Estimate:
        """An estimate in this context."""
        return Estimate(
            judge=self.judge, probe=self.probe, metric=metric.id, group=dict(self.group), **fields
        )

    def undefined(
        self, metric: Metric, reason: str, unit: str = "call", excluded: Mapping[str, int] | None = None
    ) -> Estimate:
        """A figure that cannot be given, with the reason."""
        counts = dict(excluded or {"unreadable": 0, "failed": 0})
        code = reason.code if isinstance(reason, Reason) else None
        return self.estimate(metric, unit=unit, value=None, excluded=counts, note=str(reason), reason=code)
