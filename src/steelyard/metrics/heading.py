"""What an estimate is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from steelyard.core.content_hash import canonical_json
from steelyard.core.rng import seed_for
from steelyard.metrics.basis import Group
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric
from steelyard.metrics.reasons import Reason

NO_CALLS = "no calls in this condition"
NO_VERDICTS = "no call of this condition ended in a verdict"


@dataclass(frozen=True)
class Heading:
    """Judge, probe and condition, shared by the estimates made from the same rows."""

    judge: str
    """Name on the datasheet."""
    probe: str
    """`vacuum`, `ladder`, `criterion`, …"""
    group: Group
    """Condition."""
    seed: int
    """Seed of the study."""

    @classmethod
    def under(cls, judge: str, probe: str, protocol: str, seed: int) -> Heading:
        """The heading of all that a probe asked a judge under one protocol."""
        return cls(judge, probe, {"protocol": protocol}, seed)

    @property
    def protocol(self) -> str:
        """The protocol of the condition; `base` where it names none."""
        return str(self.group.get("protocol", "base"))

    def within(self, **group: str | float) -> Heading:
        """The heading of a narrower condition."""
        return replace(self, group={**self.group, **group})

    def bootstrap_seed(self, figure: str) -> int:
        """A random stream of its own for each figure."""
        return seed_for(
            self.seed, "bootstrap", self.judge, self.probe, figure, canonical_json(dict(self.group))
        )

    def deal_seed(self, figure: str) -> int:
        """A random stream for a permutation test: the same answers give the same p under any name."""
        return seed_for(self.seed, "deal", self.probe, figure, canonical_json(dict(self.group)))

    def estimate(self, metric: Metric, **fields: Any) -> Estimate:
        """An estimate under this heading."""
        group = dict(self.group)
        return Estimate(judge=self.judge, probe=self.probe, metric=metric.id, group=group, **fields)

    def undefined(
        self, metric: Metric, reason: str, unit: str = "call", excluded: Mapping[str, int] | None = None
    ) -> Estimate:
        """A figure that cannot be given, with the reason."""
        counts = dict(excluded or {"unreadable": 0, "failed": 0})
        code = reason.code if isinstance(reason, Reason) else None
        return self.estimate(metric, unit=unit, value=None, excluded=counts, note=str(reason), reason=code)
