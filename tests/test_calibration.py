"""Long simulations of how often intervals cover; `make calibrate` runs them and prints the figures."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from scipy.stats import t

from clustered import beta_events, tallies
from planted_pairs import PLANTED, STANDARD, covered, simulate, unprofiled, vector
from scores import call
from steelyard.commands.doctor import TOLERANCES
from steelyard.metrics.estimate import EstimateContext
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.instrument.derived import (
    detection,
    limit_of_detection,
    profile_curve,
    profile_of_ratio,
    ratio_limits,
    ratio_spread,
    ratio_word,
)
from steelyard.metrics.instrument.likelihood import NAMES
from steelyard.metrics.instrument.model import InstrumentFit, sandwich
from steelyard.metrics.instrument.profile import allowance, reaches
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.probe import directional_bias_estimates
from steelyard.metrics.stats.clusters import wilson_cluster, wilson_strict
from steelyard.metrics.stats.intervals import wilson
from steelyard.providers.planted.decision_model import Parameters
from steelyard.verdicts.observations import Observations

pytestmark = pytest.mark.calibrate

RUNS, FEW, LEANS = 300, 100, 200
HEADING = EstimateContext.for_protocol("j", "original", "base", 7)
JUDGES = {
    "selftest": PLANTED,
    "keen": replace(PLANTED, resolution=1.4, position_bias=-0.3, surface_sensitivity=0.5),
    "cautious": replace(PLANTED, tie_threshold=1.1, position_bias=0.0),
}


def tell(capsys: pytest.CaptureFixture[str], line: str) -> None:
    with capsys.disabled():
        print(f"\n{line}", end="")


@pytest.mark.parametrize("name", JUDGES)
def test_profile_intervals_cover(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    planted = JUDGES[name]
    hits = np.mean([covered(simulate(planted, 1000 + run), vector(planted)) for run in range(RUNS)], axis=0)
    figures = ", ".join(f"{metric.id} {hit:.3f}" for metric, hit in zip(NAMES, hits, strict=True))
    tell(capsys, f"profile, {name}, {RUNS} runs: {figures}")
    assert (hits[:3] >= 0.90).all()


def test_the_gates_of_the_selftest_pass_for_most_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    gates = np.array([*TOLERANCES.values()])
    found = [unprofiled(simulate(PLANTED, 4000 + run, replicates=3)).theta[:4] for run in range(60)]
    passed = int((np.abs(np.array(found) - vector(PLANTED)[:4]) < gates).all(axis=1).sum())
    tell(capsys, f"gates of the selftest: {passed} of 60 seeds pass")
    assert passed >= 54


def test_limits_of_detection_cover(capsys: pytest.CaptureFixture[str]) -> None:
    planted = replace(PLANTED, resolution=1.0, tie_threshold=0.4)
    truth = limit_of_detection(vector(planted))
    hits = np.mean([holds_limit(simulate(planted, 2000 + run), truth) for run in range(RUNS)])
    tell(capsys, f"limit of detection {truth:.2f}, {RUNS} runs: {hits:.3f}")
    assert hits >= 0.90


def holds_limit(pairs: Pairs, truth: float) -> bool:
    """Whether the interval of the limit of detection holds the truth; open ends hold everything."""
    found = detection(unprofiled(pairs))
    return (found.low or 0.0) <= truth <= (inf if found.high is None else found.high)


@pytest.mark.parametrize("true", [1.0, 1.25])
def test_the_ratio_of_resolutions(true: float, capsys: pytest.CaptureFixture[str]) -> None:
    """The 90 % interval covers, and a ratio at the margin is called the same in at most 5 % of runs."""
    sizes = {delta: 4 * count for delta, count in STANDARD.items()}
    other = replace(PLANTED, resolution=true * PLANTED.resolution, tie_threshold=1.2)
    covers, same = 0.0, 0.0
    for run in range(FEW):
        arms = [
            _with_resolution(simulate(p, seed + run, sizes)) for p, seed in ((PLANTED, 5000), (other, 9000))
        ]
        curves = profile_curve(arms[0]), profile_curve(arms[1])
        spread = ratio_spread(*arms)
        roots = [allowance(spread.clusters, spread.inflation, level) for level in (0.90, 0.95)]
        covers += profile_of_ratio(*curves, true) < roots[0] ** 2
        value = float(arms[1].theta[0] / arms[0].theta[0])
        narrow, wide = (ratio_limits(*curves, value, root) for root in roots)
        same += ratio_word(narrow, wide) == "clear"
    told = f"90 % profile {covers / FEW:.3f}, called the same {same / FEW:.3f}"
    tell(capsys, f"ratio {true:g} of resolutions, 840 pairs an arm, {FEW} runs: {told}")
    assert covers / FEW >= 0.85
    if true != 1:
        assert same / FEW <= 0.08


def _with_resolution(pairs: Pairs) -> InstrumentFit:
    found = unprofiled(pairs)
    return replace(found, reach=tuple(reaches(found.patterns, found.best, (0,))))


WEAK = Parameters(
    resolution=0.37, position_bias=-0.55, tie_threshold=0.21, surface_sensitivity=1.1, lapse_rate=0.04
)
REGIMES = {
    "steady": (PLANTED, 0.0, slice(0, 4)),
    "weak with lapses": (WEAK, 0.0, slice(0, 4)),
    "tasks differ": (PLANTED, 0.4, slice(1, 2)),
}
"""Judge, spread of its position bias between tasks, and the parameters that are held against the truth.

Where tasks differ, the noise that every parameter is measured by has grown by their spread; position bias is
the one that the spread is about.
"""


@pytest.mark.parametrize("regime", REGIMES)
def test_limits_by_task_cover(regime: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first interval holds in every regime; the other two each fail in one."""
    planted, tilt, held = REGIMES[regime]
    truth, hits = vector(planted), np.zeros((3, len(NAMES)))
    for run in range(RUNS):
        pairs = simulate(planted, 3000 + run, tilt=tilt)
        found = unprofiled(pairs)
        hits[0] += covered(pairs, truth, by_task=True)
        hits[1] += covered(pairs, truth)
        hits[2] += ~(np.abs(found.theta - truth) > t.ppf(0.975, 9) * sandwich(found))
    for method, row in zip(("profile_cluster", "profile", "sandwich_cluster"), hits / RUNS, strict=True):
        figures = ", ".join(f"{metric.id} {hit:.3f}" for metric, hit in zip(NAMES, row, strict=True))
        tell(capsys, f"{method}, {regime}, {RUNS} runs: {figures}")
    assert (hits[0, held] / RUNS >= 0.93).all()


@pytest.mark.parametrize("share", [0.01, 0.02, 0.05])
@pytest.mark.parametrize("correlation", [0.01, 0.1, 0.3])
def test_rare_events_are_covered(
    share: float, correlation: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """All runs of 10 tasks × 12 calls, those without an event among them."""
    runs = tallies(beta_events(share, correlation, 10, 12, 20_000, 17), 12)
    silent = np.mean([run.k == 0 for run in runs])
    told = {
        "wilson_cluster": wilson_cluster,
        "wilson_tasks": wilson_strict,
        "wilson": lambda run: wilson(run.k, run.n),
    }
    hits = {
        name: np.mean([low <= share <= high for low, high in map(limits, runs)])
        for name, limits in told.items()
    }
    figures = ", ".join(f"{name} {hit:.3f}" for name, hit in hits.items())
    tell(capsys, f"share {share:g}, correlation {correlation:g}, no event in {silent:.2f} of runs: {figures}")
    assert hits["wilson_cluster"] >= 0.95
    quiet = next(run for run in runs if run.k == 0)
    assert wilson_cluster(quiet)[1] >= share


@pytest.mark.parametrize("accuracy", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("items", [20, 60, 200])
@pytest.mark.parametrize("passing", [0.5, 0.8])
def test_random_errors_are_seldom_called_a_lean(accuracy: float, items: int, passing: float) -> None:
    """A judge that errs at random is called lenient, strict or swayed by length in few sheets."""
    generator = np.random.default_rng([items, int(100 * accuracy), int(10 * passing)])
    flagged = 0
    for _ in range(LEANS):
        labels = (generator.random(items) < passing).astype(int)
        right = generator.random(items) < accuracy
        words = generator.integers(5, 60, items)
        answers = np.where(right, labels, 1 - labels)
        scores = collect_scores(
            Observations.of(
                [
                    call(f"i{n:03d}", int(answer), int(label))
                    for n, (answer, label) in enumerate(zip(answers, labels, strict=True))
                ]
            )
        )
        figures = directional_bias_estimates(HEADING, scores, words)
        flagged += any(e.status == FLAGGED for e in figures if e.metric in ("leniency", "length_gap"))
    print(f"right in {accuracy}, {items} items, {passing} pass: {flagged / LEANS:.3f}")
    assert flagged / LEANS <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / LEANS)
