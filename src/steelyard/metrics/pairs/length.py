"""Length: does the longer of two texts win more often than it should?

Between texts of equal content, one of them padded, it should win as often as not. Of natural pairs people say
how often it should; the judge errs towards the longer text where it names it though people chose the other,
and towards the shorter where it names that though people chose the longer. The bias is half of the difference
of these two rates: 0 for a judge that errs both ways alike, a coin among them, .5 for one that always names
the longer text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered
from steelyard.metrics.estimate import NO_VERDICTS, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import MARGIN, SURE
from steelyard.metrics.metric import LEFT_OUT, ZERO, Amount, Lengths, Metric
from steelyard.metrics.multiplicity import AdjustedTest
from steelyard.metrics.pairs.columns import Pairs, excluded, tally
from steelyard.metrics.proportions import proportion, sampling_notes, with_difference_word
from steelyard.metrics.stats.directional_bias import DirectionalBias
from steelyard.metrics.stats.intervals import clipped
from steelyard.stimuli.original import NATURAL

FURTHEST = (-0.5, 0.5)
"""The bias of a judge that always names the shorter text, and of one that always names the longer."""
FILLER = "filler"
"""Kind of pairs whose second content is the first with padding."""


def longer_text(pairs: Pairs, lengths: Lengths) -> Ints:
    """The longer text of each row, 1 for u and 2 for v; 0 where neither is, `LEFT_OUT` where nobody knows."""
    known = ([0, -1] if words is None else words for words in lengths)
    side = [0 if u == v else LEFT_OUT if v < 0 else 1 if u > v else 2 for u, v in known]
    return np.where(pairs.kind == FILLER, 2, np.array(side, dtype=np.int64))


def _lean_of_pair(pairs: Pairs, lengths: Lengths) -> Floats:
    longer = longer_text(pairs, lengths)
    return np.asarray(_answers(pairs, longer).mean(axis=1) - _wanted(pairs.better, longer))


def _length_side(pairs: Pairs, lengths: Lengths) -> Ints:
    """1 where the shorter text is better, 2 where the longer is, 0 between equals."""
    longer = longer_text(pairs, lengths)
    side = np.where(pairs.better == 0, 0, np.where(pairs.better == longer, 2, 1))
    return np.where(longer > 0, side, LEFT_OUT)


def _wanted(better: Ints, longer: Ints) -> Floats:
    return np.where(better == 0, 0.5, (better == longer).astype(np.float64))


LENGTH_LEAN = Metric(
    "length_lean",
    "leans to the longer",
    "Errors towards the longer text beyond errors towards the shorter: half of (longer named where the "
    "shorter is better − shorter named where the longer is); between equals, longer named less one half.",
    signed=True,
    direction=ZERO,
    unit="pair",
    amount=Amount(_lean_of_pair, side=_length_side, labelled=True),
    kinds=(FILLER, NATURAL),
)
LONGER_CHOSEN = Metric(
    "longer_chosen",
    "longer text chosen",
    "Decided calls that name the longer text; the share of people's choices that do is its chance.",
)

SAME_LENGTH = "no pair has a longer text, or the texts are not known"
ONE_SIDE = "people prefer the {} text in every pair: errors to one side only can be seen"


def length_lean(
    context: EstimateContext, pairs: Pairs, longer: Ints, lacking: str, others: int | None = None
) -> Estimate:
    """The directional bias of pairs whose better text is known, or that are equally good.

    `longer` is the longer text of each row, 1 for u and 2 for v; `lacking` says why there are no pairs, where
    there are none. `others` counts the tests that were declared with this one; None where it is not declared,
    and has no word.
    """
    rows, long = pairs.where(longer > 0), longer[longer > 0]
    if not len(rows) or not rows.readable.any():
        why = lacking if not len(pairs) else NO_VERDICTS if len(rows) else SAME_LENGTH
        return context.undefined(LENGTH_LEAN, why, "pair", excluded(pairs))
    bias = _bias(rows, long, None)
    if not np.isfinite(bias.value):
        side = "longer" if np.any(bias.expected == 1) else "shorter"
        return context.undefined(LENGTH_LEAN, ONE_SIDE.format(side), "pair", excluded(rows))
    p = bias.p(context.permutation_seed(LENGTH_LEAN.id))
    bounds = None
    if rows.lost_calls.any():
        bounds = _bias(rows, long, 0.0).value, _bias(rows, long, 1.0).value
    test = None if others is None else AdjustedTest.bonferroni(p, others + 1)
    calls = int(np.count_nonzero(rows.readable))
    clusters = rows.n_clusters
    estimate = context.estimate(
        LENGTH_LEAN,
        Sample(calls, bias.units, clusters, excluded(rows)),
        unit="pair",
        value=bias.value,
        intervals=(Interval("lean_cluster", *bias.limits(SURE)),),
        bounds=bounds,
        chance=0.0,
        minimum_detectable=bias.detectable,
        p=None if test is None else p,
        p_corrected=None if test is None else test.adjusted_p,
        notes=[(test or AdjustedTest.single(p)).format(), f"margin {MARGIN:g}", *sampling_notes(clusters)],
    )
    if test is None:
        return estimate
    units = bias.units_total(MARGIN)
    needed = None if units is None else -(-units * calls // bias.units)
    decided = with_difference_word(replace(estimate, calls_needed=needed), test.alpha)
    spans = ((each, clipped(each.span, FURTHEST)) for each in decided.intervals)
    return replace(decided, intervals=tuple(replace(each, low=low, high=high) for each, (low, high) in spans))


def longer_chosen(context: EstimateContext, pairs: Pairs, longer: Ints, labelled: Mask) -> Estimate:
    rows, long = pairs.where(longer > 0), longer[longer > 0]
    names_longer = np.equal(_named_content(rows), long[:, None])
    counts = tally(rows, names_longer.sum(axis=1), rows.reports.sum(axis=1))
    known = labelled[longer > 0] & (rows.better > 0)
    chance = float(np.mean(rows.better[known] == long[known])) if known.any() else None
    reason = None if counts.n else NO_VERDICTS if len(rows) else SAME_LENGTH
    notes = ["of decided calls"]
    return proportion(context, LONGER_CHOSEN, counts, chance=chance, reason=reason, notes=notes)


def longer_of(pairs: Pairs, longer: Mapping[str, int]) -> Ints:
    """The longer text of each row, by the pair's name; 0 where neither is, or nobody knows."""
    return np.array([longer.get(pairs.names[pair], 0) for pair in pairs.pair], dtype=np.int64)


def _named_content(pairs: Pairs) -> Ints:
    """The content that each call names: 1 for u, 2 for v, 0 for neither."""
    return np.where(pairs.wins("u"), 1, np.where(pairs.wins("v"), 2, 0)).astype(np.int64)


def _answers(pairs: Pairs, longer: Ints) -> Floats:
    """1 for each call that names the longer text, one half for neither."""
    return np.where(pairs.neither, 0.5, np.equal(_named_content(pairs), longer[:, None]))


def _bias(pairs: Pairs, longer: Ints, fill: float | None) -> DirectionalBias:
    """The directional bias, one row per pair; `fill` is what missing calls answered, None leaves them out."""
    answer, counted = _answers(pairs, longer), pairs.readable
    if fill is not None:
        missing = pairs.lost_calls
        answer, counted = np.where(missing, fill, answer), counted | missing
    unit = numbered(pairs.pair)[1]
    calls = np.bincount(unit, weights=counted.sum(axis=1))
    sums = np.bincount(unit, weights=(answer * counted).sum(axis=1))
    first = np.unique(unit, return_index=True)[1]
    wanted = _wanted(pairs.better[first], longer[first])
    used = calls > 0
    mean: Floats = sums[used] / calls[used]
    counts = np.rint(calls[used]).astype(np.int64)
    return DirectionalBias(mean, wanted[used], pairs.cluster[first][used], counts)
