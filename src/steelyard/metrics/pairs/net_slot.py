"""Net slot preference: by how much one slot is favoured between equals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.findings import (
    CLEAR,
    MARGIN,
    UNDERPOWERED,
    by_loss,
    difference_word,
    judge_limit,
    moved_by,
)
from steelyard.metrics.heading import Heading
from steelyard.metrics.metric import Limit, Metric
from steelyard.metrics.pairs.answer import decided, readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import count_calls, distinct_pairs, excluded, tally
from steelyard.metrics.pairs.decomposition import Decomposition, decompose, undecomposed
from steelyard.metrics.pairs.slot_balance import SlotBalance, slot_units, tasks
from steelyard.metrics.pairs.slot_test import PositionTest, position_test, reading_of, slot_balance
from steelyard.metrics.proportions import ONE_TASK, join, share_bounds
from steelyard.metrics.stats.clusters import percentile_limits, ratio, resample
from steelyard.metrics.stats.intervals import Limits
from steelyard.metrics.stats.power import ALPHA
from steelyard.metrics.tested import Tested, alone

NET_SLOT_PREFERENCE = Metric(
    "net_slot_preference",
    "net slot preference",
    "Slot-1 commits minus slot-2 commits, per call; above zero the judge leans to the first slot.",
    signed=True,
)

DECLARED_PROTOCOL = "base"
"""The only arm whose position test may flag: one test, declared before the data."""


def net_slot_preference(
    heading: Heading,
    pairs: Pairs,
    corrected: float | None = None,
    family: Mapping[str, Tested] | None = None,
) -> Estimate:
    """Slot-1 commits less slot-2 commits per call of complete pairs, with the position test.

    `corrected` is the test's p within a declared family of prompts, of which none is `base`; `family` are the
    tests that were declared with it under `base`.
    """
    parts = decompose(pairs)
    complete = parts.pairs.where(parts.complete)
    if not len(complete):
        return heading.undefined(NET_SLOT_PREFERENCE, undecomposed(pairs, parts), excluded=excluded(pairs))
    test = position_test(parts)
    units = slot_units(complete)
    position = (family or {}).get("position", alone(test.p))
    stable = (family or {}).get("stable", alone(test.stable_p))
    declared = heading.group.get("protocol") == DECLARED_PROTOCOL
    p = position.corrected if declared else corrected
    bounds = _bounds(parts)
    seen = word = None
    if p is not None:
        limits = units.limits(1 - ALPHA)
        seen = difference_word(limits, p)
        word = difference_word(limits, p, moved=moved_by(units.means.mean, bounds))
    return heading.estimate(
        NET_SLOT_PREFERENCE,
        unit="call",
        value=units.means.mean,
        numerator=test.total,
        denominator=test.calls,
        intervals=_intervals(heading, units),
        n_calls=test.calls,
        n_units=distinct_pairs(complete, np.ones(len(complete), dtype=np.bool_)),
        n_clusters=tasks(complete),
        excluded=excluded(pairs),
        bounds=bounds,
        chance=0.0,
        finding=word,
        minimum_detectable=units.detectable,
        note=join(
            [
                _note(test, (position, stable), complete, _standing(declared, corrected)),
                by_loss(seen, word),
            ]
        ),
        calls_needed=units.calls_needed if seen == UNDERPOWERED else None,
        reading=reading_of(position.shown, stable.shown, few_commits=few_commits(parts.pairs)),
        p=None if word is None else test.p,
        p_corrected=p,
    )


def few_commits(pairs: Pairs) -> bool:
    """Commits are known to be rarer than the margin, whatever missing verdicts would have been."""
    counts = tally(pairs, count_calls(pairs, decided), count_calls(pairs, readable))
    return counts.n > 0 and judge_limit(counts, Limit(MARGIN), share_bounds(counts)) == CLEAR


def _bounds(parts: Decomposition) -> Limits:
    """Every missing call a commit into slot 2, or every one into slot 1."""
    known, missing = int(slot_balance(parts.pairs).sum()), sum(excluded(parts.pairs).values())
    calls = 2 * len(parts.pairs)
    return (known - missing) / calls, (known + missing) / calls


def _intervals(heading: Heading, units: SlotBalance) -> tuple[Interval, ...]:
    method = "wilson_cluster_difference" if units.means.even else "t_cluster"
    intervals = [Interval(method, *units.limits(0.975))]
    if tasks(units.complete) > 1:
        sums = resample(
            np.stack([units.balance, units.calls], axis=1), heading.bootstrap_seed(NET_SLOT_PREFERENCE.id)
        )
        resampled = percentile_limits(ratio(sums[:, 0], sums[:, 1]), len(units.calls))
        intervals += [Interval("bootstrap_cluster", *resampled)] if resampled else []
    return tuple(intervals)


def _standing(declared: bool, corrected: float | None) -> str:
    if declared:
        return ""
    if corrected is None:
        return "not the declared test, so nothing is flagged"
    return f"p = {corrected:.2g} among all prompts of the judge (Holm)"


def _note(test: PositionTest, told: tuple[Tested, Tested], complete: Pairs, standing: str) -> str | None:
    these = "" if test.flipped == "tasks" else ONE_TASK if tasks(complete) == 1 else "these tasks only"
    return join(
        [
            f"position test {told[0].told()} (signs of {test.flipped} flipped)",
            f"stable excess {told[1].told()}",
            these,
            standing,
        ]
    )
