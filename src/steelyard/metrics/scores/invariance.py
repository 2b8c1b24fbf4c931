"""An edited item against the judge's own verdict on the unchanged one.

Only edits that keep the label ask for the same verdict. What changes beyond the noise of asking twice
is the edit's effect:

    excess flip = share of (original, edit) comparisons that differ
                − share of (original, original) comparisons that differ
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.basis import Basis, Items
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import (
    MARGIN,
    SURE,
    difference_word,
    missingness_note,
    missingness_shift,
    with_finding,
)
from steelyard.metrics.metric import LOW, Amount, Limit, Metric
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, join
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.repeats import NO_REPEATS, equal_pairs, verdict_counts
from steelyard.metrics.scores.shares import share, unit_sums
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.clusters import Tally, quantile, ratio
from steelyard.metrics.stats.intervals import DIFFERENCE, Span, clipped, score

INVARIANCE = Metric(
    "invariance",
    "invariance",
    "Scores equal to the judge's own score of the unchanged item.",
    plain="keeps its verdict",
    unit="comparison",
    behind="flip",
    basis=Basis(items=Items.BOTH),
)
EXCESS_FLIP = Metric(
    "excess_flip",
    "excess flips",
    "Changed verdicts on edited items beyond those that mere repeats show: the edit's effect.",
    plain="changes beyond repeats",
    signed=True,
    direction=LOW,
    unit="item",
    amount=Amount(None),
    behind="flip",
    basis=Basis(items=Items.BOTH),
)

NO_ORIGINALS = "the unchanged items were not judged"
NOT_BOTH = "no item has a verdict both unchanged and edited"
NOISE_UNKNOWN = "no repeats: noise and edit are not told apart"


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Every edited call of an item beside every call of the unchanged item; one entry per item."""

    rows: Scores
    equal: Ints
    made: Ints
    """Comparisons of two verdicts."""
    designed: Ints
    """Comparisons had no call been lost."""
    floor: Floats
    """Share of repeats of the unchanged item that differ; NaN without repeats."""
    unit: Ints

    def tally(self, events: Ints) -> Tally:
        per_unit = unit_sums(self.unit, self.made)
        kept = per_unit > 0
        used = self.rows.where((self.made > 0)[self.rows.item] & self.rows.readable)
        return Tally(
            events=unit_sums(self.unit, events)[kept],
            trials=per_unit[kept],
            n_calls=len(used),
            n_units=int(np.count_nonzero(self.made)),
            **self.rows.lost(),
        )


def keeps_label(scores: Scores) -> Mask:
    """Rows whose expected verdict is that of the unchanged item, or that have none.

    An edit with a reference of its own, made from an item without one, is held to that reference.
    """
    labels = np.full(len(scores.items), np.nan)
    labels[scores.item[scores.original]] = scores.expected[scores.original]
    return np.asarray(np.isnan(scores.expected) | (labels[scores.item] == scores.expected))


def unmoved(scores: Scores, *, keep_label: bool) -> Scores:
    """The unchanged items, and the edits that ask for the same verdict; of probes that change the label,
    those of which no answer is expected."""
    edits = keeps_label(scores) if keep_label else np.isnan(scores.expected)
    return scores.where(scores.original | edits)


def compare_items(scores: Scores) -> Comparisons:
    size = len(scores.items)
    edited = np.bincount(scores.item[~scores.original], minlength=size)
    plain = np.bincount(scores.item[scores.original], minlength=size)
    rows = scores.where(((edited > 0) & (plain > 0))[scores.item])
    counts = _item_counts(rows, ~rows.original), _item_counts(rows, rows.original)
    unit = np.zeros(size, dtype=np.int64)
    unit[rows.item] = rows.unit if len(rows) else rows.item
    return Comparisons(
        rows=rows,
        equal=(counts[0] * counts[1]).sum(-1),
        made=counts[0].sum(-1) * counts[1].sum(-1),
        designed=edited * plain,
        floor=_floor(rows),
        unit=unit,
    )


def invariance_estimates(
    context: EstimateContext, scores: Scores, *, keep_label: bool = True
) -> list[Estimate]:
    """`invariance` and `excess_flip` of the edits that keep the label, see `unmoved`.

    Nothing where no edit does, or where the probe compares with no unchanged item.
    """
    kept = unmoved(scores, keep_label=keep_label)
    if np.all(kept.original) or not np.any(kept.original):
        return []
    comparisons = compare_items(kept)
    excess = _excess(context, comparisons)
    return [_invariance(context, comparisons, known_noise=excess.value is not None), excess]


def invariance(context: EstimateContext, scores: Scores) -> Estimate:
    """The paired figure alone, for one strength of a graded edit; it carries no finding."""
    return _invariance(context, compare_items(scores), known_noise=True)


def _invariance(context: EstimateContext, comparisons: Comparisons, *, known_noise: bool) -> Estimate:
    tally = comparisons.tally(comparisons.equal)
    designed = int(comparisons.designed.sum())
    lost = designed - tally.n
    estimate = share(
        context,
        INVARIANCE,
        comparisons.rows,
        tally,
        unit="comparison",
        bounds=(tally.k / designed, (tally.k + lost) / designed) if designed else None,
        reason=NOT_BOTH if designed else NO_ORIGINALS,
    )
    if known_noise or estimate.value is None:
        return estimate
    # Without repeats the noise is not known: a small total still bounds the edit's share in it.
    estimate = replace(estimate, note=join([estimate.note, NOISE_UNKNOWN]))
    return replace(with_finding(estimate, Limit(1 - MARGIN, "min")), calls_needed=None)


def _excess(context: EstimateContext, comparisons: Comparisons) -> Estimate:
    flips = 1 - ratio(comparisons.equal.astype(np.float64), comparisons.made.astype(np.float64))
    both = np.isfinite(flips) & np.isfinite(comparisons.floor)
    rows = comparisons.rows
    if not both.any():
        why = NO_REPEATS if comparisons.made.any() else NOT_BOTH if len(rows) else NO_ORIGINALS
        return context.undefined(EXCESS_FLIP, why, "comparison", rows.lost())
    used = rows.where(both[rows.item])
    mean = ClusterMean.of(comparisons.unit[both], (flips - comparisons.floor)[both])
    flip, floor = float(flips[both].mean()), float(comparisons.floor[both].mean())
    method = "wilson_cluster_difference" if mean.even else "t_cluster"
    limits = partial(_limits, mean, flip, floor)
    # Fewer changes than mere repeats show are no fault: the test is one-sided.
    p = mean.p() / 2 if mean.mean > 0 else 1 - mean.p() / 2
    bounds = _excess_bounds(rows)
    seen = difference_word(limits(SURE), p)
    word = difference_word(limits(SURE), p, moved=missingness_shift(mean.mean, bounds))
    return context.estimate(
        EXCESS_FLIP,
        unit="comparison",
        value=mean.mean,
        intervals=(Interval(method, *limits(SURE)),),
        n_calls=int(np.count_nonzero(used.readable)),
        n_units=int(both.sum()),
        n_clusters=used.n_clusters,
        excluded=rows.lost(),
        bounds=bounds,
        chance=0.0,
        status=word,
        missing_decides=seen != word,
        minimum_detectable=mean.detectable,
        p=p,
        note=join(
            [
                f"edits differ in {flip:.2f}, repeats of the original in {floor:.2f}; margin {MARGIN:g}",
                NO_SPREAD if mean.even else None,
                ONE_CLUSTER if used.n_clusters < 2 else None,
                missingness_note(seen, word),
            ]
        ),
    )


def _excess_bounds(rows: Scores) -> Span | None:
    lost = [
        np.bincount(rows.item[~rows.readable & mask], minlength=len(rows.items))
        for mask in (~rows.original, rows.original)
    ]
    return excess_bounds(_item_counts(rows, ~rows.original), _item_counts(rows, rows.original), *lost)


def _limits(mean: ClusterMean, flip: float, floor: float, probability: float) -> Span:
    """Student's t over units; above it reaches as far as the share of changed items alone can.

    Changes are rare and large: a sample that happens to hold few of them has little spread as well, and t
    would rule out too much. Each item counts as one trial, for its comparisons may all be one verdict.
    """
    alike = Tally(events=0 * mean.sizes, trials=mean.sizes, n_calls=0, n_units=0)
    low, high = score(flip, mean.assumed_size, quantile(alike, probability))
    spread = mean.limits(probability)
    if spread is not None:
        low, high = spread[0] + floor, max(high, spread[1] + floor)
    return clipped((low - floor, high - floor), DIFFERENCE)


def _item_counts(scores: Scores, mask: Mask) -> Ints:
    """Verdicts per item among the rows of the mask, over verdict columns that all rows share."""
    groups = scores.item + np.where(mask, 0, len(scores.items))
    return verdict_counts(scores, groups, 2 * len(scores.items))[: len(scores.items)]


def _floor(rows: Scores) -> Floats:
    equal, pairs = equal_pairs(_item_counts(rows, rows.original))
    return ratio((pairs - equal).astype(np.float64), pairs.astype(np.float64))


def excess_bounds(edited: Ints, plain: Ints, lost_edited: Ints, lost_plain: Ints) -> Span | None:
    """Bounds of the mean excess over items, from verdicts (items × verdicts) and lost calls of each item.

    A missing call may have given a verdict that nobody else gave, an abstention for one. The excess is convex
    in the missing calls of the unchanged item, so it is greatest where they agree. The lower bound takes the
    fewest flips of edits and the most of repeats, which no single way to fill in the calls may reach.
    """
    edits, repeats = edited.sum(axis=1) + lost_edited, plain.sum(axis=1) + lost_plain
    asked = (edits > 0) & (repeats > 1)
    if not asked.any():
        return None
    edits, repeats = edits[asked], repeats[asked]
    edited, plain = _with_another(edited[asked]), _with_another(plain[asked])
    flips = (edited.sum(axis=1) * plain.sum(axis=1) - (edited * plain).sum(axis=1)) / (edits * repeats)
    low = flips - 1 + _alike(plain, repeats)
    corners = []
    for verdict in range(plain.shape[1]):
        filled = plain.copy()
        filled[:, verdict] += lost_plain[asked]
        corners.append(_alike(filled, repeats) - (edited * filled).sum(axis=1) / (edits * repeats))
    return float(low.mean()), float(np.max(corners, axis=0).mean())


def _with_another(counts: Ints) -> Ints:
    return np.pad(counts, ((0, 0), (0, 1)))


def _alike(counts: Ints, repeats: Ints) -> Floats:
    return np.asarray((counts * (counts - 1)).sum(axis=1) / (repeats * (repeats - 1)))
