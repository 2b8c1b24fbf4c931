"""The rate that a server allows, learnt from its refusals (429): most servers do not say it.

Calls that were answered between two rounds of refusals, over the time between them, are what the server
allows: its allowance was used up at both ends, whatever the window is in which it counts. Calls then start a
little below that rate, reach it after a while, and go far beyond soon after if none is refused. The while is
short at first and doubles where the rate proved right. A rate that was refused only beyond what was learnt
counts half: in the pause after a refusal, servers that count by the second allow more than was asked.
"""

from __future__ import annotations

import math

MARGIN = 0.02
"""Share of the rate that is left at first."""
FIRST_REACH, LAST_REACH = 4.0, 60.0
"""Seconds until the learnt rate is reached again."""
SHORTEST = 5.0
"""Seconds between two rounds of refusals that tell a rate."""
FEWEST = 32
"""Answered calls between them, likewise."""
HIGHEST = 1.25
"""Share of the answered rate that a refused one counts for at most: a burst was allowed before it."""


class LearnedRate:
    def __init__(self) -> None:
        self._rate: float | None = None
        """Calls a second; None while no call was refused."""
        self._reach = FIRST_REACH
        self._since = 0.0
        self._free_at = 0.0
        self._answered = 0
        self._from: tuple[float, int] | None = None
        """When the last round of refusals before this one ended, and the calls answered by then."""
        self._last: tuple[float, int] = (0.0, 0)
        """The same of the last refusal."""
        self._refused_at: float | None = None
        """When a round of refusals began; None once a later call was answered."""
        self._tried: float | None = None
        """The rate at which it began; None where the learnt rate itself was too high."""

    @property
    def is_known(self) -> bool:
        return self._rate is not None

    def reserve(self, now: float) -> float:
        """Seconds until the next call may start."""
        if self._from is None:
            self._from = now, 0
        if self._rate is None:
            return 0.0
        start = max(now, self._free_at)
        self._free_at = start + 1 / self._allowed(self._rate, now)
        return start - now

    def _allowed(self, rate: float, now: float) -> float:
        grown = math.exp(min(4 * (now - self._since - self._reach) / self._reach, 50.0))
        return rate * (1 + MARGIN * (grown - 1))

    def on_refusal(self, now: float, resume_at: float) -> None:
        """Calls that wait for their turn take another, after the pause that the server asks for."""
        if self._refused_at is None:
            self._refused_at = now
            is_late = self._rate is not None and now - self._since > self._reach / 2
            self._tried = self._allowed(self._rate, now) if is_late and self._rate is not None else None
        self._last = now, self._answered
        self._free_at = max(now, resume_at)

    def on_success(self, started: float, now: float) -> None:
        self._answered += 1
        if self._refused_at is None or started < self._refused_at or self._from is None:
            return
        self._refused_at = None
        seconds, answered = self._last[0] - self._from[0], self._last[1] - self._from[1]
        if seconds < SHORTEST or answered < FEWEST:
            return
        # Time in which nobody called, or nobody was answered, is no limit: it halves the rate at most.
        found = max(answered / seconds, (self._rate or 0.0) / 2)
        if self._tried is not None:
            found = max(found, (found + min(self._tried, HIGHEST * found)) / 2)
            self._reach *= 2
        self._reach = min(max(self._reach, seconds), LAST_REACH)
        self._rate, self._since, self._from = found, now, self._last
