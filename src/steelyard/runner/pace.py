"""How fast an endpoint may be asked: so many requests and so many tokens a minute, evenly spread."""

from __future__ import annotations

from dataclasses import dataclass, field

MINUTE = 60.0
"""Seconds."""


@dataclass
class Meter:
    """One allowance that refills evenly; what is taken in advance is waited for."""

    per_minute: float
    """How much of it there is."""
    _free_at: float = field(default=0.0, init=False)

    def take(self, amount: float, now: float) -> float:
        """Seconds until so much may be used; it is taken at once, so that the next one waits behind."""
        start = max(now, self._free_at)
        self._free_at = start + amount * MINUTE / self.per_minute
        return start - now

    def give_back(self, amount: float) -> None:
        """Part of what was taken was not needed; a negative amount was needed beside it."""
        self._free_at -= amount * MINUTE / self.per_minute


class Pace:
    """Allowances of one endpoint, or none."""

    def __init__(self, requests: float | None = None, tokens: float | None = None) -> None:
        """Requests and tokens a minute; None where there is no such limit."""
        self._requests = None if requests is None else Meter(requests)
        self._tokens = None if tokens is None else Meter(tokens)

    @property
    def unlimited(self) -> bool:
        """Nobody ever waits."""
        return self._requests is None and self._tokens is None

    def narrow(self, requests: float | None, tokens: float | None) -> None:
        """Take the stricter of two statements about the same endpoint."""
        self._requests = _stricter(self._requests, requests)
        self._tokens = _stricter(self._tokens, tokens)

    def wait(self, tokens: float, now: float) -> float:
        """Seconds before a call of about so many tokens may be made."""
        by_requests = 0.0 if self._requests is None else self._requests.take(1, now)
        by_tokens = 0.0 if self._tokens is None else self._tokens.take(tokens, now)
        return max(by_requests, by_tokens)

    def used(self, expected: float, tokens: float) -> None:
        """A call took other than the expected number of tokens; 0 where its server counts none."""
        if self._tokens is not None and tokens:
            self._tokens.give_back(expected - tokens)


def _stricter(meter: Meter | None, per_minute: float | None) -> Meter | None:
    if per_minute is None:
        return meter
    if meter is None:
        return Meter(per_minute)
    meter.per_minute = min(meter.per_minute, per_minute)
    return meter
