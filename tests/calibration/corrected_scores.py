"""Simulate the coverage of corrected scores: designs × numbers of labels × tasks, on planted judges.

PYTHONPATH=tests python -m calibration.corrected_scores [--runs N]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calibration.circumstances import circumstances
from calibration.results import load, save
from planted_frames import PlantedWorld, Tally, tally
from steelyard.core.content_hash import content_hash
from steelyard.estimation.designs import LabelDesign

LABELS, PER_TASK = (30, 100, 300), (1, 5, 10)
CELLS = tuple((labels, size) for labels in LABELS for size in PER_TASK)
"""Columns of the table."""
RUNS = 400
ITEMS = 1000
SHARE, SCORE, WINS, DIFFERENCE = "yes or no", "scores from 1 to 5", "wins with ties", "difference of systems"
RANDOM, BY_VERDICT, ODDS = LabelDesign.RANDOM, LabelDesign.BY_VERDICT, LabelDesign.ODDS
STRATA, ELSEWHERE = LabelDesign.STRATA, LabelDesign.ELSEWHERE


@dataclass(frozen=True)
class Row:
    """One quantity of one planted judge under one design, over all cells."""

    quantity: str
    design: LabelDesign
    population: bool
    name: str
    """Which world."""
    worlds: tuple[PlantedWorld, ...]
    """One, or the strata."""

    def tally(self, labels: int, per_task: int, runs: int, seed: int = 7) -> Tally:
        worlds = tuple(
            replace(world, per_task=per_task, items=ITEMS // len(self.worlds)) for world in self.worlds
        )
        world = worlds if self.design is STRATA else worlds[0]
        return tally(world, self.design, labels, runs, population=self.population, seed=seed)


def rows() -> Iterator[Row]:
    for population in (False, True):
        for quantity, design, name, worlds in _worlds():
            yield Row(quantity, design, population, name, worlds)


def _worlds() -> Iterator[tuple[str, LabelDesign, str, tuple[PlantedWorld, ...]]]:
    for fail in (0.02, 0.05, 0.2, 0.5):
        for hit, alarm in ((0.9, 0.1), (0.7, 0.05)):
            name = f"fail {fail:g}, judge fails {hit:g} of bad and {alarm:g} of good"
            for design in (RANDOM, BY_VERDICT, ODDS, ELSEWHERE):
                yield SHARE, design, name, (PlantedWorld.yes_no(fail, hit, alarm),)
        strata = tuple(PlantedWorld.yes_no(fail * times) for times in (0.5, 1.0, 1.5))
        yield SHARE, STRATA, f"fail {fail:g} on average", strata
    for name, shares in (
        ("spread", (0.1, 0.2, 0.3, 0.25, 0.15)),
        ("nearly all 5", (0.01, 0.02, 0.02, 0.05, 0.9)),
    ):
        for design in (RANDOM, BY_VERDICT, ODDS):
            yield SCORE, design, name, (PlantedWorld.agreeing((1, 2, 3, 4, 5), shares, 0.6),)
    for name, shares in (("even", (0.4, 0.2, 0.4)), ("one-sided", (0.04, 0.04, 0.92))):
        for design in (RANDOM, BY_VERDICT, ODDS):
            yield WINS, design, name, (PlantedWorld.agreeing((0, 0.5, 1), shares, 0.6),)
    for name, shares in (("often", (0.2, 0.5, 0.3)), ("seldom", (0.02, 0.94, 0.04))):
        for design in (RANDOM, ODDS):
            yield DIFFERENCE, design, name, (PlantedWorld.agreeing((-1, 0, 1), shares, 0.7),)


def simulate(row: Row, runs: int) -> dict[str, Any]:
    told = (row.quantity, row.design, row.population, row.name)
    seeds = [int(content_hash([*map(str, told), *cell])[-8:], 16) for cell in CELLS]
    tallies = [row.tally(*cell, runs, seed) for cell, seed in zip(CELLS, seeds, strict=True)]
    return {
        "quantity": row.quantity,
        "design": str(row.design),
        "of": "population" if row.population else "items",
        "world": row.name,
        "given": [each.given for each in tallies],
        "held": [each.held for each in tallies],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the coverage of every cell to docs/calibration.json, and print each row as it is done."""
    options = argparse.ArgumentParser(prog="calibration.corrected_scores", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    runs = options.parse_args(arguments).runs
    made = []
    for row in rows():
        made.append(simulate(row, runs))
        shares = [
            k / n if n else float("nan") for k, n in zip(made[-1]["held"], made[-1]["given"], strict=True)
        ]
        told = " ".join(f"{share:.3f}" for share in shares)
        print(f"{row.quantity}, {row.design}, {made[-1]['of']}, {row.name}: {told}", flush=True)
    save({**load(), "corrected_scores": {**circumstances(), "runs": runs, "rows": made}})


if __name__ == "__main__":
    main()
