"""Evidence of audits against a promised error, which may be looked at after every audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, inf, lgamma, log

import numpy as np

from steelyard.metrics.stats.distributions import beta_sides

ALARM = 20.0
"""Evidence at which a promise is refuted: one that is kept reaches it with probability 1/20 at most."""


def log_evidence_against(wrong: float, audits: int, promised: float) -> float:
    """Logarithm of the mixture of (p/α)^k ((1 − p)/(1 − α))^(n − k) over p, uniform from α to 1.

    Where each audit is wrong with probability α at most, it is a supermartingale that starts at 1.
    """
    if not audits:
        return 0.0
    right = audits - wrong
    above = beta_sides(wrong + 1, right + 1, promised, 1 - promised)[1]
    if above <= 0:
        return -inf
    whole = lgamma(wrong + 1) + lgamma(right + 1) - lgamma(audits + 2)
    return whole + log(above) - wrong * log(promised) - (right + 1) * log(1 - promised)


@dataclass(frozen=True)
class Watch:
    audits: int
    wrong: int
    evidence: float
    """Against the promise, after the last audit."""
    highest: float
    alarm_at: int | None
    """Audit at which it first reached the alarm; None where it never did."""


def watch(wrong: Sequence[bool], promised: float) -> Watch:
    """The evidence over audits in their order."""
    path = [
        exp(min(log_evidence_against(errors, number, promised), _LARGEST))
        for number, errors in enumerate(accumulate(map(int, wrong)), start=1)
    ]
    alarm = next((number for number, each in enumerate(path, start=1) if each >= ALARM), None)
    return Watch(len(path), sum(map(int, wrong)), path[-1] if path else 1.0, max(path, default=1.0), alarm)


_LARGEST = 700.0
"""The exponential of more is no number."""
PATHS, HORIZON = 1000, 3000


def delay(promised: float, actual: float, seed: int = 7) -> int | None:
    """Audits after which half of the watches raise the alarm where errors come at the actual rate; simulated.

    None where more than half of them take longer than 3,000 audits.
    """
    needed = np.full(HORIZON, HORIZON + 1, dtype=np.int64)
    errors = 0
    for audits in range(1, HORIZON + 1):
        while errors <= audits and log_evidence_against(errors, audits, promised) < log(ALARM):
            errors += 1
        needed[audits - 1] = errors
    rng, found = np.random.default_rng(seed), np.full(PATHS, HORIZON + 1)
    for path in range(PATHS):
        above = np.cumsum(rng.random(HORIZON) < actual) >= needed
        if above.any():
            found[path] = above.argmax() + 1
    middle = int(np.median(found))
    return middle if middle <= HORIZON else None
