"""Target figures: the figures of the datasheet that a remedy may move, and the paired change of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import isclose
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct, numbered, weak_cache
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.metric import HIGH, KNOWN_ANSWER, Group, Metric
from steelyard.metrics.pairs.choices import NO_VERDICT
from steelyard.metrics.pairs.columns import PairAnswer, Pairs, collect, excluded, readable, share_of_calls
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE
from steelyard.metrics.pairs.ladder import TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE, net_slot_preference
from steelyard.metrics.proportions import ACCURACY, DARK_CURRENT, proportion
from steelyard.metrics.scores.against_labels import MAE
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.probe import by_scale, dark_current
from steelyard.metrics.scores.shares import FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE, accuracy, false_rates
from steelyard.metrics.stats.clusters import ClusterMean, Tally, wilson_cluster
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import AGREEMENT, SHARE, Ends, clipped, score
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observations

HALF_TIES = Metric(
    "accuracy_half_ties",
    "accuracy, a tie half",
    "Labelled natural pairs: calls that name the better text, a tie counted half, as in merit; of remedies.",
    direction=HIGH,
    basis=KNOWN_ANSWER,
)


@dataclass(frozen=True, eq=False)
class CallValues:
    value: Floats
    """1 or 0 for an event, else what the call adds to the mean."""
    counts: Mask
    cluster: Ints
    unit: Ints


@dataclass(frozen=True, eq=False)
class TargetFigure:
    """A figure of the base protocol, from the observations of one judge, real or made of another's calls."""

    metric: Metric
    probe: str
    group: Group
    columns: Callable[[Observations], Any]
    estimate: Callable[[EstimateContext, Any], Estimate]
    """The same estimator as that of the datasheet."""
    calls: Callable[[Any], CallValues]
    ends: Callable[[Any], Ends] = lambda _: SHARE
    """Its rows to the least and the most that a call can show."""

    @property
    def share(self) -> bool:
        """True where a call either shows the event or does not."""
        return self.metric not in (NET_SLOT_PREFERENCE, MAE, HALF_TIES)

    def units(self, columns: Any) -> int:
        return len(distinct(self.calls(columns).unit))


def target_figures(seen: Observations) -> Iterator[TargetFigure]:
    """Those that these calls have; a judge without a call has none, and is of no form."""
    every = (_SCORES if seen.pointwise else _PAIRS) if len(seen) else ()
    return (figure for figure in every if len(figure.columns(seen)))


def count_mirrored_once(pairs: Pairs, figure: TargetFigure) -> Pairs:
    """The same pairs, where both orders have one verdict by construction: it counts once among calls."""
    if not figure.share:
        return replace(pairs, mirrored=True)
    return replace(pairs, v_first=np.full(len(pairs), PairAnswer.ABSENT, dtype=np.int64))


def _of_pairs(
    metric: Metric, probe: str, group: Group, kind: str | None = None, *, labelled: bool = False
) -> TargetFigure:
    """A share of calls on pairs; with a step in the group, on pairs so far apart."""

    def columns(seen: Observations) -> Pairs:
        pairs = collect(seen.filter(probe, "base", None if kind is None else (kind,), labelled=labelled))
        return pairs.where(pairs.delta == group["delta"]) if "delta" in group else pairs

    return TargetFigure(
        metric,
        probe,
        group,
        weak_cache(columns),
        lambda context, pairs: proportion(context, metric, share_of_calls(pairs, metric)),
        lambda pairs: _pair_calls(pairs, metric.events(pairs).astype(np.float64), pairs.readable),
    )


def _slots(probe: str, group: Group, kind: str) -> TargetFigure:
    """Net slot preference: first less second, of pairs with both verdicts."""

    def calls(pairs: Pairs) -> CallValues:
        answers = pairs.calls
        balance = (answers == PairAnswer.FIRST).astype(np.float64) - (answers == PairAnswer.SECOND)
        both = np.repeat(readable(answers).all(axis=1, keepdims=True), 2, axis=1)
        return _pair_calls(pairs, balance, both)

    @weak_cache
    def columns(seen: Observations) -> Pairs:
        return collect(seen.filter(probe, "base", (kind,)))

    figure = TargetFigure(NET_SLOT_PREFERENCE, probe, group, columns, net_slot_preference, calls)
    return replace(figure, ends=lambda _: AGREEMENT)


def _half_ties(probe: str) -> TargetFigure:
    """Right choices among labelled pairs: a tie where orders differ loses half of one."""

    def calls(pairs: Pairs) -> CallValues:
        return _pair_calls(pairs, pairs.points, pairs.readable & (pairs.better > 0)[:, None])

    def estimate(context: EstimateContext, pairs: Pairs) -> Estimate:
        every = calls(pairs)
        counts = every.counts
        if not counts.any():
            return context.undefined(HALF_TIES, NO_VERDICT, "call", excluded(pairs))
        mine = CallValues(every.value[counts], counts[counts], every.cluster[counts], every.unit[counts])
        asked = len(mine.value) // (2 if pairs.mirrored else 1)
        sample = Sample(asked, len(distinct(mine.unit)), len(distinct(mine.cluster)), excluded(pairs))
        interval = _of_mean(mine, SHARE)
        return context.estimate(HALF_TIES, sample, value=float(mine.value.mean()), intervals=(interval,))

    @weak_cache
    def columns(seen: Observations) -> Pairs:
        return collect(seen.filter(probe, "base", labelled=True))

    return TargetFigure(HALF_TIES, probe, {}, columns, estimate, calls)


def _pair_calls(pairs: Pairs, values: Floats, counts: Mask) -> CallValues:
    return CallValues(values.ravel(), counts.ravel(), np.repeat(pairs.cluster, 2), np.repeat(pairs.pair, 2))


def _of_scores(
    metric: Metric,
    probe: str,
    columns: Callable[[Scores], Scores],
    estimate: Callable[[EstimateContext, Scores], Estimate],
    value: Callable[[Scores], Any] | None = None,
    ends: Callable[[Scores], Ends] = lambda _: SHARE,
) -> TargetFigure:
    def calls(scores: Scores) -> CallValues:
        counts = scores.decided if metric is MAE else scores.readable
        values = (value or metric.events)(scores)
        return CallValues(np.asarray(values, dtype=np.float64), counts, scores.cluster, scores.item)

    @weak_cache
    def rows(seen: Observations) -> Scores:
        return columns(collect_scores(seen.filter(probe, "base")))

    return TargetFigure(metric, probe, {}, rows, estimate, calls, ends)


def _one_range(scores: Scores) -> Scores:
    """Labelled rows of the one ordinal scale; none where there are several, whose errors do not add."""
    rows = scores.where(scores.labelled & ~scores.binary)
    ends = {*zip(rows.low.tolist(), rows.high.tolist(), strict=True)}
    return rows.where(np.full(len(rows), len(ends) == 1))


def _only(metric: Metric, estimates: Iterator[Estimate] | list[Estimate]) -> Estimate:
    return next(estimate for estimate in estimates if estimate.metric == metric.id)


def _errors(metric: Metric, label: int) -> TargetFigure:
    """Wrong verdicts among yes/no items of a label."""
    return _of_scores(
        metric,
        ORIGINAL,
        lambda scores: scores.where(scores.labelled & scores.binary & (scores.expected == label)),
        lambda context, scores: _only(metric, false_rates(context, scores)),
        lambda scores: scores.decided & (scores.score == 1 - label),
    )


_EQUALS: Group = {"delta": 0, "kind": "same_subset"}
_PAIRS = (
    _of_pairs(RAW_FALSE_PREFERENCE, "ladder", _EQUALS, "same_subset"),
    _of_pairs(DARK_CURRENT, "vacuum", {}),
    _slots("ladder", _EQUALS, "same_subset"),
    _of_pairs(TARGET_SENSITIVITY, "ladder", {"delta": 1}, "prefix", labelled=True),
    _half_ties("position"),
    _slots("position", {}, "natural"),
)
_SCORES = (
    _of_scores(ACCURACY, ORIGINAL, lambda scores: scores.where(scores.labelled), accuracy),
    _errors(FALSE_POSITIVE_RATE, 0),
    _errors(FALSE_NEGATIVE_RATE, 1),
    _of_scores(
        MAE,
        ORIGINAL,
        _one_range,
        lambda context, scores: _only(MAE, by_scale(context, scores, (MAE,))),
        lambda scores: np.abs(scores.score - scores.expected),
        lambda scores: (0.0, float(np.max(scores.high - scores.low))),
    ),
    _of_scores(DARK_CURRENT, "vacuum", lambda scores: scores, dark_current),
)


NO_SHARED = "no call has a verdict with the remedy and without"
NO_SPREAD = "no spread between clusters: limits from the largest share of other differences that fits"


@dataclass(frozen=True)
class Change:
    """The figure of the mitigated judge less that of the judge as measured, on the same calls."""

    uncured: float | None
    cured: float | None
    difference: float | None
    interval: Interval | None = None
    n_calls: int = 0
    n_units: int = 0
    n_clusters: int = 0
    note: str | None = None
    """Why there is no difference, or how its interval was made where clusters do not differ."""
    uncured_interval: Interval | None = None


def change(
    figure: TargetFigure, before: Observations, calls: tuple[Observations, Observations], measured: Estimate
) -> Change:
    """The paired difference between the same `calls` before and after, each with a verdict.

    `measured` is the figure of `before`, whose interval holds where the calls are the same.
    """
    shown = figure.columns(before)
    first, second = (figure.calls(figure.columns(seen)) for seen in calls)
    both = first.counts & second.counts
    if not both.any():
        return Change(None, None, None, note=NO_SHARED)
    cluster, unit = (numbered(column[both])[1] for column in (first.cluster, first.unit))
    asked = CallValues(first.value[both], both[both], cluster, unit)
    changed = replace(asked, value=second.value[both] - asked.value)
    low, high = figure.ends(shown)
    interval = _of_events(asked, changed) if figure.share else _of_mean(changed, (low - high, high - low))
    without = measured.interval
    if measured.value is None or not isclose(measured.value, asked.value.mean()):
        without = _of_share(asked) if figure.share else _of_mean(asked, (low, high))
    values = asked.value, second.value[both], changed.value
    uncured, cured, difference = (float(each.mean()) for each in values)
    units, clusters = len(distinct(asked.unit)), len(distinct(asked.cluster))
    note = NO_SPREAD if interval.method == "wilson_mean" else None
    return Change(uncured, cured, difference, interval, int(both.sum()), units, clusters, note, without)


def _of_events(asked: CallValues, changed: CallValues) -> Interval:
    before = asked.value.astype(np.int64)
    paired = Paired(before, before + changed.value.astype(np.int64), asked.cluster, asked.unit)
    return Interval("tango_cluster" if paired.n_clusters > 1 else "tango", *paired.limits())


def _of_share(asked: CallValues) -> Interval:
    events, trials = (np.bincount(asked.cluster, weights) for weights in (asked.value, None))
    calls, units = len(asked.value), len(distinct(asked.unit))
    tally = Tally(np.rint(events).astype(np.int64), trials.astype(np.int64), calls, units)
    return Interval("wilson_cluster" if tally.n_clusters > 1 else "wilson_units", *wilson_cluster(tally))


def _of_mean(calls: CallValues, ends: Ends) -> Interval:
    """Student's t over clusters, or over pairs or items where there is one; where these do not differ, as far
    as the largest share of other values that fits can draw the mean."""
    several = len(distinct(calls.cluster)) > 1
    mean = ClusterMean.of(calls.cluster if several else calls.unit, calls.value)
    if limits := mean.limits(0.975, ends):
        return Interval("t_cluster", *limits)
    most = score(0.0, mean.assumed_size, t_quantile(0.975, max(1, mean.units - 1)))[1]
    drawn = mean.mean - most * (mean.mean - ends[0]), mean.mean + most * (ends[1] - mean.mean)
    return Interval("wilson_mean", *clipped(drawn, ends))
