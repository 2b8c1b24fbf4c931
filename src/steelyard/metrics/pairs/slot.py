"""Position bias: the position test, and the net preference for one slot.

Each complete pair gives d = calls that name slot 1 − calls that name slot 2, −2 … 2. Without a
position effect d and −d are equally likely, so the sum is compared with all sums under flipped signs:
cluster sums when there are at least six clusters, pair sums otherwise. Replicates of a pair are summed first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from math import lgamma, log, sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, weak_cache
from steelyard.core.text import join_notes, pluralize
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import CLEAR, MARGIN, SURE, judge_limit, with_limit_word
from steelyard.metrics.metric import WHOLE_PAIRS, ZERO, Amount, Limit, Metric
from steelyard.metrics.multiplicity import AdjustedTest
from steelyard.metrics.pairs.columns import PairAnswer, Pairs, by_cluster, by_construction, excluded, tally
from steelyard.metrics.pairs.decomposition import SAME_QUALITY, Decomposition, decompose, stable, undecomposed
from steelyard.metrics.proportions import ONE_CLUSTER, share_bounds, with_difference_word
from steelyard.metrics.stats.clusters import ClusterMean, Tally, effective_size, wilson_cluster
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile
from steelyard.metrics.stats.intervals import (
    CLUSTERS,
    DIFFERENCE,
    ENOUGH_CLUSTERS,
    PAIRS,
    Span,
    clipped,
    score,
    sign_flip,
)
from steelyard.metrics.stats.sample_size import calls_to_decide, detectable_errors
from steelyard.stimuli.original import NATURAL


@dataclass(frozen=True)
class PositionTest:
    total: int
    """Calls that name slot 1 less calls that name slot 2, over complete pairs."""
    calls: int
    p: float
    """Two-sided exact sign-flip p of the total."""
    flipped: str
    """Whose sums were flipped: `CLUSTERS` or `PAIRS`."""
    stable_p: float
    """One-sided exact p for more stable pairs than calls that ignore each other would give."""


def reading_of(flagged: bool, stable: bool, *, few_commits: bool) -> str:
    """`mixed`, `positional`, `stable`; else `none` when decided calls are known to be few, or `undecided`."""
    if flagged:
        return "mixed" if stable else "positional"
    if stable:
        return "stable"
    return "none" if few_commits else "undecided"


def slot_balance(pairs: Pairs) -> Ints:
    """Calls that name slot 1 less calls that name slot 2, of each row."""
    first, second = pairs.calls == PairAnswer.FIRST, pairs.calls == PairAnswer.SECOND
    return np.asarray(first.sum(axis=1) - second.sum(axis=1))


def position_test(parts: Decomposition) -> PositionTest:
    return _position_test(parts.whole)


@weak_cache
def _position_test(complete: Pairs) -> PositionTest:
    balance = slot_balance(complete)
    by_clusters = complete.n_clusters >= ENOUGH_CLUSTERS
    sums = by_cluster(complete, balance) if by_clusters else by_pair(complete, balance)
    p, stable_p = sign_flip(sums), stable_excess(*two_sided_counts(complete))
    flipped = CLUSTERS if by_clusters else PAIRS
    return PositionTest(int(balance.sum()), 2 * len(complete), p, flipped, stable_p)


def by_pair(pairs: Pairs, column: Ints) -> Ints:
    return np.rint(np.bincount(pairs.pair, weights=column)).astype(np.int64) if len(pairs) else column


def two_sided_counts(complete: Pairs) -> tuple[int, int, int]:
    """Pairs that name slot 1 twice, stable pairs, slot 2 twice; the first replicate of each pair."""
    once = complete.where(first_replicates(complete))
    slots = PairAnswer.FIRST, PairAnswer.SECOND
    first, second = (int(np.all(once.calls == slot, axis=1).sum()) for slot in slots)
    return first, int(stable(once).sum()), second


def first_replicates(pairs: Pairs) -> Mask:
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
    # A table as long as the next power of two is shared by many tests.
    factorials = _log_factorial_table(1 << max(first, second).bit_length())
    logs = possible * log(2) - factorials[possible]
    for slot in (first, second):
        logs = logs - factorials[(slot - possible) // 2]
    weights = np.exp(logs - logs.max())
    return float(weights[possible >= stable].sum() / weights.sum())


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
"""The only protocol whose position test may flag: one test, declared before the data."""


@dataclass(frozen=True, eq=False)
class SlotBalance:
    """Calls that name slot 1 less calls that name slot 2, and calls, of each independent unit."""

    balance: Ints
    """One entry per cluster; per pair when there is one cluster."""
    calls: Ints
    complete: Pairs

    @classmethod
    def of(cls, complete: Pairs) -> SlotBalance:
        sum_up = by_cluster if complete.n_clusters > 1 else by_pair
        calls = sum_up(complete, complete.readable.sum(axis=1))
        return cls(sum_up(complete, slot_balance(complete))[calls > 0], calls[calls > 0], complete)

    @cached_property
    def means(self) -> ClusterMean:
        return ClusterMean(self.balance, self.calls)

    def limits(self, probability: float, units: int | None = None) -> Span:
        """Two-sided limits at this one-sided probability, by t; without spread, from the slots' shares."""
        spread = self.means.limits(probability, DIFFERENCE, units=units)
        if spread:
            return spread
        count = units or len(self.calls)
        (low_1, high_1), (low_2, high_2) = (
            self._share_limits(slot, probability, count) for slot in (PairAnswer.FIRST, PairAnswer.SECOND)
        )
        return clipped((low_1 - high_2, high_1 - low_2), DIFFERENCE)

    def _share_limits(self, slot: PairAnswer, probability: float, units: int) -> Span:
        counts = self._tally((self.complete.calls == slot).sum(axis=1))
        one_cluster = counts.n_clusters < 2
        quantile = normal_quantile(probability) if one_cluster else t_quantile(probability, units - 1)
        return score(counts.k / counts.n, effective_size(counts) * units / len(self.calls), quantile)

    def _tally(self, events: Ints) -> Tally:
        return tally(self.complete, events, self.complete.readable.sum(axis=1))

    @property
    def detectable(self) -> float | None:
        """Smallest preference these data show with 80 % power; None for a single unit.

        Without spread between units, the variance is that of as many decided calls as the data allow.
        """
        if len(self.calls) < 2:
            return None
        if not self.means.even:
            return self.means.detectable
        commits = self._tally(self.complete.reports.sum(axis=1))
        most = wilson_cluster(commits)[1]
        return detectable_errors(len(self.calls) - 1) * sqrt(most / effective_size(commits))

    def calls_total(self) -> int | None:
        """Calls in all after which the present balance is beyond doubt, or within the margin."""
        # In four runs of five; without spread there is none to fall short by.
        planned = partial(self.limits if self.means.even else self.means.planned, SURE)
        return calls_to_decide(planned, len(self.calls), int(self.calls.sum()), MARGIN, ENOUGH_CLUSTERS)


def net_slot_preference(
    context: EstimateContext,
    pairs: Pairs,
    among_prompts: AdjustedTest | None = None,
    family: Mapping[str, AdjustedTest] | None = None,
) -> Estimate:
    """Calls that name slot 1 less calls that name slot 2, per call of complete pairs, with the position test.

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
    units = SlotBalance.of(complete)
    clusters = complete.n_clusters
    position = (family or {}).get("position", AdjustedTest.single(test.p))
    stable_test = (family or {}).get("stable", AdjustedTest.single(test.stable_p))
    declared = context.group.get("protocol") == DECLARED_PROTOCOL
    decisive = position if declared else among_prompts
    standing = None if declared else "not the declared test, so nothing is flagged"
    if among_prompts and not declared:
        standing = f"p = {among_prompts.adjusted_p:.2g} among all prompts of the judge (Holm)"
    # Every missing call names slot 2, or every one slot 1.
    known, missing = int(slot_balance(parts.pairs).sum()), sum(excluded(parts.pairs).values())
    asked = 2 * len(parts.pairs)
    estimate = context.estimate(
        NET_SLOT_PREFERENCE,
        Sample(test.calls, complete.n_pairs, clusters, excluded(pairs)),
        value=units.means.mean,
        numerator=test.total,
        denominator=test.calls,
        intervals=_intervals(context, units, clusters),
        bounds=((known - missing) / asked, (known + missing) / asked),
        chance=0.0,
        minimum_detectable=units.detectable,
        notes=[
            f"position test {position.format()} (signs of {test.flipped} flipped)",
            f"stable excess {stable_test.format()}",
            None if test.flipped == CLUSTERS else ONE_CLUSTER if clusters == 1 else "these clusters only",
            standing,
        ],
        reading=reading_of(
            position.is_significant, stable_test.is_significant, few_commits=_few_commits(parts.pairs)
        ),
        p=None if decisive is None else test.p,
        p_corrected=None if decisive is None else decisive.adjusted_p,
    )
    if decisive is None:
        return estimate
    return with_difference_word(replace(estimate, calls_needed=units.calls_total()), decisive.alpha)


def _few_commits(pairs: Pairs) -> bool:
    """Decided calls are known to be rarer than the margin, whatever missing verdicts would have been."""
    counts = tally(pairs, pairs.reports.sum(axis=1), pairs.readable.sum(axis=1))
    return counts.n > 0 and judge_limit(counts, Limit(MARGIN), share_bounds(counts)) == CLEAR


def _intervals(context: EstimateContext, units: SlotBalance, clusters: int) -> tuple[Interval, ...]:
    method = "wilson_cluster_difference" if units.means.even else "t_cluster"
    intervals = [Interval(method, *units.limits(SURE))]
    seed = context.bootstrap_seed(NET_SLOT_PREFERENCE.id)
    percentiles = units.means.bootstrap(seed) if clusters > 1 else None
    intervals += [Interval("bootstrap_cluster", *percentiles)] if percentiles else []
    return tuple(intervals)


Count = Callable[[Pairs], Tally]
"""Events and trials among the calls of some pairs."""

EVEN_TO = 0.6
"""Share of calls in one slot up to which slots count as even."""


@dataclass(frozen=True, eq=False)
class SlotCounts:
    """The better text stood in one slot more often, so that a fixed choice of slot looks right.

    Both orders of every pair put it in either slot equally often. Verdicts recorded elsewhere need not, and a
    share of right calls then speaks of the slot that was tried more often. What the calls that the other slot
    lacks could have been bounds the share over both.
    """

    pairs: Pairs

    @cached_property
    def parts(self) -> tuple[Pairs, Pairs]:
        """The calls with the better text in slot 1, and those with it in slot 2; others count as not made."""
        first, absent = self.pairs.better_first, np.int64(PairAnswer.ABSENT)
        second = (self.pairs.better > 0)[:, None] & ~first
        calls = [np.where(here, self.pairs.calls, absent).T for here in (first, second)]
        in_first, in_second = (replace(self.pairs, u_first=u, v_first=v) for u, v in calls)
        return in_first, in_second

    @cached_property
    def calls(self) -> tuple[int, int]:
        first, second = (int(part.shown.sum()) for part in self.parts)
        return first, second

    @property
    def share(self) -> float:
        """What always naming the slot that was tried more often gets right; 0 without a call."""
        return max(self.calls) / max(1, sum(self.calls))


def with_slot_imbalance(estimate: Estimate, limit: Limit | None, pairs: Pairs, count: Count) -> Estimate:
    slots = SlotCounts(pairs)
    if estimate.value is None or slots.share <= EVEN_TO:
        return estimate
    counts, parts = count(pairs), [count(part) for part in slots.parts]
    low, high = _bounds(counts, parts)
    bounds = min(low, estimate.value), max(high, estimate.value)
    mean = None
    if all(part.n for part in parts):
        shares = [part.k / part.n for part in parts]
        mean = f"both slots counted alike, the share is {np.mean(shares):.2f}"
    note = join_notes([_remark(slots.calls), mean, estimate.note])
    details = {**estimate.details, "slot_calls": slots.calls}
    bounded = replace(estimate, bounds=bounds, note=note, calls_needed=None, details=details)
    return with_limit_word(bounded, limit.allowed) if limit else replace(bounded, status=None)


def slot_imbalance_note(estimate: Estimate) -> str | None:
    """Why uneven slots leave an estimate undecided; None where they are even."""
    calls = estimate.details.get("slot_calls")
    return None if calls is None else imbalance_note(calls)


def imbalance_note(calls: tuple[int, int]) -> str:
    return _remark(calls) if 0 in calls else f"{_remark(calls)}: not told from a preference for that slot"


def _remark(calls: tuple[int, int]) -> str:
    if 0 in calls:
        return "the better text stood in one slot only: not told from a preference for that slot"
    return (
        f"the better text stood in slot {1 + int(calls[1] > calls[0])} in {max(calls)} of "
        f"{pluralize(sum(calls), 'call')}"
    )


def _bounds(counts: Tally, parts: list[Tally]) -> Span:
    """The share if both slots had as many calls: those that one lacks lie within its own limits."""
    made = [part.n + part.missing for part in parts]
    lesser = parts[int(made[1] < made[0])]
    lacking = abs(made[0] - made[1])
    low, high = 0.0, 1.0
    if lesser.n:
        # Whatever became of the missing calls of that slot.
        low, high = wilson_cluster(lesser)
        asked = lesser.n + lesser.missing
        low, high = low * lesser.n / asked, (high * lesser.n + lesser.missing) / asked
    total = counts.n + counts.missing + lacking
    return (counts.k + lacking * low) / total, (counts.k + counts.missing + lacking * high) / total
