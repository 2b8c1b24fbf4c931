"""Random tables: every design and scale ends in a figure, and no sentence contradicts its figures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from commands import Command
from planted_frames import JUDGES, PlantedWorld
from steelyard.errors import DataError
from steelyard.estimation.designs import LabelDesign
from steelyard.importing.ratings import Rating, RatingsTable
from steelyard.survey.estimate import EstimateReport, estimate
from steelyard.survey.estimate_report import figure_rows, methods, notes, sentence, spelled
from steelyard.survey.judged_items import Subject
from steelyard.survey.leaderboard import leaderboard
from steelyard.survey.leaderboard_report import headline, table_rows
from steelyard.survey.leaderboard_report import notes as board_notes
from steelyard.survey.options import RankOptions

SCALES: dict[str, tuple[float, ...]] = {
    "yes or no": (0.0, 1.0),
    "1-5": tuple(float(level) for level in range(1, 6)),
    "1-10": tuple(float(level) for level in range(1, 11)),
}
DESIGNS = tuple(LabelDesign)


def drawn(design: LabelDesign, f: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Odds of each item."""
    if design is LabelDesign.BY_VERDICT:
        levels, place, sizes = np.unique(f, return_inverse=True, return_counts=True)
        each = np.clip(share * len(f) / len(levels), 6, sizes) / sizes
        return np.asarray(each[place])
    if design is LabelDesign.ODDS:
        return np.asarray(np.minimum(1.0, share * (0.5 + rng.random(len(f)))))
    return np.full(len(f), share)


def planted(
    scale: str, design: LabelDesign, rng: np.random.Generator, *, items: int = 300, per_task: int = 1
) -> list[Rating]:
    """A judge of all items, and people's labels of those that the design draws."""
    values = SCALES[scale]
    shares = rng.dirichlet(np.full(len(values), 0.7))
    world = PlantedWorld.judged(values, shares.tolist(), JUDGES[rng.integers(len(JUDGES))])
    world = PlantedWorld(values, shares.tolist(), world.confusion, items, per_task)
    y, f, task = world.draw(rng)
    odds = drawn(design, f, float(rng.uniform(0.1, 0.5)), rng)
    made = []
    for n in range(items):
        about = {
            "task": f"t{task[n]}" if per_task > 1 else "",
            "stratum": "abc"[n % 3],
            "p_drawn": float(odds[n]) if design is LabelDesign.ODDS else None,
        }
        made.append(Rating(f"i{n}", "judge", "judge", float(f[n]), **about))
        if rng.random() < odds[n]:
            made.append(Rating(f"i{n}", "ann", "human", float(y[n]), **about))
    return made


def write(path: Path, rows: list[Rating]) -> None:
    columns = ("item", "rater", "kind", "value", "task", "stratum", "p_drawn")
    lines = [
        ",".join("" if (cell := getattr(row, name)) is None else str(cell) for name in columns)
        for row in rows
    ]
    path.write_text(",".join(columns) + "\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_every_design_and_scale_ends_in_a_figure(
    design: LabelDesign, scale: str, command: Command, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    world = PlantedWorld.judged(SCALES[scale], [1 / len(SCALES[scale])] * len(SCALES[scale]), "good")
    y, f, _ = PlantedWorld(world.values, world.shares, world.confusion, 400).draw(rng)
    odds = drawn(design, f, 0.3, rng)
    rows = []
    for n in range(400):
        recorded = float(odds[n]) if design is LabelDesign.ODDS else None
        rows.append(Rating(f"i{n}", "judge", "judge", float(f[n]), stratum="ab"[n % 2], p_drawn=recorded))
        if rng.random() < odds[n]:
            rows.append(Rating(f"i{n}", "ann", "human", float(y[n]), stratum="ab"[n % 2], p_drawn=recorded))
    write(tmp_path / "r.csv", rows)
    given = ("estimate", "r.csv", "--design", str(design))
    if design is LabelDesign.ELSEWHERE and scale != "yes or no":
        done = command(*given)
        assert (done.code, "expected yes or no for labels from elsewhere" in done.err) == (2, True)
        return
    for of in ("items", "population"):
        found = json.loads(command(*given, "--of", of, "--json").out)["corrected"]
        assert found["low"] < found["value"] < found["high"]
        assert found["low"] <= y.mean() + 0.02 * np.ptp(SCALES[scale])
        assert found["high"] >= y.mean() - 0.02 * np.ptp(SCALES[scale])
    shown = command(*given, "--by", "stratum")
    assert (shown.code, "corrected" in shown.out) == (0, True)
    paragraph = command(*given, "--methods").out
    assert re.search(r"by (the|post|prediction|Rogan)", " ".join(paragraph.split()))


@pytest.mark.slow
def test_no_sentence_contradicts_the_figures_beside_it() -> None:
    rng, seen = np.random.default_rng(8), 0
    said: set[str] = set()
    for _ in range(400):
        scale = list(SCALES)[rng.integers(len(SCALES))]
        design = DESIGNS[rng.integers(len(DESIGNS))]
        size, per_task = int(rng.integers(60, 400)) // 10 * 10, (1, 1, 5, 10)[rng.integers(4)]
        rows = planted(scale, design, rng, items=size, per_task=per_task)
        population = bool(rng.random() < 0.3)
        stops = scale == "yes or no" and design is not LabelDesign.ELSEWHERE
        try:
            report = estimate(RatingsTable("r", tuple(rows)), Subject(), design, population=population)
        except DataError:  # refused: nothing is said
            continue
        said |= check_estimate(report)
        if stops:
            early = RatingsTable("r", tuple(rows), stopped_early=True)
            check_early_stop(report, estimate(early, Subject(), design, population=population))
        seen += 1
        if seen == 200:
            break
    assert seen == 200
    assert said == {"count as", "adds nothing", "left out", "reached past", "no more than", "reversed"}


def check_early_stop(whole: EstimateReport, early: EstimateReport) -> None:
    """After an early stop the headline has the interval that allows for it, and says so."""
    check_estimate(early)
    assert early.corrected.method == "at_every_look"
    assert early.corrected.value == whole.corrected.value
    assert (early.corrected.half_width or 0.0) > 0.999 * (whole.corrected.half_width or 0.0)
    assert spelled(early.corrected, early) in sentence(early)
    assert "holds however often somebody looked" in " ".join(notes(early))
    assert "holds however often" not in " ".join(notes(whole))


def test_limits_after_an_early_stop_allow_for_tasks() -> None:
    world = PlantedWorld.yes_no(0.4, hit=0.6, alarm=0.4, items=600, per_task=20)
    y, f, task = world.draw(np.random.default_rng(2))
    widths = []
    for named in (True, False):
        rows = []
        for n in range(600):
            about = {"task": f"t{task[n]}" if named else ""}
            rows.append(Rating(f"i{n}", "judge", "judge", float(f[n]), **about))
            if task[n] % 3 == 0:
                rows.append(Rating(f"i{n}", "ann", "human", float(y[n]), **about))
        early = RatingsTable("r", tuple(rows), stopped_early=True)
        widths.append(estimate(early, Subject(), LabelDesign.RANDOM).corrected.half_width or 0.0)
    assert widths[0] > 1.5 * widths[1]


def check_estimate(report: EstimateReport) -> set[str]:
    """Which sentences stood there; each agrees with the figures."""
    text, rows = notes(report), {name: figure for name, figure, _ in figure_rows(report)}
    told = " ".join(text)
    assert spelled(report.corrected, report) in sentence(report)
    assert rows["corrected"] == spelled(report.corrected, report)
    assert sentence(report) in methods(report)
    width, alone = report.corrected.half_width, report.labels_only
    assert width is not None
    counts = re.search(r"([\d,]+) labels? count as ([\d,]+) \(factor ([\d.]+)\)", told)
    nothing = "adds nothing here" in told
    assert not (counts and nothing)
    if alone is None:
        assert not counts
        assert not nothing
        assert rows["labels alone"].startswith("undefined: ")
    elif counts:
        labels, worth = (int(each.replace(",", "")) for each in counts.groups()[:2])
        assert alone.half_width is not None
        assert width < alone.half_width
        assert worth > labels or float(counts[3]) == pytest.approx(1.01, abs=0.01)
        ratio = (width / alone.half_width) ** 2
        known = 0.0 if report.population else 1 / report.items
        assert worth == pytest.approx(1 / (known + ratio * (1 / labels - known)), abs=0.51)
        assert report.population or worth <= report.items
    elif nothing:
        assert alone.half_width is not None
        assert width >= 0.99 * alone.half_width
    if "it was left out" in told:
        assert not counts
        assert alone is not None
        assert spelled(alone, report) == spelled(report.corrected, report)
    scale = 0.0, 1.0
    if "reached past the end of the scale" in told and report.quantity == "share":
        assert report.corrected.low == scale[0] or report.corrected.high == scale[1]
    if "no more than a judge that passes everything" in told:
        assert report.agreement is not None
        assert report.agreement <= report.corrected.value
    if "reversed" in told:
        assert report.agreement is not None
        assert report.agreement < 0.5
    words = ("count as", "adds nothing", "left out", "reached past", "no more than", "reversed")
    return {word for word in words if word in told}


@pytest.mark.slow
def test_no_sentence_of_a_ranking_contradicts_its_table() -> None:
    rng, said = np.random.default_rng(9), set()
    for seed in range(60):
        board = random_board(rng, seed)
        first, *others = board.main.systems
        rivals = [row.system for row in others if row.best == 1]
        text, told = headline(board), " ".join(board_notes(board))
        assert len(table_rows(board)) == len(board.main.systems)
        if " is first, by" in text:
            assert not rivals
            assert first.worst == 1
            said.add("first")
        else:
            assert rivals
            assert all(name in text for name in rivals[:4]) or "share the first place" in text
            said.add("may")
        apart = board.main.separation
        shown_apart = board.main.of(apart.worse).best > 1
        if board.separate is None:
            assert shown_apart == (apart.is_apart and "apart" not in told)
            assert ("would tell the first two apart" in told or "No sample" in told) == (not shown_apart)
        else:
            ends = apart.gap - apart.reach, apart.gap + apart.reach
            assert ("They are told apart" in told) == (ends[0] > 0)
            said.add("apart" if ends[0] > 0 else "not apart")
        for row in board.main.systems:
            assert row.best <= row.place <= row.worst
    assert said == {"first", "may", "apart", "not apart"}


def random_board(rng: np.random.Generator, seed: int):  # type: ignore[no-untyped-def]
    """Three or four systems of random strength, compared by a judge, and in part by people."""
    names = "pqrs"[: int(rng.integers(3, 5))]
    strength = rng.normal(0, 0.8, len(names))
    made = []
    for n in range(int(rng.integers(80, 400))):
        one, other = rng.permutation(len(names))[:2]
        won = float(rng.random() < 1 / (1 + np.exp(strength[other] - strength[one])))
        about = {"system": names[one], "versus": names[other]}
        made.append(Rating(f"i{n}", "judge", "judge", won if rng.random() < 0.8 else 1 - won, **about))
        if n % 2:
            made.append(Rating(f"i{n}", "ann", "human", won, **about))
    separate = (names[0], names[1]) if seed % 2 else None
    return leaderboard(
        RatingsTable("r", tuple(made)), Subject(), RankOptions(design="random", separate=separate)
    )
