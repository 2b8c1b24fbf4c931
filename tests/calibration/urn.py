"""Behaviour that goes together within a task.

Each unit of a task (a pair, an item, a second asking) draws its behaviour from an urn of its own task: with
some chance it repeats the behaviour of an earlier unit, else it draws a fresh one. Two units of a task then
share their behaviour with probability ρ and are independent otherwise, so every event that is a function of
a unit's behaviour has an intra-task correlation of exactly ρ, and a mean that does not depend on ρ.
"""

from __future__ import annotations

import numpy as np


def sources(chance: np.random.Generator, tasks: int, units: int, correlation: float) -> np.ndarray:
    """For each task and unit, the number of the unit whose fresh behaviour it has (Pólya's urn)."""
    drawn = np.tile(np.arange(units), (tasks, 1))
    if correlation == 0:
        return drawn
    fresh = (1 - correlation) / correlation
    rows = np.arange(tasks)
    for unit in range(1, units):
        repeats = chance.random(tasks) < unit / (fresh + unit)
        earlier = chance.integers(0, unit, tasks)
        drawn[:, unit] = np.where(repeats, drawn[rows, earlier], unit)
    return drawn


def shared(chance: np.random.Generator, fresh: np.ndarray, correlation: float) -> np.ndarray:
    """Behaviours (tasks, units, …) that were drawn independently, made to go together within tasks."""
    tasks, units = fresh.shape[:2]
    number = sources(chance, tasks, units, correlation)
    return fresh[np.arange(tasks)[:, None], number]
