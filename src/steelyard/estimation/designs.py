"""The estimator follows from how the labels were drawn, which is told or recorded and never guessed.

Its figures are declared like every other metric, so that a policy of `gate` can limit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.estimation.estimators import ENOUGH, bins, greg, has_rare_labels, post_stratified, ppi
from steelyard.estimation.frame import Figure, Frame
from steelyard.metrics.metric import HIGH, Metric
from steelyard.metrics.stats.distributions import normal_probability
from steelyard.metrics.stats.intervals import FEW, score_of_few

CORRECTED_PASS_RATE = Metric(
    "corrected_pass_rate",
    "corrected pass rate",
    "Share of items that people would pass, estimated from the judge and people's labels (`steelyard "
    "estimate`).",
    plain="what people would pass",
    unit="item",
    direction=HIGH,
)
CORRECTED_SCORE = Metric(
    "corrected_score",
    "corrected score",
    "Mean score that people would give, estimated from the judge and people's labels (`steelyard estimate`).",
    unit="item",
    direction=HIGH,
)
METRICS = (CORRECTED_PASS_RATE, CORRECTED_SCORE)


class LabelDesign(StrEnum):
    RANDOM = "random"
    """Every item had the same chance of being labelled."""
    BY_VERDICT = "by-verdict"
    """So many items of each level of the judge were drawn at random."""
    STRATA = "strata"
    """So many items of each stratum were drawn at random."""
    ODDS = "odds"
    """Every item had its own known chance, in the column p_drawn."""
    ELSEWHERE = "elsewhere"
    """The labels belong to other items, or were balanced by what people said."""


def recorded_design(frame: Frame, strata: Sequence[str] = ()) -> LabelDesign:
    """What recorded odds amount to: equal ones, equal ones within each verdict or stratum, or others."""
    assert frame.odds is not None
    if np.ptp(frame.odds) < 1e-9:
        return LabelDesign.RANDOM
    place = bins(frame.judge)
    if len(np.unique(frame.judge)) == len(np.unique(place)) and all(
        np.ptp(frame.odds[place == level]) < 1e-9 for level in np.unique(place)
    ):
        return LabelDesign.BY_VERDICT
    part = np.array(strata)
    if len(set(strata)) > 1 and all(np.ptp(frame.odds[part == name]) < 1e-9 for name in set(strata)):
        return LabelDesign.STRATA
    return LabelDesign.ODDS


def corrected(frame: Frame, design: LabelDesign) -> Figure:
    """The figure that people would give: one frame, drawn by one rule."""
    if design is LabelDesign.BY_VERDICT:
        return post_stratified(frame)
    if design is LabelDesign.ODDS:
        return post_stratified(frame, merge=not frame.binary_labels)
    if has_rare_labels(frame):
        return post_stratified(frame, merge=True)
    if _is_nearly_constant(frame):
        return labels_only(frame)
    return ppi(frame) if frame.of_population else greg(frame)


def _is_nearly_constant(frame: Frame) -> bool:
    """Scores of which few differ from the most frequent one: too few to tell what the judge is worth."""
    if frame.binary_labels or frame.ends is None:
        return False
    counts = np.unique(frame.y, return_counts=True)[1]
    return bool(frame.labels - counts.max() < ENOUGH)


def labels_only(frame: Frame) -> Figure:
    """The labels without the judge; of no use where the draw followed the judge."""
    return post_stratified(frame, judge=False)


def judge_only(frame: Frame) -> Figure:
    """The judge's mean; of these items it is a count, without an interval."""
    if not frame.of_population:
        return Figure(float(frame.judge.mean()), None, None, 0.0, "count")
    return labels_only(replace(frame, people=frame.judge, odds=None))


@dataclass(frozen=True)
class Worth:
    """What a judge is worth in labels, by the two intervals that are printed side by side."""

    rho_squared: float
    factor: float | None
    """Labels that would do without the judge over those that were made; None where none stand alone."""
    effective_labels: float | None

    @property
    def adds_nothing(self) -> bool:
        """The interval is no narrower than that of the labels alone."""
        return self.factor is not None and self.factor < FEWEST_SAVED


FEWEST_SAVED = 1.005
"""Factor below which it is printed as 1."""


def worth(frame: Frame, design: LabelDesign, figure: Figure, alone: Figure | None) -> Worth | None:
    """None where judge or people do not vary among the labels.

    The variance of n labels of N items is σ²(1/n − 1/N), so with r = (width/width alone)² the labels count as
    1/(1/N + r(1/n − 1/N)); of the population, as n/r.
    """
    weights = _weights(frame, design)
    y, f = frame.y - np.average(frame.y, weights=weights), frame.f - np.average(frame.f, weights=weights)
    spread = float((weights * y * y).sum() * (weights * f * f).sum())
    if spread <= 1e-15:
        return None
    squared = float((weights * y * f).sum()) ** 2 / spread
    width, other = figure.half_width, None if alone is None else alone.half_width
    if not width or not other:
        return Worth(squared, None, None)
    known = 0.0 if frame.of_population else 1 / frame.size
    labels = 1 / (known + (width / other) ** 2 * (1 / frame.labels - known))
    return Worth(squared, labels / frame.labels, labels)


def agreement(frame: Frame, design: LabelDesign) -> float:
    """Share of the judge's verdicts that say what people say, as the draw weighs them."""
    weights = _weights(frame, design)
    return float((weights * (1 - np.abs(frame.y - frame.f))).sum() / weights.sum())


def _weights(frame: Frame, design: LabelDesign) -> Floats:
    """How many items each label stands for."""
    if design is LabelDesign.ODDS and frame.odds is not None:
        return np.asarray(1 / frame.odds[frame.labelled])
    if design is LabelDesign.BY_VERDICT:
        place = bins(frame.judge)
        ours = place[frame.labelled]
        stands = {level: (place == level).sum() / (ours == level).sum() for level in np.unique(ours)}
        return np.array([stands[level] for level in ours], dtype=np.float64)
    return np.ones(frame.labels)


def stratified(strata: Sequence[Frame]) -> Figure:
    """Each stratum's figure by its share of the items.

    Score limits of a few labels lie nearer to the middle, which their sum does not forgive: shares reach as
    far as t of all labels does. Scores have t in every stratum.
    Where few labels of all are of one kind, one of that kind in each of two strata puts a limit of MOVER
    beyond the truth too often. The limits then reach at least as far as those of one draw that says as much.
    """
    items = sum(part.size for part in strata)
    shares = [part.size / items for part in strata]
    figures = [corrected(part, LabelDesign.RANDOM) for part in strata]
    binary, freedom = all(part.binary_labels for part in strata), sum(part.labels - 1 for part in strata)
    reach = strata[0].quantile(freedom) / strata[0].quantile() if binary else 1.0
    whole = combined(list(zip(shares, figures, strict=True)), reach)
    rest = [1.0 if part.of_population else part.unlabelled_share for part in strata]
    variance = sum(w * w * r / part.labels for w, r, part in zip(shares, rest, strata, strict=True))
    rare = min(whole.value, 1 - whole.value) < FEW * variance
    if not rare or not binary:
        return whole
    low, high = score_of_few(whole.value, 1 / variance, strata[0].quantile(), 1 - strata[0].confidence)
    return replace(whole, low=min(whole.low or 0.0, low), high=max(whole.high or 0.0, high))


def combined(parts: list[tuple[float, Figure]], reach: float = 1.0) -> Figure:
    """Σ W_h·θ_h over strata with shares W_h; limits are joined by MOVER, and reach so many times as far."""
    value = sum(share * part.value for share, part in parts)
    low = sqrt(sum((share * (part.value - (part.low or 0.0))) ** 2 for share, part in parts))
    high = sqrt(sum((share * ((part.high or 0.0) - part.value)) ** 2 for share, part in parts))
    error = sqrt(sum((share * part.error) ** 2 for share, part in parts))
    return Figure(value, value - reach * low, value + reach * high, error, f"stratified_{parts[0][1].method}")


def two_sided_p(figure: Figure, other: float) -> float | None:
    """p of the figure being this number, by its standard error; None without one."""
    return 2 * normal_probability(-abs(figure.value - other) / figure.error) if figure.error > 0 else None
