"""Position bias: the position test, and the net preference for one slot.

Each complete pair gives d = slot-1 commits − slot-2 commits over its two calls, −2 … 2. Without a
position effect d and −d are equally likely, so the sum is compared with all sums under flipped signs:
cluster sums when there are at least six clusters, pair sums otherwise. Replicates of a pair are summed first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import ceil, lgamma, log, sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, distinct, weak_cache
from steelyard.metrics.basis import WHOLE_PAIRS
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import (
    CLEAR,
    INCONCLUSIVE,
    MARGIN,
    SURE,
    difference_word,
    judge_limit,
    missingness_note,
    missingness_shift,
)
from steelyard.metrics.metric import ZERO, Amount, Limit, Metric
from steelyard.metrics.multiplicity import AdjustedTest
from steelyard.metrics.pairs.columns import Answer, Pairs, decided, readable
from steelyard.metrics.pairs.counting import (
    by_cluster,
    by_construction,
    count_answers,
    count_calls,
    distinct_pairs,
    excluded,
    tally,
)
from steelyard.metrics.pairs.decomposition import SAME_QUALITY, Decomposition, decompose, undecomposed
from steelyard.metrics.proportions import ONE_CLUSTER, join, share_bounds
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.clusters import (
    Tally,
    effective_size,
    percentile_limits,
    ratio,
    resample,
    wilson_cluster,
)
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile
from steelyard.metrics.stats.intervals import DIFFERENCE, Span, clipped, score
from steelyard.metrics.stats.sample_size import ALPHA, detectable_errors, smallest_sufficient
from steelyard.metrics.stats.significance import CLUSTERS, ENOUGH_CLUSTERS, PAIRS, sign_flip
from steelyard.stimuli.natural import NATURAL


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


NET_SLOT_PREFERENCE = Metric(
    "net_slot_preference",
    "net slot preference",
    "Slot-1 preferences minus slot-2 preferences, per call; above zero the judge leans to the first slot.",
    plain="leans to slot 1",
    signed=True,
    direction=ZERO,
    unit="pair",
    amount=Amount(lambda pairs, _: slot_balance(pairs) / 2),
    kinds=(*SAME_QUALITY, NATURAL),
    over_kinds=True,
    basis=WHOLE_PAIRS,
)
DECLARED_PROTOCOL = "base"
"""The only arm whose position test may flag: one test, declared before the data."""


@dataclass(frozen=True, eq=False)
class SlotBalance:
    """Slot-1 commits less slot-2 commits, and calls, of each independent unit."""

    balance: Ints
    """One entry per cluster; per pair when there is one cluster."""
    calls: Ints
    """Calls of the unit."""
    complete: Pairs
    """The rows behind them."""

    @cached_property
    def means(self) -> ClusterMean:
        """The balance per call."""
        return ClusterMean(self.balance, self.calls)

    def limits(self, probability: float, units: int | None = None) -> Span:
        """Two-sided limits at this one-sided probability, by t; without spread, from the slots' shares."""
        spread = self.means.limits(probability, DIFFERENCE, units=units)
        if spread:
            return spread
        count = units or len(self.calls)
        (low_1, high_1), (low_2, high_2) = (
            self._share_limits(slot, probability, count) for slot in (Answer.FIRST, Answer.SECOND)
        )
        return clipped((low_1 - high_2, high_1 - low_2), DIFFERENCE)

    def _share_limits(self, slot: Answer, probability: float, units: int) -> Span:
        counts = self._tally(count_answers(self.complete, slot))
        one_cluster = counts.n_clusters < 2
        quantile = normal_quantile(probability) if one_cluster else t_quantile(probability, units - 1)
        return score(counts.k / counts.n, effective_size(counts) * units / len(self.calls), quantile)

    def _tally(self, events: Ints) -> Tally:
        return tally(self.complete, events, count_calls(self.complete, readable))

    @property
    def detectable(self) -> float | None:
        """Smallest preference these data show with 80 % power; None for a single unit.

        Without spread between units, the variance is that of as many commits as the data allow.
        """
        if len(self.calls) < 2:
            return None
        if not self.means.even:
            return self.means.detectable
        commits = self._tally(count_calls(self.complete, decided))
        most = wilson_cluster(commits)[1]
        return detectable_errors(len(self.calls) - 1) * sqrt(most / effective_size(commits))

    @property
    def calls_total(self) -> int | None:
        """Calls in all after which the present balance is beyond doubt, or within the margin."""
        count = smallest_sufficient(self._decided, max(2, len(self.calls)))
        return None if count is None else ceil(count / len(self.calls) * int(self.calls.sum()))

    def _decided(self, units: int) -> bool:
        low, high = self._planned(SURE, units)
        within = low > -MARGIN and high < MARGIN
        return within or (units >= ENOUGH_CLUSTERS and (low > 0 or high < 0))

    def _planned(self, probability: float, units: int) -> Span:
        """Span in four runs of five; without spread there is none to fall short by."""
        even = self.means.even
        return self.limits(probability, units) if even else self.means.planned(probability, units)


def slot_units(complete: Pairs) -> SlotBalance:
    """The balance per cluster, or per pair when there is one cluster."""
    sum_up = by_cluster if count_clusters(complete) > 1 else by_pair
    calls = sum_up(complete, count_calls(complete, readable))
    return SlotBalance(sum_up(complete, slot_balance(complete))[calls > 0], calls[calls > 0], complete)


def count_clusters(pairs: Pairs) -> int:
    """Clusters with a row."""
    return len(distinct(pairs.cluster))


def net_slot_preference(
    context: EstimateContext,
    pairs: Pairs,
    among_prompts: AdjustedTest | None = None,
    family: Mapping[str, AdjustedTest] | None = None,
) -> Estimate:
    """Slot-1 commits less slot-2 commits per call of complete pairs, with the position test.

    `among_prompts` is the test within a declared family of prompts, of which none is `base`; `family` are the
    tests that were declared with it under `base`.
    """
    parts = decompose(pairs)
    complete = parts.whole
    if not len(complete):
        return context.undefined(NET_SLOT_PREFERENCE, undecomposed(pairs, parts), excluded=excluded(pairs))
    if pairs.mirrored:
        return by_construction(context, NET_SLOT_PREFERENCE, complete)
    test = position_test(parts)
    units = slot_units(complete)
    position = (family or {}).get("position", AdjustedTest.single(test.p))
    stable = (family or {}).get("stable", AdjustedTest.single(test.stable_p))
    declared = context.group.get("protocol") == DECLARED_PROTOCOL
    family_test = position if declared else among_prompts
    bounds = _bounds(parts)
    seen = word = None
    if family_test is not None:
        limits = units.limits(SURE)
        seen = difference_word(limits, family_test.adjusted_p)
        word = difference_word(
            limits, family_test.adjusted_p, moved=missingness_shift(units.means.mean, bounds)
        )
    return context.estimate(
        NET_SLOT_PREFERENCE,
        unit="call",
        value=units.means.mean,
        numerator=test.total,
        denominator=test.calls,
        intervals=_intervals(context, units),
        n_calls=test.calls,
        n_units=distinct_pairs(complete, np.ones(len(complete), dtype=np.bool_)),
        n_clusters=count_clusters(complete),
        excluded=excluded(pairs),
        bounds=bounds,
        chance=0.0,
        status=word,
        missing_decides=seen != word,
        minimum_detectable=units.detectable,
        note=join(
            [
                _note(test, (position, stable), complete, _standing(declared, among_prompts)),
                missingness_note(seen, word),
            ]
        ),
        calls_needed=units.calls_total if seen == INCONCLUSIVE else None,
        reading=reading_of(
            position.is_significant, stable.is_significant, few_commits=few_commits(parts.pairs)
        ),
        p=None if word is None else test.p,
        p_corrected=None if family_test is None else family_test.adjusted_p,
    )


def few_commits(pairs: Pairs) -> bool:
    """Commits are known to be rarer than the margin, whatever missing verdicts would have been."""
    counts = tally(pairs, count_calls(pairs, decided), count_calls(pairs, readable))
    return counts.n > 0 and judge_limit(counts, Limit(MARGIN), share_bounds(counts)) == CLEAR


def _bounds(parts: Decomposition) -> Span:
    """Every missing call a commit into slot 2, or every one into slot 1."""
    known, missing = int(slot_balance(parts.pairs).sum()), sum(excluded(parts.pairs).values())
    calls = 2 * len(parts.pairs)
    return (known - missing) / calls, (known + missing) / calls


def _intervals(context: EstimateContext, units: SlotBalance) -> tuple[Interval, ...]:
    method = "wilson_cluster_difference" if units.means.even else "t_cluster"
    intervals = [Interval(method, *units.limits(SURE))]
    if count_clusters(units.complete) > 1:
        sums = resample(
            np.stack([units.balance, units.calls], axis=1), context.bootstrap_seed(NET_SLOT_PREFERENCE.id)
        )
        resampled = percentile_limits(ratio(sums[:, 0], sums[:, 1]), len(units.calls))
        intervals += [Interval("bootstrap_cluster", *resampled)] if resampled else []
    return tuple(intervals)


def _standing(declared: bool, among_prompts: AdjustedTest | None) -> str:
    if declared:
        return ""
    if among_prompts is None:
        return "not the declared test, so nothing is flagged"
    return f"p = {among_prompts.adjusted_p:.2g} among all prompts of the judge (Holm)"


def _note(
    test: PositionTest, tests: tuple[AdjustedTest, AdjustedTest], complete: Pairs, standing: str
) -> str | None:
    scope = ONE_CLUSTER if count_clusters(complete) == 1 else "these clusters only"
    these = "" if test.flipped == CLUSTERS else scope
    return join(
        [
            f"position test {tests[0].format()} (signs of {test.flipped} flipped)",
            f"stable excess {tests[1].format()}",
            these,
            standing,
        ]
    )
