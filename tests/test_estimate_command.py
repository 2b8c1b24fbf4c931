"""`steelyard estimate`: the figures side by side, what is assumed, and every refusal in one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from commands import Command
from planted_frames import PlantedWorld
from published_data import published
from steelyard.metrics.multiplicity import benjamini_hochberg
from test_estimation import SUPPORT

TWO_JUDGES = published("two_judges") / "verdicts.csv"
RANDOM = ("--judge", "j", "--people", "h", "--design", "random")


def write_support(folder: Path) -> None:
    """600 of 4,000 answers labelled, as in the public example."""
    rows = [pair for pair, n in zip(["11", "10", "01", "00"], SUPPORT, strict=True) for _ in range(n)]
    rows += ["1"] * (3353 - SUPPORT[0] - SUPPORT[1])
    rows += ["0"] * (4000 - len(rows))
    lines = [f"{n},{row[0]},{row[1:]},{'ab'[n % 2]}\n" for n, row in enumerate(rows)]
    (folder / "r.csv").write_text("item,j,h,stratum\n" + "".join(lines))


def write_rows(folder: Path, header: str, rows: list[tuple[Any, ...]], name: str = "r.csv") -> None:
    text = "".join(",".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)
    (folder / name).write_text(header + "\n" + text)


def body(command: Command, *arguments: object) -> dict[str, Any]:
    done = command("estimate", *arguments, "--json")
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def test_the_sentence_and_the_three_figures(command: Command, tmp_path: Path) -> None:
    write_support(tmp_path)
    found = body(command, "r.csv", *RANDOM)
    assert (found["items"], found["labels"], found["of"]) == (4000, 600, "items")
    figures = [found[name]["value"] for name in ("corrected", "judge_only", "labels_only")]
    assert figures == pytest.approx([0.715, 0.83825, 0.71833], abs=5e-4)
    assert [found["corrected"][end] for end in ("low", "high")] == pytest.approx([0.687, 0.743], abs=5e-4)
    assert found["weight"] == pytest.approx(0.66, abs=5e-3)
    worth = found["worth"]["rho_squared"], found["worth"]["factor"]
    assert worth == pytest.approx((0.29, 1.31), abs=5e-3)
    assert round(found["worth"]["effective_labels"]) == 786
    paragraph = command("estimate", "r.csv", *RANDOM, "--methods").out
    assert "estimator (GREG)" in paragraph
    found = body(command, "r.csv", *RANDOM, "--of", "population")
    assert found["corrected"]["low"] == pytest.approx(0.68363, abs=6e-6)
    assert (found["schema"], found["of"], found["corrected"]["method"]) == (
        "steelyard.estimate/1",
        "population",
        "ppi++",
    )


def test_one_task_or_none_takes_items_as_independent_and_says_so(command: Command, tmp_path: Path) -> None:
    world = PlantedWorld.yes_no(0.4, 0.75, 0.25, items=400)
    y, f, _ = world.draw(np.random.default_rng(3))
    rows = [(n, int(f[n]), int(y[n]) if n % 2 else None, "t") for n in range(400)]
    write_rows(tmp_path, "item,j,h,task", rows, "one.csv")
    write_rows(tmp_path, "item,j,h", [row[:3] for row in rows], "none.csv")
    for of in ("items", "population"):
        one, none = (body(command, f"{name}.csv", *RANDOM, "--of", of) for name in ("one", "none"))
        assert one["corrected"] == none["corrected"]
        assert one["corrected"]["low"] < one["corrected"]["value"] < one["corrected"]["high"]
    assert one["independence"].endswith("in one task")
    assert none["independence"].endswith("no task is named")
    assert f"{one['independence']}." in " ".join(command("estimate", "one.csv", *RANDOM).out.split())
    write_rows(tmp_path, "item,j,h,task", [(*row[:3], f"t{row[0] % 40}") for row in rows], "many.csv")
    assert body(command, "many.csv", *RANDOM)["independence"] == ""


def test_the_level_of_the_intervals(command: Command, tmp_path: Path) -> None:
    write_support(tmp_path)
    wide, narrow = (body(command, "r.csv", *RANDOM, "--confidence", level) for level in ("0.95", "0.8"))
    assert (wide["corrected"]["level"], narrow["corrected"]["level"]) == (0.95, 0.8)
    # GREG's t of 598 degrees of freedom: 1.96394 at 95 %, 1.28297 at 80 %.
    widths = [found["corrected"]["high"] - found["corrected"]["low"] for found in (wide, narrow)]
    assert widths[1] / widths[0] == pytest.approx(1.28297 / 1.96394, abs=1e-5)
    told = ("estimate", "r.csv", *RANDOM, "--confidence", "0.8")
    assert "value [80 %]" in command(*told).out
    assert "at 80 %" in command(*told, "--methods").out
    assert command("estimate", "r.csv", *RANDOM, "--confidence", "95").code == 2


def test_strata_each_and_together(command: Command, tmp_path: Path) -> None:
    write_support(tmp_path)
    found = body(command, "r.csv", *RANDOM, "--by", "stratum")
    assert [row["name"] for row in found["strata"]] == ["a", "b"]
    assert all(row["p"] < 0.001 for row in found["strata"])
    drawn = body(command, "r.csv", *RANDOM[:-1], "strata")
    parts = [row["items"] / 4000 * row["corrected"]["value"] for row in found["strata"]]
    assert drawn["corrected"]["value"] == pytest.approx(sum(parts))


def test_a_stratum_has_a_figure_from_ten_labels_on(command: Command, tmp_path: Path) -> None:
    labels = {"a": 60, "b": 10, "c": 9, "d": 2}
    rows = [(f"{name}{n}", n % 2, int(n % 3 > 0) if n < count else None, name)
            for name, count in labels.items() for n in range(100)]  # fmt: skip
    write_rows(tmp_path, "item,j,h,stratum", rows)
    found = body(command, "r.csv", *RANDOM, "--by", "stratum")["strata"]
    assert [(row["name"], row["labels"], row["corrected"] is None) for row in found] == [
        ("a", 60, False), ("b", 10, False), ("c", 9, True), ("d", 2, True),
    ]  # fmt: skip
    assert found[1]["corrected"]["low"] < found[1]["corrected"]["high"]
    assert [row["p"] is None for row in found] == [False, False, True, True]
    alone = [
        2
        * NormalDist().cdf(
            -abs(row["corrected"]["value"] - row["judge"]) / row["corrected"]["standard_error"]
        )
        for row in found[:2]
    ]
    # The larger of two p values stays, and the smaller is doubled up to it.
    adjusted = [max(alone) if p == max(alone) else min(max(alone), 2 * p) for p in alone]
    assert [row["p"] for row in found[:2]] == pytest.approx(adjusted)
    assert adjusted != pytest.approx(alone)
    text = " ".join(command("estimate", "r.csv", *RANDOM, "--by", "stratum").out.split())
    assert text.count("too few labels") == 2


def test_benjamini_and_hochberg_by_hand() -> None:
    assert benjamini_hochberg([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.04, 0.04])


def test_missing_verdicts_are_bounds(command: Command, tmp_path: Path) -> None:
    rows = [(n, n % 2, n % 2 if n < 40 else None) for n in range(90)]
    rows += [(n, "unreadable", None) for n in range(90, 100)]
    write_rows(tmp_path, "item,j,h", rows)
    found = body(command, "r.csv", *RANDOM)
    assert (found["items"], found["missing_verdicts"]) == (90, 10)
    low, high = found["corrected"]["low"], found["corrected"]["high"]
    assert found["bounds"] == pytest.approx([0.9 * low, 0.9 * high + 0.1])


def test_several_people_and_repeats_are_averaged(command: Command, tmp_path: Path) -> None:
    lines = []
    for n in range(40):
        lines += [(n, "g", "judge", n % 2), (n, "g", "judge", 1)]
        lines += [(n, "ann", "human", 4), (n, "bob", "human", 2)] if n < 20 else []
    write_rows(tmp_path, "item,rater,kind,value", lines)
    found = body(command, "r.csv", "--design", "random")
    assert found["people"] == ["ann", "bob"]
    assert found["corrected"]["value"] == pytest.approx(3.0)
    assert found["judge_only"]["value"] == pytest.approx(0.75)
    one = body(command, "r.csv", "--design", "random", "--people", "ann")
    assert one["corrected"]["value"] == pytest.approx(4.0)


def test_a_difference_of_systems_is_paired(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    hard = rng.normal(0, 2, 200)
    rows = []
    for system, shift in (("p", 0.5), ("q", 0.0)):
        for n in range(200):
            value = hard[n] + shift + rng.normal(0, 0.1)
            rows.append((n, system, round(value + 1, 4), round(value, 4) if n % 4 == 0 else None))
    write_rows(tmp_path, "item,system,j,h", rows)
    both = body(command, "r.csv", *RANDOM, "--system", "p", "--versus", "q")
    alone = body(command, "r.csv", *RANDOM, "--system", "p")
    assert both["corrected"]["value"] == pytest.approx(0.5, abs=0.06)
    width = both["corrected"]["high"] - both["corrected"]["low"]
    assert width < 0.1  # two intervals of ±.5 could not be subtracted to this
    assert alone["labels_only"]["high"] - alone["labels_only"]["low"] > 0.8


def test_odds_that_were_recorded_name_the_design(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    y, f, _ = PlantedWorld.yes_no(0.2, items=400).draw(rng)
    odds = np.where(f == 0, 0.5, 0.1)
    rows = [(n, int(f[n]), int(y[n]) if rng.random() < odds[n] else None, odds[n]) for n in range(400)]
    write_rows(tmp_path, "item,j,h,p_drawn", rows)
    found = body(command, "r.csv", *RANDOM[:4])
    assert found["design"] == "by-verdict"
    assert found["labels_only"] is None
    whole = body(command, "r.csv", *RANDOM[:4], "--design", "odds")
    assert whole["corrected"]["method"] == "post_stratified_mover"
    assert whole["corrected"]["value"] == pytest.approx(found["corrected"]["value"], abs=0.05)
    done = command("estimate", "r.csv", *RANDOM)
    assert (done.code, "by by-verdict" in done.err) == (2, True)


def test_labels_from_elsewhere_by_rogan_and_gladen(command: Command, tmp_path: Path) -> None:
    counts = {("1", "1"): 180, ("0", "1"): 20, ("0", "0"): 140, ("1", "0"): 60}
    rows: list[tuple[Any, ...]] = [pair for pair, n in counts.items() for _ in range(n)]
    rows += [("1", None)] * 400 + [("0", None)] * 600
    write_rows(tmp_path, "item,j,h", [(n, *row) for n, row in enumerate(rows)])
    found = body(command, "r.csv", *RANDOM[:-1], "elsewhere")
    assert found["corrected"]["value"] == pytest.approx(1 / 6)
    assert found["corrected"]["high"] == pytest.approx(0.262733, abs=1e-6)
    assert found["items"] == 1000


def test_a_share_from_elsewhere_stays_on_its_scale(command: Command, tmp_path: Path) -> None:
    """p + q0 − 1 = .02 + .9 − 1: the formula gives −.1, and nobody passes a negative share."""
    counts = {("1", "1"): 18, ("0", "1"): 2, ("0", "0"): 18, ("1", "0"): 2}
    rows: list[tuple[Any, ...]] = [pair for pair, n in counts.items() for _ in range(n)]
    rows += [("1", None)] * 2 + [("0", None)] * 98
    write_rows(tmp_path, "item,j,h", [(n, *row) for n, row in enumerate(rows)])
    found = body(command, "r.csv", *RANDOM[:-1], "elsewhere")["corrected"]
    assert (found["value"], found["low"], found["clamped"]) == (0.0, 0.0, True)
    done = command("estimate", "r.csv", *RANDOM[:-1], "elsewhere")
    assert " 0.0 % [0.0, " in done.out
    assert "reached past the" in " ".join(done.out.split())


def rare_ones(folder: Path) -> None:
    """A judge that never goes below 4, and 40 labels that missed the rare 1."""
    write_rows(folder, "item,j,h", [(n, 4 + n % 2, 4 + n % 2 if n < 40 else None) for n in range(300)])


def test_the_scale_is_stated_or_the_usual_one_that_holds_the_scores(command: Command, tmp_path: Path) -> None:
    rare_ones(tmp_path)
    seen, stated = (body(command, "r.csv", *RANDOM, *more) for more in (("--scale", "4-5"), ()))
    assert (seen["scale"], seen["scale_assumed"]) == ([4, 5], "")
    assert stated["scale"] == [1, 5]
    assert " 1 to 5 " in stated["scale_assumed"]
    # One residual of the whole scale more: 4 levels instead of 1, √(1 − 40/300)/40 each; Wilson by t(38).
    for found, span in ((seen, 1), (stated, 4)):
        share, error = (4.5 - (5 - span)) / span, (260 / 300) ** 0.5 / 40
        error *= max(0.5, 6 / 40**0.5)
        size, t = share * (1 - share) / error**2, 2.02439
        centre, reach = (
            share + t * t / 2 / size,
            t * (share * (1 - share) / size + (t / 2 / size) ** 2) ** 0.5,
        )
        low = (5 - span) + span * (centre - reach) / (1 + t * t / size)
        assert found["corrected"]["low"] == pytest.approx(low, abs=1e-5)
    assert "--scale" not in command("estimate", "r.csv", *RANDOM, "--scale", "1-5").out


@pytest.mark.parametrize(
    ("scale", "told"),
    [
        ("-5-4", "score 5 found, expected none outside --scale -5-4; correct one or the other."),
        ("1-4", "score 5 found, expected none outside --scale 1-4; correct one or the other."),
        ("pairwise", "--scale pairwise found, expected scores for --scale; leave it out."),
        ("five", "scale: found 'five', expected binary"),
    ],
)
def test_a_scale_that_does_not_fit_is_refused(
    command: Command, tmp_path: Path, scale: str, told: str
) -> None:
    rare_ones(tmp_path)
    done = command("estimate", "r.csv", *RANDOM, "--scale", scale)
    assert (done.code, told in done.err) == (2, True)


def test_comparisons_have_no_scale_of_scores(command: Command, tmp_path: Path) -> None:
    rows = [(n, "a", "b", "ab"[n % 2], "ab"[n % 2] if n < 20 else None) for n in range(40)]
    write_rows(tmp_path, "item,system_a,system_b,j,h", rows)
    done = command("estimate", "r.csv", *RANDOM, "--system", "a", "--scale", "1-5")
    assert (done.code, re.search("comparisons found, .*--scale", done.err) is None) == (2, False)


def test_zeros_and_ones_of_a_longer_scale_are_no_share(command: Command, tmp_path: Path) -> None:
    write_rows(tmp_path, "item,j,h", [(n, n % 2, n % 2 if n < 40 else None) for n in range(200)])
    assert body(command, "r.csv", *RANDOM)["quantity"] == "share"
    found = body(command, "r.csv", *RANDOM, "--scale", "0-4")
    assert (found["quantity"], found["scale"]) == ("mean", [0, 4])


def test_the_scale_spans_a_difference(command: Command, tmp_path: Path) -> None:
    rows = [(n, "ab"[s], 4 + (n + s) % 2, 4 + n % 2 if n < 40 else None) for n in range(90) for s in (0, 1)]
    write_rows(tmp_path, "item,system,j,h", rows)
    found = body(command, "r.csv", *RANDOM, "--system", "a", "--versus", "b", "--scale", "1-5")
    assert (found["scale"], found["scale_assumed"]) == ([-4, 4], "")
    assert body(command, "r.csv", *RANDOM, "--system", "a", "--versus", "b")["scale"] == [-4, 4]


def test_labels_in_a_file_of_their_own(command: Command, tmp_path: Path) -> None:
    write_rows(tmp_path, "item,j", [(n, n % 2) for n in range(60)])
    write_rows(tmp_path, "item,value", [(n, n % 2) for n in range(20)], "labels.csv")
    found = body(command, "r.csv", "--judge", "j", "--labels", "labels.csv", "--design", "random")
    assert (found["labels"], found["people"]) == (20, ["people"])


def test_labels_of_items_that_were_not_judged_are_said(command: Command, tmp_path: Path) -> None:
    write_rows(tmp_path, "item,j", [(n, n % 2) for n in range(60)])
    write_rows(tmp_path, "item,value", [(n + 50, n % 2) for n in range(-20, 14)], "labels.csv")
    found = body(command, "r.csv", "--judge", "j", "--labels", "labels.csv", "--design", "random")
    assert (found["items"], found["labels"]) == (60, 30)
    (remark,) = found["remarks"]
    assert re.match(r"Left out: 4 .*'60'\.$", remark)


def test_two_judges_at_a_time_are_refused(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{n},{n % 2},1,{n % 2}\n" for n in range(30))
    (tmp_path / "two.csv").write_text("id,gpt,claude,human\n" + rows)
    given = ("estimate", "two.csv", "--people", "human", "--design", "random")
    done = command(*given, "--judge", "gpt", "--judge", "claude")
    assert (done.code, done.out) == (2, "")
    assert "--judge: found 'gpt' and 'claude'" in done.err
    assert command(*given, "--judge", "gpt").code == 0


def test_all_words_without_a_value_are_named_at_once(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{n},{('gut', 'schlecht')[n % 2]},{('gut', 'schlecht')[n % 3 > 0]}\n" for n in range(30))
    (tmp_path / "w.csv").write_text("id,j,human\n" + rows)
    given = ("estimate", "w.csv", "--judge", "j", "--people", "human", "--design", "random")
    done = command(*given)
    assert (done.code, done.out) == (2, "")
    assert "--values gut=NUMBER,schlecht=NUMBER" in done.err
    assert command(*given, "--values", "gut=1,schlecht=0").code == 0


def test_items_that_tuned_the_judge_are_left_out(command: Command, tmp_path: Path) -> None:
    rows = [(n, n % 2, n % 2 if n < 40 else None, "tune" if n < 20 else "test") for n in range(100)]
    write_rows(tmp_path, "item,j,h,split", rows)
    found = body(command, "r.csv", *RANDOM)
    assert (found["items"], found["labels"]) == (80, 20)
    (remark,) = found["remarks"]
    assert re.match(r"20 items .* tuned", remark)


ROWS = [(n, n % 2, n % 2 if n < 40 else None) for n in range(100)]
CHOSEN = [(n, n % 2, 0 if n % 2 == 0 and n < 60 else None) for n in range(100)]


@pytest.mark.parametrize(
    ("header", "rows", "arguments", "told"),
    [
        ("item,j,h", ROWS, RANDOM[:4], "how the labels were drawn is not recorded"),
        ("item,j,h", ROWS, RANDOM[:2], "no human ratings found"),
        ("item,j,h", ROWS[:8], RANDOM, "8 items with both a verdict and a label found, expected at least 10"),
        ("item,j,h", CHOSEN, RANDOM, "expected about the same of a random draw"),
        ("item,j,h", CHOSEN, (*RANDOM[:-1], "by-verdict"), "no label among 50 items that the judge gave 1"),
        ("item,j,h", ROWS, (*RANDOM[:-1], "odds"), "--design odds without the odds"),
        ("item,j,h", ROWS, (*RANDOM[:-1], "strata"), "--design strata without strata"),
        ("item,j,h", ROWS[:40], (*RANDOM[:-1], "elsewhere"), "every judged item is labelled"),
        ("item,j,h", [(n, n / 7, 1 if n < 40 else None) for n in range(100)],
         (*RANDOM[:-1], "by-verdict"), "the judge gave 100 different scores"),
        ("item,j,h", [(n, n % 2, n // 2 % 2 if n < 40 else None) for n in range(100)],
         (*RANDOM[:-1], "elsewhere"), "are not shown to add up to more than 1"),
        ("item,j,h", [(n, n % 5, n % 5 if n < 40 else None) for n in range(100)],
         (*RANDOM[:-1], "elsewhere"), "expected yes or no for labels from elsewhere"),
        ("item,system,j,h", [(n // 2, "pq"[n % 2], *row[1:]) for n, row in enumerate(ROWS)], RANDOM,
         "found 2 systems: 'p', 'q'; expected one; name it with --system"),
        ("item,system,j,h", [(n // 2, "pq"[n % 2], *row[1:]) for n, row in enumerate(ROWS)],
         (*RANDOM[:-1], "by-verdict", "--system", "p", "--versus", "q"), "a difference of two systems needs"),
        ("item,system_a,system_b,j,h", [(n, "p", "q", "a", "b") for n in range(40)], RANDOM,
         "found 2 systems: 'p', 'q'; expected one; name it with --system"),
        ("item,criterion,j,h", [(n // 2, "cd"[n % 2], *row[1:]) for n, row in enumerate(ROWS)], RANDOM,
         "found 2 criteria: 'c', 'd'; expected one; name it with --criterion"),
        ("item,rater,kind,value", [(n, r, "judge", 1) for n in range(20) for r in "gh"],
         ("--people", "h", "--judge", "g"), "labels by a model are no labels by people"),
        ("item,rater,kind,value", [(n, *r, 1) for n in range(20) for r in (("g", "judge"), ("a", "human"))],
         ("--judge", "a"), "rater 'a' is of kind human, expected a judge"),
        ("item,j,h", [(n, 3, 3 if n < 40 else None) for n in range(100)], RANDOM,
         "every verdict and label is 3, expected some that differ"),
        ("item,j,h,task", [(*row, "t" if row[0] < 40 else f"t{row[0] % 9}") for row in ROWS], RANDOM,
         "every label lies in one task of 10, expected labels of several"),
        ("item,j,h", [(n, 1e300, n % 2) for n in range(20)], RANDOM, "column 'j' holds '1e+300'"),
        ("item,rater,kind,value", [(f"{n:03d}" if r == "a" else n, r, {"a": "human"}.get(r, "judge"), 1)
         for n in range(20) for r in "ja"], ("--design", "random"),
         "0 items with both a verdict and a label found, and 20 labelled items not rated by the judge, the "
         "first '000', expected at least 10; write the ids alike"),
        ("item,j,h", ROWS, (*RANDOM, "--where", "j=7"), "none of 100 rows fits where"),
        ("item,j,h", [(n, "unreadable", n % 2) for n in range(20)], RANDOM,
         "judge 'j' gave no verdict on any of 20 items, expected some; ask the judge again"),
    ],
)  # fmt: skip
def test_a_claim_that_the_labels_do_not_carry_is_refused(
    command: Command, tmp_path: Path, header: str, rows: list[Any], arguments: tuple[str, ...], told: str
) -> None:
    write_rows(tmp_path, header, rows)
    done = command("estimate", "r.csv", *arguments)
    assert (done.code, done.out) == (2, ""), done
    lines = [line for line in done.err.strip().splitlines() if "warning: " not in line]
    assert len(lines) == 1
    assert told in lines[0]


@pytest.mark.parametrize(("judge", "says"), [("gpt-5.2", 0.705), ("gpt-4o-mini", 0.225)])
def test_two_judges_two_winners(command: Command, judge: str, says: float) -> None:
    found = body(
        command,
        TWO_JUDGES,
        *("--columns", "item=id,system_a=model_a,system_b=model_b", "--where", f"judge={judge}"),
        *("--judge", "judge_pick", "--people", "human_winner", "--design", "random"),
        *("--system", "claude-opus-4-20250514", "--versus", "qwen3-235b-a22b-no-thinking"),
    )
    assert found["items"] == 275
    assert found["corrected"]["value"] == pytest.approx(0.400)
    assert found["judge_only"]["value"] == pytest.approx(says, abs=6e-4)


def test_a_reversed_judge_is_not_said_to_save_few_labels(command: Command, tmp_path: Path) -> None:
    write_rows(tmp_path, "item,j,h", [(n, n % 2, 1 - n % 2 if n < 40 else None) for n in range(100)])
    text = " ".join(command("estimate", "r.csv", *RANDOM).out.split())
    assert re.search(r"ρ² 1\.00; 40 labels .* 77 \(factor 1\.93\)", text)
    assert re.search(r"\b0\.0 % of items: .* reversed\.", text)
    assert "at most half" not in text
