"""Net slot preference: by how much one slot is favoured between equals, and what the data can tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt

import numpy as np

from steelyard.core.arrays import Ints, distinct
from steelyard.metrics.amount import Amount
from steelyard.metrics.basis import WHOLE_PAIRS
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import (
    CLEAR,
    INCONCLUSIVE,
    MARGIN,
    SURE,
    by_loss,
    difference_word,
    judge_limit,
    moved_by,
)
from steelyard.metrics.metric import ZERO, Limit, Metric
from steelyard.metrics.multiplicity import AdjustedTest
from steelyard.metrics.pairs.answer import Answer, decided, readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.constructed import by_construction
from steelyard.metrics.pairs.counting import (
    by_cluster,
    count_answers,
    count_calls,
    distinct_pairs,
    excluded,
    tally,
)
from steelyard.metrics.pairs.decomposition import SAME_QUALITY, Decomposition, decompose, undecomposed
from steelyard.metrics.pairs.position import PositionTest, by_pair, position_test, reading_of, slot_balance
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
from steelyard.metrics.stats.sample_size import detectable_errors, smallest_sufficient
from steelyard.metrics.stats.significance import CLUSTERS, ENOUGH_CLUSTERS
from steelyard.stimuli.natural import NATURAL

NET_SLOT_PREFERENCE = Metric(
    "net_slot_preference",
    "net slot preference",
    "Slot-1 commits minus slot-2 commits, per call; above zero the judge leans to the first slot.",
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
        word = difference_word(limits, family_test.adjusted_p, moved=moved_by(units.means.mean, bounds))
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
        finding=word,
        missing_decides=seen != word,
        minimum_detectable=units.detectable,
        note=join(
            [
                _note(test, (position, stable), complete, _standing(declared, among_prompts)),
                by_loss(seen, word),
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
