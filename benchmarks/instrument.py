"""The joint fit of the standard profile against the same fit by scipy, side by side in one run.

Run: .venv/bin/python benchmarks/instrument.py [JUDGES]
Both maximise the same likelihood with the same gradient from the same starts and find the same ten profile
limits. scipy's L-BFGS-B follows one fit at a time; ours steps all of them together.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np
from scipy.optimize import brentq, minimize
from threadpoolctl import threadpool_limits

from steelyard.metrics.instrument.fit import HIGHEST, LOWEST, STARTS, best_fit
from steelyard.metrics.instrument.likelihood import (
    NAMES,
    Patterns,
    Rows,
    answer_rates,
    pattern_scores,
    patterns_of,
)
from steelyard.metrics.instrument.model import fit_test
from steelyard.metrics.instrument.profile import reaches

STANDARD = {0: 60, 1: 50, 2: 40, 3: 30, 4: 20, 5: 10}
PLANTED = np.array([0.8, 0.4, 0.6, 0.7, 0.02])
LOSS = 1.920729


def rows_of_judge(seed: int) -> Rows:
    """The 60 pairs of equals and 150 ladder pairs of a judge that follows the model."""
    chance = np.random.default_rng(seed)
    delta = np.repeat(np.array([*STANDARD], dtype=float), [*STANDARD.values()])
    push = PLANTED[0] * delta + chance.normal(0, PLANTED[3], len(delta))
    answers = []
    for order in (1, -1):
        edges = answer_rates(PLANTED[None], order * push).cumsum(axis=-1)[:, :2]
        answers.append((chance.random(len(delta))[:, None] > edges).sum(axis=1))
    number = np.arange(len(delta))
    return Rows(delta, number, number % 10, *answers)


def ours(patterns: Patterns) -> tuple[float, np.ndarray]:
    best = best_fit(patterns)
    ends = [(reach.low, reach.high) for reach in reaches(patterns, best)]
    return float(best.value[0]), np.array(ends, dtype=float)


def climb(patterns: Patterns, start: np.ndarray, held: int | None = None) -> tuple[float, np.ndarray]:
    free = np.array([name for name in range(len(NAMES)) if name != held])

    def loss(moved: np.ndarray) -> tuple[float, np.ndarray]:
        theta = start.copy()
        theta[free] = moved
        value, score = pattern_scores(theta[None], patterns)
        return -float(value[0] @ patterns.weights), -(score[0].T @ patterns.weights)[free]

    box = list(zip(LOWEST[free], HIGHEST[free], strict=True))
    found = minimize(loss, np.clip(start[free], LOWEST[free], HIGHEST[free]), jac=True, bounds=box)
    theta = start.copy()
    theta[free] = found.x
    return -float(found.fun), theta


def scipy_side(patterns: Patterns) -> tuple[float, np.ndarray]:
    top, best = max((climb(patterns, start) for start in STARTS), key=lambda pair: pair[0])
    ends = np.full((len(NAMES), 2), np.nan)
    for name in range(len(NAMES)):
        for side, outer in enumerate((LOWEST[name], HIGHEST[name])):

            def lost(place: float, name: int = name) -> float:
                start = best.copy()
                start[name] = place
                return top - climb(patterns, start, name)[0] - LOSS

            if lost(outer) > 0:
                ends[name, side] = brentq(lost, best[name], outer, xtol=1e-3)
    return top, ends


def main() -> None:
    judges = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    spent = {"steelyard": 0.0, "scipy": 0.0, "test of fit": 0.0}
    apart = 0.0
    with threadpool_limits(1):
        for seed in range(judges):
            rows = rows_of_judge(seed)
            patterns = patterns_of(rows)
            results = []
            for name, run in (("steelyard", ours), ("scipy", scipy_side)):
                start = time.process_time()
                results.append(run(patterns))
                spent[name] += time.process_time() - start
            start = time.process_time()
            fit_test(rows, best_fit(patterns).theta[0], seed)
            spent["test of fit"] += time.process_time() - start
            apart = max(apart, float(np.nanmax(np.abs(results[0][1][:4] - results[1][1][:4]))))
    today, load = f"{datetime.now(UTC):%Y-%m-%d}", f"load {os.getloadavg()[0]:.1f}"
    print(f"{today}, {platform.machine()}, {os.cpu_count()} cores, {load}")
    packages = ", ".join(f"{name} {version(name)}" for name in ("steelyard", "numpy", "scipy"))
    print(f"Python {platform.python_version()}, {packages}, benchmarks/instrument.py {judges}")
    for name, seconds in spent.items():
        print(f"{name}: {seconds / judges:.2f} CPU seconds a judge")
    print(f"ratio {spent['scipy'] / spent['steelyard']:.1f}, limits at most {apart:.3f} apart")


if __name__ == "__main__":
    main()
