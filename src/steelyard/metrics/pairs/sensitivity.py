"""Sensitivity: how often the better candidate wins, step by step up the ladder."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import judge_limit
from steelyard.metrics.heading import Heading, step
from steelyard.metrics.metric import Limit, Metric
from steelyard.metrics.pairs.answer import decided, readable, shown
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import count_calls, count_wins, tally
from steelyard.metrics.pairs.equals import tie_rate
from steelyard.metrics.proportions import join, proportion
from steelyard.metrics.stats.arrays import Ints
from steelyard.metrics.stats.intervals import Limits
from steelyard.metrics.stats.tally import Tally

TARGET_SENSITIVITY = Metric(
    "target_sensitivity",
    "target sensitivity",
    "Calls that choose the better of two texts a known number of quality steps apart; a tie is a miss.",
    limit=Limit(0.80, "min", {"delta": 1}),
)
NONTIE_ACCURACY = Metric(
    "nontie_accuracy", "accuracy without ties", "Correct calls among those that name a winner."
)
MISS_BY_TIE = Metric("miss_by_tie", "miss by tie", "Calls that answer tie although one text is better.")
WRONG_CHOICE = Metric("wrong_choice", "wrong choice", "Calls that choose the worse text.")

ONE_SLOT = "the better text stood in one slot only: not told from a preference for that slot"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Calls of each row by outcome, on pairs with a better candidate."""

    pairs: Pairs
    """The rows."""
    correct: Ints
    """Calls that chose the better candidate."""
    decided: Ints
    """Calls that chose one."""
    readable: Ints
    """Calls with a verdict."""


def on_ladder(pairs: Pairs) -> Pairs:
    """The pairs in which one candidate is better by a known step."""
    return pairs.where((pairs.delta > 0) & (pairs.better > 0))


def outcomes(pairs: Pairs) -> Outcomes:
    """Compare each answer with the slot in which the better candidate stood."""
    correct = np.where(pairs.better == 1, count_wins(pairs, "u"), count_wins(pairs, "v"))
    return Outcomes(pairs, correct, count_calls(pairs, decided), count_calls(pairs, readable))


def steps(pairs: Pairs) -> list[float]:
    """The measured steps, ascending."""
    return [float(value) for value in np.unique(pairs.delta)]


def in_one_slot(pairs: Pairs) -> bool:
    """Whether the better candidate stood in the same slot in every call that was made."""
    u_better = pairs.better == 1
    in_first = shown(np.where(u_better, pairs.u_first, pairs.v_first))
    in_second = shown(np.where(u_better, pairs.v_first, pairs.u_first))
    return bool(in_first.any() != in_second.any())


def sensitivity_estimates(heading: Heading, pairs: Pairs) -> list[Estimate]:
    """All rates of one step; `pairs` hold that step alone."""
    seen = outcomes(pairs)
    return [
        target_sensitivity(heading, seen),
        _share(
            heading,
            NONTIE_ACCURACY,
            pairs,
            tally(pairs, seen.correct, seen.decided),
            reason="no call of this condition was decided",
        ),
        tie_rate(heading, pairs, MISS_BY_TIE),
        _share(heading, WRONG_CHOICE, pairs, tally(pairs, seen.decided - seen.correct, seen.readable)),
        tie_rate(heading, pairs),
    ]


def target_sensitivity(heading: Heading, seen: Outcomes) -> Estimate:
    """Calls choosing the better candidate among all with a verdict; ties are not correct."""
    counts = tally(seen.pairs, seen.correct, seen.readable)
    return _share(heading, TARGET_SENSITIVITY, seen.pairs, counts)


def _share(
    heading: Heading, metric: Metric, pairs: Pairs, counts: Tally, reason: str | None = None
) -> Estimate:
    """A share of right or wrong choices; where one slot was never tried, its calls could be anything."""
    estimate = proportion(heading, metric, counts, reason=reason)
    if not counts.n or not in_one_slot(pairs):
        return estimate
    limit, bounds = metric.limit_in(heading.group), _untried_slot(counts)
    word = judge_limit(counts, limit, bounds) if limit else None
    note = join([ONE_SLOT, estimate.note])
    return replace(estimate, bounds=bounds, finding=word, note=note, calls_needed=None)


def _untried_slot(counts: Tally) -> Limits:
    """The share over both slots, every call of the untried one a non-event, or every one an event."""
    made = counts.n + counts.missing
    return counts.k / (2 * made), (counts.k + counts.missing + made) / (2 * made)


def by_base_level(heading: Heading, pairs: Pairs) -> list[Estimate]:
    """Target sensitivity of one step, apart for each quality of the worse text."""
    levels = np.unique(pairs.base_level[~np.isnan(pairs.base_level)])
    return [
        target_sensitivity(
            heading.within(base_level=step(level)), outcomes(pairs.where(pairs.base_level == level))
        )
        for level in levels
    ]
