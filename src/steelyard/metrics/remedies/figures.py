"""What a remedy is judged by: the figures of the datasheet that a cure may move, and what each call adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct, weak_cache
from steelyard.metrics.basis import Group
from steelyard.metrics.common import ACCURACY, DARK_CURRENT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.answer import Answer, readable
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.pairs.counting import share_of_calls
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE
from steelyard.metrics.pairs.sensitivity import TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE, net_slot_preference
from steelyard.metrics.proportions import proportion
from steelyard.metrics.scores.against_labels import MAE
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.probe import by_scale
from steelyard.metrics.scores.shares import FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE, accuracy, false_rates
from steelyard.metrics.scores.vacuum import dark_current
from steelyard.metrics.stats.intervals import AGREEMENT, SHARE, Ends
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observations


@dataclass(frozen=True, eq=False)
class Calls:
    """What each call of a figure shows, in columns of equal length."""

    value: Floats
    """1 or 0 for an event, else what the call adds to the mean."""
    counts: Mask
    """The call has a verdict that counts."""
    cluster: Ints
    """Number of the call's cluster."""
    unit: Ints
    """Number of the pair or item behind it."""


@dataclass(frozen=True)
class Figure:
    """A figure of the base protocol, from the observations of one judge, real or made of another's calls."""

    metric: Metric
    """What is reported."""
    probe: str
    """Probe whose stimuli it is about."""
    group: Group
    """Condition beside the protocol."""
    columns: Callable[[Observations], Any]
    """Its rows."""
    estimate: Callable[[EstimateContext, Any], Estimate]
    """The same estimator as that of the datasheet."""
    calls: Callable[[Any], Calls]
    """Its rows, call by call."""
    ends: Callable[[Any], Ends] = lambda _: SHARE
    """Its rows to the least and the most that a call can show."""

    @property
    def share(self) -> bool:
        """True where a call either shows the event or does not."""
        return self.metric not in (NET_SLOT_PREFERENCE, MAE)

    def units(self, columns: Any) -> int:
        """Distinct pairs or items among its rows."""
        return len(distinct(self.calls(columns).unit))


def figures_of(seen: Observations) -> Iterator[Figure]:
    """The figures that this judge was shown stimuli for, in reading order."""
    every = _SCORES if seen.pointwise else _PAIRS
    return (figure for figure in every if len(figure.columns(seen)))


def once(pairs: Pairs, figure: Figure) -> Pairs:
    """The same pairs, where both orders have one verdict by construction: it counts once among calls."""
    if not figure.share:
        return replace(pairs, mirrored=True)
    return replace(pairs, v_first=np.full(len(pairs), Answer.ABSENT, dtype=np.int64))


def _of_pairs(
    metric: Metric, probe: str, group: Group, kind: str | None = None, *, labelled: bool = False
) -> Figure:
    """A share of calls on pairs; with a step in the group, on pairs so far apart."""

    def columns(seen: Observations) -> Pairs:
        pairs = collect(seen.filter(probe, "base", None if kind is None else (kind,), labelled=labelled))
        return pairs.where(pairs.delta == group["delta"]) if "delta" in group else pairs

    return Figure(
        metric,
        probe,
        group,
        weak_cache(columns),
        lambda context, pairs: proportion(context, metric, share_of_calls(pairs, metric)),
        lambda pairs: _pair_calls(pairs, metric.events(pairs).astype(np.float64), readable(pairs.calls)),
    )


def _slots(probe: str, group: Group, kind: str) -> Figure:
    """Net slot preference: first less second, of pairs with both verdicts."""

    def calls(pairs: Pairs) -> Calls:
        answers = pairs.calls
        balance = (answers == Answer.FIRST).astype(np.float64) - (answers == Answer.SECOND)
        both = np.repeat(readable(answers).all(axis=1, keepdims=True), 2, axis=1)
        return _pair_calls(pairs, balance, both)

    return Figure(
        NET_SLOT_PREFERENCE,
        probe,
        group,
        weak_cache(lambda seen: collect(seen.filter(probe, "base", (kind,)))),
        net_slot_preference,
        calls,
        lambda _: AGREEMENT,
    )


def _pair_calls(pairs: Pairs, values: Floats, counts: Mask) -> Calls:
    return Calls(values.ravel(), counts.ravel(), np.repeat(pairs.cluster, 2), np.repeat(pairs.pair, 2))


def _of_scores(
    metric: Metric,
    probe: str,
    columns: Callable[[Scores], Scores],
    estimate: Callable[[EstimateContext, Scores], Estimate],
    value: Callable[[Scores], Any],
    ends: Callable[[Scores], Ends] = lambda _: SHARE,
) -> Figure:
    def calls(scores: Scores) -> Calls:
        counts = scores.decided if metric is MAE else scores.readable
        return Calls(np.asarray(value(scores), dtype=np.float64), counts, scores.cluster, scores.item)

    return Figure(
        metric,
        probe,
        {},
        weak_cache(lambda seen: columns(collect_scores(seen.filter(probe, "base")))),
        estimate,
        calls,
        ends,
    )


def _labelled(label: int | None = None) -> Callable[[Scores], Scores]:
    """Rows held against a label of somebody else; with a label, yes and no alone."""

    def rows(scores: Scores) -> Scores:
        mine = scores.where(scores.labelled)
        return mine if label is None else mine.where(mine.binary & (mine.expected == label))

    return rows


def _one_range(scores: Scores) -> Scores:
    """Labelled rows of the one ordinal scale; none where there are several, whose errors do not add."""
    rows = scores.where(scores.labelled & ~scores.binary)
    ends = {*zip(rows.low.tolist(), rows.high.tolist(), strict=True)}
    return rows.where(np.full(len(rows), len(ends) == 1))


def _only(metric: Metric, estimates: Iterator[Estimate] | list[Estimate]) -> Estimate:
    return next(estimate for estimate in estimates if estimate.metric == metric.id)


_EQUALS: Group = {"delta": 0, "kind": "same_subset"}
_PAIRS = (
    _of_pairs(RAW_FALSE_PREFERENCE, "ladder", _EQUALS, "same_subset"),
    _of_pairs(DARK_CURRENT, "vacuum", {}),
    _slots("ladder", _EQUALS, "same_subset"),
    _of_pairs(TARGET_SENSITIVITY, "ladder", {"delta": 1}, "prefix", labelled=True),
    _of_pairs(ACCURACY, "position", {}, labelled=True),
    _slots("position", {}, "natural"),
)
_SCORES = (
    _of_scores(ACCURACY, ORIGINAL, _labelled(), accuracy, lambda scores: scores.right),
    _of_scores(
        FALSE_POSITIVE_RATE,
        ORIGINAL,
        _labelled(0),
        lambda context, scores: _only(FALSE_POSITIVE_RATE, false_rates(context, scores)),
        lambda scores: scores.decided & (scores.score == 1),
    ),
    _of_scores(
        FALSE_NEGATIVE_RATE,
        ORIGINAL,
        _labelled(1),
        lambda context, scores: _only(FALSE_NEGATIVE_RATE, false_rates(context, scores)),
        lambda scores: scores.decided & (scores.score == 0),
    ),
    _of_scores(
        MAE,
        ORIGINAL,
        _one_range,
        lambda context, scores: _only(MAE, by_scale(context, scores, (MAE,))),
        lambda scores: np.abs(scores.score - scores.expected),
        lambda scores: (0.0, float(np.max(scores.high - scores.low))),
    ),
    _of_scores(DARK_CURRENT, "vacuum", lambda scores: scores, dark_current, lambda scores: scores.reports),
)
