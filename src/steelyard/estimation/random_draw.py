"""Labels drawn at random: the regression estimator for these items, PPI++ for the population behind them.

GREG: λ·mean(f of all) + mean(y − λf), λ = s_yf/s_f², variance (1 − n/N)·s²_e/n with n − 2 degrees of freedom.
PPI++: the same with the unlabelled mean and λ = s_yf/[(1 + n/N_u)·s_f²] within [0, 1]; the variance of the
judged items is added, since another population sample would have other items.

Items of one task are not independent: influences are summed within the task first. A task that is labelled in
part is no problem, as both sums of its influence are added before they are squared.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.estimation.frame import Figure, Frame, mean_figure, with_tasks


def slope(frame: Frame) -> float:
    """λ of the regression of labels on scores; 0 where the judge gives one score alone."""
    f = frame.f - frame.f.mean()
    return float(f @ (frame.y - frame.y.mean()) / (f @ f)) if np.ptp(frame.f) > 0 else 0.0


def greg(frame: Frame, weight: float | None = None) -> Figure:
    """What people would say of these items; `weight` is λ, and 0 leaves the judge out."""
    n, tuned = frame.labels, weight is None
    lam = slope(frame) if weight is None else weight
    apart = frame.y - lam * frame.f
    value = lam * float(frame.judge.mean()) + float(apart.mean())
    residual = apart - apart.mean()
    freedom = n - 2 if tuned else n - 1
    influence = residual / n * sqrt(frame.unlabelled_share)
    plain = float(influence @ influence) * n / max(1, freedom)
    method = "greg" if tuned else "labels_t"
    return mean_figure(frame, value, *with_tasks(frame, plain, influence, freedom), method, residual)


def ppi_weight(frame: Frame) -> float:
    """λ of PPI++: the regression on scores, whose spread is that of all items, shrunk by n/N_u."""
    n, spread = frame.labels, float(frame.judge.var(ddof=1))
    if spread == 0 or n == frame.size:
        return 0.0
    shared = float(np.cov(frame.y, frame.f)[0, 1])
    return min(1.0, max(0.0, shared / ((1 + n / (frame.size - n)) * spread)))


def ppi(frame: Frame, weight: float | None = None) -> Figure:
    """What people would say of the population that all judged items were drawn from."""
    n, rest = frame.labels, ~frame.labelled
    lam = ppi_weight(frame) if weight is None else weight
    apart = frame.y - lam * frame.f
    value = float(apart.mean())
    influence: Floats = np.zeros(frame.size)
    residual = apart - apart.mean()
    influence[frame.labelled] = residual / n
    variance = float(apart.var(ddof=1)) / n
    if rest.any():
        others = frame.judge[rest]
        value += lam * float(others.mean())
        influence[rest] = lam * (others - others.mean()) / len(others)
        variance += lam**2 * float(frame.judge.var(ddof=1)) / len(others)
    known = with_tasks(frame, variance, influence, n - 1, population=True)
    return mean_figure(frame, value, *known, "ppi++" if weight is None else "labels_t", residual)
