"""Tables as people have them: columns by their names, usual words, one map of values, one path."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from docs_pages import ROOT
from steelyard.tasks.sources.table import LabelMap
from steelyard.tasks.task import Pairwise

COLUMNS = ("uid", "question", "answer", "judge_verdict", "human")


def answers(size: int = 200, labelled: int | None = None, words: tuple[str, str] = ("good", "bad")) -> list:
    """Rows of a judge that is wrong on every seventh; people's words on the first of them."""
    rows = []
    for number in range(size):
        right = number % 3 > 0
        said = right if number % 7 else not right
        label = words[not right] if labelled is None or number < labelled else ""
        rows.append((f"u{number}", f"Why {number}?", f"Since {number}.", words[not said], label))
    return rows


def write_csv(path: Path, rows: list, header: tuple[str, ...] = COLUMNS, **dialect: Any) -> Path:
    encoding = dialect.pop("encoding", "utf-8")
    with path.open("w", newline="", encoding=encoding) as stream:
        csv.writer(stream, **dialect).writerows([header, *rows])
    return path


def write_jsonl(path: Path, rows: list, header: tuple[str, ...] = COLUMNS) -> Path:
    lines = (json.dumps(dict(zip(header, row, strict=True))) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def accuracy(text: str) -> tuple[int, int]:
    rows = json.loads(text)["estimates"]
    found = next(
        row for row in rows if row["metric"] == "accuracy" and not row["group"].keys() - {"protocol"}
    )
    return found["numerator"], found["denominator"]


def said(text: str) -> str:
    return " ".join(text.split())


def printed_command(text: str) -> list[str]:
    """The words of the only `steelyard …` line, as a shell would take them."""
    (line,) = re.findall(r"^\s*(steelyard .+)$", text, flags=re.MULTILINE)
    return shlex.split(line)[1:]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_own_verdicts_are_imported_at_the_first_try(command: Command, tmp_path: Path, ending: str) -> None:
    write = write_jsonl if ending == "jsonl" else write_csv
    write(tmp_path / f"verdicts.{ending}", answers())
    done = command("import", f"verdicts.{ending}", "--out", "sheet", "--json")
    assert done.code == 0, done.err
    assert accuracy(done.out) == (171, 200)
    assert "--columns item=uid,score=judge_verdict,expected=human,text=answer" in done.err


@pytest.mark.parametrize("text", ["answer", "Text"])
def test_a_sheet_carries_texts_and_asks_for_no_label_twice(
    command: Command, tmp_path: Path, text: str
) -> None:
    write_csv(
        tmp_path / "scored.csv",
        answers(labelled=80),
        tuple(text if name == "answer" else name for name in COLUMNS),
    )
    done = command("labels", "draw", "scored.csv", "-n", 40, "--out", "lab")
    assert done.code == 0, done.err
    assert re.search(r"\b80 items .* scored\.csv already", said(done.out))
    with (tmp_path / "lab" / "sheet.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 40
    for row in rows:
        number = int(re.fullmatch(r"Why (\d+)\?", row["request"])[1])
        assert row["response"] == f"Since {number}."
        assert number >= 80


def test_a_sheet_without_texts_is_refused(command: Command, tmp_path: Path) -> None:
    write_csv(
        tmp_path / "bare.csv",
        [row[:1] + row[3:] for row in answers(labelled=80)],
        ("uid", "verdict", "human"),
    )
    done = command("labels", "draw", "bare.csv", "-n", 40, "--out", "lab")
    assert done.code == 2
    assert "no texts to" in done.err
    assert "--texts" in done.err
    assert not (tmp_path / "lab").exists()


def test_the_example_of_the_leaderboard_works_on_the_file_of_the_examples(command: Command) -> None:
    votes = ROOT / "examples" / "votes.csv"
    done = command("leaderboard", votes, "--judge", "verdict", "--people", "human", "--design", "random")
    assert done.code == 0, done.err
    mapped = command(
        *("leaderboard", votes, "--judge", "verdict", "--people", "human", "--design", "random"),
        *("--columns", "item=id,system_a=model_a,system_b=model_b"),
    )
    assert done.out == mapped.out


def test_the_next_step_of_an_import_works_as_printed(command: Command, tmp_path: Path) -> None:
    rows = answers(labelled=None)
    some = [row if number % 3 == 1 else (*row[:4], "") for number, row in enumerate(rows)]
    for name, table, word in (
        ("none", answers(labelled=0), "labels"),
        ("some", some, "labels"),  # all of one kind: no random draw
        ("random", [(*row[:4], row[4] if n % 5 < 2 else "") for n, row in enumerate(rows)], "estimate"),
    ):
        write_csv(tmp_path / f"{name}.csv", table)
        done = command("import", f"{name}.csv", "--out", f"{name}-sheet")
        assert done.code == 0, done.err
        words = printed_command(done.out)
        assert words[0] == word
        again = command(*words)
        assert again.code == 0, (words, again.err)
    write_csv(tmp_path / "all.csv", rows)
    assert "\nNext, if" not in command("import", "all.csv", "--out", "all-sheet").out
    bare = [(row[0], *row[3:]) for row in answers(labelled=0)]
    write_csv(tmp_path / "bare.csv", bare, ("uid", "verdict", "human"))
    done = command("import", "bare.csv", "--out", "bare-sheet")
    assert re.search(r"\b200 rows without a label; add ", said(done.out))


def test_the_sheet_of_an_import_names_one_next_step(command: Command, tmp_path: Path) -> None:
    """What its labels lack is the step; the command that draws rows to label stands below it."""
    rows = "".join(f"{n},text {n},{n % 3 == 0:d},{n % 2 if n < 9 else ''}\n" for n in range(60))
    (tmp_path / "few.csv").write_text(f"id,answer,verdict,human\n{rows}")
    done = command("import", "few.csv", "--out", "sheet")
    assert done.code == 0, done.err
    assert sum(line.startswith("Next") for line in done.out.splitlines()) == 1
    assert re.search(r"^To label: .* of 51 .*:$", done.out, re.M)


def test_a_column_of_winners_labels_pairs(command: Command, tmp_path: Path) -> None:
    """As people keep preferences: the letter of the better answer, without a map of its words."""
    rows = "".join(f"q{n},x{n},y{n},{('A', 'b', 'tie')[n % 3]}\n" for n in range(12))
    (tmp_path / "pairs.csv").write_text(f"prompt,response_a,response_b,winner\n{rows}")
    (tmp_path / "rubric.md").write_text("The better answer is right.\n")
    words = ("--data", "pairs.csv", "-j", "planted/coin", "--rubric", "rubric.md")
    done = command("measure", *words, "-p", "position", "--out", "run")
    assert done.code == 0, done.err
    assert "response_1=response_a,response_2=response_b,label=winner" in done.err
    words_of = LabelMap(Pairwise())
    assert [words_of.read(word, "row 1", "winner") for word in ("A", "b", "tie")] == ["1", "2", "tie"]


def test_one_import_reads_the_verdicts_of_several_judges(command: Command, tmp_path: Path) -> None:
    """A column each: the same figures as of two files; which columns are judges' has to be said."""
    rows = [(*row[:3], row[3], ("good", "bad")[n % 2], row[4]) for n, row in enumerate(answers(60))]
    header = ("uid", "question", "answer", "gpt", "claude", "human")
    write_csv(tmp_path / "wide.csv", rows, header)
    done = command("import", "wide.csv", "--out", "sheet")
    assert done.code == 2
    assert done.err.endswith("or name several judges: --judge gpt --judge claude.\n")
    done = command("import", "wide.csv", "--judge", "gpt", "--judge", "claude", "--out", "sheet", "--json")
    assert done.code == 0, done.err
    counts = {
        row["judge"]: (row["numerator"], row["denominator"])
        for row in json.loads(done.out)["estimates"]
        if row["metric"] == "accuracy" and row["group"] == {"protocol": "base"}
    }
    assert "--columns item=uid,expected=human,text=answer --judge gpt --judge claude; not used:" in done.err
    for judge in ("gpt", "claude"):
        one = command("import", "wide.csv", "--judge", judge, "--out", f"of-{judge}", "--json")
        assert accuracy(one.out) == counts[judge]
    assert len(counts) == 2
    for judges, said in (
        (("gpt", "cluade"), "no column 'cluade' for the verdicts of a judge; did you mean 'claude'?"),
        (("gpt", "claude", "--columns", "score=gpt"), "found 2 columns beside --columns score=gpt"),
    ):
        done = command("import", "wide.csv", "--judge", judges[0], "--judge", *judges[1:], "--out", "none")
        assert (done.code, said in done.err) == (2, True), done.err


def test_two_columns_that_may_both_be_the_verdict_are_told_with_both_ways(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "two.csv").write_text("id,verdict,score\n1,pass,0\n2,fail,1\n3,pass,1\n")
    done = command("import", "two.csv", "--out", "sheet")
    assert done.code == 2
    assert re.search("'verdict' and 'score' .*: --judge verdict --judge score", done.err)


def test_words_without_a_value_are_told_at_once(command: Command, tmp_path: Path) -> None:
    rows = [
        (f"F{n}", f"Text {n}", ("gut", "schlecht")[n % 2], ("gut", "schlecht")[n % 3 % 2]) for n in range(20)
    ]
    write_csv(tmp_path / "urteile.csv", rows, ("Fall", "Text", "Maschine", "Mensch"))
    words = "--values gut=NUMBER,schlecht=NUMBER."
    for named in (("--judge", "Maschine"), ("--columns", "item=Fall,score=Maschine,expected=Mensch")):
        done = command("import", "urteile.csv", *named, "--out", "sheet")
        assert done.code == 2
        assert "'Maschine' holds 'gut', 'schlecht'" in done.err
        assert done.err.endswith(f"{words}\n")
    doctor = command("doctor", "urteile.csv").out.replace("\n", " ")
    assert re.search(f"'Maschine' may hold verdicts; .*{words}", doctor)
    line = printed_command(command("doctor", "urteile.csv", "--values", "gut=1,schlecht=0").out)
    done = command(*line, "--json")
    assert done.code == 0, done.err
    assert accuracy(done.out)[1] == 20


def test_a_table_without_a_header_is_told_so(command: Command, tmp_path: Path) -> None:
    rows = [(f"q{n}", f"What is {n} and {n}?", f"It is {n + n}", ("pass", "fail")[n % 2]) for n in range(20)]
    write_csv(tmp_path / "bare.csv", rows[1:], rows[0])
    rubric = ("-j", "planted/rater", "--rubric", "bare.csv")
    for line in (
        *(("import", "bare.csv", "--out", "sheet"), ("plan", "--data", "bare.csv", *rubric)),
        *(("estimate", "bare.csv", "--design", "random"), ("doctor", "bare.csv")),
    ):
        done = command(*line)
        assert done.code == 2
        assert re.search(r"bare\.csv: the first row .*\('q0', .*, 'pass'\), .* such as id,", done.err)
    named = command("import", "bare.csv", "--judge", "pass", "--out", "named")
    assert re.search("--columns score=pass; .* 'q0'.*; the first row, ", named.err)


@pytest.mark.parametrize(
    "header", [("a", "b", "c", "d"), ("id", "b", "c", "pass"), ("a", "What is it, so to speak", "c", "d")]
)
def test_odd_names_are_no_row(command: Command, tmp_path: Path, header: tuple[str, ...]) -> None:
    write_csv(tmp_path / "odd.csv", [(f"q{n}", "?", "x", ("pass", "fail")[n % 2]) for n in range(20)], header)
    assert "looks like data" not in command("import", "odd.csv", "--out", "sheet").err


PREFERENCES = ("id", "prompt", "chosen", "rejected", "judge_choice")


def test_a_winner_is_the_verdict_where_nothing_else_can_be(command: Command, tmp_path: Path) -> None:
    """Beside a person's column it is the judge's; beside a named verdict or another column it is left."""
    rows = [(n, f"x{n}", f"y {n}", ("A", "b", "tie")[n % 3], ("A", "B")[n % 2]) for n in range(12)]
    header = ("id", "response_a", "response_b", "winner", "human")
    for taken, names in (
        ("answer=winner,pair=id,better=human,text_1=response_a,text_2=response_b", header),
        ("pair=id,answer=verdict,text_1=response_a", (*header[:4], "verdict")),
    ):
        write_csv(tmp_path / "pairs.csv", rows, names)
        done = command("import", "pairs.csv", "--out", names[-1])
        assert done.code == 0, done.err
        assert f"by name: --columns {taken}" in done.err
    write_csv(tmp_path / "pairs.csv", rows, (*header[:4], "ann"))
    done = command("import", "pairs.csv", "--out", "none")
    assert (done.code, "the judge's verdict for" in done.err) == (2, True), done.err


@pytest.mark.parametrize("words", [("chosen", "rejected", "tie"), ("A", "B", "tie")])
def test_the_chosen_text_of_a_preference_is_the_better_one(
    command: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    rows = [(n, f"q{n}", f"y {n}", f"z {n} so", words[n % 3]) for n in range(12)]
    write_csv(tmp_path / "prefs.csv", rows, PREFERENCES)
    doctor = printed_command(command("doctor", "prefs.csv").out)
    for line in (("import", "prefs.csv", "--out", "sheet"), doctor):
        done = command(*line, "--json")
        assert done.code == 0, done.err
        assert accuracy(done.out) == (4, 12)
    write_csv(tmp_path / "own.csv", [(*row, "rejected") for row in rows], (*PREFERENCES, "human"))
    if words[0] == "chosen":  # what people say stands before the names of the texts
        assert accuracy(command("import", "own.csv", "--out", "own", "--json").out) == (4, 12)


@pytest.mark.parametrize("given", [(), ("--columns", "request=prompt,response_1=chosen,response_2=rejected")])
def test_preferences_are_measured_as_labelled_pairs(
    command: Command, tmp_path: Path, given: tuple[str, ...]
) -> None:
    """As preference sets are published: no column of labels, for the names of the texts are the label."""
    lines = (json.dumps({"prompt": f"q{n}", "chosen": f"yes {n}", "rejected": f"no {n}"}) for n in range(6))
    (tmp_path / "prefs.jsonl").write_text("\n".join(lines))
    (tmp_path / "rubric.md").write_text("The better answer is right.\n")
    words = ("--data", "prefs.jsonl", "-j", "planted/coin", "--rubric", "rubric.md", *given)
    done = command("measure", *words, "-p", "position", "--out", "run", "--json")
    assert done.code == 0, done.err
    assert "pairwise; chosen is" in done.err
    assert accuracy(done.out)[1] == 12  # each of six pairs in both orders


def test_the_path_from_verdicts_to_a_figure(command: Command, tmp_path: Path) -> None:
    """Import, draw as printed, label in a spreadsheet, add, open, estimate."""
    write_csv(tmp_path / "verdicts.csv", answers(labelled=0))
    draw = printed_command(command("import", "verdicts.csv", "--out", "sheet").out)
    assert command(*draw).code == 0
    sheet = tmp_path / "verdicts-labels" / "sheet.csv"
    with sheet.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    with sheet.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        for row in rows:
            number = int(re.fullmatch(r"Since (\d+)\.", row["response"])[1])
            writer.writerow({**row, "label": "good" if number % 3 else "bad"})
    assert "100 labels added" in command("labels", "add", "verdicts-labels", sheet).out
    assert command("labels", "open", "verdicts-labels").code == 0
    done = command("estimate", "verdicts.csv", "--labels", "verdicts-labels", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["labels"] == 100
    assert found["corrected"]["low"] <= 2 / 3 <= found["corrected"]["high"]


NINE = range(9)
DATA = [(f"u{n}", f"Why {n}?", f"Since {n}.", ("sound", "unsound")[n % 2]) for n in range(12)]


def test_a_judge_is_planned_on_a_table_without_a_map(command: Command, tmp_path: Path) -> None:
    (tmp_path / "judge.md").write_text("{request}\n{response}\nReply PASS or FAIL.")
    rows = [(*row[:3], ("good", "bad")[n % 2]) for n, row in enumerate(DATA)]
    write_csv(tmp_path / "answers.csv", rows, ("uid", "question", "answer", "human"))
    judge = ("-j", "openai/m?base_url=http://127.0.0.1:9/v1&reader=choice", "--prompt", "judge.md")
    done = command("plan", *judge, "--data", "answers.csv", "--json")
    assert done.code == 0, done.err
    assert "--columns id=uid,request=question,response=answer,label=human; " in done.err
    assert "scale: binary." in done.err
    mapped = ("--columns", "id=uid,request=question,response=answer,label=human", "--scale", "binary")
    assert command("plan", *judge, "--data", "answers.csv", *mapped, "--json").out == done.out
    write_csv(tmp_path / "words.csv", DATA, ("uid", "question", "answer", "human"))
    unknown = command("plan", *judge, "--data", "words.csv", "--scale", "binary")
    assert unknown.code == 2
    assert re.search("'sound', .* 0, 1, yes, ", unknown.err)
    assert "--values sound=ANSWER" in unknown.err
    values = ("--values", "sound=1,unsound=0")
    assert command("plan", *judge, "--data", "words.csv", *values).code == 0
    old = command("plan", *judge, "--data", "words.csv", "--labels", "sound=1,unsound=0")
    assert old.code == 0
    assert re.search("--labels: .* --values", old.err)


@pytest.mark.parametrize(
    ("header", "rows", "arguments"),
    [
        (COLUMNS, answers(labelled=80), ()),
        (("key", "asked", "said", "mark", "checked"), answers(labelled=80), ()),
        (COLUMNS, answers(labelled=80, words=("ok", "nok")), ("--values", "ok=1,nok=0")),
        (
            ("id", "model_a", "model_b", "verdict", "human"),
            [(n, "x", "y", "ab"[n % 2], "a") for n in range(9)],
            (),
        ),
        (("id", "verdict", "human", "label"), [(n, n % 2, n % 2, n % 2) for n in range(20)], ()),
    ],
)
def test_the_command_that_doctor_prints_works(
    command: Command, tmp_path: Path, header: tuple[str, ...], rows: list, arguments: tuple[str, ...]
) -> None:
    write_csv(tmp_path / "table.csv", rows, header)
    done = command("doctor", "table.csv", *arguments)
    assert done.code == 0, done.err
    assert "a guess: " in said(done.out)
    again = command(*printed_command(done.out))
    assert again.code == 0, again.err
