"""A panel of judges: mean and spread of a share on the same probe; their votes, and how errors correlate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.estimate import NO_VERDICTS, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.metric import Metric
from steelyard.metrics.proportions import ACCURACY, ONE_CLUSTER
from steelyard.metrics.run import volatility
from steelyard.metrics.scores.columns import Outcome, Scores
from steelyard.metrics.scores.edited_texts import INVARIANCE
from steelyard.metrics.scores.probe import probe_scores
from steelyard.metrics.stats.clusters import around, left_out, left_out_error, ratio, sum_rows
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import AGREEMENT, Span
from steelyard.verdicts.majority_vote import plurality
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Abstained, Decided, Unreadable, Verdict

_described = partial(Metric, estimated=False)
JUDGES_MEAN = _described(
    "judges_mean", "mean over judges", "Mean of a probe's share over the judges of the run."
)
JUDGES_SD = _described(
    "judges_sd",
    "spread over judges",
    "Standard deviation of a probe's share over judges; part of it is sampling.",
)
JUDGES_SD_SAMPLING = _described(
    "judges_sd_sampling",
    "of sampling alone",
    "Standard deviation over judges that shares on so few items show by chance.",
)
JUDGES_MIN = _described("judges_min", "least judge", "Least share of any judge on a probe.")
JUDGES_MAX = _described("judges_max", "greatest judge", "Greatest share of any judge on a probe.")

PANEL = "panel"
"""What stands for a judge's name where a figure is of several judges."""
METRICS = (JUDGES_MEAN, JUDGES_SD, JUDGES_SD_SAMPLING, JUDGES_MIN, JUDGES_MAX)


def panel_metrics(
    estimates: Iterable[Estimate], observations: Mapping[str, Observations], seed: int
) -> Iterator[Estimate]:
    """Five figures for each share and probe that at least two of these judges have."""
    whole = [e for e in estimates if e.is_overall and e.value is not None and e.judge in observations]
    columns = {ACCURACY: volatility.accuracy_column, INVARIANCE: volatility.invariance_column}
    for metric, column in columns.items():
        for probe in dict.fromkeys(e.probe for e in whole if e.metric == metric.id):
            shares = [e for e in whole if (e.probe, e.metric) == (probe, metric.id)]
            if len(shares) > 1:
                context = EstimateContext(PANEL, probe, {"protocol": "base", "of": metric.id}, seed)
                rows = (probe_scores(probe, "base", observations[e.judge], unchanged=True) for e in shares)
                # What judges would differ by were their true shares equal; they saw the same items.
                sampling = volatility.sampling_sd(volatility.share_table([column(scores) for scores in rows]))
                yield from _figures(context, shares, sampling)


def _figures(context: EstimateContext, shares: list[Estimate], sampling: float | None) -> Iterator[Estimate]:
    extremes = {JUDGES_MIN: min, JUDGES_MAX: max}
    figures = volatility.spread_figures([volatility.share_of(e) for e in shares], "judge", sampling)
    for metric, (value, note) in zip(METRICS, figures, strict=True):
        who = members([extremes[metric](shares, key=volatility.share_of).judge]) if metric in extremes else {}
        yield context.for_subgroup(**who).estimate(
            metric, Sample.over(shares), unit="judge", value=value, note=note or None
        )


def members(judges: Sequence[str]) -> dict[str, str | float]:
    """Judges as the keys of a group: `judge_1`, `judge_2`, …"""
    return {f"judge_{number}": name for number, name in enumerate(judges, start=1)}


@dataclass(frozen=True, eq=False)
class VoteMatrix:
    votes: Floats
    """(items × judges) answers; NaN where there is none."""
    labels: Floats
    """Reference of each item; NaN where there is none."""
    cluster: Ints
    judges: tuple[str, ...]
    scale: Ints
    """Number of each item's scale: a 1 of one scale is no 1 of another."""
    inputs: tuple[str, ...] = ()

    def where(self, mask: Mask) -> VoteMatrix:
        columns = self.votes[mask], self.labels[mask], self.cluster[mask]
        inputs = tuple(name for name, kept in zip(self.inputs, mask.tolist(), strict=False) if kept)
        return VoteMatrix(*columns, self.judges, self.scale[mask], inputs)


def vote_matrix(scores: Mapping[str, Scores]) -> VoteMatrix:
    """Judges by name as columns, inputs that any of them saw as rows; repeats are put to the vote.

    An input whose label is the verdict of one of the judges has none among them: that judge is always right.
    """
    judges = tuple(sorted(scores))
    inputs = sorted({name for columns in scores.values() for name in columns.stimuli})
    number = {name: index for index, name in enumerate(inputs)}
    votes = np.full((len(inputs), len(judges)), np.nan)
    labels = np.full(len(inputs), np.nan)
    own = np.zeros(len(inputs), dtype=np.bool_)
    clusters = np.full(len(inputs), "", dtype=np.object_)
    ends = np.full((len(inputs), 2), -1, dtype=np.int64)
    for column, judge in enumerate(judges):
        columns = scores[judge]
        rows = np.array([number[name] for name in columns.stimuli], dtype=np.int64)
        votes[rows, column] = _answers(columns)
        labels[rows[columns.stimulus]] = columns.expected
        own[rows[columns.stimulus[columns.own_label]]] = True
        clusters[rows[columns.stimulus]] = np.array(columns.clusters, dtype=np.object_)[columns.cluster]
        ends[rows[columns.stimulus]] = np.stack([columns.low, columns.high], axis=1)
    scales = [f"{low}-{high}" for low, high in ends.tolist()]
    cluster, scale = (
        np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1].astype(np.int64)
        for names in (clusters.tolist(), scales)
    )
    return VoteMatrix(votes, np.where(own, np.nan, labels), cluster, judges, scale, tuple(inputs))


_UNASKED, _LOST, _ABSTAINED = -3, -2, -1
"""In the place of a score, which is never negative."""


def _answers(scores: Scores) -> Floats:
    """One answer per input, by the vote of its repeats; NaN where they give none."""
    repeats = int(scores.replicate.max()) + 1 if len(scores) else 1
    table = np.full((len(scores.stimuli), repeats), _UNASKED, dtype=np.int64)
    lost = np.where(scores.outcome == Outcome.ABSTAINED, _ABSTAINED, _LOST)
    table[scores.stimulus, scores.replicate] = np.where(scores.decided, scores.score, lost)
    lines, place = np.unique(table, axis=0, return_inverse=True)
    answers = []
    for line in lines.tolist():
        verdicts: list[Verdict] = [
            Abstained() if code == _ABSTAINED else Unreadable("") if code == _LOST else Decided(str(code))
            for code in line
            if code != _UNASKED
        ]
        common = plurality(verdicts, False) if verdicts else None
        answers.append(float(common.value) if isinstance(common, Decided) else np.nan)
    return np.array(answers, dtype=np.float64)[place.reshape(-1)]


ERROR_CORRELATION = Metric(
    "error_correlation",
    meaning="Correlation of two judges' errors over inputs; at 1 they err as one, and a jury gains nothing.",
    plain="err together",
    signed=True,
)

TOO_FEW = "a single cluster decides whether a judge errs at all, or they err as one: no interval"


def error_correlations(context: EstimateContext, votes: VoteMatrix) -> Iterator[Estimate]:
    wrong = np.where(np.isnan(votes.votes), np.nan, votes.votes != votes.labels[:, None])
    for first, second in combinations(range(len(votes.judges)), 2):
        here = context.for_subgroup(**members((votes.judges[first], votes.judges[second])))
        both = ~np.isnan(wrong[:, first]) & ~np.isnan(wrong[:, second])
        yield error_correlation(here, wrong[both][:, [first, second]], votes.cluster[both])


def error_correlation(context: EstimateContext, wrong: Floats, cluster: Ints) -> Estimate:
    """φ of two columns of errors; inputs without a verdict of both are left out."""
    table = sum_rows(cluster, np.column_stack([np.ones(len(wrong)), wrong, wrong.prod(-1)]))
    value = float(_phi(table.sum(0)))
    if not np.isfinite(value):
        reason = "one of the two judges is always right or always wrong" if len(wrong) else NO_VERDICTS
        return context.undefined(ERROR_CORRELATION, reason, "input")
    limits = _limits(table, value)
    sample = Sample(2 * len(wrong), len(wrong), len(table))
    intervals = (Interval("jackknife_cluster", *limits),) if limits else ()
    notes = [None if limits else TOO_FEW, ONE_CLUSTER if len(table) < 2 else None]
    return context.estimate(ERROR_CORRELATION, sample, notes, unit="input", value=value, intervals=intervals)


def _limits(table: Floats, value: float) -> Span | None:
    """Fisher's z with the error of left-out clusters, and never less than that of as many independent inputs.

    With few errors the clusters left out hardly differ, most of all where the two judges err apart.
    """
    without = left_out(table, _phi)
    if len(table) < 2 or not np.all(np.isfinite(without)) or abs(value) >= 1:
        return None
    inputs = float(table[:, 0].sum())
    independent = (1 - value**2) / sqrt(max(inputs - 3, 1.0))
    error = max(left_out_error(without), independent)
    return around(value, t_quantile(0.975, len(table) - 1) * error, AGREEMENT)


def _phi(sums: Floats) -> Floats:
    """(n·Σxy − Σx·Σy) / √(Σx(n − Σx)·Σy(n − Σy)): the correlation of two columns of 0 and 1."""
    n, x, y, both = (sums[..., column] for column in range(4))
    spread = x * (n - x) * y * (n - y)
    return ratio(n * both - x * y, np.sqrt(np.maximum(spread, 0.0)))
