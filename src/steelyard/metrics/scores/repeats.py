"""Same input, asked again: how much of a changed verdict is noise. Accuracy is a different question.

A judge that gives one answer to one input has a self-agreement of 1 whatever its accuracy. Agreement is of
scores: a call that abstained is left out and counted. `noise_floor` and `flip_rate` take it as a verdict of
its own, since an edit that makes a judge abstain has changed its verdict.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.metric import LEFT_OUT, Amount, Basis, Items, Lengths, Limit, Metric
from steelyard.metrics.proportions import designed_bounds, proportion, sampling_notes
from steelyard.metrics.scores.columns import Outcome, Scores
from steelyard.metrics.scores.shares import Sums, abstained, resampled, unit_tally
from steelyard.metrics.stats.clusters import ClusterMean, Tally, ratio, sum_rows
from steelyard.metrics.stats.intervals import AGREEMENT, DIFFERENCE, SHARE
from steelyard.stimuli.original import ORIGINAL


def _agreement(scores: Scores, _: Lengths) -> Floats:
    """The share of each input's pairs of repeats that agree; NaN where fewer than two have a score."""
    return np.asarray(_equal_share(input_counts(_answered(scores)))[scores.stimulus])


def _answered(scores: Scores) -> Scores:
    return scores.where(scores.outcome != Outcome.ABSTAINED)


def _first_repeat(scores: Scores, _: Lengths) -> Ints:
    """Each input once, on the row of its first repeat; none that was asked once."""
    firsts, times = np.unique(scores.stimulus, return_index=True, return_counts=True)[1:]
    side = np.full(len(scores), LEFT_OUT, dtype=np.int64)
    side[firsts[times > 1]] = 0
    return side


SELF_AGREEMENT = Metric(
    "self_agreement",
    "self-agreement",
    "Pairs of repeats of the same input with equal scores; it says nothing of accuracy.",
    plain="repeats its verdict",
    limit=Limit(0.90, "min", probes=(ORIGINAL,)),
    unit="item",
    amount=Amount(_agreement, ends=SHARE, side=_first_repeat),
    kinds=(ORIGINAL,),
    behind="flip",
)
NOISE_FLOOR = Metric(
    "noise_floor",
    meaning="Pairs of repeats of the same input whose scores differ.",
    plain="repeats that differ",
    detail=True,
    basis=Basis(items=Items.UNCHANGED),
)
FLIP_RATE = Metric(
    "flip_rate",
    meaning="Inputs whose repeats do not all have the same score.",
    plain="texts with mixed repeats",
    detail=True,
    behind="flip",
)
_agrees = partial(Metric, signed=True, detail=True)
FLEISS_KAPPA = _agrees(
    "fleiss_kappa",
    "Fleiss κ",
    "Agreement of repeats beyond chance.",
    plain="repeats agree beyond chance",
    limit=Limit(0.60, "min", probes=(ORIGINAL,)),
)
ICC = _agrees(
    "icc",
    "intraclass correlation",
    "Share of the variance of scores that lies between inputs.",
    plain="scores follow the text",
    limit=Limit(0.75, "min", probes=(ORIGINAL,)),
)

METRICS = (NOISE_FLOOR, SELF_AGREEMENT, FLIP_RATE, ICC, FLEISS_KAPPA)

NO_REPEATS = "no input was judged twice: ask for repeats with --replicates 2 or more"


def verdict_counts(scores: Scores, groups: Ints, size: int) -> Ints:
    """How often each group (row) gave each verdict (column); an abstention is a verdict of its own."""
    rows = scores.readable
    codes = np.where(scores.outcome == Outcome.ABSTAINED, np.iinfo(np.int64).max, scores.score)
    levels, number = np.unique(codes, return_inverse=True)
    cells = groups[rows] * len(levels) + number[rows]
    return np.bincount(cells, minlength=size * len(levels)).reshape(size, len(levels))


def equal_pairs(counts: Ints) -> tuple[Ints, Ints]:
    """Pairs of repeats that agree, and all pairs, per input."""
    ratings = counts.sum(-1)
    return (counts * (counts - 1) // 2).sum(-1), ratings * (ratings - 1) // 2


def _equal_share(counts: Ints) -> Floats:
    """Share of pairs of repeats that agree, per input; NaN without a pair."""
    equal, pairs = equal_pairs(counts)
    return ratio(equal.astype(np.float64), pairs.astype(np.float64))


def item_noise(rows: Scores) -> Floats:
    """Share of pairs of repeats that differ, by item; NaN where an item has no two verdicts."""
    equal, pairs = equal_pairs(verdict_counts(rows, rows.item, len(rows.items)))
    return ratio((pairs - equal).astype(np.float64), pairs.astype(np.float64))


def stability(context: EstimateContext, scores: Scores) -> list[Estimate]:
    again = _pairs(context, SELF_AGREEMENT, _answered(scores))
    if again.value is not None:
        again = replace(again, left_out=abstained(scores))
    elif np.bincount(scores.stimulus).max(initial=0) > 1:
        again = context.undefined(SELF_AGREEMENT, "no input has two scores", "comparison", scores.lost())
    estimates = [again, _flip_rate(context, scores)]
    if not np.all(scores.binary):
        estimates.append(_intraclass(context, scores.where(~scores.binary)))
    if np.any(scores.binary):
        estimates.append(_fleiss(context, scores.where(scores.binary)))
    return estimates


def noise_floor(context: EstimateContext, scores: Scores) -> Estimate:
    return _pairs(context, NOISE_FLOOR, scores)


def input_counts(scores: Scores) -> Ints:
    return verdict_counts(scores, scores.stimulus, len(scores.stimuli))


def _by_input(scores: Scores, column: Ints) -> Ints:
    """What all repeats of an input share, by the input's number."""
    values = np.zeros(len(scores.stimuli), dtype=np.int64)
    values[scores.stimulus] = column
    return values


def _pairs(context: EstimateContext, metric: Metric, scores: Scores) -> Estimate:
    counts = input_counts(scores)
    equal, pairs = equal_pairs(counts)
    events = equal if metric == SELF_AGREEMENT else pairs - equal
    asked = np.bincount(scores.stimulus, minlength=len(scores.stimuli))
    designed = int((asked * (asked - 1) // 2).sum())
    tally = _tally(scores, events, pairs, int(counts.sum(-1)[pairs > 0].sum()))
    bounds = designed_bounds(tally.k, designed - tally.n, designed)
    reason = NO_REPEATS if not designed else None
    notes = ["pairs of repeats of the same input"]
    return proportion(context, metric, tally, unit="comparison", bounds=bounds, reason=reason, notes=notes)


def _flip_rate(context: EstimateContext, scores: Scores) -> Estimate:
    counts = input_counts(scores)
    repeated = counts.sum(-1) > 1
    flipped = repeated & (np.count_nonzero(counts, axis=-1) > 1)
    calls = counts.sum(-1)[repeated]
    tally = _tally(scores, flipped, repeated, int(calls.sum()))
    asked = np.bincount(scores.stimulus, minlength=len(scores.stimuli)) > 1
    some_lost = np.bincount(scores.stimulus[~scores.readable], minlength=len(scores.stimuli)) > 0
    designed, lost = int(asked.sum()), int((asked & ~flipped & some_lost).sum())
    bounds = designed_bounds(tally.k, lost, designed)
    reason = None if designed else NO_REPEATS
    notes = []
    if len(calls):
        notes = [f"over {calls.min()} to {calls.max()} repeats; it grows with the number of repeats"]
    return proportion(context, FLIP_RATE, tally, unit="input", bounds=bounds, reason=reason, notes=notes)


def _tally(scores: Scores, events: Ints | Mask, trials: Ints | Mask, n_calls: int) -> Tally:
    n_items = len(distinct(_by_input(scores, scores.item)[trials > 0]))
    return unit_tally(scores, _by_input(scores, scores.unit), events, trials, n_calls, n_items)


_beyond_chance = partial(resampled, ends=AGREEMENT, chance=0.0)


def _fleiss(context: EstimateContext, scores: Scores) -> Estimate:
    rows = _answered(scores)
    counts = input_counts(rows)
    repeated = counts.sum(-1) > 1
    sums = _input_sums(rows, repeated, fleiss_columns(counts[repeated]))
    reason = "every verdict is the same" if repeated.any() else NO_REPEATS
    left_out = abstained(scores)
    return _beyond_chance(context, FLEISS_KAPPA, sums, fleiss_kappa, reason=reason, left_out=left_out)


def fleiss_columns(counts: Ints) -> Floats:
    """Per input: one, the share of its pairs of repeats that agree, and its verdicts per level."""
    return np.column_stack([np.ones(len(counts)), _equal_share(counts), counts]).astype(np.float64)


def fleiss_kappa(sums: Floats) -> Floats:
    """Fleiss' κ from summed columns: agreement of pairs beyond what the pooled shares of verdicts give."""
    observed = ratio(sums[..., 1], sums[..., 0])
    verdicts = sums[..., 2:]
    shares = ratio(verdicts, np.broadcast_to(verdicts.sum(-1)[..., None], verdicts.shape))
    chance = (shares**2).sum(-1)
    # One verdict throughout leaves 0/0, which rounding could hide.
    return ratio(observed - chance, np.where((verdicts > 0).sum(-1) < 2, 0.0, 1 - chance))


def _intraclass(context: EstimateContext, scores: Scores) -> Estimate:
    rows = scores.where(scores.decided)
    calls = np.bincount(rows.stimulus, minlength=len(scores.stimuli))
    repeated = np.asarray(calls > 1)
    columns = intraclass_columns(rows.stimulus, rows.score, len(scores.stimuli))[repeated]
    sums = _input_sums(scores, repeated, columns)
    reason = "every score is the same" if repeated.any() else NO_REPEATS
    notes, left_out = ("one-way, single call",), abstained(scores)
    return _beyond_chance(context, ICC, sums, intraclass, reason=reason, notes=notes, left_out=left_out)


def intraclass_columns(inputs: Ints, scores: Ints, size: int) -> Floats:
    """Per input: one, calls, calls², Σ score, Σ score², (Σ score)² / calls."""
    calls = np.bincount(inputs, minlength=size).astype(np.float64)
    total, squares = (
        np.bincount(inputs, weights=weights, minlength=size).astype(np.float64)
        for weights in (scores, scores**2)
    )
    return np.column_stack([np.ones(size), calls, calls**2, total, squares, ratio(total**2, calls)])


def intraclass(sums: Floats) -> Floats:
    """ICC(1, 1): variance between inputs over all variance, from a one-way analysis of summed columns."""
    inputs, calls, squared_calls, total, squares, between = np.moveaxis(sums, -1, 0)
    mean_square_between = ratio(between - ratio(total**2, calls), inputs - 1)
    mean_square_within = ratio(squares - between, calls - inputs)
    repeats = ratio(calls - ratio(squared_calls, calls), inputs - 1)
    spread = mean_square_between + (repeats - 1) * mean_square_within
    return ratio(mean_square_between - mean_square_within, np.where(spread > 1e-12, spread, 0.0))


def _input_sums(scores: Scores, repeated: Mask, columns: Floats) -> Sums:
    """Columns of the repeated inputs, summed within resampling units."""
    table = sum_rows(_by_input(scores, scores.unit)[repeated], columns)
    used = scores.where(repeated[scores.stimulus] & scores.readable)
    return Sums(table, scores, len(used), used.n_items)


BORDER_NOISE = Metric(
    "border_noise",
    meaning="Repeats that differ at the border of the rubric beyond those that differ on unchanged items.",
    plain="wavers at the border",
    signed=True,
)


def border_noise(context: EstimateContext, scores: Scores) -> Estimate:
    """Mean over items of (repeats that differ at the border − repeats of the unchanged item that differ)."""
    border, plain = (item_noise(scores.where(mask)) for mask in (~scores.original, scores.original))
    both = np.isfinite(border) & np.isfinite(plain)
    if not both.any():
        return context.undefined(BORDER_NOISE, NO_REPEATS, "comparison", scores.lost())
    mean = ClusterMean.of(scores.by_item(scores.unit)[both], (border - plain)[both])
    limits = mean.limits(0.975, DIFFERENCE)
    used = scores.where(both[scores.item])
    differ, floor = border[both].mean(), plain[both].mean()
    means = f"repeats differ in {differ:.2f}, on the unchanged items in {floor:.2f}"
    calls, units = int(np.count_nonzero(used.readable)), int(both.sum())
    sample = Sample(calls, units, used.n_clusters, scores.lost())
    notes = [means, *sampling_notes(used.n_clusters, even=mean.even)]
    noise = context.estimate(BORDER_NOISE, sample, notes, unit="comparison", value=mean.mean, chance=0.0)
    intervals = (Interval("t_cluster", *limits),) if limits else ()
    return replace(noise, intervals=intervals, minimum_detectable=mean.detectable)
