"""Do lost calls depend on what is shown? If they do, the figures of the calls that are left may be biased.

Lost calls are counted by condition (probe, protocol, kind, step) and compared with an even spread by
Pearson's statistic. Its p is exact by simulation: stimuli are dealt to the conditions again, the lost calls
of one stimulus staying together, because a text that is refused once is refused again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered
from steelyard.core.rng import seed_for
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Failed, Unreadable

DEALS = 1999


@dataclass(frozen=True)
class LossTest:
    """Result of the test."""

    p: float
    """Share of deals, the real one counted in, that are spread at least as unevenly."""
    worst: str
    """Condition that adds most to the unevenness by losing more than its share."""
    lost: int
    """Calls lost there."""
    calls: int
    """Calls made there."""


@dataclass(frozen=True, eq=False)
class _Calls:
    """One row per call."""

    conditions: tuple[str, ...]
    """Names that `condition` is an index into."""
    condition: Ints
    unit: Ints
    """Stimulus under a protocol."""
    lost: Mask


def loss_test(
    observations: Iterable[Observation], kind: type[Unreadable | Failed], seed: int
) -> LossTest | None:
    """The test for one kind of loss; None with one condition, or where all or none are lost."""
    calls = _calls(Observations.of(observations), kind)
    made = np.bincount(calls.condition, minlength=len(calls.conditions))
    if np.count_nonzero(made) < 2 or calls.lost.all() or not calls.lost.any():
        return None
    where_lost = calls.condition[calls.lost]
    lost = np.bincount(where_lost, minlength=len(made)).astype(np.float64)
    parts = _parts(lost, made)
    dealt = _deals(calls, len(made), seed)
    reached = np.count_nonzero(_parts(dealt, made).sum(axis=1) >= parts.sum() - 1e-9)
    worst = int(np.argmax(np.where(lost * made.sum() > made * lost.sum(), parts, -1.0)))
    p = (1 + reached) / (1 + DEALS)
    return LossTest(p, calls.conditions[worst], int(lost[worst]), int(made[worst]))


def _parts(lost: Floats, made: Ints) -> Floats:
    """Each condition's part of Pearson's statistic; the last axis runs over conditions."""
    seen = made > 0
    even = np.where(seen, made * lost.sum(axis=-1, keepdims=True) / made.sum(), 1.0)
    parts: Floats = np.where(seen, (lost - even) ** 2 / even, 0.0)
    return parts


def _deals(calls: _Calls, conditions: int, seed: int) -> Floats:
    """Lost calls by condition (deals × conditions) when stimuli change places between conditions."""
    _, first, unit = np.unique(calls.unit, return_index=True, return_inverse=True)
    places = np.bincount(calls.condition[first], minlength=conditions)
    losses = np.bincount(unit, weights=calls.lost).astype(np.int64)
    sizes, numbers = np.unique(losses[losses > 0], return_counts=True)
    chance = np.random.default_rng(seed_for(seed, "losses"))
    dealt = np.zeros((DEALS, conditions))
    for row in dealt:
        left = places.copy()
        for size, number in zip(sizes, numbers, strict=True):
            drawn = chance.multivariate_hypergeometric(left, int(number))
            left -= drawn
            row += size * drawn
    return dealt


def _calls(rows: Observations, kind: type[Unreadable | Failed]) -> _Calls:
    wide = len(rows.protocols)
    unit = rows.stimulus * wide + rows.protocol
    shown = rows.shown.conditions
    seen, back = numbered(shown.codes[rows.stimulus] * wide + rows.protocol)
    named = [_named(shown.values[code // wide], rows.protocols[code % wide]) for code in seen.tolist()]
    conditions = sorted(set(named))
    number = {name: index for index, name in enumerate(conditions)}
    home = np.array([number[name] for name in named], dtype=np.int64)
    return _Calls(tuple(conditions), home[back], unit, rows.ended(kind))


def _named(condition: tuple[str, str, float | None], protocol: str) -> str:
    probe, kind, delta = condition
    step = "" if delta is None else f"Δ{delta:g}"
    arm = "" if protocol == "base" else protocol
    return ", ".join(part for part in (probe, kind, step, arm) if part)
