"""McNemar's test: are the units on which two judges disagree split evenly?

It takes units as independent. Calls on one cluster are not, so it stands for reference beside the sign-flip
test over clusters.
"""

from __future__ import annotations


def exact(gained: int, lost: int) -> float:
    """Two-sided binomial p of the discordant units; 1 where there are none."""
    return min(1.0, 2 * _at_most(min(gained, lost), gained + lost))


def mid_p(gained: int, lost: int) -> float:
    """The exact p with half the weight on what was observed: less strict, still near its promised error."""
    least, count = min(gained, lost), gained + lost
    observed = _at_most(least, count) - _at_most(least - 1, count)
    return min(1.0, 2 * _at_most(least, count) - observed)


def _at_most(successes: int, trials: int) -> float:
    from scipy.special import bdtr

    return float(bdtr(successes, trials, 0.5)) if successes >= 0 else 0.0
