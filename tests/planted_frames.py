"""Frames of planted judges: known labels of all items, of which a design draws some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from statistics import NormalDist

import numpy as np

from steelyard.errors import DataError
from steelyard.estimation.designs import LabelDesign, corrected, labels_only, stratified
from steelyard.estimation.frame import Figure, Frame
from steelyard.estimation.label_plan import by_verdict_numbers, whole_numbers
from steelyard.survey.estimate import _from_elsewhere, _labelled_strata
from steelyard.survey.judged_items import JudgedFrame

Draw = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Labels, scores and tasks."""


JUDGES = ("perfect", "good", "lenient", "gross", "useless", "reversed")


def _rounded_normal(middle: float, deviation: float, top: int) -> list[float]:
    """Shares of the levels 0…top for a normal score that is rounded and stays on the scale."""
    law = NormalDist(middle, deviation)
    below = [0.0, *(law.cdf(level + 0.5) for level in range(top)), 1.0]
    return [float(step) for step in np.diff(below)]


@dataclass(frozen=True)
class PlantedWorld:
    """Items whose label is one of `values`; the judge gives a label's row of `confusion` in these shares."""

    values: Sequence[float]
    shares: Sequence[float]
    confusion: Sequence[Sequence[float]]
    items: int = 2000
    per_task: int = 1

    @classmethod
    def yes_no(
        cls, fail: float, hit: float = 0.9, alarm: float = 0.1, *, items: int = 2000, per_task: int = 1
    ) -> PlantedWorld:
        """People fail a share; the judge fails `hit` of the bad and `alarm` of the good ones."""
        rows = (hit, 1 - hit), (alarm, 1 - alarm)
        return cls((0.0, 1.0), (fail, 1 - fail), rows, items, per_task)

    @classmethod
    def agreeing(
        cls, values: Sequence[float], shares: Sequence[float], agreement: float, **size: int
    ) -> PlantedWorld:
        """The judge says what people say in this share of cases, and else any value alike."""
        other = (1 - agreement) / len(values)
        rows = [[other + agreement * (j == i) for j in range(len(values))] for i in range(len(values))]
        return cls(values, shares, rows, **size)

    @classmethod
    def judged(cls, values: Sequence[float], shares: Sequence[float], judge: str) -> PlantedWorld:
        """One of the judges of `JUDGES` on labels in these shares."""
        top, ordinal = len(values) - 1, len(values) > 2
        same, width = np.eye(top + 1), top / 4
        if judge == "perfect":
            rows = same
        elif judge == "gross":  # right, but for one answer in twenty that gets the top
            rows = 0.95 * same + 0.05 * same[top]
        elif judge == "useless":
            rows = np.tile(np.full(top + 1, 1 / (top + 1)), (top + 1, 1))
        elif ordinal:
            shift, noise = (0.4 * width, 0.8 * width) if judge == "lenient" else (0.0, 0.5 * width)
            rows = np.stack([_rounded_normal(level + shift, noise, top) for level in range(top + 1)])
        else:
            rows = np.array([[0.6, 0.4], [0.02, 0.98]] if judge == "lenient" else [[0.9, 0.1], [0.1, 0.9]])
        return cls(values, shares, (rows[::-1] if judge == "reversed" else rows).tolist())

    @property
    def mean(self) -> float:
        return float(np.dot(self.values, self.shares))

    @property
    def ends(self) -> tuple[float, float]:
        return min(self.values), max(self.values)

    def draw(self, rng: np.random.Generator) -> Draw:
        """Half of the items of a task share its label, three in ten the judge's luck."""
        task = np.arange(self.items) // self.per_task
        label = (self._luck(task, 0.5, rng)[:, None] >= np.cumsum(self.shares)[:-1]).sum(axis=1)
        luck = self._luck(task, 0.3, rng)
        score = (luck[:, None] >= np.cumsum(self.confusion, axis=1)[label, :-1]).sum(axis=1)
        values = np.array(self.values)
        return values[label], values[score], task

    def _luck(self, task: np.ndarray, shared: float, rng: np.random.Generator) -> np.ndarray:
        same = rng.random(self.items) < (shared if self.per_task > 1 else 0.0)
        return np.where(same, rng.random(task.max() + 1)[task], rng.random(self.items))


def draw_frame(
    world: PlantedWorld,
    design: LabelDesign,
    labels: int,
    rng: np.random.Generator,
    *,
    whole_tasks: bool = False,
) -> tuple[Frame, float]:
    """A frame with so many labels, and what people would say of all items."""
    drawn = world.draw(rng)
    if whole_tasks:
        y, f, task = drawn
        some = rng.permutation(task.max() + 1)[: labels // world.per_task]
        return Frame(f, np.where(np.isin(task, some), y, nan), task, None, world.ends), float(y.mean())
    return labelled_frame(drawn, design, labels, rng, world.ends), float(drawn[0].mean())


def labelled_frame(
    drawn: Draw, design: LabelDesign, labels: int, rng: np.random.Generator, ends: tuple[float, float]
) -> Frame:
    """The labels of some items, as the design draws them; the rest are unknown."""
    y, f, task = drawn
    odds = None
    if design is LabelDesign.RANDOM:
        chosen = rng.permutation(len(y))[:labels]
    elif design is LabelDesign.BY_VERDICT:
        levels, sizes = np.unique(f, return_counts=True)
        wanted = _by_verdict(sizes.astype(float), labels, scored=ends != (0.0, 1.0))
        chosen = np.concatenate(
            [
                rng.permutation(np.flatnonzero(f == level))[:count]
                for level, count in zip(levels, wanted, strict=True)
            ]
        )
    else:
        odds = np.where(f == ends[0], 3.0, 1.0) * (1 + rng.random(len(y)))
        odds = np.minimum(1.0, odds / odds.sum() * labels)
        chosen = np.flatnonzero(rng.random(len(y)) < odds)
    people = np.full(len(y), np.nan)
    people[chosen] = y[chosen]
    return Frame(f, people, task, odds, ends)


def _by_verdict(sizes: np.ndarray, labels: int, *, scored: bool) -> list[int]:
    """As `labels draw` has it without a pilot; equal numbers where it would refuse so few."""
    if labels < np.minimum(5 if scored else 10, sizes).sum():
        return [max(1, labels // len(sizes))] * len(sizes)
    wanted = by_verdict_numbers(sizes, np.full(len(sizes), 0.5), labels, scored=scored)
    return whole_numbers(wanted, sizes, labels)


def elsewhere(world: PlantedWorld, labels: int, rng: np.random.Generator) -> tuple[Frame, Frame, float]:
    """Labels of other items, as many passes as fails; the items to be judged; what people say of those."""
    y, f, task = world.draw(rng)
    other, scores, tasks = world.draw(rng)
    halves = [rng.permutation(np.flatnonzero(other == value))[: labels // 2] for value in world.values]
    some = np.concatenate(halves)
    target = Frame(f, np.full(len(y), nan), task)
    judge = np.concatenate([scores[some], f])
    people = np.concatenate([other[some], target.people])
    return Frame(judge, people, np.concatenate([tasks[some] + len(y), task])), target, float(y.mean())


def strata_frame(
    worlds: Sequence[PlantedWorld], labels: int, rng: np.random.Generator
) -> tuple[JudgedFrame, float]:
    """Strata of equal size that differ, with as many labels of each."""
    parts = [draw_frame(world, LabelDesign.RANDOM, labels // len(worlds), rng) for world in worlds]
    frames = [frame for frame, _ in parts]
    start = np.cumsum([0, *(frame.size for frame in frames)])
    cluster = np.concatenate([frame.cluster + first for frame, first in zip(frames, start, strict=False)])
    frame = Frame(
        np.concatenate([frame.judge for frame in frames]),
        np.concatenate([frame.people for frame in frames]),
        cluster,
        ends=worlds[0].ends,
    )
    names = [str(number) for number, part in enumerate(frames) for _ in range(part.size)]
    return JudgedFrame(frame, names, 0), float(np.mean([mean for _, mean in parts]))


@dataclass
class Tally:
    """Intervals that were given, those that held the truth, and the same of labels alone."""

    given: int = 0
    held: int = 0
    alone_given: int = 0
    alone_held: int = 0

    @property
    def coverage(self) -> float:
        return self.held / self.given if self.given else nan

    def add(self, figure: Figure | None, alone: Figure | None, truth: float) -> None:
        self.given += figure is not None
        self.held += figure is not None and holds(figure, truth)
        self.alone_given += alone is not None
        self.alone_held += alone is not None and holds(alone, truth)


def holds(figure: Figure, truth: float) -> bool:
    assert figure.low is not None
    assert figure.high is not None
    return bool(figure.low - 1e-12 <= truth <= figure.high + 1e-12)


def tally(
    world: PlantedWorld | Sequence[PlantedWorld],
    design: LabelDesign,
    labels: int,
    runs: int,
    *,
    population: bool = False,
    seed: int = 7,
    whole_tasks: bool = False,
    alone_too: bool = False,
) -> Tally:
    """How often the interval holds the truth; several worlds are strata."""
    rng = np.random.default_rng(seed)
    made = Tally()
    for _ in range(runs):
        alone: Figure | None = None
        try:
            if not isinstance(world, PlantedWorld):
                judged, mean = strata_frame(world, labels, rng)
                about = replace(judged, frame=replace(judged.frame, of_population=population))
                figure, truth = stratified(_labelled_strata(about)), float(np.mean([w.mean for w in world]))
                ends = world[0].ends
            elif design is LabelDesign.ELSEWHERE:
                frame, target, mean = elsewhere(world, labels, rng)
                figure, truth, ends = _from_elsewhere("labels", frame, target), world.mean, world.ends
            else:
                frame, mean = draw_frame(world, design, labels, rng, whole_tasks=whole_tasks)
                frame = replace(frame, of_population=population)
                figure, truth, ends = corrected(frame, design), world.mean, world.ends
                alone = labels_only(frame) if alone_too else None
        except DataError:  # refused: nothing is claimed
            continue
        made.add(figure.within(ends), alone, truth if population else mean)
    return made


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
    return tally(world, design, labels, runs, population=population, seed=seed).coverage
