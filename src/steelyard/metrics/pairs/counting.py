"""Answers on pairs counted by call, order and cluster; missing verdicts; figures fixed by construction."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from steelyard.core.arrays import Ints, Mask, distinct, weak_cache
from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import NO_CALLS, EstimateContext
from steelyard.metrics.findings import CLEAR
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.columns import Answer, Pairs, readable, shown
from steelyard.metrics.proportions import proportion
from steelyard.metrics.stats.clusters import Tally


def count_calls(pairs: Pairs, test: Callable[[Ints], Mask]) -> Ints:
    """How many of a row's two calls pass the test."""
    return test(pairs.u_first).astype(np.int64) + test(pairs.v_first)


def count_answers(pairs: Pairs, answer: Answer) -> Ints:
    """How many of a row's two calls ended with this answer."""
    return np.equal(pairs.u_first, answer).astype(np.int64) + np.equal(pairs.v_first, answer)


def count_wins(pairs: Pairs, content: str) -> Ints:
    """How many of a row's two calls chose this content, `u` or `v`."""
    return np.asarray(pairs.wins(content).sum(axis=1))


def share_of_calls(pairs: Pairs, metric: Metric) -> Tally:
    """Calls with the event of a metric among those with a verdict."""
    events, trials = metric.events(pairs), readable(pairs.calls)
    return tally(pairs, (events & trials).sum(axis=1), trials.sum(axis=1))


def calls_with(pairs: Pairs, answer: Answer) -> int:
    """Calls that ended with this answer."""
    return int(_endings(pairs)[answer])


@weak_cache
def _endings(pairs: Pairs) -> Ints:
    """Calls by how they ended."""
    return np.bincount(pairs.calls.ravel(), minlength=len(Answer))


def excluded(pairs: Pairs) -> dict[str, int]:
    """Calls without a verdict, as an estimate reports them."""
    return {"unreadable": calls_with(pairs, Answer.UNREADABLE), "failed": calls_with(pairs, Answer.FAILED)}


def by_cluster(pairs: Pairs, column: Ints | Mask) -> Ints:
    """Sum a column within clusters; clusters in the order of their names, whatever their numbers."""
    sums = np.bincount(pairs.cluster, weights=column, minlength=len(pairs.clusters))
    return np.rint(sums[_by_name(pairs.clusters)]).astype(np.int64)


@lru_cache(maxsize=64)
def _by_name(names: tuple[str, ...]) -> list[int]:
    """Numbers of the names, in their order."""
    return sorted(range(len(names)), key=names.__getitem__)


def distinct_pairs(pairs: Pairs, mask: Mask) -> int:
    """Distinct pairs among the rows that the mask keeps."""
    return int(np.count_nonzero(np.bincount(pairs.pair[mask])))


def tally(
    pairs: Pairs, events: Ints | Mask, trials: Ints | Mask, calls_per_trial: int = 1, *, missing: bool = True
) -> Tally:
    """Count events among trials, both given per row; `missing` says whether unread calls were left out."""
    per_cluster = by_cluster(pairs, trials)
    kept = per_cluster > 0
    return Tally(
        events=by_cluster(pairs, events)[kept],
        trials=per_cluster[kept],
        n_calls=int(per_cluster.sum()) * calls_per_trial,
        n_units=distinct_pairs(pairs, trials > 0),
        unreadable=calls_with(pairs, Answer.UNREADABLE) if missing else 0,
        failed=calls_with(pairs, Answer.FAILED) if missing else 0,
        abstained=_abstained(pairs, trials > 0) if missing else 0,
        copies=2 if calls_per_trial == 1 and _in_twos(pairs) else 1,
    )


def _abstained(pairs: Pairs, rows: Mask) -> int:
    """Abstentions among these rows."""
    none = not calls_with(pairs, Answer.ABSTAINED)
    return 0 if none else int(count_answers(pairs, Answer.ABSTAINED)[rows].sum())


def _in_twos(pairs: Pairs) -> bool:
    """Every row has two calls that are one by construction."""
    return pairs.mirrored and bool(np.all(shown(pairs.calls)))


_ENDS = {UNREADABLE_RATE: Answer.UNREADABLE, FAILED_RATE: Answer.FAILED}


def missing_rates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    """`unreadable_rate` and `failed_rate` among all calls that were made."""
    calls = count_calls(pairs, shown)
    return [
        proportion(
            context,
            metric,
            tally(pairs, count_answers(pairs, answer), calls, missing=False),
            reason=NO_CALLS,
        )
        for metric, answer in _ENDS.items()
    ]


BY_CONSTRUCTION = "by construction: both orders are asked, and neither slot can win"
_METHOD = "by_construction"


def by_construction(context: EstimateContext, metric: Metric, pairs: Pairs, unit: str = "call") -> Estimate:
    """Nothing, exactly: both orders of a pair have one verdict."""
    calls = int(count_calls(pairs, readable).sum())
    return context.estimate(
        metric,
        unit=unit,
        value=0.0,
        numerator=0,
        denominator=calls // 2 if unit == "pair" else calls,
        intervals=(Interval(_METHOD, 0.0, 0.0),),
        n_calls=calls,
        n_units=distinct_pairs(pairs, np.ones(len(pairs), dtype=np.bool_)),
        n_clusters=len(distinct(pairs.cluster)),
        excluded=excluded(pairs),
        chance=0.0,
        status=CLEAR,
        note=BY_CONSTRUCTION,
    )


def holds_by_construction(estimate: Estimate) -> bool:
    """True for a figure of this module."""
    return estimate.interval is not None and estimate.interval.method == _METHOD
