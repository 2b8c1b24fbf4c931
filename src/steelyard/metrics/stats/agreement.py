"""Agreement of scores with labels, each figure a function of one table of counts.

A table is labels × scores over the `values` that occur. Every function takes tables of shape
(…, levels, levels) and returns an array of shape (…): the same formula gives the figure and, over
resampled tables, its interval. NaN marks a figure that the table leaves undefined.

Where nobody knows the truth, Dawid and Skene's model of raters, fitted by EM, says whom to believe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.stats.clusters import ratio


def mean_absolute_error(table: Floats, values: Floats) -> Floats:
    return _mean(table, np.abs(_gap(values)))


def bias(table: Floats, values: Floats) -> Floats:
    """Mean of score less label; above zero the judge is lenient."""
    return _mean(table, _gap(values))


def concordance(table: Floats, values: Floats) -> Floats:
    """Lin's coefficient 2·s_xy / (s_x² + s_y² + (x̄ − ȳ)²), moments over n; undefined for a constant side."""
    means, variances, covariance = _moments(table, values, values)
    apart = (means[0] - means[1]) ** 2
    out = ratio(2 * covariance, variances[0] + variances[1] + apart)
    return np.where((variances[0] > 0) & (variances[1] > 0), out, np.nan)


def pearson(table: Floats, values: Floats) -> Floats:
    """Linear correlation; undefined for a constant side."""
    return _correlation(table, values, values)


def spearman(table: Floats, values: Floats) -> Floats:
    """Rank correlation: Pearson's on midranks, so that ties share their rank."""
    del values
    return _correlation(table, _midranks(table.sum(-1)), _midranks(table.sum(-2)))


def compression(table: Floats, values: Floats) -> Floats:
    """Standard deviation of scores over that of labels; below one the judge huddles."""
    _, (labels, scores), _ = _moments(table, values, values)
    return ratio(np.sqrt(scores), np.sqrt(labels))


def kappa(table: Floats, values: Floats) -> Floats:
    """Cohen's κ: 1 − observed over expected disagreement."""
    return _weighted_kappa(table, np.not_equal.outer(values, values).astype(np.float64))


def quadratic_kappa(table: Floats, values: Floats) -> Floats:
    return _weighted_kappa(table, _gap(values) ** 2)


def gwet_ac1(table: Floats, values: Floats, levels: int | None = None) -> Floats:
    """Gwet's AC1: (p_a − p_e)/(1 − p_e) with p_e = Σ π(1 − π)/(levels − 1), π the mean of both margins."""
    count = levels or len(values)
    shares = _shares(table)
    observed = np.trace(shares, axis1=-2, axis2=-1)
    mean = (shares.sum(-1) + shares.sum(-2)) / 2
    chance = (mean * (1 - mean)).sum(-1) / (count - 1)
    return ratio(observed - chance, 1 - chance)


def precision(table: Floats, values: Floats) -> Floats:
    """Of two levels: the share of scores of the upper one that are right; undefined without such a score."""
    del values
    return ratio(table[..., 1, 1], table[..., :, 1].sum(-1))


def recall(table: Floats, values: Floats) -> Floats:
    """Of two levels: the share of labels of the upper one that got it; undefined without such a label."""
    del values
    return ratio(table[..., 1, 1], table[..., 1, :].sum(-1))


def f1(table: Floats, values: Floats) -> Floats:
    """Of two levels: the harmonic mean of precision and recall; undefined without the upper level."""
    del values
    return ratio(2 * table[..., 1, 1], table[..., :, 1].sum(-1) + table[..., 1, :].sum(-1))


def balanced_accuracy(table: Floats, values: Floats) -> Floats:
    """Mean over labels of the share of their items scored right; undefined where a label has no item."""
    del values
    right = np.diagonal(table, axis1=-2, axis2=-1)
    return np.asarray(ratio(right, table.sum(-1)).mean(-1))


def krippendorff_alpha(table: Floats, values: Floats) -> Floats:
    return alpha(table + np.swapaxes(table, -1, -2), values, "ordinal")


def unit_coincidences(counts: Floats) -> Floats:
    """Krippendorff's coincidence table of each unit, from counts (units × levels); one rating says nothing.

    A unit has its ordered pairs of ratings, weighted by one over its ratings less one.
    """
    ratings = counts.sum(-1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    weight = ratio(np.ones(len(counts)), ratings - 1)
    return np.where(ratings > 1, weight, 0.0)[:, None, None] * pairs


def alpha(coincidence: Floats, values: Floats, measurement: str = "nominal") -> Floats:
    """1 − observed over expected disagreement; measured `nominal`, `ordinal`, `interval` or `ratio`."""
    margin = coincidence.sum(-1)
    total = margin.sum(-1)
    distance = _distances(margin, values, measurement)
    observed = (coincidence * distance).sum((-1, -2))
    expected = ratio((margin[..., :, None] * margin[..., None, :] * distance).sum((-1, -2)), total - 1)
    return 1 - ratio(observed, expected)


def _distances(margin: Floats, values: Floats, measurement: str) -> Floats:
    match measurement:
        case "nominal":
            return np.not_equal.outer(values, values).astype(np.float64)
        case "interval":
            return _gap(values) ** 2
        case "ratio":
            return np.nan_to_num(ratio(_gap(values), np.add.outer(values, values)) ** 2)
        case "ordinal":
            # Ratings between two levels, each end counted half: the difference of their midranks.
            ranks = _midranks(margin)
            return np.asarray((ranks[..., :, None] - ranks[..., None, :]) ** 2)
    raise ValueError(f"no such measurement: {measurement!r}")


def _gap(values: Floats) -> Floats:
    """Score less label, labels down and scores across."""
    return np.asarray(values[None, :] - values[:, None])


def _shares(table: Floats) -> Floats:
    return ratio(table, np.broadcast_to(table.sum((-1, -2))[..., None, None], np.shape(table)))


def _mean(table: Floats, weights: Floats) -> Floats:
    return np.asarray((_shares(table) * weights).sum((-1, -2)))


def _moments(table: Floats, rows: Floats, columns: Floats) -> tuple[Floats, Floats, Floats]:
    """Means (labels, scores), variances (labels, scores) and covariance, over n."""
    shares = _shares(table)
    down, across = shares.sum(-1), shares.sum(-2)
    means = (down * rows).sum(-1), (across * columns).sum(-1)
    left, right = rows - means[0][..., None], columns - means[1][..., None]
    variances = (down * left**2).sum(-1), (across * right**2).sum(-1)
    covariance = (shares * left[..., :, None] * right[..., None, :]).sum((-1, -2))
    # A margin with one level has no variance; sums of rounded terms might say otherwise.
    single = np.stack([(margin > 0).sum(-1) < 2 for margin in (down, across)])
    return np.stack(means), np.where(single, 0.0, np.stack(variances)), np.asarray(covariance)


def _correlation(table: Floats, rows: Floats, columns: Floats) -> Floats:
    _, variances, covariance = _moments(table, rows, columns)
    return ratio(covariance, np.sqrt(variances[0] * variances[1]))


def _midranks(margin: Floats) -> Floats:
    return np.asarray(np.cumsum(margin, axis=-1) - (margin - 1) / 2)


def _weighted_kappa(table: Floats, weights: Floats) -> Floats:
    shares = _shares(table)
    observed = (shares * weights).sum((-1, -2))
    expected = (shares.sum(-1)[..., :, None] * shares.sum(-2)[..., None, :] * weights).sum((-1, -2))
    return 1 - ratio(observed, expected)


SMOOTHING = 0.01
"""Votes added to each cell, so that an answer never seen is rare and not impossible."""
_STILL = 1e-8
_MOST_STEPS = 500


@dataclass(frozen=True, eq=False)
class DawidSkene:
    answers: Floats
    posterior: Floats
    """(items × answers) probability that each answer is the true one; NaN where nobody voted."""
    confusion: Floats
    """(judges × answers × answers) probability of an answer (last) given the truth."""
    prevalence: Floats

    @property
    def verdict(self) -> Floats:
        """The most probable answer of each item; NaN where nobody voted."""
        voted = ~np.isnan(self.posterior).any(-1)
        best = self.answers[np.argmax(np.nan_to_num(self.posterior), axis=-1)]
        return np.where(voted, best, np.nan)


def dawid_skene(votes: Floats) -> DawidSkene | None:
    """Truths and confusion tables together, started at vote shares; None where nobody voted.

    Judges are taken to err independently given the truth. Where they share their errors, the model
    believes the crowd too much; look at the error correlation first.
    """
    answers = np.unique(votes[~np.isnan(votes)])
    if not len(answers):
        return None
    given = np.asarray(votes[:, :, None] == answers, dtype=np.float64)
    voted = given.sum((1, 2))[:, None] > 0
    truth = given.sum(1) / np.where(voted, given.sum((1, 2))[:, None], 1.0)
    # (judges × items) place of the answer, one past the last where a judge did not vote: sums go through
    # places and not through a table that is mostly zeros.
    places = np.where(np.isnan(votes), len(answers), np.searchsorted(answers, votes))
    places = np.ascontiguousarray(places.T)
    for _ in range(_MOST_STEPS):
        confusion, prevalence = _judges(places, truth), truth.sum(0) / truth.sum()
        updated = np.where(voted, _truths(places, confusion, prevalence), 0.0)
        change, truth = float(np.abs(updated - truth).max()), updated
        if change < _STILL:
            break
    return DawidSkene(answers, np.where(voted, truth, np.nan), confusion, prevalence)


def _judges(places: Ints, truth: Floats) -> Floats:
    """(judges × truths × answers) confusion tables, given the truths (items × answers)."""
    weights = np.ascontiguousarray(truth.T)
    answers = len(weights)
    counts = [[np.bincount(place, weight, answers + 1) for weight in weights] for place in places]
    confusion = np.array(counts)[..., :-1] + SMOOTHING
    return np.asarray(confusion / confusion.sum(-1, keepdims=True))


def _truths(places: Ints, confusion: Floats, prevalence: Floats) -> Floats:
    """(items × answers) probability of each truth, given the judges; summed as logarithms."""
    judges, answers = confusion.shape[:2]
    no_vote = np.zeros((judges, 1, answers))
    entries = np.concatenate([np.log(confusion).swapaxes(1, 2), no_vote], axis=1)
    sums = np.zeros((places.shape[1], answers))
    for place, entry in zip(places, entries, strict=True):
        sums += entry.take(place, axis=0)
    logs = np.log(prevalence + 1e-300) + sums
    shares = np.exp(logs - logs.max(-1, keepdims=True))
    return np.asarray(shares / shares.sum(-1, keepdims=True))
