"""Labels drawn with known unequal odds: the Horvitz–Thompson difference estimator.

θ = mean(f of all) + (1/N)·Σ (y − f)/π over the labelled, variance (1/N²)·Σ (1 − π)(y − f)²/π². Where judge
and people seldom differ, the labels may show no difference at all, and the variance would be zero. So one
difference of each sign is added with the mean weight, as Agresti and Coull add answers to a share.
"""

from __future__ import annotations

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.estimation.frame import Figure, Frame, clustered_variance, drawn_weight, mean_figure, t_figure


def horvitz_thompson(frame: Frame, *, judge: bool = True, population: bool = False) -> Figure:
    """Corrected by the judge; without the judge, the weighted mean of the labels (Hájek)."""
    assert frame.odds is not None
    odds, ours = frame.odds[frame.labelled], frame.labelled
    if judge:
        size, apart = float(frame.size), frame.y - frame.f
        value = float(frame.judge.mean()) + float((apart / odds).sum()) / size
    else:
        size = float((1 / odds).sum())
        value = float((frame.y / odds).sum()) / size
        apart = frame.y - value
    influence: Floats = np.zeros(frame.size)
    influence[ours] = apart / odds / size * (1.0 if population else np.sqrt(1 - odds))
    if population and judge:  # another sample of items would differ too
        influence += (frame.judge - value) / size
    variance, freedom = float(influence @ influence), frame.labels - 1
    if frame.is_clustered:
        within, _ = clustered_variance(influence, frame.cluster)
        if within > variance:
            variance, freedom = within, len(np.unique(frame.label_clusters)) - 1
    if not judge and not frame.binary_labels:
        return mean_figure(frame, value, variance, freedom, "hajek")
    variance += 2 * _difference(frame, apart if judge else None) ** 2 * drawn_weight(frame)
    method = "horvitz_thompson" if judge else "hajek"
    return t_figure(value, variance, freedom, method, frame.confidence)


def _difference(frame: Frame, apart: Floats | None) -> float:
    """Size of one difference between judge and people: of yes-or-no labels 1, else as large as those seen."""
    if frame.binary_labels or apart is None:
        return 1.0
    some = apart[apart != 0]
    return float(np.sqrt(np.mean(some**2))) if len(some) else frame.unit
