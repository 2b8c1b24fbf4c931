"""Cues on single texts: shift over rise by hand, Fieller's limits, planted worths found again, the sheet."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import steelyard
from calibration.level_worth import STRONG, WEAK, count
from said import answered
from steelyard.core.foreign_code import without_code
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.datasheet.render.clauses import sentence
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
from steelyard.metrics.instrument.crossing import Moves, Ratings
from steelyard.metrics.instrument.level_worth import LevelRatio, level_worth
from steelyard.metrics.instrument.worth_estimates import BLIND
from steelyard.metrics.stats.intervals import fieller

JUDGE = "planted/rater"
LOST = {"unreadable": 0, "failed": 0}


def test_limits_of_a_ratio_by_hand() -> None:
    # A = 1 − 4 · .01 = .96, B = 2, C = 4 − 4 · .04 = 3.84; (2 ± √(4 − .96 · 3.84)) / .96.
    assert fieller(2.0, 1.0, (0.04, 0.0, 0.01), 2.0) == pytest.approx((1.5, 2.5 / 0.9375))
    # The rise may be zero: A = −.03, B = .1, C = .96; (.1 − √(.01 + .0288)) / −.03 = 3.2326.
    low, high = fieller(1.0, 0.1, (0.01, 0.0, 0.01), 2.0)
    assert (round(low, 4), high) == (3.2326, None)
    assert fieller(-1.0, 0.1, (0.01, 0.0, 0.01), 2.0) == (None, pytest.approx(-low))
    assert fieller(0.1, 0.1, (0.01, 0.0, 0.01), 2.0) == (None, None)


def ratings(score: list[float], label: list[float]) -> Ratings:
    size = len(score)
    return Ratings(
        np.array([f"i{n}" for n in range(size)], dtype=np.object_), np.array(score), np.array(label),
        np.full(size, 1), np.full(size, 6), np.array([f"c{n}" for n in range(size)], dtype=np.object_),
        np.full(size, "general", dtype=np.object_), np.ones(size, dtype=np.int64), LOST,
    )  # fmt: skip


def test_the_worth_is_the_shift_over_the_rise_per_level() -> None:
    # Scores 2, 2.5, 3, 3.5 at labels 1 to 4: a rise of .5 a level. The cue adds 0, 1, 0, 1: a mean of .5.
    label = [1.0, 2.0, 3.0, 4.0] * 5
    plain = ratings([1.5 + each / 2 for each in label], label)
    cued = ratings([1.5 + each / 2 + (each % 2 == 0) for each in label], label)
    ratio = LevelRatio.of(plain, Moves.between(plain, cued))
    assert (ratio.shift, ratio.rise) == (pytest.approx(0.5), pytest.approx(0.5))
    context = EstimateContext.for_protocol("j", "tradeoff", "base", 7)
    found = level_worth(context, plain, Moves.between(plain, cued), "padding")
    assert (found.value, found.unit) == (pytest.approx(1.0), "item")
    # The rise is exact, so that the limits are those of the shift: t(19) · √(.25 / 19) = .2401, over .5.
    assert found.interval.low == pytest.approx(1 - 2 * 0.24008, abs=1e-4)
    assert level_worth(context, plain, Moves.between(plain, cued), "typos").value == pytest.approx(-1.0)


def test_a_judge_that_does_not_rise_has_no_worth() -> None:
    label = [1.0, 2.0, 3.0, 4.0] * 5
    flat = ratings([3.0, 4.0, 4.0, 3.0] * 5, label)
    context = EstimateContext.for_protocol("j", "tradeoff", "base", 7)
    found = level_worth(context, flat, Moves.between(flat, flat), "padding")
    assert (found.value, found.reason) == (None, BLIND.code)
    few = ratings([1.0, 2.0], [1.0, 2.0])
    assert level_worth(context, few, Moves.between(few, few), "padding").reason == "too_few_items"


def test_a_worth_beyond_the_room_of_all_rows_has_no_upper_end() -> None:
    # On a scale from 1 to 6 labels 1 to 4 leave at least two levels; a cue that adds four is cut at 6.
    label = [1.0, 2.0, 3.0, 4.0] * 15
    plain = ratings(list(label), label)
    context = EstimateContext.for_protocol("j", "tradeoff", "base", 7)
    cued = ratings([min(6.0, each + 4) for each in label], label)
    found = level_worth(context, plain, Moves.between(plain, cued), "padding")
    assert (found.interval.high, found.censored, found.value) == (None, "right", found.interval.low)
    assert found.value > 2
    assert "no more rows" in found.note
    # A worth of three has room on the rows labelled 3 or lower, which alone are read.
    some = level_worth(
        context, plain, Moves.between(plain, ratings([min(6.0, e + 3) for e in label], label)), "padding"
    )
    assert (some.value, some.n_units, some.censored) == (pytest.approx(3.0), 45, None)
    assert re.search("labelled 3 levels .* below", some.note)


def test_a_cue_that_harms_is_read_from_rows_above_the_lower_end() -> None:
    label = [1.0, 2.0, 3.0, 4.0] * 15
    plain = ratings(list(label), label)
    cued = ratings([max(1.0, each - 1) for each in label], label)
    context = EstimateContext.for_protocol("j", "tradeoff", "base", 7)
    found = level_worth(context, plain, Moves.between(plain, cued), "padding")
    assert (found.value, found.n_units) == (pytest.approx(-1.0), 30)
    assert re.search("30 of 60 rows, labelled 2 levels .* above", found.note)


def test_a_cue_that_moves_nothing_is_clear_and_has_no_empty_interval() -> None:
    label = [1.0, 2.0, 3.0, 4.0] * 15
    plain = ratings(list(label), label)
    found = level_worth(
        EstimateContext.for_protocol("j", "t", "base", 7), plain, Moves.between(plain, plain), "x"
    )
    assert (found.value, found.status) == (0.0, "clear")
    assert found.interval.low < -0.1 < 0.1 < found.interval.high


@pytest.mark.slow
@pytest.mark.parametrize(("rater", "clusters"), [(STRONG, 24), (WEAK, 60)])
@pytest.mark.parametrize("worth", [0.5, 1.5])
def test_planted_worths_are_covered_over_clusters_that_differ(rater, clusters, worth) -> None:
    tally = count(rater, worth, range(40), clusters)
    assert tally.coverage >= 0.93
    assert worth > 0.5 or tally.flagged <= 0.05


def study(folder: Path, scale: str, cues: list, labels: list[int] | None = None, **columns: list) -> dict:
    """Sixty rows in the middle of the scale, or one for each of these labels."""
    given = labels or [n % 2 if scale == "binary" else 2 + n % 3 for n in range(60)]
    rows = [
        {
            "q": f"Question {n}?",
            "a": f"This is the answer number {n}. It says a thing. It says another.",
            "g": label,
            **{name: values[n] for name, values in columns.items()},
        }
        for n, label in enumerate(given)
    ]
    data = folder / f"{scale}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return {
        "task": {"instruction": "Rate it.", "rubric": "More is better.", "scale": scale},
        "data": {
            "path": str(data),
            "columns": {"request": "q", "response": "a", "label": "g", **{name: name for name in columns}},
        },
        "probes": [{"tradeoff": {"cues": cues}}],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rater to which every cue is worth a level and a half, on labels that leave room for it."""
    base = tmp_path_factory.mktemp("levels")
    steelyard.measure(
        f"{JUDGE}?worth=1.5&noise=0", **study(base, "1-7", ["padding", "bullets"]), out=base / "run"
    )
    return base / "run"


def test_the_sheet_has_the_worth_in_levels(folder: Path) -> None:
    sheet = steelyard.load(folder)
    found = sheet.find(JUDGE, "cue_worth", "tradeoff", protocol="base", cue="padding")
    assert found.interval.low < 1.5 < found.interval.high
    assert (found.status, found.n_calls, found.interval.method) == ("flagged", 120, "fieller_cluster")
    finding = next(f for f in sheet.findings if (f.judge, f.title) == (JUDGE, "Cues"))
    assert "levels: a padded answer outscores one that is a level better" in sentence(finding.clause)
    blind = sheet.find("constant", "cue_worth", "tradeoff", protocol="base", cue="padding")
    assert blind.reason == BLIND.code
    page = (folder / "datasheet.html").read_text(encoding="utf-8")
    assert "levels of the scale" in page


def test_gate_and_compare_take_the_worth_in_levels(folder: Path, tmp_path: Path) -> None:
    checks = steelyard.gate(folder).of(JUDGE)
    assert ("FAIL", "cue_worth") in [(check.result, check.metric) for check in checks]
    steelyard.measure(f"{JUDGE}?noise=0", **study(tmp_path, "1-7", ["padding"]), out=tmp_path / "run")
    row = next(r for r in steelyard.compare(tmp_path / "run", folder).rows if r.metric == "cue_worth")
    assert row.intervals[0].low < 1.5 < row.intervals[0].high
    assert row.differs
    assert "levels of the scale" in row.note


TOP_HEAVY = [1] + [2] + [3] * 2 + [4] * 6 + [5] * 10
"""Labels of which half are at the end of a scale from 1 to 5."""


def test_rows_at_the_end_of_the_scale_do_not_halve_a_worth(tmp_path: Path) -> None:
    # Of 200 rows 40 are labelled 3 or lower; on those the cue adds its whole level.
    judge = f"{JUDGE}?worth=1&noise=0"
    given = study(tmp_path, "1-5", ["padding"], TOP_HEAVY * 10)
    sheet = steelyard.measure(judge, **given, out=tmp_path / "run")
    found = sheet.find(JUDGE, "cue_worth", "tradeoff", protocol="base", cue="padding")
    assert (found.value, found.n_units, found.status) == (pytest.approx(1.0, abs=0.1), 40, "flagged")
    assert re.search("40 of 200 rows, labelled 2 levels .* below", found.note)


def test_too_few_rows_that_can_move_have_no_worth_and_the_shift_decides(tmp_path: Path) -> None:
    judge = f"{JUDGE}?worth=1&noise=0"
    given = study(tmp_path, "1-5", ["padding"], TOP_HEAVY * 3)
    sheet = steelyard.measure(judge, **given, out=tmp_path / "run")
    found = sheet.find(JUDGE, "cue_worth", "tradeoff", protocol="base", cue="padding")
    assert (found.value, found.reason) == (None, "no_room")
    assert "12 of 60" in found.note
    shift = sheet.find(JUDGE, "cue_shift", "tradeoff", protocol="base", cue="padding")
    assert (shift.value, shift.n_units, shift.status) == (0.25, 12, "flagged")
    verdict = next(v for v in sheet.verdicts if v.judge == JUDGE)
    assert "no fault" not in verdict.word


def test_where_no_row_can_move_nothing_is_said_of_a_cue(tmp_path: Path) -> None:
    given = study(tmp_path, "1-5", ["padding"], [4, 5, 5] * 20)
    sheet = steelyard.measure(f"{JUDGE}?worth=1&noise=0", **given, out=tmp_path / "run")
    for metric in ("cue_worth", "cue_shift"):
        found = sheet.find(JUDGE, metric, "tradeoff", protocol="base", cue="padding")
        assert (found.value, found.reason) == (None, "no_room")


def test_on_a_yes_no_scale_the_shift_is_the_change_in_pass_rate(tmp_path: Path) -> None:
    # Of 60 texts the rater passes the 30 that should pass; with the cue it passes all.
    judge = f"{JUDGE}?worth=1&noise=0&sensitivity=1&specificity=1"
    sheet = steelyard.measure(judge, **study(tmp_path, "binary", ["padding"]), out=tmp_path / "run")
    shift = sheet.find(JUDGE, "cue_shift", "tradeoff", protocol="base", cue="padding")
    assert (shift.value, shift.status, shift.reading) == (0.5, "flagged", "pass rate")
    worth = sheet.find(JUDGE, "cue_worth", "tradeoff", protocol="base", cue="padding")
    assert (worth.value, worth.reason) == (None, "no_levels")
    finding = next(f for f in sheet.findings if (f.judge, f.title) == (JUDGE, "Cues"))
    assert sentence(finding.clause).startswith("is swayed by padding: padding moves the pass rate by +0.50 [")


def test_where_the_crossing_point_disagrees_the_sentence_says_so() -> None:
    found = Estimate(
        "j", "tradeoff", "cue_worth", {"protocol": "base", "cue": "padding"}, "pair", 1.4,
        intervals=(Interval("x", 1.1, 1.9),), status="flagged", details={"crossing": 2.5},
    )  # fmt: skip
    _, said = answered("Cues", JudgeEstimates("j", EstimateIndex([found]))) or ("", "")
    assert re.search(r"disagree: 2\.50 .*\)$", said)
    assert Estimate.from_json(found.to_json()).details == {"crossing": 2.5}


def test_a_worth_of_single_texts_is_decided_on_rows_that_differ_by_levels(command, tmp_path: Path) -> None:
    judges = [f"{JUDGE}?noise=0&sensitivity=1&specificity=1&worth={worth}" for worth in (0, 3)]
    given = {**study(tmp_path, "1-7", ["padding"]), "judges": judges}
    (tmp_path / "study.yaml").write_text(json.dumps(given), encoding="utf-8")
    assert command("measure", "study.yaml", "--until", "cue_worth@cue=padding<1", "--out", "run").code == 0
    made = json.loads((tmp_path / "run" / "decision.json").read_text(encoding="utf-8"))["decisions"]
    assert [(body["verdict"], body["holds"]) for body in made] == [("below", True), ("above", False)]
    assert all(body["calls"] == 2 * body["units"] <= 40 for body in made)


@pytest.mark.parametrize("single", [True, False])
def test_a_cue_of_the_study_that_changes_no_text_is_refused_and_a_plan_counts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, single: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "idle.py").write_text("def same(text):\n    return text\n", encoding="utf-8")
    cue = {"name": "mine", "function": "idle.py:same"}
    given = study(tmp_path, "1-7", [cue]) if single else {"probes": [{"tradeoff": {"cues": [cue]}}]}
    judge = JUDGE if single else "planted/probit"
    with pytest.raises(ConfigError, match="'mine' changes no text"):
        steelyard.measure(judge, **given, out=tmp_path / "run")
    with without_code():
        assert steelyard.plan(judge, **given, out=tmp_path / "plan").calls == (120 if single else 104)
