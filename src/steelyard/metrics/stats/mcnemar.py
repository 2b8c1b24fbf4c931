"""McNemar's test: are the units on which two judges disagree split evenly?

It takes units as independent. Calls on one cluster are not, so it stands for reference beside the sign-flip
test over clusters.
"""

from __future__ import annotations

from steelyard.metrics.stats.beta_law import binomial_probability


def exact(gained: int, lost: int) -> float:
    """Two-sided binomial p of the discordant units; 1 where there are none."""
    return min(1.0, 2 * binomial_probability(min(gained, lost), gained + lost, 0.5))


def mid_p(gained: int, lost: int) -> float:
    """The exact p with half the weight on what was observed: less strict, still near its promised error."""
    least, count = min(gained, lost), gained + lost
    fewer, so_few = (binomial_probability(most, count, 0.5) for most in (least - 1, least))
    return min(1.0, so_few + fewer)
