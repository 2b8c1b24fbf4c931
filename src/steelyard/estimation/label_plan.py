"""Sample size for labels: what each way of drawing them costs, before one is bought.

Every design is read as strata h with N_h items whose labels spread by s_h: the half-width is
z·√Σ W_h²·s_h²/n_h·(1 − n_h/N_h), W_h = N_h/N. A random draw has one stratum, whose spread is that of the
residuals of the regression on the judge; a draw by verdict has one for each level. Neyman's allocation,
n_h ∝ N_h·s_h, is the narrowest; equal numbers of each verdict may be worse than a random draw.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.estimation.estimators import allocation, bins
from steelyard.estimation.frame import Frame
from steelyard.metrics.stats.intervals import ALPHA, SHARE, Span, Z, score, sequence_limits

FLOOR, SCORE_FLOOR = 10, 5
"""Labels of each level that a draw by verdict takes at least: of yes or no, and of scores."""
PILOT = 20
"""Labels of each level from which on a plan is worth more than its assumptions."""


@dataclass(frozen=True, eq=False)
class LevelSpreads:
    """Levels of the judge: how many items, what the judge and people say there, and how labels spread."""

    sizes: Floats
    scores: Floats
    means: Floats
    spreads: Floats
    scored: bool = False
    """Scores on a scale, not yes or no."""

    @property
    def shares(self) -> Floats:
        return np.asarray(self.sizes / self.sizes.sum())

    @property
    def variance(self) -> float:
        """σ² of all labels."""
        middle = float(self.shares @ self.means)
        return float(self.shares @ (self.spreads**2 + (self.means - middle) ** 2))

    @property
    def rho_squared(self) -> float:
        """ρ² of labels and scores; 0 where either does not vary."""
        f = self.scores - self.shares @ self.scores
        y = self.means - self.shares @ self.means
        spread = float(self.shares @ (f * f)) * self.variance
        return float(self.shares @ (f * y)) ** 2 / spread if spread > 0 else 0.0

    def with_sizes(self, sizes: Floats) -> LevelSpreads:
        """The same levels with other numbers of items; a level without any is left out."""
        some = sizes > 0
        about = self.scores[some], self.means[some], self.spreads[some]
        return LevelSpreads(sizes[some], *about, self.scored)


def binary_levels(items: int, passed: float, sensitivity: float, specificity: float) -> LevelSpreads:
    """The levels of a judge that passes this share of items, with known sensitivity and specificity."""
    truth = (passed + specificity - 1) / (sensitivity + specificity - 1)
    good = np.array([truth * (1 - sensitivity), truth * sensitivity])
    shares = np.array([1 - passed, passed])
    means = np.clip(good / shares, 0.0, 1.0)
    return LevelSpreads(items * shares, np.array([0.0, 1.0]), means, np.sqrt(means * (1 - means)))


def pilot_levels(frame: Frame, ends: Span, towards: int = 0) -> LevelSpreads:
    """What labels say of each level, Jeffreys' mean for yes or no; without labels the widest spread.

    `towards` 1 takes the limits with the widest spread instead, −1 those with the narrowest.
    """
    place = bins(frame.judge)
    numbers = np.unique(place)
    sizes = np.array([(place == level).sum() for level in numbers], dtype=np.float64)
    scores = np.array([frame.judge[place == level].mean() for level in numbers])
    reach = ends[1] - ends[0]
    means, spreads = np.empty(len(numbers)), np.empty(len(numbers))
    for at, level in enumerate(numbers):
        y = (frame.people[(place == level) & frame.labelled] - ends[0]) / reach
        n, total = len(y), float(y.sum())
        mean = (total + 0.5) / (n + 1)
        if towards:
            low, high = score(total / n, n, Z) if n else (0.0, 1.0)
            mean = min(max(0.5, low), high) if towards > 0 else (low if low < 1 - high else high)
        yes_or_no = bool(np.isin(y, (0.0, 1.0)).all())
        spread = sqrt(mean * (1 - mean)) if yes_or_no or n < 2 else float(y.std(ddof=1))
        means[at], spreads[at] = ends[0] + reach * mean, reach * spread
    return LevelSpreads(sizes, scores, means, spreads, ends != SHARE)


def half_width(sizes: Floats, spreads: Floats, labels: Floats) -> float:
    """Of a mean over strata with so many labels each; a stratum without labels has no width to give."""
    if (labels[sizes > 0] <= 0).any():
        return inf
    shares = sizes / sizes.sum()
    left = np.maximum(1 - labels / sizes, 0.0)
    return Z * sqrt(float(np.sum(shares**2 * spreads**2 / labels * left)))


def neyman(sizes: Floats, spreads: Floats, labels: float, floor: float = 0.0) -> Floats:
    """n_h ∝ N_h·s_h, at least the floor and at most all items; what a level cannot take others get."""
    least = np.minimum(floor, sizes)
    made, open_levels = least.copy(), np.ones(len(sizes), dtype=np.bool_)
    weights = sizes * np.maximum(spreads, 1e-9)
    while open_levels.any():
        rest = labels - made[~open_levels].sum()
        wanted = np.where(open_levels, rest * weights / weights[open_levels].sum(), made)
        low, high = open_levels & (wanted < least), open_levels & (wanted > sizes)
        if not low.any() and not high.any():
            return np.asarray(wanted)
        # The side that is further off is fixed first, so that no level is fixed twice.
        first = high if (wanted - sizes)[high].sum() >= (least - wanted)[low].sum() else low
        made = np.where(first, np.where(high, sizes, least), made)
        open_levels &= ~first
    return made


def by_verdict_numbers(sizes: Floats, spreads: Floats, labels: float, *, scored: bool) -> Floats:
    """Neyman's numbers; scores by the share of each level, since few labels hardly show how they spread."""
    return neyman(sizes, np.ones_like(sizes) if scored else spreads, labels, SCORE_FLOOR if scored else FLOOR)


def whole_numbers(wanted: Floats, sizes: Floats, labels: int) -> list[int]:
    """Counts that add up to the labels, the largest remainders rounded up."""
    counts = np.floor(np.minimum(wanted, sizes) + 1e-9).astype(int)
    order = np.argsort(-(wanted - counts), kind="stable")
    while counts.sum() < min(labels, int(sizes.sum())):
        for level in order:
            if counts.sum() < labels and counts[level] < sizes[level]:
                counts[level] += 1
    return [int(count) for count in counts]


def labels_alone(levels: LevelSpreads, labels: float) -> float:
    n = np.array([labels])
    return half_width(levels.sizes.sum(keepdims=True), np.array([sqrt(levels.variance)]), n)


def random_draw(levels: LevelSpreads, labels: float) -> float:
    """With the judge: σ²(1 − ρ²) in the place of σ²."""
    spread = sqrt(levels.variance * (1 - levels.rho_squared))
    return half_width(levels.sizes.sum(keepdims=True), np.array([spread]), np.array([labels]))


def by_verdict(levels: LevelSpreads, labels: float) -> float:
    wanted = by_verdict_numbers(levels.sizes, levels.spreads, labels, scored=levels.scored)
    # The floor may ask for more labels than there are.
    return half_width(levels.sizes, levels.spreads, wanted) if wanted.sum() <= labels + 1e-6 else inf


def equal_by_verdict(levels: LevelSpreads, labels: float) -> float:
    each = np.full(len(levels.sizes), labels / len(levels.sizes))
    return half_width(levels.sizes, levels.spreads, np.minimum(each, levels.sizes))


def by_label(levels: LevelSpreads, labels: float, *, balanced: bool = False) -> float:
    """Rogan and Gladen with so many labels, allocated after Lee et al. or balanced; infinite for scores."""
    if len(levels.sizes) != 2 or labels < 2:
        return inf
    shares, total = levels.shares, float(levels.shares @ levels.means)
    if not 0 < total < 1:
        return inf
    passed = float(shares[1])
    q1 = float(shares[1] * levels.means[1]) / total
    q0 = float(shares[0] * (1 - levels.means[0])) / (1 - total)
    if q1 + q0 <= 1:
        return inf
    m1 = (
        labels / 2
        if balanced
        else float(allocation(round(labels), passed, q0, q1, min(10, int(labels) // 2))[1])
    )
    m0 = labels - m1
    if min(m0, m1) <= 0:
        return inf
    spread = passed * (1 - passed) / levels.sizes.sum() + total**2 * q1 * (1 - q1) / m1
    return Z * sqrt(spread + (1 - total) ** 2 * q0 * (1 - q0) / m0) / (q1 + q0 - 1)


Width = Callable[[LevelSpreads, float], float]


def labels_needed(width: Width, levels: LevelSpreads, wanted: float, most: int) -> int | None:
    """Fewest labels whose half-width is the wanted one; None where even all of them do not do."""
    if width(levels, most) > wanted:
        return None
    return 1 + bisect_left(range(1, most), True, key=lambda labels: width(levels, labels) <= wanted)


def best_pair(
    variance: float, rho_squared: float, wanted: float, label_cost: float, call_cost: float
) -> tuple[int, int]:
    """Labels n and judged items M of the least cost for a half-width about the population.

    The variance is σ²[(1 − ρ²)/n + ρ²/M]; at the least cost n/M = √((1 − ρ²)/ρ² · cost of a call/of a label).
    """
    target = (wanted / Z) ** 2
    rest, shared = sqrt((1 - rho_squared) * label_cost), sqrt(rho_squared * call_cost)
    n = variance / target * sqrt((1 - rho_squared) / label_cost) * (rest + shared)
    m = variance / target * sqrt(rho_squared / call_cost) * (rest + shared)
    if n >= m:  # the judge is not worth its calls
        alone = ceil(variance / target)
        return alone, 0
    return ceil(n), ceil(m)


def sequence_limits_of(parts: Sequence[tuple[float, float, int]], alpha: float = ALPHA) -> Span:
    """Limits at every look of Σ share·mean, from (share, sum of values in [0, 1], count) of each stratum."""
    low = high = 0.0
    for share, total, count in parts:
        ends = sequence_limits(total, count, alpha / len(parts))
        low, high = low + share * ends[0], high + share * ends[1]
    return low, high
