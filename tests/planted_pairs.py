"""Pairs of judges that follow the instrument model, and whether a fit finds the truth again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.metrics.instrument.fit import best_fit, fit
from steelyard.metrics.instrument.likelihood import NAMES, answer_rates, patterns_of, rows_of
from steelyard.metrics.instrument.model import InstrumentFit
from steelyard.metrics.instrument.profile import cluster_spread
from steelyard.metrics.pairs.columns import Pairs
from steelyard.providers.planted.decision_model import Parameters
from strategies import make, stack

STANDARD = {0: 60, 1: 50, 2: 40, 3: 30, 4: 20, 5: 10}
QUICK = {0: 8, 1: 4, 2: 4, 3: 4, 4: 4, 5: 4}
PLANTED = Parameters()


def vector(planted: Parameters) -> np.ndarray:
    return np.array([getattr(planted, name.id) for name in NAMES])


def simulate(
    planted: Parameters,
    seed: int,
    sizes: Mapping[float, int] = STANDARD,
    replicates: int = 1,
    tilt: float = 0.0,
    tasks: int = 10,
) -> Pairs:
    """Pairs of a probit judge over some tasks; `tilt` is the spread of its position bias between tasks."""
    chance = np.random.default_rng(seed)
    theta = vector(planted)
    leaning = chance.normal(0, tilt, tasks)
    parts = []
    for delta, count in sizes.items():
        surface = np.repeat(chance.normal(0, planted.surface_sensitivity, count), replicates)
        task = np.repeat(np.arange(count), replicates) % tasks
        orders = []
        for order in (1, -1):
            drive = order * (planted.resolution * delta + surface) + leaning[task]
            edges = answer_rates(theta[None], drive).cumsum(axis=-1)[:, :2]
            orders.append((chance.random(len(drive))[:, None] > edges).sum(axis=1))
        answers = ["12t"[a] + "12t"[b] for a, b in zip(*orders, strict=True)]
        kind, better = ("prefix", 1) if delta else ("same_subset", 0)
        parts.append(
            make(
                answers,
                tasks=tasks,
                kind=kind,
                delta=delta,
                better=better,
                replicates=replicates,
                name=f"d{delta}-",
            )
        )
    return stack(*parts)


CUE = {0: 12, 1: 12, 2: 10, 3: 8, 5: 6}
"""Pairs of one cue at each step, in the standard profile."""


def simulate_cue(
    planted: Parameters,
    worth: float,
    seed: int,
    sizes: Mapping[float, int] = CUE,
    tilt: float = 0.0,
    tasks: int = 10,
    spread: float = 0.0,
    kind: str = "padding",
) -> Pairs:
    """Pairs of the same judge in which v carries a cue; `spread` is that of the worth between tasks."""
    theta, chance = vector(planted), np.random.default_rng([seed, 1])
    leaning = np.random.default_rng(seed).normal(0, tilt, tasks)
    worths = worth + chance.normal(0, spread, tasks)
    parts: list[Pairs] = []
    for delta, count in sizes.items():
        first = sum(len(part) for part in parts)
        surface = chance.normal(0, planted.surface_sensitivity, count)
        task = (first + np.arange(count)) % tasks
        orders = []
        for order in (1, -1):
            drive = order * (planted.resolution * (delta - worths[task]) + surface) + leaning[task]
            edges = answer_rates(theta[None], drive).cumsum(axis=-1)[:, :2]
            orders.append((chance.random(count)[:, None] > edges).sum(axis=1))
        answers = ["12t"[a] + "12t"[b] for a, b in zip(*orders, strict=True)]
        named, better = [f"t{number:03d}" for number in task], 1 if delta else 0
        parts.append(
            make(answers, tasks=named, kind=kind, delta=delta, better=better, name=f"{kind}{delta}-")
        )
    return stack(*parts)


def constant(equals: str, climb: str, sizes: dict[int, int] = STANDARD) -> Pairs:
    """The same two answers to every pair of equals, and to every pair with u better."""
    return stack(
        *(
            make([climb] * n, tasks=10, kind="prefix", delta=d, better=1, name=f"d{d}-")
            if d
            else make([equals] * n, tasks=10, name="d0-")
            for d, n in sizes.items()
        )
    )


def covered(pairs: Pairs, truth: np.ndarray, *, by_task: bool = False) -> np.ndarray:
    """Whether each profile interval holds the truth: the fit held there loses less than its limit allows.

    That is 1.92 where pairs are taken as independent, and more where limits are read by task.
    """
    found, held = unprofiled(pairs), np.eye(len(NAMES), dtype=bool)
    patterns, best = found.patterns, found.best
    fits = fit(patterns, np.tile(patterns.weights, (5, 1)), np.where(held, truth, best.theta), held)
    roots = np.array([found.allowance(slope) for slope in np.eye(len(NAMES))]) if by_task else 1.959964
    return np.asarray(best.value[0] - fits.value < roots**2 / 2)


def unprofiled(pairs: Pairs) -> InstrumentFit:
    """The fit without its limits and its test."""
    rows = rows_of(pairs)
    patterns = patterns_of(rows)
    best = best_fit(patterns)
    spread = cluster_spread(patterns, best.theta[0])
    return InstrumentFit(rows, pairs.clusters, patterns, best, (), None, False, spread)
