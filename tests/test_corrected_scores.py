"""Coverage of corrected scores: a reduced simulation, the published tables, and real verdicts."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import score_tables

from calibration import arena_scores, corrected_scores, scale_worth
from calibration.results import load
from planted_frames import holds
from steelyard.estimation.designs import LabelDesign
from steelyard.importing.ratings import Rating, RatingsTable
from steelyard.survey.estimate import estimate
from steelyard.survey.judged_items import Subject
from steelyard.tasks.task import usual_ends

ROWS = list(corrected_scores.rows())


def floor(runs: int) -> float:
    """Below this a coverage of .93 is not by chance: three standard errors."""
    return 0.93 - 3 * sqrt(0.93 * 0.07 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("design", corrected_scores.DESIGNS, ids=str)
@pytest.mark.parametrize("scale", corrected_scores.SCALES)
def test_intervals_cover_in_a_reduced_grid(scale: str, design: LabelDesign) -> None:
    """Every shape and judge, with few labels and with more; of each a few runs."""
    held = given = 0
    for row in ROWS:
        if (row.scale, row.design) == (scale, design):
            for labels in row.labels[:2]:
                tally = row.tally(labels, 3, seed=11)
                held, given = held + tally.held, given + tally.given
    assert held / given >= floor(given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "judge", "design", "labels"),
    [
        ("top-heavy", "lenient", LabelDesign.BY_VERDICT, 60),  # .77 to .88 without limits of each level
        ("spread", "gross", LabelDesign.RANDOM, 60),  # .89 without a residual that was not seen
        ("bottom-heavy", "gross", LabelDesign.ODDS, 60),  # .65 with the judge's weight fixed at 1
    ],
)
def test_scores_that_were_covered_too_seldom(
    shape: str, judge: str, design: LabelDesign, labels: int
) -> None:
    row = next(each for each in ROWS if each.key == ("grid", "1–5", shape, judge, str(design)))
    assert row.tally(labels, 200, seed=5).coverage >= floor(200)


@pytest.mark.slow
def test_a_judge_that_never_goes_low_is_covered() -> None:
    """40 labels where 3 % deserve a 1 that the judge never gives: .73 with a scale of the scores seen."""
    rng = np.random.default_rng(40)
    held = 0
    for _ in range(100):
        label = rng.choice([1.0, 4.0, 5.0], 500, p=[0.03, 0.5, 0.47])
        rows = [Rating(f"i{n}", "j", "judge", max(score, 4.0)) for n, score in enumerate(label)]
        rows += [Rating(f"i{n}", "h", "human", label[n]) for n in range(40)]
        found = estimate(RatingsTable("r", tuple(rows)), Subject(), LabelDesign.RANDOM)
        held += holds(found.corrected, float(label.mean()))
    assert held / 100 >= floor(100)


@pytest.mark.parametrize(
    ("seen", "ends"),
    [
        ((0, 1), (0, 1)),
        ((0.2, 0.9), (0, 1)),
        ((4, 5), (1, 5)),
        ((1, 1.5), (1, 5)),
        ((0, 2), (0, 5)),
        ((0.5, 4.5), (0, 5)),
        ((6, 9), (1, 10)),
        ((0, 7), (0, 10)),
        ((40, 95), (0, 100)),
        ((-1, 1), (-1, 1)),
        ((3, 500), (3, 500)),
    ],
)
def test_the_narrowest_usual_scale_that_holds_the_scores(
    seen: tuple[float, float], ends: tuple[float, float]
) -> None:
    assert usual_ends(*seen) == ends


@pytest.mark.slow
@pytest.mark.parametrize("labels", corrected_scores.WHOLE)
def test_few_whole_tasks_are_covered(labels: int) -> None:
    """With three tasks .91 were, since their items alone seemed to say enough."""
    mine = [row for row in ROWS if row.part == corrected_scores.PART_WHOLE]
    tallies = [row.tally(labels, 20, seed=3) for row in mine]
    given = sum(tally.given for tally in tallies)
    assert sum(tally.held for tally in tallies) / given >= floor(given)


def test_the_table_has_every_cell_once() -> None:
    body = load()["corrected_scores"]
    keys = ("part", "scale", "shape", "judge", "design")
    assert [tuple(row[key] for key in keys) for row in body["rows"]] == [row.key for row in ROWS]
    assert {row.part: row.labels for row in ROWS} == {
        part: score_tables.LABELS[part] for part in score_tables.PARTS
    }
    for row in body["rows"]:
        assert all(0 <= held <= given for held, given in zip(row["held"], row["given"], strict=True))


def test_no_cell_is_low() -> None:
    cells = score_tables.cells(load()["corrected_scores"])
    assert [cell.words for cell in cells if cell.is_low] == []
    assert {cell.row["design"] for cell in cells if cell.is_refused} <= {"elsewhere"}


def test_worths_at_the_ends_of_scales_hold_in_the_published_table() -> None:
    """Up to a level and a half; a worth of three is more than the room of most rows, and the page says so."""
    body = load()["scale_worths"]
    assert len(body["rows"]) == len(list(scale_worth.cells()))
    for row in body["rows"]:
        if row["worth"] < 3:
            assert not score_tables.low(row["held"], row["given"])
        if row["worth"] == 0:
            assert row["flagged"] <= 0.01 * body["runs"]


@pytest.mark.slow
@pytest.mark.parametrize("shape", scale_worth.SHAPES["1–5"])
def test_worths_at_the_ends_of_scales_are_covered(shape: str) -> None:
    cells = [cell for cell in scale_worth.cells() if cell.shape == shape and cell.rows == 5]
    tallies = [cell.count(8) for cell in cells if cell.worth < 3]
    given = sum(tally.worths for tally in tallies)
    assert sum(tally.covered for tally in tallies) / given >= floor(given)


def test_the_table_of_real_verdicts_holds() -> None:
    body = load()["arena_scores"]
    assert len(body["rows"]) == len(list(arena_scores.cells()))
    for row in body["rows"]:
        assert not score_tables.low(row["held"], row["given"])


@pytest.mark.slow
@pytest.mark.parametrize("design", arena_scores.DESIGNS, ids=lambda each: f"{each[0]}-{each[1]}")
def test_corrected_win_rates_cover_on_real_votes(design: tuple[LabelDesign, bool]) -> None:
    held = given = 0
    for judge, quantity, drawn, population, labels in arena_scores.cells():
        if (drawn, population) == design and labels == 60:
            tally, _ = arena_scores.count(judge, quantity, drawn, population, labels, 20)
            held, given = held + tally.held, given + tally.given
    assert held / given >= floor(given)
