"""Position: the one test that may flag it, and how it is told from stable preferences.

Each complete pair gives d = slot-1 commits − slot-2 commits over its two calls, −2 … 2. Without a
position effect d and −d are equally likely, so the sum is compared with all sums under flipped signs:
cluster sums when there are at least six clusters, pair sums otherwise. Replicates of a pair are summed first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import lgamma, log

import numpy as np

from steelyard.core.arrays import Floats, Ints, distinct, weak_cache
from steelyard.metrics.pairs.answer import Answer
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import by_cluster, count_answers
from steelyard.metrics.pairs.decomposition import Decomposition
from steelyard.metrics.stats.sample_size import ALPHA
from steelyard.metrics.stats.significance import CLUSTERS, ENOUGH_CLUSTERS, PAIRS, sign_flip


@dataclass(frozen=True)
class PositionTest:
    """Result of the position test and of the test for stable preferences."""

    total: int
    """Slot-1 commits less slot-2 commits, over complete pairs."""
    calls: int
    """Calls of complete pairs."""
    p: float
    """Two-sided exact sign-flip p of the total."""
    flipped: str
    """Whose sums were flipped: `CLUSTERS` or `PAIRS`."""
    stable_p: float
    """One-sided exact p for more stable pairs than calls that ignore each other would give."""

    @property
    def flagged(self) -> bool:
        """Slots are treated differently."""
        return self.p <= ALPHA

    @property
    def stable(self) -> bool:
        """Contents are preferred across orders more often than by chance."""
        return self.stable_p <= ALPHA

    def reading(self, *, few_commits: bool) -> str:
        """`mixed`, `positional`, `stable`; else `none` when commits are known to be few, or `undecided`."""
        return reading_of(self.flagged, self.stable, few_commits=few_commits)


def reading_of(flagged: bool, stable: bool, *, few_commits: bool) -> str:
    """What both tests together say in a word."""
    if flagged:
        return "mixed" if stable else "positional"
    if stable:
        return "stable"
    return "none" if few_commits else "undecided"


def slot_balance(pairs: Pairs) -> Ints:
    """Slot-1 commits less slot-2 commits of each row."""
    return np.subtract(count_answers(pairs, Answer.FIRST), count_answers(pairs, Answer.SECOND))


def position_test(parts: Decomposition) -> PositionTest:
    """Both tests on the complete pairs of a decomposition."""
    return _of_complete(parts.whole)


@weak_cache
def _of_complete(complete: Pairs) -> PositionTest:
    balance = slot_balance(complete)
    by_clusters = len(distinct(complete.cluster)) >= ENOUGH_CLUSTERS
    sums = by_cluster(complete, balance) if by_clusters else by_pair(complete, balance)
    return PositionTest(
        total=int(balance.sum()),
        calls=2 * len(complete),
        p=sign_flip(sums),
        flipped=CLUSTERS if by_clusters else PAIRS,
        stable_p=stable_excess(*two_sided_counts(complete)),
    )


def by_pair(pairs: Pairs, column: Ints) -> Ints:
    """Sum a column over the replicates of each pair."""
    return np.rint(np.bincount(pairs.pair, weights=column)).astype(np.int64) if len(pairs) else column


def two_sided_counts(complete: Pairs) -> tuple[int, int, int]:
    """Pairs with both commits in slot 1, stable pairs, both in slot 2; the first replicate of each pair."""
    once = complete.where(first_replicates(complete))
    u, v = once.u_first, once.v_first
    stable = ((u == Answer.FIRST) & (v == Answer.SECOND)) | ((u == Answer.SECOND) & (v == Answer.FIRST))
    return (
        int(np.count_nonzero((u == Answer.FIRST) & (v == Answer.FIRST))),
        int(np.count_nonzero(stable)),
        int(np.count_nonzero((u == Answer.SECOND) & (v == Answer.SECOND))),
    )


def first_replicates(pairs: Pairs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """One row per pair: its lowest replicate."""
    if not pairs.replicate.any():
        return np.ones(len(pairs), dtype=np.bool_)
    lowest = np.full(len(pairs.names), np.iinfo(np.int64).max)
    np.minimum.at(lowest, pairs.pair, pairs.replicate)
    return np.asarray(pairs.replicate == lowest[pairs.pair], dtype=np.bool_)


def stable_excess(both_first: int, stable: int, both_second: int) -> float:
    """Exact Hardy–Weinberg p for at least this many stable pairs, given how often each slot won.

    P(h) ∝ 2^h / (a! h! b!) with 2a + h and 2b + h fixed, the law of heterozygotes under random mating.
    """
    first, second = 2 * both_first + stable, 2 * both_second + stable
    possible = np.arange(min(first, second) % 2, min(first, second) + 1, 2)
    factorials = _log_factorials(max(first, second))
    logs = possible * log(2) - factorials[possible]
    for slot in (first, second):
        logs = logs - factorials[(slot - possible) // 2]
    weights = np.exp(logs - logs.max())
    return float(weights[possible >= stable].sum() / weights.sum())


def _log_factorials(most: int) -> Floats:
    """log n! for n from 0 to at least this many; the table is as long as the next power of two."""
    return _log_factorial_table(1 << most.bit_length())


@cache
def _log_factorial_table(size: int) -> Floats:
    return np.fromiter(map(lgamma, range(1, size + 1)), dtype=np.float64, count=size)
