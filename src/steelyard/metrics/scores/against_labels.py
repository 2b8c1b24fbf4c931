"""Agreement of scores with reference labels: binary and ordinal figures, and the floors they must reach."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

import numpy as np

from steelyard.core.arrays import Floats, Ints, numbered
from steelyard.metrics.estimate import NO_VERDICTS, Estimate, EstimateContext, Interval, Reason, Why
from steelyard.metrics.findings import SURE, with_word_over
from steelyard.metrics.metric import LABELLED, LEFT_OUT, LOW, Amount, Limit, Metric, ShownAs
from steelyard.metrics.proportions import KAPPA, WEIGHTED_FLOOR
from steelyard.metrics.scores import shares
from steelyard.metrics.scores.columns import Outcome, Scores
from steelyard.metrics.scores.shares import FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE, WITHIN_ONE, Sums
from steelyard.metrics.stats import agreement
from steelyard.metrics.stats.clusters import Tally, quantile
from steelyard.metrics.stats.intervals import AGREEMENT, POSITIVE, SHARE, UNBOUNDED, Ends, Span, score
from steelyard.metrics.stats.two_class import LimitTest
from steelyard.stimuli.original import ORIGINAL

CONSTANT_LABELS = Reason("same_label", "every item has the same label")

Formula = Callable[[Floats, Floats], Floats]
"""A figure of a table labels × scores and the values of its levels."""
BY_RATES = (agreement.kappa, agreement.balanced_accuracy)
"""Figures of two labels whose limits are made from the rates of both."""


def label_table(scores: Scores, values: Ints) -> Sums:
    labelled = scores.where(scores.labelled)
    rows = labelled.where(labelled.decided)
    units = numbered(rows.unit)[1] if len(rows) else rows.item
    levels, count = len(values), int(units.max()) + 1 if len(rows) else 0
    labels, given = np.searchsorted(values, rows.expected), np.searchsorted(values, rows.score)
    cell = (units * levels + labels) * levels + given
    table = np.bincount(cell, minlength=count * levels * levels).astype(np.float64)
    return Sums(table.reshape(count, levels, levels), labelled, len(rows), rows.n_items)


def with_label_word(
    figure: Estimate, limit: Limit, rows: Scores, formula: Formula, ends: Ends = AGREEMENT
) -> Estimate:
    """The figure with the word that holds whatever the missing verdicts had been.

    `rows` are all labelled calls. Every missing verdict is taken as the label, then as far from it as the
    scale allows.
    """
    if rows.readable.all():
        return figure
    upper = rows.expected - rows.low < rows.high - rows.expected
    cases = np.where(upper, rows.high, rows.low), rows.expected.astype(np.int64)
    return with_word_over(figure, limit, [_limits(rows, case, formula, ends) for case in cases])


def _limits(rows: Scores, missing: Ints, formula: Formula, ends: Ends) -> Span:
    """The limits where missing verdicts are taken so."""
    score = np.where(rows.readable, rows.score, missing)
    outcome = np.where(rows.readable, rows.outcome, np.int64(Outcome.SCORED))
    rows = replace(rows, score=score, outcome=outcome)
    values = _levels(rows)
    sums, levels = label_table(rows, values), values.astype(np.float64)
    by_rates = formula in BY_RATES
    test = LimitTest(sums.table, lambda table: formula(table, levels), ends, sums.n_calls, by_rates)
    return test.limits(SURE)


def _levels(rows: Scores) -> Ints:
    scored = rows.where(rows.labelled & rows.decided)
    return np.union1d(scored.score, scored.expected.astype(np.int64))


_detail = partial(Metric, basis=LABELLED, detail=True)
_signed = partial(Metric, basis=LABELLED, signed=True)
BALANCED_ACCURACY = _detail(
    "balanced_accuracy",
    meaning="Mean of the shares of positives and of negatives that were scored right.",
    plain="right on either label",
)
GWET_AC1 = _signed(
    "gwet_ac1",
    "Gwet AC1",
    "Agreement beyond chance, steady when one label is rare.",
    plain="agrees, with rare labels",
    detail=True,
)
PRECISION = _detail(
    "precision",
    meaning="Calls scored 1 whose label is 1; undefined where all labels are alike.",
    plain="right where it says 1",
)
RECALL = _detail("recall", meaning="Calls with the label 1 that were scored 1.", plain="finds what is 1")
F1 = _detail(
    "f1",
    "F1",
    "Harmonic mean of precision and recall; undefined where all labels are alike.",
    plain="precision and recall",
)
MAE = Metric(
    "mae",
    "mean absolute error",
    "Mean distance from the label, in levels.",
    plain="levels off the label",
    direction=LOW,
    amount=Amount(
        lambda scores, _: np.where(scores.decided, np.abs(scores.score - scores.expected), np.nan),
        ends=SHARE,
        side=lambda scores, _: np.where(scores.binary, LEFT_OUT, 0),
        in_levels=True,
        labelled=True,
    ),
    kinds=(ORIGINAL,),
    basis=LABELLED,
)
BIAS = _signed(
    "bias", meaning="Mean signed distance from the label, in levels.", plain="levels above the label"
)
CCC = _signed(
    "ccc", "concordance", "Lin's concordance correlation with the label.", "agrees in level and spread"
)
PEARSON = _signed("pearson", "Pearson r", "Linear correlation with the label.", "rises with the label")
SPEARMAN = _signed(
    "spearman", "Spearman ρ", "Rank correlation with the label.", "ranks as the label does", detail=True
)
QWK = _signed(
    "qwk",
    "quadratic-weighted κ",
    "Agreement beyond chance that weighs distant errors more.",
    plain="agrees, far errors count more",
    limit=WEIGHTED_FLOOR,
)
KRIPPENDORFF_ALPHA = _signed(
    "krippendorff_alpha",
    "Krippendorff α",
    "Agreement of judge and label as two raters, distances counted in ranks.",
    plain="agrees like a second rater",
    detail=True,
)
COMPRESSION = Metric(
    "compression",
    meaning="Spread of the scores over the spread of the labels; below 1 the judge keeps to the middle.",
    plain="spreads scores as labels do",
    limit=Limit(0.75, "min", probes=(ORIGINAL,)),
    basis=LABELLED,
)
UNUSED_LEVELS = _detail(
    "unused_levels",
    meaning="Levels of the scale that the judge never gave.",
    plain="levels never given",
    shown_as=ShownAs.COUNT,
)

NOT_SCORED = "no call of a labelled item ended in a score"
AGREE_CONSTANT = Reason("same_label_and_score", "every label and every score is the same")

BINARY: dict[Metric, Formula] = {
    BALANCED_ACCURACY: agreement.balanced_accuracy,
    KAPPA: agreement.kappa,
    GWET_AC1: partial(agreement.gwet_ac1, levels=2),
}
OF_POSITIVES: dict[Metric, Formula] = {
    PRECISION: agreement.precision,
    RECALL: agreement.recall,
    F1: agreement.f1,
}
"""Figures of unchanged items that count 1 as the positive answer, as scikit-learn does."""
ORDINAL: dict[Metric, Formula] = {
    MAE: agreement.mean_absolute_error,
    BIAS: agreement.bias,
    CCC: agreement.concordance,
    PEARSON: agreement.pearson,
    SPEARMAN: agreement.spearman,
    QWK: agreement.quadratic_kappa,
    KRIPPENDORFF_ALPHA: agreement.krippendorff_alpha,
    COMPRESSION: agreement.compression,
}
FIGURES = (FALSE_POSITIVE_RATE, FALSE_NEGATIVE_RATE, *BINARY, WITHIN_ONE, *ORDINAL, UNUSED_LEVELS)
OF_UNCHANGED = (
    *(KAPPA, BALANCED_ACCURACY, FALSE_POSITIVE_RATE, FALSE_NEGATIVE_RATE, *OF_POSITIVES),
    *(WITHIN_ONE, MAE, BIAS, QWK, COMPRESSION),
)
POOLED_METRICS = (CCC, PEARSON, SPEARMAN, MAE)
"""Figures of every ordinal call of a judge, whatever its probe."""
_ENDS: dict[Metric, Ends] = {
    **dict.fromkeys(OF_POSITIVES, SHARE),
    BALANCED_ACCURACY: SHARE,
    MAE: POSITIVE,
    BIAS: UNBOUNDED,
    COMPRESSION: POSITIVE,
}
"""Ends of a figure's range, where they are not those of agreement."""
_NOTHING_OF_ONE_LABEL = (KAPPA, QWK, PRECISION, F1)
"""Figures that say nothing of the judge where all labels are alike."""
_CHANCE = {**dict.fromkeys(OF_POSITIVES), BALANCED_ACCURACY: 0.5, MAE: None, BIAS: None, COMPRESSION: None}
_NOTES = {KRIPPENDORFF_ALPHA: "ordinal distances, judge and label as two raters", CCC: "moments over n"}


def binary_figures(
    context: EstimateContext, scores: Scores, among: Collection[Metric] = FIGURES
) -> list[Estimate]:
    figures = _figures(context, scores, np.array([0, 1]), BINARY | OF_POSITIVES, among)
    return _among(among, [*shares.false_rates(context, scores), *figures])


def ordinal_figures(
    context: EstimateContext, scores: Scores, among: Collection[Metric] = FIGURES
) -> list[Estimate]:
    figures = _figures(context, scores, _levels(scores), ORDINAL, among)
    return _among(among, [shares.within_one(context, scores), *figures, unused_levels(context, scores)])


def _among(metrics: Collection[Metric], estimates: list[Estimate]) -> list[Estimate]:
    known = {metric.id for metric in metrics}
    return [estimate for estimate in estimates if estimate.metric in known]


def unused_levels(context: EstimateContext, scores: Scores) -> Estimate:
    """Levels of the scale that the judge never used; more calls can only lower it."""
    rows = scores.where(scores.decided)
    if not len(rows):
        return context.undefined(UNUSED_LEVELS, NO_VERDICTS, "level", scores.lost())
    levels = int(rows.high[0] - rows.low[0]) + 1
    unused = sorted(set(range(int(rows.low[0]), int(rows.high[0]) + 1)) - set(rows.score.tolist()))
    never = f"never used: {', '.join(map(str, unused))}" if unused else None
    notes, sample = [f"of {levels} levels", never], rows.sample(scores.lost())
    return context.estimate(UNUSED_LEVELS, sample, notes, unit="level", value=float(len(unused)))


def _figures(
    context: EstimateContext,
    scores: Scores,
    levels: Ints,
    formulas: dict[Metric, Formula],
    among: Collection[Metric],
) -> list[Estimate]:
    sums, values, lacking = label_table(scores, levels), levels.astype(np.float64), shares.unlabelled(scores)
    wanted = ((metric, formula) for metric, formula in formulas.items() if metric in among)
    return [_figure(context, metric, formula, sums, values, lacking) for metric, formula in wanted]


def _figure(
    context: EstimateContext, metric: Metric, formula: Formula, sums: Sums, values: Floats, lacking: Why
) -> Estimate:
    """One figure of the table; `lacking` says why there are no labels, where there are none."""
    if metric in _NOTHING_OF_ONE_LABEL and sums.n_calls and np.count_nonzero(sums.table.sum((0, 2))) < 2:
        return context.undefined(metric, _why(metric, sums), "call", sums.rows.lost())
    estimate = shares.resampled(
        context,
        metric,
        sums,
        lambda table: formula(table, values),
        reason=_why(metric, sums) if len(sums.rows) else lacking,
        ends=_ENDS.get(metric, AGREEMENT),
        bounds=error_bounds(metric, sums.rows) if metric in (MAE, BIAS) else None,
        chance=_CHANCE.get(metric, 0.0),
        notes=(_NOTES.get(metric), *shares.abstentions(sums.rows, "left out")),
        alike=lambda: _mixture(formula, sums, values),
        by_rates=formula in BY_RATES,
        left_out=shares.abstained(sums.rows),
    )
    limit = context.limit(metric)
    if estimate.value is None or limit is None:
        return estimate
    return with_label_word(estimate, limit, sums.rows, formula, _ENDS.get(metric, AGREEMENT))


def _mixture(formula: Formula, sums: Sums, values: Floats) -> Interval | None:
    """Span where clusters are alike: as many random verdicts as the data allow, mixed into the table."""
    calls = np.rint(sums.table.sum((1, 2))).astype(np.int64)
    none = Tally(events=0 * calls, trials=calls, n_calls=sums.n_calls, n_units=sums.n_items)
    random = score(0.0, none.share.assumed_size, quantile(none, 0.975))[1]
    table = sums.table.sum(0)
    chance = np.outer(table.sum(1), table.sum(0)) / table.sum()
    value = float(formula(table, values))
    mixed = float(formula((1 - random) * table + random * chance, values))
    if not np.isfinite(mixed) or abs(value - mixed) < 1e-9:
        return None
    return Interval("random_mixture", min(value, mixed), max(value, mixed))


def _why(metric: Metric, sums: Sums) -> Why:
    if not sums.n_calls:
        return NOT_SCORED
    table = sums.table.sum(0)
    constant = [np.count_nonzero(table.sum(axis)) < 2 for axis in (-1, -2)]
    if all(constant) and metric in (KAPPA, QWK, KRIPPENDORFF_ALPHA):
        return AGREE_CONSTANT
    return CONSTANT_LABELS if constant[0] else "the judge gave every item the same score"


def error_bounds(metric: Metric, labelled: Scores) -> Span | None:
    """`MAE` or `BIAS` in the worst and the best case over the calls without a verdict."""
    rows, scored = labelled.where(~labelled.readable), labelled.where(labelled.decided)
    calls = len(rows) + len(scored)
    gaps = scored.score - scored.expected
    down, up = rows.low - rows.expected, rows.high - rows.expected
    if not calls:
        return None
    if metric == BIAS:
        return float(gaps.sum() + down.sum()) / calls, float(gaps.sum() + up.sum()) / calls
    known = float(np.abs(gaps).sum())
    return known / calls, (known + float(np.maximum(-down, up).sum())) / calls
