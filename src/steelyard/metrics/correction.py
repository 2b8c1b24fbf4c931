"""From what a judge says to what people would say.

Two ways, for two situations. The judge's error rates were measured elsewhere: Rogan and Gladen, with an
interval that knows of both samples. The labelled items are a random draw of the items judged:
prediction-powered inference, which is never much wider than the labels alone and needs no error rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.metrics.intervals import Limits, Z, t_quantile
from steelyard.metrics.pairs import Floats


@dataclass(frozen=True)
class Corrected:
    """A corrected share or mean."""

    value: float | None
    """The corrected figure; None with the reason in `note`."""
    limits: Limits | None
    """Its 95 % interval."""
    raw: float
    """What the judge says uncorrected."""
    weight: float | None = None
    """How much the judge was trusted, 0 to 1, where that was tuned."""
    note: str | None = None
    """Why there is no value."""


NO_BETTER = "sensitivity and specificity add up to 1 or less: the judge tells nothing apart"


def rogan_gladen(
    positives: tuple[int, int], sensitivity: tuple[int, int], specificity: tuple[int, int]
) -> Corrected:
    """The true share of positives, each argument as (events, trials).

    (q + specificity − 1) / (sensitivity + specificity − 1), clamped to [0, 1]; the interval is Lang and
    Reiczigel's (2014), on shares pulled towards the middle, with the variance of all three samples.
    """
    raw = positives[0] / positives[1]
    gain = sensitivity[0] / sensitivity[1] + specificity[0] / specificity[1] - 1
    if gain <= 0:
        return Corrected(None, None, raw, note=NO_BETTER)
    value = (raw + specificity[0] / specificity[1] - 1) / gain
    return Corrected(_clamp(value), _two_source(positives, sensitivity, specificity), raw)


def _two_source(
    positives: tuple[int, int], sensitivity: tuple[int, int], specificity: tuple[int, int]
) -> Limits | None:
    share, share_variance = _pulled(*positives, Z * Z)
    hit, hit_variance = _pulled(*sensitivity, 2.0)
    pass_, pass_variance = _pulled(*specificity, 2.0)
    gain = hit + pass_ - 1
    if gain <= 0:
        return None
    centre = (share + pass_ - 1) / gain
    shift = 2 * Z * Z * (centre * hit_variance - (1 - centre) * pass_variance)
    spread = share_variance + (1 - centre) ** 2 * pass_variance + centre**2 * hit_variance
    reach = Z * sqrt(spread) / gain
    return _clamp(centre + shift - reach), _clamp(centre + shift + reach)


def _pulled(events: int, trials: int, extra: float) -> tuple[float, float]:
    """A share with `extra` trials added, half of them events, and its variance."""
    share = (events + extra / 2) / (trials + extra)
    return share, share * (1 - share) / (trials + extra)


def _clamp(share: float) -> float:
    return min(1.0, max(0.0, share))


def prediction_powered(
    labels: Floats, scores: Floats, others: Floats, weight: float | None = None
) -> Corrected:
    """The mean label of all items from labelled ones (labels, scores) and the scores of the others.

    weight · mean(others) + mean(labels − weight · scores). The weight that gives the least variance is
    cov(labels, scores) / ((1 + n/N) · var(scores)), kept within [0, 1]; at 0 the judge is not used. Where
    the judge is rarely wrong few gaps decide: 60 labels of which 5 differ were covered in .93 of runs.
    """
    n, size = len(labels), len(others)
    raw = float(np.concatenate([scores, others]).mean())
    if n < 2 or size < 2:
        return Corrected(None, None, raw, note="fewer than two labelled or two unlabelled items")
    trust = _tuned(labels, scores, others) if weight is None else weight
    gaps = labels - trust * scores
    value = float(trust * others.mean() + gaps.mean())
    error = sqrt(float(gaps.var(ddof=1)) / n + trust**2 * float(others.var(ddof=1)) / size)
    reach = t_quantile(0.975, n - 1) * error
    return Corrected(value, (value - reach, value + reach), raw, trust)


def _tuned(labels: Floats, scores: Floats, others: Floats) -> float:
    variance = float(np.concatenate([scores, others]).var(ddof=1))
    if variance == 0:
        return 0.0
    covariance = float(np.cov(labels, scores, ddof=1)[0, 1])
    return _clamp(covariance / ((1 + len(labels) / len(others)) * variance))
