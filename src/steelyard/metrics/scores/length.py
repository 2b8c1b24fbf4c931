"""Length of single texts: among items with the same label, do longer texts score higher?

Within each label items are halved by their number of words, those at the median left out. The figure is the
mean score of the longer half less that of the shorter, as a share of the scale, labels weighed by how much
they tell (n₁·n₂/(n₁ + n₂)). A judge that is right throughout shows 0, and so does one whose errors do not ask
for length. It is an association: people may have let longer texts pass by less, or a label may be coarse.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, distinct, numbered
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import MARGIN, SURE
from steelyard.metrics.metric import LEFT_OUT, ZERO, Amount, Metric, Texts
from steelyard.metrics.proportions import join, sampling_notes, with_difference_word
from steelyard.metrics.scores.against_labels import NOT_SCORED
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.leniency import item_means
from steelyard.metrics.scores.shares import unlabelled
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.directional_bias import LeftOutFigure
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import DIFFERENCE, Span, clipped, score
from steelyard.metrics.stats.sample_size import POWER, smallest_sufficient


def _shares(scores: Scores, texts: Texts) -> Floats:
    """What each call adds to the gap: its score as a share of the scale, taken off in the shorter half."""
    share = (scores.score - scores.low) / np.maximum(1, scores.high - scores.low)
    sign = 2 * (_halves(scores, texts) % 2) - 1
    return np.where(scores.decided, sign * share, np.nan)


def _halves(scores: Scores, texts: Texts) -> Ints:
    """Twice the number of each call's label, and one more in the longer half; left out at the median."""
    firsts = np.unique(scores.item, return_index=True)[1]
    words = np.array([len(texts[row][0].split()) for row in firsts], dtype=np.int64)
    label, half = _half_of(scores.expected[firsts], words)
    side = np.where(half == 0, LEFT_OUT, 2 * label + (half > 0))
    return np.asarray(side[numbered(scores.item)[1]])


def _half_of(label: Floats, words: Ints) -> tuple[Ints, Ints]:
    """The number of each item's label, and its half: 1 longer, −1 shorter, 0 for those that are left out."""
    number = np.unique(label, return_inverse=True)[1].astype(np.int64)
    half = np.zeros(len(label), dtype=np.int64)
    for each in np.unique(number):
        here = number == each
        side = np.sign(words[here] - np.median(words[here])).astype(np.int64)
        half[here] = side if {-1, 1} <= set(side.tolist()) else 0
    return number, half


def _half_weights(side: Ints) -> Floats:
    """Weights by which the mean over all calls is the weighted difference of halves."""
    weights = np.full(len(side), np.nan)
    label = side // 2
    shares = {
        each: (short * long / (short + long), short, long)
        for each in np.unique(label).tolist()
        for short, long in [(np.count_nonzero(side == 2 * each), np.count_nonzero(side == 2 * each + 1))]
        if short and long
    }
    total = sum(weight for weight, _, _ in shares.values())
    for each, (weight, *counts) in shares.items():
        for half, count in enumerate(counts):
            weights[side == 2 * each + half] = weight / count / total * len(side)
    return weights


LENGTH_GAP = Metric(
    "length_gap",
    "longer scores higher",
    "Mean score of the longer half of the texts less that of the shorter, within the same label, as a share "
    "of the scale; for yes/no verdicts a difference of shares of passes.",
    signed=True,
    direction=ZERO,
    amount=Amount(_shares, side=_halves, weigh=_half_weights, labelled=True),
)

_SHUFFLES = 1999
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Halves(LeftOutFigure):
    """Items with a label: what they were scored, and the half of their label that they belong to."""

    answer: Floats
    label: Ints
    longer: Ints
    """1 in the longer half, 0 in the shorter."""
    cluster: Ints

    @classmethod
    def of(cls, answer: Floats, label: Floats, words: Ints, cluster: Ints) -> Halves:
        """Halves of each label; items at the median, and labels without both halves, are left out."""
        number, half = _half_of(label, words)
        kept = half != 0
        return cls(answer[kept], number[kept], (half[kept] > 0).astype(np.int64), cluster[kept])

    def limits(self, probability: float, clusters: int | None = None) -> Span:
        """By t over units; without spread, what as many other scores as the data allow could make of it.

        With `clusters`: as if there were so many units.
        """
        more = (clusters or self.clusters) / self.clusters
        reach = t_quantile(probability, max(1, round(self.clusters * more) - 1))
        least = score(0.0, self.units * more / 2, reach)[1]
        width = reach * self.error / sqrt(more) if not self.even else least
        return clipped((self.value - width, self.value + width), DIFFERENCE)

    def p(self, seed: int) -> float:
        """Two-sided p: halves dealt at random within labels; with several items a cluster, t has to agree."""
        sums, sizes = np.bincount(self.label, weights=self.answer), np.bincount(self.label)
        means = ratio(sums.astype(np.float64), sizes.astype(np.float64))
        if float(np.ptp(self.answer - means[self.label])) < _ROUNDING:
            return 1.0
        return self._p(seed)

    def _columns(self) -> Floats:
        """Per item, in the columns of its label: score and one, of the longer and of the shorter half."""
        columns = np.zeros((self.units, int(self.label.max(initial=-1)) + 1, 4))
        row = np.arange(self.units)
        columns[row, self.label, 2 * self.longer] = self.answer
        columns[row, self.label, 2 * self.longer + 1] = 1.0
        return columns

    def _exact_p(self, seed: int) -> float:
        generator = np.random.default_rng(seed)
        drawn, weights = np.zeros(_SHUFFLES), 0.0
        for each in np.unique(self.label):
            here = self.label == each
            scores, longer = self.answer[here], int(self.longer[here].sum())
            shorter = len(scores) - longer
            weight = longer * shorter / len(scores)
            dealt = generator.permuted(np.tile(scores, (_SHUFFLES, 1)), axis=1)
            drawn += weight * (dealt[:, :longer].mean(1) - dealt[:, longer:].mean(1))
            weights += weight
        return self._dealt_p(drawn / weights)

    @staticmethod
    def _figure(sums: Floats) -> Floats:
        """From sums (…, labels, 4): score and items of the shorter half, then of the longer."""
        short, shorts, long, longs = np.moveaxis(sums, -1, 0)
        weight = ratio(longs * shorts, longs + shorts)
        apart = ratio(long, longs) - ratio(short, shorts)
        filled = np.isfinite(apart)
        return ratio(np.where(filled, weight * apart, 0.0).sum(-1), np.where(filled, weight, 0.0).sum(-1))


def length_gap(context: EstimateContext, scores: Scores, words: Ints) -> Estimate:
    """The gap between halves, with a test; `words` counts those of each item's text, 0 where not known."""
    answer, label, cluster, _ = item_means(scores)
    if not len(answer):
        why = NOT_SCORED if np.any(scores.labelled) else unlabelled(scores)
        return context.undefined(LENGTH_GAP, why, "item", scores.lost())
    rows = scores.where(scores.labelled & scores.decided)
    first = np.unique(rows.item, return_index=True)[1]
    low, high = rows.low[first], rows.high[first]
    halves = Halves.of(
        (answer - low) / (high - low), (label - low) / (high - low), words[rows.item[first]], cluster
    )
    if not np.isfinite(halves.value):
        return context.undefined(
            LENGTH_GAP, "texts with the same label are all as long, or not known", "item", scores.lost()
        )
    p = halves.p(context.permutation_seed(LENGTH_GAP.id))
    clusters = len(distinct(halves.cluster))
    estimate = context.estimate(
        LENGTH_GAP,
        Sample(len(rows), halves.units, clusters, scores.lost()),
        unit="item",
        value=halves.value,
        intervals=(Interval("jackknife_cluster", *halves.limits(SURE)),),
        chance=0.0,
        minimum_detectable=halves.detectable,
        calls_needed=_needed(halves, len(rows)),
        p=p,
        note=join([f"margin {MARGIN:g}", *sampling_notes(clusters, even=halves.even)]),
    )
    return with_difference_word(estimate)


def _needed(halves: Halves, calls: int) -> int | None:
    """Calls that would tell the gap from none, or keep it in the margin, in four runs of five if it stays."""
    apart = max(abs(halves.value), MARGIN - abs(halves.value))

    def decided(clusters: int) -> bool:
        luck = t_quantile(POWER, clusters - 1) * halves.error * sqrt(halves.clusters / clusters)
        low, high = halves.limits(SURE, clusters)
        return (high - low) / 2 + luck < apart

    clusters = smallest_sufficient(decided, max(2, halves.clusters))
    return None if clusters is None else ceil(calls * clusters / halves.clusters)
