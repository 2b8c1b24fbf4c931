"""How often the first interval of each figure holds the truth, through the product's own functions.

A run is told by its number, which decides its random stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from calibration.sheets import AT_ONCE, SHEETS, Figure, Truth

CORRELATIONS = (0.0, 0.1, 0.3)
TOGETHER = "all_cells"
"""Stands for a metric where the cells of one table are held against the truth at once."""

Row = tuple[str, str, str]
"""Probe, metric and condition."""


@dataclass
class Counts:
    """Outcomes of the runs of one cell, by row."""

    runs: int = 0
    """Runs."""
    given: Counter[Row] = field(default_factory=Counter)
    """Runs in which the figure had an interval."""
    covered: Counter[Row] = field(default_factory=Counter)
    """Those whose interval held the truth."""

    def add(self, hits: dict[Row, bool]) -> None:
        """Take in one run."""
        self.runs += 1
        self.given.update(hits.keys())
        self.covered.update(row for row, hit in hits.items() if hit)

    def merge(self, other: Counts) -> None:
        """Take in further runs."""
        self.runs += other.runs
        self.given.update(other.given)
        self.covered.update(other.covered)


def truth(sheet: str, correlation: float) -> Truth:
    """The true figures of a sheet."""
    return SHEETS[sheet].truth(correlation)


def count(sheet: str, tasks: int, correlation: float, true: Truth, runs: Iterable[int]) -> Counts:
    """The coverage of every figure in these runs, each of which has a random stream of its own."""
    counts = Counts()
    for run in runs:
        chance = np.random.default_rng([run, tasks, int(100 * correlation)])
        counts.add(hits(SHEETS[sheet].run(tasks, correlation, chance), true))
    return counts


def hits(figures: Iterable[Figure], true: Truth) -> dict[Row, bool]:
    """Whether each interval holds the truth; cells that are to hold at once are told together as well."""
    found = {f.row: f.holds(true[f.row]) for f in figures if f.interval is not None and f.row in true}
    for (probe, condition), rows in AT_ONCE.items():
        if all(row in found for row in rows):
            found[probe, TOGETHER, condition] = all(found[row] for row in rows)
    return found
