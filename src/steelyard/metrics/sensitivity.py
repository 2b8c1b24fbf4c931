"""Sensitivity: how often the better candidate wins, step by step up the ladder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.metrics.direction_estimates import tie_rate
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading, step
from steelyard.metrics.pairs import FIRST, SECOND, Ints, Pairs
from steelyard.metrics.proportion import proportion
from steelyard.metrics.tally import both_orders, decided, readable, tally


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
    right_if_u_first = np.where(pairs.better == 1, FIRST, SECOND)
    right_if_v_first = np.where(pairs.better == 1, SECOND, FIRST)
    correct = (pairs.u_first == right_if_u_first).astype(np.int64) + (pairs.v_first == right_if_v_first)
    return Outcomes(pairs, correct, both_orders(pairs, decided), both_orders(pairs, readable))


def steps(pairs: Pairs) -> list[float]:
    """The measured steps, ascending."""
    return [float(value) for value in np.unique(pairs.delta)]


def sensitivity_estimates(heading: Heading, pairs: Pairs) -> list[Estimate]:
    """All rates of one step; `pairs` hold that step alone."""
    seen = outcomes(pairs)
    return [
        target_sensitivity(heading, seen),
        proportion(
            heading,
            "nontie_accuracy",
            tally(pairs, seen.correct, seen.decided),
            reason="no call of this condition was decided",
        ),
        tie_rate(heading, pairs, "miss_by_tie"),
        proportion(heading, "wrong_choice", tally(pairs, seen.decided - seen.correct, seen.readable)),
        tie_rate(heading, pairs),
    ]


def target_sensitivity(heading: Heading, seen: Outcomes) -> Estimate:
    """Calls choosing the better candidate among all with a verdict; ties are not correct."""
    return proportion(heading, "target_sensitivity", tally(seen.pairs, seen.correct, seen.readable))


def by_base_level(heading: Heading, pairs: Pairs) -> list[Estimate]:
    """Target sensitivity of one step, apart for each quality of the worse text."""
    levels = np.unique(pairs.base_level[~np.isnan(pairs.base_level)])
    return [
        target_sensitivity(
            heading.within(base_level=step(level)), outcomes(pairs.where(pairs.base_level == level))
        )
        for level in levels
    ]
