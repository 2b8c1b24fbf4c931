"""Bradley–Terry strengths: by hand, by statsmodels, where they do not exist, and with a changing pool."""

from __future__ import annotations

import json
from math import log, log10, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

from commands import Command
from steelyard.estimation.ranking import (
    POINTS,
    Comparisons,
    corrected_ranking,
    plain_ranking,
    rank_sets,
    step_down,
    unbeaten_group,
)


def compared(
    strength: np.ndarray, rows: int, rng: np.random.Generator, ties: float = 0.0, per_task: int = 1
) -> Comparisons:
    """Comparisons of systems of these strengths in log odds; rows of a task share half of their luck."""
    values = np.full((rows, len(strength)), np.nan)
    task = np.arange(rows) // per_task
    shared = rng.random(rows)[task]
    luck = np.where(rng.random(rows) < (0.5 if per_task > 1 else 0), shared, rng.random(rows))
    for row in range(rows):
        one, other = rng.permutation(len(strength))[:2]
        won = float(luck[row] < 1 / (1 + np.exp(strength[other] - strength[one])))
        values[row, one] = 0.5 if rng.random() < ties else won
        values[row, other] = 1 - values[row, one]
    return Comparisons(values, task)


def test_two_systems_by_hand() -> None:
    # 30 wins of 40: odds 3, 400·log10(3) points apart; information 40·¾·¼, and 40/39 of the sandwich.
    won = np.repeat([1.0, 0.0], [30, 10])
    ranking = plain_ranking(Comparisons(np.stack([won, 1 - won], axis=1), np.arange(40)))
    apart = 400 * log10(3)
    assert ranking.figures == pytest.approx([1000 + apart / 2, 1000 - apart / 2])
    assert ranking.difference_error(0, 1) == pytest.approx(400 / log(10) / sqrt(7.5) * sqrt(40 / 39))


@pytest.mark.slow
@pytest.mark.parametrize("per_task", [1, 5])
def test_strengths_and_sandwich_as_statsmodels_fits_them(per_task: int) -> None:
    import statsmodels.api as sm  # takes a second, in one process of the suite

    scores = compared(np.array([0.8, 0.0, -0.3, 0.4]), 400, np.random.default_rng(8), 0.2, per_task)
    ranking = plain_ranking(scores)
    one, other = scores.sides
    design = np.zeros((400, 4))
    design[np.arange(400), one], design[np.arange(400), other] = 1, -1
    model = sm.GLM(scores.won, design[:, 1:], family=sm.families.Binomial())
    told = {"groups": scores.cluster, "use_correction": False}
    fit = model.fit(cov_type="cluster", cov_kwds=told)
    units = 400 // per_task
    assert ranking.figures[1:] - ranking.figures[0] == pytest.approx(POINTS * fit.params, abs=1e-5)
    errors = [ranking.difference_error(system, 0) for system in (1, 2, 3)]
    # Single rows are corrected by the rows of each system, about 200, instead of by all units.
    correction = sqrt(units / (units - 1)) if per_task > 1 else sqrt(200 / 199)
    assert errors == pytest.approx(POINTS * fit.bse * correction, rel=1e-5 if per_task > 1 else 1e-3)


def test_a_system_that_meets_weak_ones_wins_more_and_is_not_stronger() -> None:
    # q is twice as strong as p, but p meets r alone and q meets all: p wins .8, q less.
    rng = np.random.default_rng(9)
    strength = np.array([log(2), log(4), log(0.5)])
    pairs = np.repeat([[0, 2], [1, 0], [1, 2]], [2000, 300, 100], axis=0)
    values = np.full((len(pairs), 3), np.nan)
    for row, (one, other) in enumerate(pairs):
        values[row, one] = rng.random() < 1 / (1 + np.exp(strength[other] - strength[one]))
        values[row, other] = 1 - values[row, one]
    scores = Comparisons(values, np.arange(len(pairs)))
    rates = np.nanmean(values, axis=0)
    assert rates[0] > rates[1]
    ranking = plain_ranking(scores)
    assert rankdata(-ranking.figures, method="ordinal").tolist() == [2, 1, 3]
    assert rank_sets(step_down(ranking, 7)[0]) == [(2, 2), (1, 1), (3, 3)]


@pytest.mark.slow
def test_intervals_of_strengths_cover_with_ties_and_tasks() -> None:
    strength, held, runs = np.array([0.6, 0.0, -0.6]), 0, 150
    for run in range(runs):
        scores = compared(strength, 150, np.random.default_rng([4, run]), per_task=3)
        low, high = plain_ranking(scores).limits(0) or (0.0, 0.0)
        held += low <= 1000 + POINTS * 0.6 <= high
    assert held / runs >= 0.95 - 2 * sqrt(0.95 * 0.05 / runs)


def test_a_biased_judge_is_corrected() -> None:
    # The judge puts q first; people's votes on a third of the rows put p first, and the strengths follow.
    rng = np.random.default_rng(10)
    people = compared(np.array([0.9, 0.0, -0.9]), 1500, rng)
    values = people.values.copy()
    for row in range(1500):
        if not np.isnan(values[row, 1]) and rng.random() < 0.6:
            values[row] = np.where(np.isnan(values[row]), np.nan, 0.0)
            values[row, 1] = 1.0
    judge, labelled = Comparisons(values, people.cluster), np.arange(1500) < 500
    assert rankdata(-plain_ranking(judge).figures, method="ordinal").tolist() == [2, 1, 3]
    ranking = corrected_ranking(judge, people.filter(labelled), labelled)
    assert rankdata(-ranking.figures, method="ordinal").tolist() == [1, 2, 3]
    assert ranking.weights is not None
    truth = 1000 + POINTS * np.array([0.9, 0.0, -0.9])
    assert np.abs(ranking.figures - truth).max() < 3 * ranking.errors.max()


@pytest.mark.parametrize(
    ("wins", "group", "met"),
    [
        ([[0, 3, 1], [0, 0, 2], [0, 1, 0]], [True, False, False], True),
        ([[0, 3, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]], [True, True, False, False], False),
        ([[0, 3, 0], [0, 0, 2], [0.5, 0, 0]], None, False),
    ],
)
def test_strengths_need_a_chain_of_wins(wins: list[list[float]], group: list[bool] | None, met: bool) -> None:
    found = unbeaten_group(np.array(wins, dtype=float))
    assert (found is None) == (group is None)
    if found is not None:
        assert (found[0].tolist(), found[1]) == (group, met)


def test_people_without_a_chain_of_wins_leave_the_judges_strengths(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    rows = []
    for n in range(90):
        one, other = "pqr"[n % 3], "pqr"[(n + 1) % 3]
        vote = ("a" if one == "p" else "b" if other == "p" else rng.choice(["a", "b"])) if n < 45 else ""
        rows.append(f"{n},{one},{other},{rng.choice(['a', 'b', 'tie'])},{vote}\n")
    (tmp_path / "r.csv").write_text("item,system_a,system_b,j,h\n" + "".join(rows))
    told = ("leaderboard", "r.csv", "--judge", "j", "--people", "h", "--design", "random")
    body = json.loads(command(*told, "--rank-by", "strength", "--json").out)
    assert body["figure"] == "strength"
    assert (body["people_alone"], body["corrected"]) == (None, None)
    assert body["remarks"] == [
        "Bradley–Terry strengths by people are undefined: 'p' never lost to the other systems."
    ]
    beside = json.loads(command(*told, "--json").out)
    assert beside["strengths"] is None
    assert beside["corrected"] is not None


def test_strengths_stand_beside_win_rates(command: Command, tmp_path: Path) -> None:
    scores = compared(np.array([1.0, 0.0, -1.0]), 200, np.random.default_rng(12))
    one, other = scores.sides
    names = "pqr"
    rows = "".join(
        f"{n},{names[one[n]]},{names[other[n]]},{'a' if scores.won[n] else 'b'}\n" for n in range(200)
    )
    (tmp_path / "r.csv").write_text("item,system_a,system_b,j\n" + rows)
    done = command("leaderboard", "r.csv", "--judge", "j", "--html", "p.html")
    text = " ".join(done.out.split())
    assert "By Bradley–Terry strength, which allows for who met whom, the order is the same." in text
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "Bradley–Terry strengths" in page
    body = json.loads(command("leaderboard", "r.csv", "--judge", "j", "--json").out)
    figures = {row["system"]: row["value"] for row in body["strengths"]["systems"]}
    assert figures == {
        name: pytest.approx(value) for name, value in zip(names, scores.figures(), strict=True)
    }
