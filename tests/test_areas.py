"""Areas of the catalogue in which a judge is reversed: named at standard, never at quick."""

from __future__ import annotations

from io import StringIO
from math import comb

import numpy as np
import pytest
from rich.console import Console

from calibration.answers import PairAnswers, PairCalls, in_areas, inverted, sees
from calibration.words import sheet_of
from calibration.worlds import World
from steelyard.commands.gate.policy import find_policy
from steelyard.commands.gate.ruling import FAIL, PASS, apply_policy, with_flags
from steelyard.datasheet.conclusion import CARE, TOO_LITTLE
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.questions.causes import Cause
from steelyard.datasheet.render.markdown import render as markdown
from steelyard.datasheet.render.terminal import render_brief
from steelyard.metrics.run.strata import DEALS, low_areas

EXCELLENT = sees((0.99, 1, 1, 1, 1), equals=0.01)
MIDDLING = sees((0.6, 0.75, 0.85, 0.9, 0.95), equals=0.1, wrong=0.5)
AREAS = ("cooking", "money")


def reversed_in(judge: PairAnswers, areas: tuple[str, ...] = AREAS) -> PairAnswers:
    return in_areas(areas, inverted(judge), judge)


def named(sheet: Datasheet) -> set[str]:
    areas = (e for e in sheet.estimates if e.metric == "area_merit" and e.status == "flagged")
    return {str(estimate.group["stratum"]) for estimate in areas}


@pytest.fixture(scope="module")
def standard() -> World:
    return World.of("catalogue", 1, 7)


@pytest.fixture(scope="module")
def sheet(standard: World) -> Datasheet:
    return sheet_of(standard, {"judge": reversed_in(EXCELLENT)}, 1)


def test_areas_that_are_reversed_are_named_in_the_verdict(sheet: Datasheet) -> None:
    assert named(sheet) == set(AREAS)
    verdict = sheet.verdict
    assert verdict.word == CARE
    assert Cause.STRATA in verdict.causes
    text = StringIO()
    render_brief(sheet, Console(file=text, width=110))
    screen = text.getvalue()
    for area in AREAS:
        assert f"tells good from bad in {area}" in screen
        assert area in markdown(sheet)
    assert "wrong more often than right in" in screen
    assert "too few" not in screen
    merit = next(decision for decision in sheet.findings if decision.question.name == "Merit")
    assert merit.status == "clear"


def test_the_gate_fails_areas_that_are_reversed(sheet: Datasheet) -> None:
    def result(name: str) -> str:
        policy = find_policy(name)
        return with_flags(apply_policy(sheet, policy, ["judge"], "here"), sheet, policy).result

    assert (result("smoke"), result("default")) == (PASS, FAIL)


def test_quick_names_none() -> None:
    world = World.of("catalogue", 0, 7)
    areas = tuple(sorted(set(world.shown.stratum.tolist()))[:2])
    sheet = sheet_of(world, {"judge": reversed_in(EXCELLENT, areas)}, 1)
    assert not [e for e in sheet.estimates if e.metric == "area_merit"]
    assert sheet.verdict.word == TOO_LITTLE


def points_of(
    world: World, judge: PairAnswers, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Points, calls and area of each task, and the names of the areas, without the rest of a datasheet."""
    calls, shown = world.calls, world.shown
    assert isinstance(calls, PairCalls)
    given = judge(calls, np.random.default_rng(seed))
    ladder = (shown.delta > 0)[world.stimulus]
    right = np.where(given == 2, 0.5, (given == np.where(calls.gap > 0, 0, 1)).astype(float))[ladder]
    task = shown.cluster[world.stimulus][ladder]
    names = sorted(set(shown.stratum.tolist()))
    area = np.zeros(task.max() + 1, dtype=np.int64)
    area[task] = np.searchsorted(names, shown.stratum[world.stimulus][ladder])
    return np.bincount(task, weights=right), np.bincount(task), area, names


def test_reversed_areas_are_named_in_95_of_100_runs(standard: World) -> None:
    judge, hits = reversed_in(EXCELLENT), 0
    for seed in range(40):
        points, calls, area, names = points_of(standard, judge, seed)
        hits += {names[each] for each in low_areas(points, calls, area, seed)} == set(AREAS)
    assert hits >= 38


@pytest.mark.parametrize("judge", [EXCELLENT, MIDDLING], ids=["excellent", "middling"])
def test_no_area_is_named_of_a_judge_that_is_alike_everywhere(standard: World, judge: PairAnswers) -> None:
    runs = 60
    false = sum(bool(low_areas(*points_of(standard, judge, seed)[:3], seed)) for seed in range(runs))
    assert false / runs <= 0.03 + 2 * (0.03 * 0.97 / runs) ** 0.5


def test_p_by_hand() -> None:
    # Four areas of three tasks; one has no point, the others all: 1 deal in C(12, 3) has the three in one
    # given area, and there are four areas.
    area = np.repeat(np.arange(4), 3)
    points = np.where(area == 2, 0.0, 4.0)
    found = low_areas(points, np.full(12, 4), area, 5)
    exact = 4 / comb(12, 3)
    assert list(found) == [2]
    assert found[2] == pytest.approx(exact, abs=4 * (exact / DEALS) ** 0.5)


def test_an_area_above_one_half_is_not_named() -> None:
    area = np.repeat(np.arange(4), 3)
    assert not low_areas(np.where(area == 2, 2.2, 4.0), np.full(12, 4), area, 5)
    assert low_areas(np.where(area == 2, 1.8, 4.0), np.full(12, 4), area, 5)
