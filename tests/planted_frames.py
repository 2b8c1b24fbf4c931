"""Frames of planted judges: known labels of all items, of which a design draws some."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.estimation.designs import LabelDesign, corrected
from steelyard.estimation.frame import Frame


@dataclass(frozen=True)
class PlantedWorld:
    """Items of which people fail a share; the judge fails `hit` of the bad and `alarm` of the good ones."""

    fail: float
    hit: float = 0.9
    alarm: float = 0.1
    items: int = 2000
    per_task: int = 1

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels, scores and tasks; half of the items of a task share its label."""
        task = np.repeat(np.arange(self.items // self.per_task), self.per_task)
        shared = rng.random(self.items) < (0.5 if self.per_task > 1 else 0.0)
        labels = np.where(shared, rng.random(task.max() + 1)[task], rng.random(self.items)) >= self.fail
        luck = np.where(
            rng.random(self.items) < (0.3 if self.per_task > 1 else 0.0),
            rng.random(task.max() + 1)[task],
            rng.random(self.items),
        )
        scores = luck >= np.where(labels, self.alarm, self.hit)
        return labels.astype(float), scores.astype(float), task


def draw_frame(
    world: PlantedWorld, design: LabelDesign, labels: int, rng: np.random.Generator
) -> tuple[Frame, float]:
    """A frame with so many labels, and what people would say of all items."""
    y, f, task = world.draw(rng)
    odds = None
    if design is LabelDesign.RANDOM:
        chosen = rng.permutation(len(y))[:labels]
    elif design is LabelDesign.BY_VERDICT:
        chosen = np.concatenate(
            [rng.permutation(np.flatnonzero(f == level))[: labels // 2] for level in (0, 1)]
        )
    else:
        odds = np.where(f == 0, 3.0, 1.0) * (1 + rng.random(len(y)))
        odds = np.minimum(1.0, odds / odds.sum() * labels)
        chosen = np.flatnonzero(rng.random(len(y)) < odds)
    people = np.full(len(y), np.nan)
    people[chosen] = y[chosen]
    return Frame(f, people, task, odds), float(y.mean())


def coverage(
    world: PlantedWorld,
    design: LabelDesign,
    labels: int,
    runs: int,
    *,
    population: bool = False,
    seed: int = 7,
) -> float:
    """How often the interval holds the truth."""
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(runs):
        frame, mean = draw_frame(world, design, labels, rng)
        figure = corrected(frame, design, population=population).within((0.0, 1.0))
        truth = 1 - world.fail if population else mean
        assert figure.low is not None
        assert figure.high is not None
        hits += figure.low - 1e-12 <= truth <= figure.high + 1e-12
    return hits / runs
