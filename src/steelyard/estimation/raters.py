"""People and judges as raters: how far they agree, whether a judge may stand in for a person, or for a judge.

Krippendorff's α takes missing raters; its interval is the jackknife over items. The alternative annotator
test (Calderon et al. 2025) asks of each annotator whether the judge is closer to the others than the
annotator is: W_f and W_h say on each item who is at least as close, and the judge wins where mean(W_h − W_f)
is below ε. Both are compared with the same others: against a mean of several people any person would lose.

The exchange rate between two judges comes from anchors that both rated. The channel is P(new gives level b |
old gives level a). Shares r_a of the old levels translate to r′ = Σ r_a·μ_a, μ_a the mean of the new judge
where the old one gave a; of yes or no, r·a + (1 − r)·b. Limits are the score intervals of μ_a joined by
MOVER, widened by the items of the history that would have been judged anew. Where only the old mean is known,
r′ = r + mean(new − old), with t over tasks. Both hold for items like the anchors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.estimation.designs import judge_only
from steelyard.estimation.frame import (
    CONFIDENCE,
    Figure,
    Frame,
    effective_size,
    independent_units,
    limits_on_scale,
    mean_difference,
    step_of,
    two_sided_quantile,
)
from steelyard.metrics.multiplicity import benjamini_yekutieli
from steelyard.metrics.stats.agreement import alpha, unit_coincidences
from steelyard.metrics.stats.clusters import jackknife
from steelyard.metrics.stats.distributions import t_probability
from steelyard.metrics.stats.intervals import AGREEMENT, SHARE, Span, score
from steelyard.tasks.task import usual_ends

FEWEST_ITEMS = 30
"""Items of an annotator, below which the test leaves the annotator out."""


def krippendorff(votes: Floats, clusters: Ints, level: str) -> Figure:
    """α of items × people, NaN where somebody did not rate; tasks are left out one by one."""
    values = np.unique(votes[~np.isnan(votes)])
    counts = np.stack([(votes == value).sum(axis=1) for value in values], axis=1).astype(np.float64)
    tables = unit_coincidences(counts)
    place = independent_units(clusters)
    summed = np.zeros((place.max() + 1, len(values), len(values)))
    np.add.at(summed, place, tables)
    value = float(alpha(summed.sum(axis=0), values, level))
    ends = jackknife(summed, lambda table: alpha(table, values, level), AGREEMENT)
    low, high = ends or (None, None)
    return Figure(value, low, high, float("nan"), "jackknife")


@dataclass(frozen=True)
class AnnotatorTest:
    annotator: int
    items: int
    judge_share: float
    """Share of items on which the judge is at least as close to the others: ρ_f."""
    gap: float
    """mean(W_h − W_f); below ε the judge may stand in."""
    p: float
    passed: bool = False


def alternative_annotator(
    judge: Floats, votes: Floats, *, epsilon: float, nominal: bool
) -> tuple[list[AnnotatorTest], Floats]:
    """The test of each annotator with enough items, and W_f − W_h of each item, averaged over annotators."""
    made, sums, counts = [], np.zeros(len(judge)), np.zeros(len(judge))
    for person in range(votes.shape[1]):
        others = np.delete(votes, person, axis=1)
        rows = np.flatnonzero(
            ~np.isnan(judge) & ~np.isnan(votes[:, person]) & (~np.isnan(others)).any(axis=1)
        )
        if len(rows) < FEWEST_ITEMS:
            continue
        near = _closeness(judge[rows], others[rows], nominal=nominal)
        own = _closeness(votes[rows, person], others[rows], nominal=nominal)
        wins, losses = near >= own - 1e-12, own >= near - 1e-12
        apart = losses.astype(np.float64) - wins
        sums[rows] -= apart
        counts[rows] += 1
        made.append(
            AnnotatorTest(
                person, len(rows), float(wins.mean()), float(apart.mean()), _p_below(apart, epsilon)
            )
        )
    passed = benjamini_yekutieli([test.p for test in made])
    tests = [AnnotatorTest(**{**vars(t), "passed": ok}) for t, ok in zip(made, passed, strict=True)]
    return tests, np.divide(sums, counts, out=np.full(len(judge), np.nan), where=counts > 0)


def _closeness(answers: Floats, others: Floats, *, nominal: bool) -> Floats:
    """Share of the others who say the same, or minus the root mean square distance from them."""
    if nominal:
        return np.asarray(np.nanmean(np.where(np.isnan(others), np.nan, others == answers[:, None]), axis=1))
    return np.asarray(-np.sqrt(np.nanmean((others - answers[:, None]) ** 2, axis=1)))


def _p_below(values: Floats, limit: float) -> float:
    """One-sided p of a mean that is not below the limit, by t."""
    spread = float(values.std(ddof=1))
    if spread == 0:
        return 0.0 if values.mean() < limit else 1.0
    return t_probability((float(values.mean()) - limit) / (spread / sqrt(len(values))), len(values) - 1)


def mean_over_tasks(values: Floats, clusters: Ints, step: float = 1.0) -> Figure:
    known = ~np.isnan(values)
    return mean_difference(values[known], clusters[known], step, "t_cluster")


def severity(votes: Floats, person: int, clusters: Ints) -> Figure | None:
    """How far a person rates above the others on the same items; None without such items."""
    others = np.delete(votes, person, axis=1)
    rows = np.flatnonzero(~np.isnan(votes[:, person]) & (~np.isnan(others)).any(axis=1))
    if len(rows) < 2:
        return None
    apart = votes[rows, person] - np.nanmean(others[rows], axis=1)
    return mean_over_tasks(apart, clusters[rows], step_of(votes.ravel()))


def mean_on_scale(values: Floats, clusters: Ints, ends: Span) -> Figure | None:
    """Mean of the values that are known, with limits on their scale; None without two of them."""
    known = ~np.isnan(values)
    if known.sum() < 2:
        return None
    some = values[known]
    return judge_only(Frame(some, some, clusters[known], ends=ends, of_population=True)).within(ends)


def agreement_with(answers: Floats, others: Floats, clusters: Ints) -> Figure | None:
    """Share of the others who give the same answer, averaged over the items that both rated."""
    both = ~np.isnan(answers) & (~np.isnan(others)).any(axis=1)
    shares = np.full(len(answers), np.nan)
    shares[both] = _closeness(answers[both], others[both], nominal=True)
    return mean_on_scale(shares, clusters, SHARE)


PERMUTATIONS = 2000


@dataclass(frozen=True, eq=False)
class Channel:
    """Anchors by level of the old judge and of the new one."""

    old: tuple[float, ...]
    """Levels that occur, in order; `new` likewise."""
    new: tuple[float, ...]
    counts: Ints
    """Old levels × new levels."""
    sizes: tuple[float, ...]
    """Independent anchors of each old level: fewer where anchors of one task say much the same."""
    ends: Span
    """Of the scale."""
    confidence: float = CONFIDENCE

    @classmethod
    def of(cls, old: Floats, new: Floats, clusters: Ints, confidence: float = CONFIDENCE) -> Channel:
        rows, columns = np.unique(old), np.unique(new)
        counts = np.array([[((old == a) & (new == b)).sum() for b in columns] for a in rows])
        sizes = tuple(effective_size(new[old == a], clusters[old == a]) for a in rows)
        low, high = float(min(rows[0], columns[0])), float(max(rows[-1], columns[-1]))
        ends = usual_ends(low, high)
        return cls(tuple(rows.tolist()), tuple(columns.tolist()), counts, sizes, ends, confidence)

    @property
    def quantile(self) -> float:
        return two_sided_quantile(self.confidence)

    def means(self) -> tuple[Floats, Floats]:
        """Mean and variance of the new judge's levels, at each level of the old one."""
        shares = self.counts / self.counts.sum(axis=1, keepdims=True)
        means = shares @ np.array(self.new)
        return means, np.maximum(shares @ np.array(self.new) ** 2 - means**2, 0.0)

    def mean_limits(self) -> list[Span]:
        return [
            limits_on_scale(float(mean), float(spread) / size, size, self.ends, self.quantile)
            for mean, spread, size in zip(*self.means(), self.sizes, strict=True)
        ]

    def share_limits(self) -> list[list[Span]]:
        """Of each cell: P(new = b | old = a)."""
        totals = self.counts.sum(axis=1)
        return [
            [score(count / total, size, self.quantile) for count in row]
            for row, total, size in zip(self.counts.tolist(), totals.tolist(), self.sizes, strict=True)
        ]

    def translate(self, shares: Mapping[float, float], items: int) -> Figure:
        """Shares of the old levels over so many items, as the mean that the new judge would give."""
        r = np.array([shares.get(level, 0.0) for level in self.old])
        (means, spreads), ends = self.means(), np.array(self.mean_limits())
        value, z = float(r @ means), self.quantile
        chance = z * z * float(r @ spreads) / items
        low = sqrt(float(((r * (means - ends[:, 0])) ** 2).sum()) + chance)
        high = sqrt(float(((r * (ends[:, 1] - means)) ** 2).sum()) + chance)
        figure = Figure(value, value - low, value + high, (low + high) / (2 * z), "channel")
        return figure.within(self.ends)


def offset(old: Floats, new: Floats, clusters: Ints, confidence: float = CONFIDENCE) -> Figure:
    """Mean of new less old, with t over tasks."""
    return mean_difference(new - old, clusters, step_of(old, new), "offset", confidence)


def strata_p(old: Floats, new: Floats, strata: Ints, seed: int) -> float:
    """p that one exchange rate serves all strata: strata are dealt out anew among anchors of one old level.

    The statistic sums, over old levels and strata, the squared distance of a stratum's mean from the level's.
    """
    levels = [np.flatnonzero(old == level) for level in np.unique(old)]
    rng = np.random.default_rng(seed)

    def statistic(dealt: Ints) -> float:
        total = 0.0
        for rows in levels:
            values = new[rows] - new[rows].mean()
            counts = np.bincount(dealt[rows])
            sums = np.bincount(dealt[rows], weights=values)
            total += float((sums[counts > 0] ** 2 / counts[counts > 0]).sum()) / max(
                float(values.var()), 1e-12
            )
        return total

    seen = statistic(strata)
    beyond = 0
    for _ in range(PERMUTATIONS):
        dealt = strata.copy()
        for rows in levels:
            dealt[rows] = rng.permutation(dealt[rows])
        beyond += statistic(dealt) >= seen - 1e-9
    return (beyond + 1) / (PERMUTATIONS + 1)
