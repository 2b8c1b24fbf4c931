"""What a run tells while it goes on."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Tick(NamedTuple):
    """One finished trial."""

    judge: str
    """Who was asked."""
    ok: bool
    """False for a failure after all retries."""
    dollars: float = 0.0
    """What the call cost, where a price is known."""
    unreadable: bool = False
    """True for a reply that holds no verdict."""


class Progress(Protocol):
    """Told of each trial that ends."""

    def begin(self, judge: str, total: int, done: int) -> None:
        """A judge starts with this many trials, some of them answered before."""

    def tick(self, tick: Tick) -> None:
        """A trial ended; baselines, which never start, are heard of only where one fails."""

    def say(self, message: str) -> None:
        """Something worth a line."""


class Silent:
    """Tells nothing."""

    def begin(self, judge: str, total: int, done: int) -> None:
        """Nothing."""

    def tick(self, tick: Tick) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Nothing."""
