"""Answers counted: by call, by order, by task."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.metrics.pairs.columns import ABSENT, ABSTAINED, FAILED, SECOND, TIE, UNREADABLE, Pairs
from steelyard.metrics.stats.arrays import Ints, Mask
from steelyard.metrics.stats.tally import Tally


def decided(codes: Ints) -> Mask:
    """The answer is a slot."""
    return np.less_equal(codes, SECOND)


def neither(codes: Ints) -> Mask:
    """A tie, or a valid abstention."""
    return np.isin(codes, (TIE, ABSTAINED))


def readable(codes: Ints) -> Mask:
    """The call ended in a verdict that counts."""
    return np.less_equal(codes, ABSTAINED)


def shown(codes: Ints) -> Mask:
    """The call was made."""
    return np.not_equal(codes, ABSENT)


def count_calls(pairs: Pairs, test: Callable[[Ints], Mask]) -> Ints:
    """How many of a row's two calls pass the test."""
    return test(pairs.u_first).astype(np.int64) + test(pairs.v_first)


def calls_with(pairs: Pairs, code: int) -> int:
    """Calls that ended with this answer code."""
    return int(np.count_nonzero(pairs.u_first == code) + np.count_nonzero(pairs.v_first == code))


def excluded(pairs: Pairs) -> dict[str, int]:
    """Calls without a verdict, as an estimate reports them."""
    return {"unreadable": calls_with(pairs, UNREADABLE), "failed": calls_with(pairs, FAILED)}


def by_task(pairs: Pairs, column: Ints | Mask) -> Ints:
    """Sum a column within tasks; tasks in the order of their names, whatever their numbers."""
    sums = np.bincount(pairs.cluster, weights=column, minlength=len(pairs.clusters))
    names = pairs.clusters
    order = sorted(range(len(names)), key=names.__getitem__)
    return np.rint(sums[order]).astype(np.int64)


def distinct_pairs(pairs: Pairs, mask: Mask) -> int:
    """Distinct pairs among the rows that the mask keeps."""
    return int(np.count_nonzero(np.bincount(pairs.pair[mask])))


def tally(
    pairs: Pairs, events: Ints | Mask, trials: Ints | Mask, calls_per_trial: int = 1, *, missing: bool = True
) -> Tally:
    """Count events among trials, both given per row; `missing` says whether unread calls were left out."""
    per_task = by_task(pairs, trials)
    kept = per_task > 0
    return Tally(
        events=by_task(pairs, events)[kept],
        trials=per_task[kept],
        n_calls=int(per_task.sum()) * calls_per_trial,
        n_units=distinct_pairs(pairs, trials > 0),
        unreadable=calls_with(pairs, UNREADABLE) if missing else 0,
        failed=calls_with(pairs, FAILED) if missing else 0,
        abstained=calls_with(pairs.where(trials > 0), ABSTAINED) if missing else 0,
    )
