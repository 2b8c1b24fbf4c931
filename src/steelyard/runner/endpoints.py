"""Who shares a server: judges at one address share its places, its pauses and its allowances."""

from __future__ import annotations

from steelyard.providers.provider import HasEndpoint, Provider
from steelyard.runner.throttle import Throttle
from steelyard.trials.judge import PACE_OPTIONS, Judge


class Endpoints:
    """The throttles of a run, one for each address; a judge that has none is by itself."""

    def __init__(self, concurrency: int) -> None:
        """`concurrency` is how many calls may be in flight at one address."""
        self._concurrency = concurrency
        self._throttles: dict[str, Throttle] = {}

    def of(self, judge: Judge, provider: Provider) -> Throttle:
        """The throttle that the calls of a judge go through."""
        limit = min(self._concurrency, provider.concurrency)
        place = provider.endpoint if isinstance(provider, HasEndpoint) else f"judge {judge.name}"
        throttle = self._throttles.setdefault(place, Throttle(limit))
        throttle.pace.narrow(*(judge.options.get(name) for name in PACE_OPTIONS))
        return throttle
