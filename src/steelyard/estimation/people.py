"""Agreement among people, and whether a judge may stand in for one of them.

Krippendorff's α takes missing raters; its interval is the jackknife over items. The alternative annotator
test (Calderon et al. 2025) asks of each annotator whether the judge is closer to the others than the
annotator is: W_f and W_h say on each item who is at least as close, and the judge wins where mean(W_h − W_f)
is below ε. Both are compared with the same others: against a mean of several people any person would lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.estimation.designs import judge_only
from steelyard.estimation.frame import Figure, Frame, independent_units, mean_difference, step_of
from steelyard.metrics.multiplicity import benjamini_yekutieli
from steelyard.metrics.stats.agreement import alpha, unit_coincidences
from steelyard.metrics.stats.clusters import jackknife
from steelyard.metrics.stats.distributions import t_probability
from steelyard.metrics.stats.intervals import AGREEMENT, SHARE, Span

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
    return judge_only(Frame(some, some, clusters[known], ends=ends), population=True).within(ends)


def agreement_with(answers: Floats, others: Floats, clusters: Ints) -> Figure | None:
    """Share of the others who give the same answer, averaged over the items that both rated."""
    both = ~np.isnan(answers) & (~np.isnan(others)).any(axis=1)
    shares = np.full(len(answers), np.nan)
    shares[both] = _closeness(answers[both], others[both], nominal=True)
    return mean_on_scale(shares, clusters, SHARE)
