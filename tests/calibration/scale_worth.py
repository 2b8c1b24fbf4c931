"""Simulate the worth of a cue on single texts where scores meet the ends of the scale.

PYTHONPATH=tests python -m calibration.scale_worth [--runs N]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibration.circumstances import circumstances
from calibration.results import load, save
from calibration.worth import CONTEXT, WorthTally
from steelyard.metrics.instrument.crossing import Moves, Ratings
from steelyard.metrics.instrument.level_worth import level_worth

SHAPES: dict[str, dict[str, tuple[float, ...]]] = {
    "1–5": {
        "spread": (0.1, 0.2, 0.3, 0.25, 0.15),
        "top-heavy": (0.05, 0.05, 0.1, 0.3, 0.5),
        "bottom-heavy": (0.5, 0.3, 0.1, 0.05, 0.05),
    },
    "1–10": {
        "spread": (0.05, 0.05, 0.1, 0.1, 0.15, 0.15, 0.15, 0.1, 0.1, 0.05),
        "top-heavy": (0.01, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.25, 0.3),
        "bottom-heavy": (0.3, 0.25, 0.15, 0.1, 0.08, 0.05, 0.03, 0.02, 0.01, 0.01),
    },
}
WORTHS = (-1.0, 0.0, 0.5, 1.0, 1.5, 3.0)
ROWS = ((60, 1), (40, 5))
"""Clusters, and rows of each."""
NOISE, SEVERITY_SPREAD, WORTH_SPREAD = 0.8, 0.3, 0.3
"""Standard deviations in levels: of one score, and between clusters of severity and worth."""
RUNS = 400


@dataclass(frozen=True)
class Cell:
    scale: str
    shape: str
    worth: float
    clusters: int
    rows: int

    def draw(self, chance: np.random.Generator) -> tuple[Ratings, Moves]:
        """A rater that scores the label with noise, rounded and cut to the scale; the cue adds its worth."""
        shares = SHAPES[self.scale][self.shape]
        top, cluster = len(shares), np.repeat(np.arange(self.clusters), self.rows)
        size = len(cluster)
        label = chance.choice(np.arange(1, top + 1), size, p=shares).astype(np.float64)
        level = label + chance.normal(0, SEVERITY_SPREAD, self.clusters)[cluster]
        added = self.worth + chance.normal(0, WORTH_SPREAD, self.clusters)[cluster]
        item, names = (each.astype(str).astype(np.object_) for each in (np.arange(size), cluster))
        area, once = np.full(size, "general", dtype=np.object_), np.ones(size, dtype=np.int64)
        plain, cued = (
            Ratings(
                item,
                np.clip(np.rint(signal + chance.normal(0, NOISE, size)), 1, top),
                label,
                np.full(size, 1),
                np.full(size, top),
                names,
                area,
                once,
                {"unreadable": 0, "failed": 0},
            )
            for signal in (level, level + added)
        )
        return plain, Moves.between(plain, cued)

    def count(self, runs: int) -> WorthTally:
        tally = WorthTally()
        for run in range(runs):
            key = [run, round(100 * self.worth) + 1000, len(SHAPES[self.scale][self.shape]), self.clusters]
            plain, both = self.draw(np.random.default_rng([*key, list(SHAPES["1–5"]).index(self.shape)]))
            here = CONTEXT.for_subgroup(cue="padding")
            tally.add([level_worth(here, plain, both, "padding")], self.worth, 0.0)
        return tally


def cells() -> Iterator[Cell]:
    for scale, shapes in SHAPES.items():
        for shape in shapes:
            for worth in WORTHS:
                yield from (Cell(scale, shape, worth, *rows) for rows in ROWS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the coverage of every cell to docs/calibration.json, and print each as it is done."""
    options = argparse.ArgumentParser(prog="calibration.scale_worth", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    given = options.parse_args(arguments)
    made: list[dict[str, Any]] = []
    for cell in cells():
        tally = cell.count(given.runs)
        made.append(
            {
                **vars(cell),
                "given": tally.worths,
                "held": tally.covered,
                "flagged": tally.flagged_families,
            }
        )
        print(made[-1], flush=True)
    save({**load(), "scale_worths": {**circumstances(), "runs": given.runs, "rows": made}})


if __name__ == "__main__":
    main()
