"""The estimates of one judge, for those who put them into sentences."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.metrics.estimate import Estimate


class Figures:
    """The estimates of one judge, looked up by metric and exact group."""

    def __init__(self, judge: str, estimates: Iterable[Estimate]) -> None:
        self.judge = judge
        self._estimates = [estimate for estimate in estimates if estimate.judge == judge]

    def find(self, metric: str, **group: str | float) -> Estimate | None:
        """The one estimate of exactly this group."""
        for estimate in self._estimates:
            if estimate.metric == metric and dict(estimate.group) == group:
                return estimate
        return None

    def of_probe(self, probe: str, metric: str, **group: str | float) -> Estimate | None:
        """The one estimate of a probe and exactly this group."""
        for estimate in self._estimates:
            if (estimate.probe, estimate.metric) == (probe, metric) and dict(estimate.group) == group:
                return estimate
        return None

    def protocols(self, metric: str) -> list[str]:
        """Protocols under which a metric was measured, in order of first appearance."""
        found = [e.group["protocol"] for e in self._estimates if e.metric == metric and "protocol" in e.group]
        return list(dict.fromkeys(map(str, found)))

    def between_equals(self, metric: str) -> Estimate | None:
        """The base protocol's figure on same-quality pairs."""
        return self.find(metric, protocol="base", delta=0, kind="same_subset")
