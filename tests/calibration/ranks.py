"""Simulate how often rank sets claim a difference between systems that are equal.

PYTHONPATH=tests python -m calibration.ranks [--runs N]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from calibration.circumstances import circumstances
from calibration.results import load, save
from steelyard.estimation.ranking import (
    FEWEST_ROWS,
    SystemScores,
    corrected_ranking,
    plain_ranking,
    step_down,
)

CELLS: tuple[tuple[int, int, int | None], ...] = (
    *((4, rows, None) for rows in (24, 40, 100, 400)),
    *((8, rows, None) for rows in (80, 400)),
    (4, 200, 40),
    (8, 400, 80),
)
"""Systems, comparisons, and how many of these people voted on; None for all."""
RUNS = 2000


def family_errors(systems: int, rows: int, runs: int, labels: int | None = None) -> int:
    """Rankings of equal systems, one vote in five a tie, in which one is shown to be better than another."""
    rng, wrong, made = np.random.default_rng([systems, rows]), 0, 0
    while made < runs:
        first = rng.integers(systems, size=rows)
        sides = first, (first + rng.integers(1, systems, rows)) % systems
        votes = rng.choice([0.0, 0.5, 1.0], rows, p=[0.4, 0.2, 0.4])
        judged = np.where(rng.random(rows) < 0.7, votes, rng.choice([0.0, 0.5, 1.0], rows))
        people, judge = (compared(said, sides, systems) for said in (votes, judged))
        seen = np.arange(rows) < (rows if labels is None else labels)
        scores = people.filter(seen)
        if scores.counts.min() < FEWEST_ROWS:  # the command refuses these
            continue
        ranking = plain_ranking(scores) if labels is None else corrected_ranking(judge, scores, seen)
        wrong, made = wrong + bool(step_down(ranking, made)[0].any()), made + 1
    return wrong


def compared(said: np.ndarray, sides: tuple[np.ndarray, np.ndarray], systems: int) -> SystemScores:
    values = np.full((len(said), systems), np.nan)
    values[np.arange(len(said)), sides[0]], values[np.arange(len(said)), sides[1]] = said, 1 - said
    return SystemScores(values, np.arange(len(said)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the errors of every cell to docs/calibration.json, and print each as it is done."""
    options = argparse.ArgumentParser(prog="calibration.ranks", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    given = options.parse_args(arguments)
    made: list[dict[str, Any]] = []
    for systems, rows, labels in CELLS:
        wrong = family_errors(systems, rows, given.runs, labels)
        made.append({"systems": systems, "comparisons": rows, "labels": labels, "wrong": wrong})
        print(made[-1], flush=True)
    save({**load(), "rank_sets": {**circumstances(), "runs": given.runs, "rows": made}})


if __name__ == "__main__":
    main()
