"""Messages that a new user meets: each names the place, what was found and the way out."""

from __future__ import annotations

import csv
import importlib
import json
import re
import shlex
from pathlib import Path

import pytest

import steelyard
from commands import Command, Done
from servers import Answer, Received, ScriptedServer, says
from steelyard.errors import SteelyardError

ROWS = ("--columns", "request=q,response=a", "--scale", "binary")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("show", "nope"), 2, "nope: no such folder in {cwd}, expected a run folder that `measure` wrote."),
        *(
            ((*line, "nope"), 2, "nope: no such folder in {cwd}, expected ")
            for line in (
                ("view",),
                ("review",),
                ("overall",),
                ("compare", "empty"),
                ("gate", "--policy", "default"),
            )
        ),
        *(
            (line, 2, "nope.txt: no such file")
            for line in (
                ("gate", "empty", "--policy", "nope.txt"),
                ("plan", "-j", "openai/gpt-4o", "-p", "vacuum", "--prompt", "nope.txt"),
            )
        ),
        (
            ("import", "twins.csv", "--values", "good=yes", "--out", "i"),
            2,
            "--values: 'good' means 'yes', expected a number, as in good=1,bad=0; correct it.",
        ),
        (("report", "empty"), 2, "empty: no study.yaml found, expected a run folder that `measure` wrote."),
        (
            ("measure", "-j", "planted/tie", "--budget", "five"),
            2,
            "--budget: found 'five', expected a number of at least 0; see `steelyard measure --help`.",
        ),
        (
            ("measure", "-j", "planted/tie", "--budget", "-1"),
            2,
            "--budget: found '-1', expected a number of at least 0; see `steelyard measure --help`.",
        ),
        (
            ("measure", "-j", "planted/tie", "--sample", "1.5"),
            2,
            "--sample: found '1.5', expected a whole number of at least 1; see `steelyard measure --help`.",
        ),
        (
            ("measure", "-j", "python:judge.py"),
            2,
            "judge 'python:judge.py': found no '/', expected python/FILE.py:FUNCTION or "
            "python/MODULE:FUNCTION.",
        ),
        (
            ("measure", "-j", "judge.py:judge"),
            2,
            "judge 'judge.py:judge': found no '/', expected python/FILE.py:FUNCTION or "
            "python/MODULE:FUNCTION.",
        ),
        (("measure", "-j", "gpt-4o"), 2, "found no '/', expected provider/model such as openai/gpt-4o."),
        (
            ("measure", "-j", "planted/tie", "-p", "vacuum", "--out", "/proc/x"),
            1,
            "/proc/x: cannot be written (No such file or directory); choose another --out.",
        ),
        (
            ("measure", "-j", "planted/rater", "--data", "nope.csv", *ROWS),
            2,
            "nope.csv: no such file in {cwd}; expected a data file.",
        ),
        (("measure", "nope.yaml"), 2, "nope.yaml: no such file in {cwd}; expected a study file."),
        (("import", "nope.jsonl", "--out", "i"), 2, "nope.jsonl: no such file in {cwd}; expected "),
        (
            ("measure", "-j", "planted/tie", "--format", "xml"),
            2,
            "no option '--format', which `report` has; see `steelyard measure --help`.",
        ),
        (
            ("report", "run", "--format", "xml"),
            2,
            "--format: found 'xml', expected one of html, md, json, csv;",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_message_names_the_place_and_the_way_out(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    done = command(*arguments)
    assert done.code == code, done.err
    assert said.format(cwd=tmp_path) in done.err
    assert len(done.err.splitlines()) == 1


JUDGE = '''
def judge(request, first, second):
    """Fails at its third line."""
    return {}["missing"]


def prose(request, first, second):
    return "I would say that the first is better."
'''


def test_a_function_that_raises_is_told_with_its_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(JUDGE)
    done = command("measure", "-j", "python/own.py:judge", "-p", "vacuum", "--out", "run")
    assert done.code == 1
    assert "raised KeyError: 'missing' (own.py, line 4)" in done.err


def test_a_function_of_python_is_told_without_options_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_judges_of_mine.py").write_text(JUDGE)
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("own_judges_of_mine")

    with pytest.raises(SteelyardError, match=r"raised KeyError: 'missing' \(own_judges_of_mine.py, line 4\)"):
        steelyard.measure(own.judge, probes=["vacuum"], out="raises")
    with pytest.raises(SteelyardError, match="wants just the answer") as told:
        steelyard.measure(own.prose, probes=["vacuum"], out="prose")
    assert not re.search("--[a-z]", str(told.value)), told.value


PROMPT = """You grade answers on {topic}. Question: {question}
Answer: {answer}
Reply PASS or FAIL.
"""


def graded(request: Received) -> Answer:
    """A judge with noise: it passes long answers, and takes the first of two more often."""
    noise = request.chance % 1000 / 1000 - 0.5
    if "PASS or FAIL" in request.user:
        answer = request.user.split("Answer: ")[1].split("\nReply PASS")[0]
        return says("PASS" if "correct" in answer or len(answer) / 1000 + noise > 0.55 else "FAIL")
    first, second = request.user.split("===== candidate 1\n")[1].split("\n===== end")[0].split("=====")
    longer = (len(first) - len(second)) / 200
    return says('{"winner": "%s"}' % ("1" if 0.1 + longer + noise > 0 else "2"))


def write_hour(folder: Path) -> None:
    """What the user has: 200 answers with 80 labels, verdicts in other words, and labels in a second file."""
    (folder / "grader.md").write_text(PROMPT)
    rows = []
    for n in range(200):
        good = n % 3 != 0
        answer = (
            f"It is {2 * n + 3}, which is correct."
            if good
            else f"It is {2 * n + 5}." + " So it is." * (n % 9)
        )
        label = ("good" if good else "bad") if n % 5 < 2 else ""
        rows.append((f"r{n}", f"What is {n} plus {n + 3}?", answer, label, ("sums", "numbers")[n % 2]))
    with (folder / "answers.csv").open("w", newline="", encoding="utf-8-sig") as file:
        header = ("uid", "question", "answer", "human_verdict", "topic")
        csv.writer(file, delimiter=";").writerows([header, *rows])
    with (folder / "verdicts.jsonl").open("w") as file:
        for n, (uid, question, answer, *_) in enumerate(rows):
            verdict = "accept" if (n % 3 != 0) != (n % 20 == 6) else "reject"
            line = {"uid": uid, "question": question, "answer": answer, "judge_verdict": verdict}
            file.write(json.dumps(line) + "\n")
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("uid", "human"), *((row[0], row[3]) for row in rows if row[3])])


def fill_sheet(sheet: Path) -> None:
    """As a spreadsheet saves it: with a mark and semicolons."""
    with sheet.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(row | {"label": "good" if "correct" in row["response"] else "bad"} for row in rows)


def test_no_command_of_the_first_hour_has_to_be_tried_twice(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command is one that a page or the screen before it prints; the first decision takes two."""
    write_hour(tmp_path)
    seen: list[Received] = []

    def answer(request: Received) -> Answer:
        seen.append(request)
        return graded(request)

    with ScriptedServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        def run(line: str, code: int = 0) -> Done:
            done = command(*shlex.split(line)[1:])
            assert done.code == code, (line, done.err)
            return done

        mine = "steelyard measure --prompt grader.md --data answers.csv -j openai/gpt-4o-mini"
        plan = run(f"{mine} --dry-run")
        assert "label=human_verdict; scale: binary." in plan.err
        assert not seen
        first = run(f"{mine} --sample 80 --out run")
        assert "Asked with grader.md on 80 rows of answers.csv." in first.out
        assert "rows have no label" not in first.out + first.err  # labelled rows are drawn first
        assert re.search(r"openai/gpt-4o-mini: (unfit|usable with care|no fault found)", first.out)
        assert seen[-1].user.startswith(("You grade answers on sums. Q", "You grade answers on numbers. Q"))
        assert "steelyard measure" in first.out.split("Next: ")[1]
        gated = run("steelyard gate run --policy default", code=4)
        assert "INCONCLUSIVE: 6 checks (5 PASS, 1 INCONCLUSIVE)" in gated.out
        pairs = run("steelyard measure -j openai/gpt-4o-mini --out built-in")
        assert "Asked with Steelyard's own prompt on built-in texts; your own: --prompt FILE" in pairs.out

        words = "--values accept=1,reject=0"
        doctor = run(f"steelyard doctor verdicts.jsonl {words}")
        imported = run(doctor.out.splitlines()[-1])
        draw = imported.out.splitlines()[-1]
        assert draw.startswith("steelyard labels draw verdicts.jsonl ")
        run(draw)
        fill_sheet(tmp_path / "verdicts-labels" / "sheet.csv")
        added = run("steelyard labels add verdicts-labels verdicts-labels/sheet.csv")
        opened = run(added.out.splitlines()[-1].removeprefix("Next: "))
        figure = run(f"{opened.out.splitlines()[-1].removeprefix('The figure: ')} {words}")
        assert "Of these 200 answers people would pass" in figure.out

        labelled = run(f"steelyard import verdicts.jsonl --labels labels.csv {words} --out sheet")
        assert "reference answer in 70 of 80 calls" in labelled.out
        score = run(labelled.out.splitlines()[-1])
        assert "200 verdicts, 80 labels" in score.out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "import verdicts.jsonl labels.csv --values accept=1,reject=0 --out i",
            "labels.csv: no column 'judge_verdict', which holds the verdicts of verdicts.jsonl; found: "
            "'uid', 'human'; import it apart, or as --labels where it holds labels.",
        ),
        (
            "import pairs.csv --out i",
            "pairs.csv: no column is the judge's verdict for certain; found: 'id', 'response_a', "
            "'response_b', 'best'; name it, as in --columns "
            "pair=id,text_1=response_a,text_2=response_b,answer=best.",
        ),
        (
            "labels draw answers.csv -n 10 --out d",
            "answers.csv: found no judge's verdicts, expected those of one; name their column with --judge",
        ),
        (
            "plan --data answers.csv -j openai/x",
            "judge 'openai/x': Steelyard's own prompt holds a rubric, and the study has none; "
            "add "
            "--prompt FILE with the judge's own prompt, or --rubric FILE",
        ),
        (
            "plan --data empty.csv --prompt grader.md -j openai/x",
            "empty.csv: column 'answer' is empty, expected the response; fill it, or name another, as in "
            "--columns request=question,response=COLUMN.",
        ),
        (
            "import comma.csv --out i",
            "comma.csv, row 1: column 'score' holds '0,5', expected a number with a point, such as 0.5; "
            "replace the commas in that column.",
        ),
        (
            "import share.csv --out i",
            "share.csv, row 1: column 'score' holds '0.5', expected a whole number from 0 on; write or "
            "export pass or fail, or give the file to `steelyard estimate`, which reads scores of any size.",
        ),
        (
            "import percent.csv --out i",
            "percent.csv: column 'score' holds '0%' and other texts, expected the judge's verdict in numbers "
            "or in a few words; correct it, or name another, as in --columns item=id,score=COLUMN.",
        ),
        (
            "plan --data words.csv --prompt grader.md -j openai/x",
            "task.scale: not given, and column 'human' does not tell it; expected binary for pass or fail, a "
            "range such as 1-6, pairwise, or best-of-4; add --scale, or scale under task, or where it holds "
            "words, say with --values WORD=1 which pass.",
        ),
    ],
    ids=lambda value: value[:24],
)
def test_a_table_that_is_not_understood_is_told_with_what_to_type(
    command: Command, tmp_path: Path, line: str, said: str
) -> None:
    write_hour(tmp_path)
    (tmp_path / "pairs.csv").write_text(
        "id,response_a,response_b,best\n1,one,two,A\n2,three,four,B\n3,five,six,tie\n4,seven,eight,A\n"
    )
    (tmp_path / "comma.csv").write_text("id;score\n1;0,5\n2;1,0\n")
    (tmp_path / "share.csv").write_text("id,score\n1,0.5\n2,1.0\n")
    (tmp_path / "percent.csv").write_text("id,score\n" + "".join(f"{n},{n}%\n" for n in range(20)))
    (tmp_path / "words.csv").write_text("question,answer,topic,human\nWhat?,So.,a,okay\nWho?,I.,a,meh\n")
    (tmp_path / "empty.csv").write_text("question,answer\nWhat?,\nWho?,\n")
    done = command(*line.split())
    assert done.code == 2, done.err
    assert said in done.err


def test_words_of_another_language_take_one_map(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{n};Was ist {n}?;Es ist {n}.;{'ja' if n % 2 else 'nein'}\n" for n in range(20))
    (tmp_path / "de.csv").write_text(f"ID;Frage;Antwort;Urteil\n{rows}", encoding="utf-8-sig")
    (tmp_path / "p.md").write_text("{question} {answer} PASS or FAIL?")
    doctor = command("doctor", "de.csv")
    assert "measure --data de.csv --columns id=ID,request=COLUMN,response=COLUMN --prompt FILE" in doctor.out
    columns = "id=ID,request=Frage,response=Antwort,label=Urteil"
    given = ("--columns", columns, "--prompt", "p.md", "-j", "openai/x")
    done = command("plan", "--data", "de.csv", "--values", "ja=1,nein=0", *given)
    assert done.code == 0, done.err
    assert "scale: binary." in done.err
