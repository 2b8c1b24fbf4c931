"""`steelyard compare` as a user meets it: folders, imports, names with colons, pages, wrong input."""

from __future__ import annotations

import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import test_html
from commands import run_command
from steelyard.commands.compare import Target, compare_targets
from steelyard.commands.import_verdicts import ImportFolder, import_verdicts
from steelyard.datasheet.comparison.report import markdown, print_comparison
from steelyard.datasheet.comparison.report import page as comparison_page
from steelyard.datasheet.comparison.rows import DIFFER, label, state
from steelyard.datasheet.comparison.rows import name as term
from steelyard.datasheet.comparison.sheet import ONE_LENGTH, ComparisonSheet
from steelyard.errors import ConfigError
from test_html import Page

PROBIT = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7"


def lines(judge: str, answers: str, first: int = 0) -> list[dict[str, Any]]:
    """Natural pairs whose better text is u, one call each; the task is the pair's last digit."""
    return [
        {
            "judge": judge, "probe": "position", "kind": "natural", "pair": f"p{number}", "better": "u",
            "task": f"t{number % 10}", "first": "u", "answer": answer,
        }
        for number, answer in enumerate(answers.split(), start=first)
    ]  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path.name


@pytest.fixture
def imported(tmp_path: Path):
    def make(name: str, *rows: list[dict[str, Any]]) -> str:
        file = write(tmp_path / f"{name}.jsonl", [line for part in rows for line in part])
        ImportFolder(tmp_path / name).write(import_verdicts([tmp_path / file]))
        return name

    return make


def compared(folder: Path, first: str = "a", second: str = "b", margin: float = 0.1) -> ComparisonSheet:
    return compare_targets(Target.parse(str(folder / first)), Target.parse(str(folder / second)), margin)


def sentence(done: Any, code: int = 2) -> str:
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_two_measured_runs_of_the_same_stimuli(steelyard, tmp_path: Path) -> None:
    for name, judge in (("a", PROBIT), ("b", "planted/first")):
        done = steelyard("measure", "-j", judge, "-p", "vacuum", "--out", name)
        assert done.returncode == 0, done.stderr
    before = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    done = steelyard("compare", "a", "b:planted/first", "--json", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert (body["schema"], body["matched"]) == ("steelyard.comparison/1", "content")
    assert body["first"]["stimulus_set"] == body["second"]["stimulus_set"]
    rows = {(r["metric"], r["group"].get("delta")): r for r in body["comparisons"]}
    dark = rows["dark_current", None]
    sheet = json.loads((tmp_path / "b" / "datasheet.json").read_text())
    recorded = next(
        e for e in sheet["estimates"] if e["judge"] == "planted/first" and e["metric"] == "dark_current"
    )
    assert dark["second"] == recorded["value"] == 1.0
    assert dark["difference"] == pytest.approx(1.0 - dark["first"])
    assert dark["dropped_first"] == {"not_shown": 0, "unreadable": 0, "failed": 0}
    assert dark["flipped"] == "tasks"
    assert {name: (tmp_path / "a" / name).read_bytes() for name in before} == before
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert Page(page).open == []
    test_html.test_nothing_is_fetched(page, Page(page))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one judge that draws anew, a better one and one that names the first text always."""
    folder = tmp_path_factory.mktemp("measured")
    judges = {
        "one": PROBIT, "again": f"{PROBIT}&seed=9", "sharp": "planted/probit?s=3&tau=0.3&sigma=0.2&beta=0",
        "first": "planted/first",
    }  # fmt: skip
    for name, judge in judges.items():
        run_command(
            folder, "measure", "-j", judge, "-p", "vacuum", "-p", "ladder", "-p", "criterion", "--out", name
        )
    return folder


@pytest.mark.parametrize("other", ["again", "sharp", "first"])
def test_two_judges_are_compared_on_one_screen(measured: Path, other: str) -> None:
    sheet = compared(measured, "one", other)
    text = printed(sheet, 100)
    lines_shown = text.splitlines()
    assert len(lines_shown) <= 24
    assert lines_shown[0] == sheet.answered.headline
    assert "not shown" not in text
    assert not {"clear", "flagged", "inconclusive"} & set(re.findall(r"\w+", text))
    for head in ("Alike within", "Undecided ("):
        assert sum(line.startswith(head) for line in lines_shown) <= 1
    assert sum(line.startswith("Next: ") for line in lines_shown) == 1
    # Every row has its word, and every word of the screen is that of JSON's finding.
    for each in sheet.defined:
        assert {"alike": "clear", "undecided": "inconclusive"}.get(state(each), "flagged") == each.status
    for each in sheet.answered.shown:
        assert re.search(rf"^{re.escape(label(each))} .* {state(each)} *$", text, re.MULTILINE)


def test_unchanged_judges_are_called_neither_better_nor_worse(measured: Path) -> None:
    sheet = compared(measured, "one", "again")
    assert [sheet.answered.having(word) for word in DIFFER] == [[], [], []]
    assert " --profile " in sheet.next_step[0]


def test_a_better_judge_is_called_better_and_its_gate_is_next(measured: Path) -> None:
    sheet = compared(measured, "first", "sharp")
    text = printed(sheet, 100)
    better, worse, _ = (sheet.answered.having(word) for word in DIFFER)
    assert (len(better) > 0, worse) == (True, [])
    assert re.search(r"^tells good from bad +0\.50 +(0\.9\d|1\.00) .* better *$", text, re.MULTILINE)
    assert "steelyard gate " in text
    assert "A: 72 never" in text


def test_all_figures_are_behind_full_and_behind_a_fold(measured: Path) -> None:
    sheet = compared(measured, "one", "sharp")
    full, short = printed(sheet, 140, full=True), printed(sheet, 140)
    assert all(label(each) in full for each in sheet.asked_of_both)
    assert len(short.splitlines()) < 24 < len(full.splitlines())
    before, _, behind = markdown(sheet).partition("<details>")
    assert f"**{sheet.answered.headline}**" in before.replace("\\", "")
    for each in sheet.defined:
        assert f"| {term(each)} |" in behind
    assert before.count("\n| ") == len(sheet.answered.shown) + 2 - (0 if sheet.answered.shown else 2)
    assert behind.rstrip().endswith("</details>")


def test_json_keeps_its_keys(measured: Path) -> None:
    body = compared(measured, "one", "sharp").to_json()
    assert set(body) >= {
        "schema", "version", "first", "second", "matched", "margin", "answer", "together", "comparisons",
    }  # fmt: skip
    keys = (
        "probe metric group unit first second difference n_shared n_pairs n_clusters dropped_first "
        "dropped_second gained lost intervals bounds p flipped q differs against_margin mcnemar_exact "
        "mcnemar_mid_p minimum_detectable finding note"
    )
    assert set(body["comparisons"][0]) >= set(keys.split())
    assert {row["finding"] for row in body["comparisons"]} <= {"clear", "flagged", "inconclusive", None}


def test_markdown_is_written_and_its_names_stay_text(steelyard, imported, tmp_path: Path) -> None:
    imported("a", lines("<b>[x](y)", "1 1"))
    imported("b", lines("z|z", "1 2"))
    assert steelyard("compare", "a", "b", "--markdown", "c.md").stdout.endswith("Markdown: c.md\n")
    text = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert "A: \\<b\\>\\[x\\](y)" in text
    assert "z\\|z" in text


def test_the_table_of_two_judges_in_one_folder(steelyard, imported) -> None:
    folder = imported(
        "both", lines("x:1/y", "1 1 1 2 tie 1 1 2 1 1"), lines("z", "1 2 2 2 2 2 2 2 2 unreadable")
    )
    done = steelyard("compare", f"{folder}:x:1/y", f"{folder}:z")
    assert done.returncode == 0, done.stderr
    assert "A  x:1/y (recorded)  both" in done.stdout
    assert "accuracy" not in done.stdout.split("Undecided")[0]
    full = steelyard("compare", f"{folder}:x:1/y", f"{folder}:z", "--full").stdout
    assert full.startswith(done.stdout.replace("All figures: --full\n", ""))
    assert "Left out, tells good from bad, accuracy, tie rate: B: 1 unreadable." in full
    accuracy = next(line for line in full.splitlines() if line.startswith("accuracy"))
    # Nine shared calls: A is right in 6, B in 1.
    assert accuracy.split()[1:4] == ["0.67", "0.11", "−0.56"]
    assert accuracy.endswith("undecided")


def test_a_name_is_asked_for_where_it_is_needed(imported, tmp_path: Path) -> None:
    imported("both", lines("x", "1 1"), lines("y", "1 2"))
    with pytest.raises(ConfigError, match="both:JUDGE with one of x, y"):
        compared(tmp_path, "both", "both")
    with pytest.raises(ConfigError, match="no judge 'w', expected one of x, y"):
        compared(tmp_path, "both:w", "both:x")
    with pytest.raises(ConfigError, match="against itself"):
        compared(tmp_path, "both:x", "both:x")


def test_units_of_one_judge_alone_are_counted(imported, tmp_path: Path) -> None:
    imported("a", lines("x", "1 1 1 1"))
    imported("b", lines("y", "1 1 1 1", first=2))
    accuracy = next(row for row in compared(tmp_path).rows if row.metric == "accuracy")
    assert accuracy.n_shared == accuracy.dropped_first.not_shown == accuracy.dropped_second.not_shown == 2


def test_nothing_in_common(steelyard, imported) -> None:
    imported("a", lines("x", "1 1"))
    imported("b", lines("y", "1 1", first=5))
    assert "(2 and 2 pair" in sentence(steelyard("compare", "a", "b"))


def test_a_margin_makes_the_word(steelyard, imported, tmp_path: Path) -> None:
    many = " ".join(["1"] * 40)
    imported("a", lines("x", many))
    imported("b", lines("y", many))
    for margin, word in ((0.5, "clear"), (0.01, "inconclusive")):
        rows = compared(tmp_path, margin=margin).rows
        assert {row.status for row in rows if row.metric == "accuracy"} == {word}
    told = sentence(steelyard("compare", "a", "b", "--margin", "0"))
    assert "--margin: found '0'" in told


def test_hostile_names_stay_text(imported, tmp_path: Path) -> None:
    imported("a", lines("<script>alert(1)</script>[red]", "1 1"))
    imported("b", lines("{{ 7*7 }}", "1 2"))
    sheet = compared(tmp_path)
    assert "[red]" in printed(sheet, 120)
    page = comparison_page(sheet)
    assert "<script>alert" not in page
    assert "{{ 7*7 }}" in page


def printed(sheet: ComparisonSheet, width: int, *, full: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_comparison(sheet, console, full=full)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def test_the_table_fits_and_keeps_its_figures(imported, tmp_path: Path) -> None:
    imported("a", lines("x", "1 1 2 1"))
    imported("b", lines("y", "1 2 2 1"))
    sheet = compared(tmp_path)
    sides = (replace(side, folder="runs") for side in (sheet.first, sheet.second))
    named = replace(sheet, **dict(zip(("first", "second"), sides, strict=True)))
    for width in (60, 80, 100, 140):
        assert max(map(len, printed(named, width).splitlines())) <= width
        text = printed(named, width, full=True)
        assert max(map(len, text.splitlines())) <= width
        assert "−0.25" in text, width
        assert ("q detects" in text) == (width >= 96), width


def test_wrong_folders(steelyard, imported, tmp_path: Path) -> None:
    imported("a", lines("x", "1 1"))
    assert "nowhere: no such" in sentence(steelyard("compare", "nowhere", "a"))
    (tmp_path / "hollow").mkdir()
    with pytest.raises(ConfigError, match=r"no study\.yaml found"):
        compared(tmp_path, "a", "hollow")
    (tmp_path / "a" / "import.json").write_text("{")
    with pytest.raises(ConfigError, match="not the name and seed of an import"):
        compared(tmp_path, "a", "a")


def test_a_damaged_store(steelyard, tmp_path: Path) -> None:
    done = steelyard("measure", "-j", PROBIT, "-p", "vacuum", "--out", "a")
    assert done.returncode == 0, done.stderr
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b" / "run.db").write_bytes(b"not a database" * 100)
    assert "usable run file" in sentence(steelyard("compare", "a", "b"), 1)


def test_a_page_that_cannot_be_written(steelyard, imported) -> None:
    imported("a", lines("x", "1 1"))
    imported("b", lines("y", "1 1"))
    told = sentence(steelyard("compare", "a", "b", "--html", "no/such/page.html"), 1)
    assert "cannot be written (No such file or directory); make the folder no/such first." in told


def test_folders_win_over_colons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "c:d").mkdir()
    (tmp_path / "c").mkdir()
    assert Target.parse("runs/a") == Target(Path("runs/a"), None)
    assert Target.parse("runs/a:openai/gpt:x") == Target(Path("runs/a"), "openai/gpt:x")
    assert Target.parse("c:d") == Target(Path("c:d"), None)
    assert Target.parse("c:d:e") == Target(Path("c:d"), "e")
    assert Target.parse("c:e") == Target(Path("c"), "e")
    with pytest.raises(ConfigError, match="no such folder"):
        Target.parse("x:y")


# Natural pairs of recorded files


def of_known_lengths(
    judge: str, wrong: range | None, longer: int, count: int, text: str = ""
) -> list[dict[str, Any]]:
    """Pairs in both orders; people prefer the longer in the first `longer`. `wrong` are places in each 50
    on which the judge is wrong, whatever the length; without it it counts words."""
    rows = []
    for n in range(count):
        by_length = n < longer
        right = by_length if wrong is None else 7 * n % 50 not in wrong
        words = {"u": 90, "v": 30} if by_length else {"u": 30, "v": 90}
        known = {f"{text}_{side}": "w " * many if text == "text" else many for side, many in words.items()}
        rows += [
            {
                "judge": judge, "probe": "position", "kind": "natural", "pair": f"p{n}", "better": "u",
                "first": first, "answer": "1" if (first == "u") == right else "2", **(known if text else {}),
            }
            for first in "uv"
        ]  # fmt: skip
    return rows


FORMS = (
    lambda sheet: printed(sheet, 100),
    markdown,
    lambda sheet: json.dumps(sheet.to_json(), ensure_ascii=False),
    comparison_page,
)


@pytest.mark.slow
@pytest.mark.parametrize(("longer", "text"), [(450, "text"), (480, "words")])
def test_a_recorded_word_counter_is_never_better_than_a_judge(imported, tmp_path, longer, text) -> None:
    """Of 500 pairs people prefer the longer text in 90 or 96 %: the counter is right in these. The judge is
    right in 44 of each 50, which is .88 whatever the length."""
    imported("a", of_known_lengths("reader", range(6), longer, 500, text))
    imported("b", of_known_lengths("counter", None, longer, 500, text))
    there, back = compared(tmp_path), compared(tmp_path, "b", "a")
    assert there.answered.headline.startswith("A (reader) is better")
    assert back.answered.headline.startswith("B (reader) is better")
    by_figure = {(row.metric, "weighed_against" in row.group): row for row in there.rows}
    decides, plain = by_figure["merit", True], by_figure["merit", False]
    assert (decides.first, decides.second) == pytest.approx((0.88, 0.5), abs=0.011)
    assert (state(decides), state(by_figure["length_lean", False])) == ("worse", "worse")
    assert (plain.first, plain.second) == (pytest.approx(0.88), pytest.approx(longer / 500))
    by_length = "length may explain it" if longer == 480 else None
    assert plain.explained_by == ("length" if by_length else None)
    assert state(plain) == ("different" if by_length else "alike")
    assert state(by_figure["accuracy", False]) == state(plain)
    for form in FORMS:
        said = form(there)
        assert "whatever the length" in said
        assert by_length is None or by_length in " ".join(said.split())


@pytest.mark.slow
def test_a_better_judge_is_better_although_people_prefer_the_longer_text(imported, tmp_path: Path) -> None:
    """Right in .96 against .72 of both parts: shown whatever the length, so that accuracy counts."""
    imported("a", of_known_lengths("dull", range(14), 450, 500, "words"))
    imported("b", of_known_lengths("keen", range(2), 450, 500, "words"))
    sheet = compared(tmp_path)
    known = {(row.metric, "weighed_against" in row.group): row for row in sheet.rows}
    three = [known["merit", True], known["merit", False], known["accuracy", False]]
    assert [(state(row), row.explained_by) for row in three] == [("better", None)] * 3


@pytest.mark.slow
def test_where_people_prefer_every_longer_text_nobody_is_better_in_accuracy(imported, tmp_path: Path) -> None:
    imported("a", of_known_lengths("reader", range(6), 200, 200, "words"))
    imported("b", of_known_lengths("counter", None, 200, 200, "words"))
    sheet = compared(tmp_path)
    assert [len(sheet.answered.having(word)) for word in DIFFER] == [0, 0, 2]
    assert len(sheet.defined) == 9
    assert sheet.next_step == (ONE_LENGTH, "")
    (weighed,) = [row for row in sheet.rows if "weighed_against" in row.group]
    assert (weighed.metric, weighed.difference) == ("merit", None)
    assert weighed.note
    assert f"{label(weighed)}: {weighed.note}" in " ".join(printed(sheet, 300).split())


@pytest.mark.slow
def test_pairs_of_unknown_length_are_left_out_of_merit_whatever_the_length(imported, tmp_path: Path) -> None:
    """As on the datasheet: 100 pairs of known lengths, 60 without, on which the judge is always right."""
    known = of_known_lengths("reader", range(6), 50, 100, "words")
    more = [{**row, "pair": f"q{row['pair']}"} for row in of_known_lengths("reader", range(0), 60, 60)]
    imported("a", known, more)
    imported("b", [{**row, "judge": "other"} for row in (*known, *more)])
    weighed = next(row for row in compared(tmp_path).rows if "weighed_against" in row.group)
    sheet = json.loads((tmp_path / "a" / "datasheet.json").read_text())
    recorded = next(e for e in sheet["estimates"] if e["group"].get("weighed_against"))
    assert weighed.n_pairs == 100
    assert weighed.first == pytest.approx(recorded["value"])


def test_two_judges_who_differ_in_every_verdict_on_unlabelled_pairs_are_not_alike(
    tmp_path: Path, imported: Any
) -> None:
    """A names u and B v: in single calls without a better text nothing else tells them apart."""
    imported("run", *([{**line, "judge": name, "better": None} for line in lines("", " ".join([said] * 40))]
                      for name, said in (("a", "1"), ("b", "2"))))  # fmt: skip
    sheet = compare_targets(Target(tmp_path / "run", "a"), Target(tmp_path / "run", "b"))
    body = sheet.to_json()
    assert {name: body["same_verdicts"][name] for name in ("same", "of", "low")} == {
        "same": 0,
        "of": 40,
        "low": 0,
    }
    assert 0.1 < body["same_verdicts"]["high"] < 0.3  # ten tasks
    assert not sheet.answered.knows_answers
    assert "0 of 40 calls" in " ".join(sheet.answer())
    assert body["next"]["command"] == f"steelyard view {tmp_path / 'run'}"
    labelled = imported("known", lines("a", "1 2"), lines("b", "2 1"))
    known = compared(tmp_path, f"{labelled}:a", f"{labelled}:b")
    assert "who is right" not in " ".join(known.answer())
