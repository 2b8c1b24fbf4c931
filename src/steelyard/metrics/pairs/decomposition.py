"""Direction stability: what a preference between equals is made of.

Both orders of each pair put it into one cell: the same content won twice (stable), the same slot won
twice (positional), one order was decided (one-sided), none was (no preference). In integers

    2·stable + 2·positional + one-sided + conflicting = decided calls

where the conflicting calls belong to pairs that lack the other verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from steelyard.core.arrays import Ints, Mask, weak_cache
from steelyard.core.text import pluralize
from steelyard.metrics.estimate import NO_CALLS, Reason, Why
from steelyard.metrics.metric import WHOLE_PAIRS, Limit, Metric
from steelyard.metrics.pairs import columns
from steelyard.metrics.pairs.columns import PairAnswer, Pairs, decided, neither, readable

SAME_QUALITY = ("same_subset",)
"""Kinds of pairs that are the same in quality and differ in nothing but words."""
DECLARED = {"kind": "same_subset", "protocol": "base"}
"""Where position and wording are tested, declared before the data."""


def stable(pairs: Pairs) -> Mask:
    """The same content won in both orders."""
    return decided(pairs.u_first) & decided(pairs.v_first) & np.not_equal(pairs.u_first, pairs.v_first)


def positional(pairs: Pairs) -> Mask:
    """The same slot won in both orders."""
    return decided(pairs.u_first) & np.equal(pairs.u_first, pairs.v_first)


def one_sided(pairs: Pairs) -> Mask:
    """Exactly one order was decided; the other was a tie."""
    return complete(pairs) & (decided(pairs.u_first) ^ decided(pairs.v_first))


def undecided(pairs: Pairs) -> Mask:
    return neither(pairs.u_first) & neither(pairs.v_first)


def complete(pairs: Pairs) -> Mask:
    """Both orders ended in a verdict."""
    return readable(pairs.u_first) & readable(pairs.v_first)


_of_equals = partial(Metric, unit="pair", kinds=SAME_QUALITY, basis=WHOLE_PAIRS)
STABLE_CROSS_SENSITIVITY = _of_equals(
    "stable_cross_sensitivity",
    "stable cross-sensitivity",
    "Same-quality pairs where the same text wins in both orders: the judge responds to surface form.",
    plain="prefers a wording",
    limit=Limit(0.10, group=DECLARED),
    event=stable,
    behind="wrong",
)
POSITIONAL_FALSE_PREFERENCE = _of_equals(
    "positional_false_preference",
    meaning="Same-quality pairs where the same slot wins in both orders: the judge responds to position.",
    plain="prefers a slot",
    limit=Limit(0.10, group=DECLARED),
    event=positional,
    behind="positional",
)
ONE_SIDED_COMMIT = _of_equals(
    "one_sided_commit",
    "one-sided choice",
    "Pairs with a winner in exactly one of the two orders.",
    plain="decides in one order only",
    event=one_sided,
    compared=False,
)
NO_PREFERENCE = _of_equals(
    "no_preference", meaning="Pairs that are a tie in both orders.", event=undecided, compared=False
)

CELLS = (STABLE_CROSS_SENSITIVITY, POSITIONAL_FALSE_PREFERENCE, ONE_SIDED_COMMIT, NO_PREFERENCE)
ONE_ORDER = Reason("one_order", "shown in one order only: not decomposed")

INCOMPLETE = "no pair has a verdict in both orders"
SLOTS = {1: PairAnswer.FIRST, 2: PairAnswer.SECOND}


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Pairs that were shown in both orders, sorted into the cells of `CELLS`."""

    pairs: Pairs
    complete: Mask
    commits: Ints
    """Decided calls of each row."""

    @property
    def whole(self) -> Pairs:
        return _whole(self.pairs)

    def cell(self, metric: Metric) -> Mask:
        return metric.events(self.pairs)

    def in_slot(self, metric: Metric, slot: int) -> Mask:
        """The rows of a positional or one-sided cell whose decided calls named this slot."""
        into: Mask = (self.pairs.u_first == SLOTS[slot]) | (self.pairs.v_first == SLOTS[slot])
        return np.logical_and(self.cell(metric), into)

    @property
    def conflicting(self) -> int:
        """Decided calls in pairs that lack the other verdict."""
        return int(self.commits[~self.complete].sum())

    def possible(self, metric: Metric, slot: int | None = None) -> int:
        """Incomplete pairs that could have fallen into a cell."""
        u, v = self.pairs.u_first, self.pairs.v_first
        tied = ~self.complete & (neither(u) | neither(v))
        committed = ~self.complete & (self.commits > 0)
        could = ~self.complete & ~tied & ~committed
        if metric != NO_PREFERENCE:
            into = (u == SLOTS[slot]) | (v == SLOTS[slot]) if slot else committed
            could = could | (committed & into)
        if metric in (ONE_SIDED_COMMIT, NO_PREFERENCE):
            could = could | tied
        return int(np.count_nonzero(could))

    def check(self) -> None:
        """Assert the identity in integers, and that the cells part the complete pairs."""
        stable, positional, one_sided, none = (int(self.cell(metric).sum()) for metric in CELLS)
        parts = 2 * stable + 2 * positional + one_sided + self.conflicting
        commits = int(self.commits.sum())
        complete = int(self.complete.sum())
        if parts != commits or stable + positional + one_sided + none != complete:
            raise AssertionError(
                f"decomposition of {pluralize(len(self.pairs), 'pair')}: 2·{stable} + 2·{positional} + "
                f"{one_sided} + {self.conflicting} is {parts}, expected {commits} decided calls, and with "
                f"{none} pairs without preference {complete} complete pairs; look for answer codes "
                "outside 0 … 5."
            )


def decompose(pairs: Pairs) -> Decomposition:
    rows = _in_both_orders(pairs)
    # Counted by code and not by `decided`, so that the identity can fail.
    commits = columns.count_calls(rows, lambda codes: np.isin(codes, (PairAnswer.FIRST, PairAnswer.SECOND)))
    result = Decomposition(rows, complete(rows), commits)
    result.check()
    return result


@weak_cache
def _in_both_orders(pairs: Pairs) -> Pairs:
    return pairs.where(columns.was_shown(pairs.u_first) & columns.was_shown(pairs.v_first))


@weak_cache
def _whole(rows: Pairs) -> Pairs:
    return rows.where(complete(rows))


def undecomposed(pairs: Pairs, parts: Decomposition) -> Why:
    if not len(pairs):
        return NO_CALLS
    if not len(parts.pairs):
        return ONE_ORDER
    return INCOMPLETE


def chance_lines(parts: Decomposition) -> dict[tuple[Metric, int | None], float]:
    """What calls that do not know of each other would show, from the slot marginals of complete pairs."""
    answers = parts.whole.calls
    if not len(answers):
        return {}
    first, second = (int((answers == answer).sum()) / answers.size for answer in SLOTS.values())
    return {
        (STABLE_CROSS_SENSITIVITY, None): 2 * first * second,
        (POSITIONAL_FALSE_PREFERENCE, None): first**2 + second**2,
        (POSITIONAL_FALSE_PREFERENCE, 1): first**2,
        (POSITIONAL_FALSE_PREFERENCE, 2): second**2,
    }
