"""Simulate the coverage of corrected scores: designs × scales × shapes × judges × labels, on planted judges.

PYTHONPATH=tests python -m calibration.corrected_scores [--runs N]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calibration.circumstances import circumstances
from calibration.results import load, save
from planted_frames import JUDGES, PlantedWorld, Tally, tally
from steelyard.core.content_hash import content_hash
from steelyard.estimation.designs import LabelDesign

LABELS = (20, 60, 300)
"""Columns of the table; of whole tasks of ten, three, five and eight are labelled."""
WHOLE = (30, 50, 80)
RUNS = 1000
"""Runs of each cell."""
ITEMS, PER_TASK = 1000, 10
RANDOM, BY_VERDICT, ODDS = LabelDesign.RANDOM, LabelDesign.BY_VERDICT, LabelDesign.ODDS
STRATA, ELSEWHERE = LabelDesign.STRATA, LabelDesign.ELSEWHERE
DESIGNS = (RANDOM, BY_VERDICT, ODDS, STRATA)
SCALES: dict[str, tuple[float, ...]] = {
    "yes or no": (0.0, 1.0),
    "1–5": tuple(float(level) for level in range(1, 6)),
    "1–10": tuple(float(level) for level in range(1, 11)),
}
SPREAD = "spread"
SHAPES: dict[str, dict[str, tuple[float, ...]]] = {
    "yes or no": {
        SPREAD: (0.5, 0.5),
        "top-heavy": (0.1, 0.9),
        "bottom-heavy": (0.9, 0.1),
        "rare": (0.02, 0.98),
    },
    "1–5": {
        SPREAD: (0.1, 0.2, 0.3, 0.25, 0.15),
        "top-heavy": (0.01, 0.02, 0.02, 0.05, 0.9),
        "bottom-heavy": (0.9, 0.05, 0.02, 0.02, 0.01),
        "rare": (0.03, 0.0, 0.0, 0.5, 0.47),
    },
    "1–10": {
        SPREAD: (0.05, 0.05, 0.1, 0.1, 0.15, 0.15, 0.15, 0.1, 0.1, 0.05),
        "top-heavy": (0.01, 0.005, 0.005, 0.01, 0.01, 0.01, 0.02, 0.03, 0.1, 0.8),
        "bottom-heavy": (0.8, 0.1, 0.03, 0.02, 0.01, 0.01, 0.01, 0.005, 0.005, 0.01),
        "rare": (0.03, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.4, 0.27),
    },
}
WINS, DIFFERENCE = "wins with ties", "difference of systems"
PART_GRID, PART_TASKS, PART_WHOLE, PART_POPULATION = "grid", "tasks of ten", "whole tasks", "population"


@dataclass(frozen=True)
class Row:
    """One planted judge on one scale under one design, over all numbers of labels."""

    part: str
    scale: str
    shape: str
    judge: str
    design: LabelDesign
    worlds: tuple[PlantedWorld, ...]
    """One, or the strata."""

    @property
    def labels(self) -> tuple[int, ...]:
        return WHOLE if self.part == PART_WHOLE else LABELS

    @property
    def key(self) -> tuple[str, ...]:
        return self.part, self.scale, self.shape, self.judge, str(self.design)

    def tally(self, labels: int, runs: int, seed: int = 7) -> Tally:
        per_task = PER_TASK if self.part in (PART_TASKS, PART_WHOLE) else 1
        items = ITEMS // len(self.worlds) // per_task * per_task
        worlds = tuple(replace(world, per_task=per_task, items=items) for world in self.worlds)
        return tally(
            worlds if self.design is STRATA else worlds[0],
            self.design,
            labels,
            runs,
            population=self.part == PART_POPULATION,
            seed=seed,
            whole_tasks=self.part == PART_WHOLE,
        )


def rows() -> Iterator[Row]:
    for scale, shapes in SHAPES.items():
        for shape in shapes:
            for judge in JUDGES:
                designs = (*DESIGNS, ELSEWHERE) if len(SCALES[scale]) == 2 else DESIGNS
                yield from (_row(PART_GRID, scale, shape, judge, design) for design in designs)
        for shape in (SPREAD, "top-heavy"):
            yield from (_row(PART_WHOLE, scale, shape, judge, RANDOM) for judge in ("good", "useless"))
            for part in (PART_TASKS, PART_POPULATION):
                yield from (_row(part, scale, shape, "good", design) for design in DESIGNS)
    for shape, shares in (("even", (0.4, 0.2, 0.4)), ("one-sided", (0.04, 0.04, 0.92))):
        world = PlantedWorld.agreeing((0, 0.5, 1), shares, 0.6)
        for design in (RANDOM, BY_VERDICT, ODDS):
            yield Row(PART_GRID, WINS, shape, "right in 6 of 10", design, (world,))
    for shape, shares in (("often", (0.2, 0.5, 0.3)), ("seldom", (0.02, 0.94, 0.04))):
        world = PlantedWorld.agreeing((-1, 0, 1), shares, 0.7)
        for design in (RANDOM, ODDS):
            yield Row(PART_GRID, DIFFERENCE, shape, "right in 7 of 10", design, (world,))


def _row(part: str, scale: str, shape: str, judge: str, design: LabelDesign) -> Row:
    """Of three strata two have the shape and one is spread."""
    shapes = (shape, shape, SPREAD) if design is STRATA else (shape,)
    worlds = [PlantedWorld.judged(SCALES[scale], SHAPES[scale][each], judge) for each in shapes]
    return Row(part, scale, shape, judge, design, tuple(worlds))


def simulate(row: Row, runs: int) -> dict[str, Any]:
    seeds = [int(content_hash([*row.key, str(labels)])[-8:], 16) for labels in row.labels]
    made = [row.tally(labels, runs, seed) for labels, seed in zip(row.labels, seeds, strict=True)]
    about = dict(zip(("part", "scale", "shape", "judge", "design"), row.key, strict=True))
    return {**about, "given": [each.given for each in made], "held": [each.held for each in made]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the coverage of every cell to docs/calibration.json, and print each row as it is done."""
    options = argparse.ArgumentParser(prog="calibration.corrected_scores", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    given = options.parse_args(arguments)
    made = []
    for row in rows():
        made.append(simulate(row, given.runs))
        counts = zip(made[-1]["held"], made[-1]["given"], strict=True)
        print(", ".join(row.key), " ".join(f"{k / n:.3f}" if n else "–" for k, n in counts), flush=True)
    body = {**circumstances(), "runs": given.runs, "rows": made}
    save({**load(), "corrected_scores": body})


if __name__ == "__main__":
    main()
