"""Signals of a run folder: repeats, orders, jury, stated confidence, token probability; judges by name."""

from __future__ import annotations

import csv
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard
from commands import Done, run_command
from docs_pages import ROOT
from servers import Answer, Received, ScriptedServer, says
from steelyard.errors import CertificateError
from steelyard.tasks.task import Binary
from steelyard.trials.judge import Reply
from steelyard.trust.run_verdicts import read_run
from steelyard.verdicts.call_answers import (
    CallAnswer,
    ItemAnswer,
    ItemAnswers,
    agreement_signals,
    most_frequent,
    same_winner,
)
from steelyard.verdicts.readers import LogprobReader, stated_confidence, token_probability

ITEMS = 60
COLUMNS = "request=question,response=answer,label=ok"


def write_items(folder: Path) -> None:
    rows = "".join(f"how {n}?,so it is number {n},{n % 2}\n" for n in range(ITEMS))
    (folder / "items.csv").write_text(f"question,answer,ok\n{rows}")
    (folder / "rubric.md").write_text("Odd numbers pass.\n")


def measure(folder: Path, *options: str, **variables: str) -> Done:
    data = ("--data", "items.csv", "--columns", COLUMNS, "--rubric", "rubric.md", "--scale", "binary")
    return run_command(folder, "measure", *data, "--out", "run", *options, **variables)


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two planted raters, five repeats of each item."""
    folder = tmp_path_factory.mktemp("repeated")
    write_items(folder)
    sharp = "planted/rater?sensitivity=0.97&specificity=0.97&noise=0.1"
    blunt = "planted/rater?sensitivity=0.8&specificity=0.8&noise=0.2&seed=4"
    (folder / "study.yaml").write_text(
        f"judges: [{{name: sharp, model: '{sharp}'}}, {{name: blunt, model: '{blunt}'}}]\n"
        "probes: [stochastic_stability]\nreplicates: 5\n"
        "task: {scale: binary, rubric: rubric.md}\n"
        "data: {path: items.csv, columns: {request: question, response: answer, label: ok}}\n"
    )
    run_command(folder, "measure", "study.yaml", "--out", "run")
    return folder


def test_repeats_and_jury_by_counting(repeated: Path) -> None:
    table = read_run(repeated / "run", ["sharp"], None)
    judge = table.judges["sharp"]
    assert list(judge.signals) == ["repeats", "jury"]
    lines = [json.loads(line) for line in (repeated / "run" / "results.jsonl").read_text().splitlines()]
    calls = {name: {item: [] for item in table.items} for name in ("sharp", "blunt")}  # type: ignore[var-annotated]
    for row in lines:
        if row["judge"] in calls and row["kind"] == "original":
            calls[row["judge"]][row["item"]].append(row["verdict"])
    for n, item in enumerate(table.items):
        mine, other = calls["sharp"][item], calls["blunt"][item]
        answer = max(set(mine), key=mine.count)
        assert judge.answers[n] == answer
        assert judge.signals["repeats"].values[n] == mine.count(answer) / 5
        theirs = max(set(other), key=other.count)
        assert judge.signals["jury"].values[n] == (1.0 if theirs == answer else 0.5)
    assert (judge.signals["repeats"].calls, judge.signals["jury"].calls) == (5, 10)


def test_a_promise_from_a_run_is_tied_to_its_judge(repeated: Path) -> None:
    fit = ("trust", "fit", "run", "-j", "sharp", "--signal", "repeats", "--error", "0.25")
    done = run_command(repeated, *fit)
    assert "an answer with its signal repeats takes 5 calls" in " ".join(done.out.split())
    body = json.loads((repeated / "run" / "trust.json").read_text())
    sheet = json.loads((repeated / "run" / "datasheet.json").read_text())
    prints = {judge["name"]: judge["protocols"]["base"] for judge in sheet["judges"]}
    assert body["stages"][0]["fingerprint"] == prints["sharp"]
    assert body["scale"] == "binary"
    applied = run_command(repeated, "trust", "apply", "run/trust.json", "run", "--json")
    assert sum(json.loads(applied.out)["accepted"].values()) == body["accepted"]
    checked = run_command(repeated, "trust", "check", "run/trust.json", "run")
    assert "Nothing speaks against the promise" in checked.out
    wrong = run_command(repeated, "trust", "apply", "run/trust.json", "items.csv", code=2)
    assert "expected a run folder, since run/trust.json was fitted on the calls of a run" in wrong.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("-j", "dull"), "no verdicts of judge 'dull' on items as they are, expected one of"),
        (
            ("-j", "sharp", "--signal", "orders"),
            "no signal orders of judge 'sharp', expected one of repeats, jury",
        ),
        (("-j", "sharp", "--signal", "token"), "use the reader logprob"),
        (("-j", "sharp", "--people", "ann"), "no people 'ann' in a run folder"),
    ],
)
def test_what_a_run_does_not_hold(repeated: Path, options: tuple[str, ...], told: str) -> None:
    assert told in run_command(repeated, "trust", "fit", "run", *options, code=2).err


def test_a_run_of_neither_single_texts_nor_pairs(tmp_path: Path) -> None:
    """Best-of sets, and texts that the tool wrote: no name of a judge helps, so none is asked for."""
    rows = [{"id": f"i{n}", "q": f"how {n}?", "r": [f"one {n}", f"two {n}", f"three {n}"]} for n in range(30)]
    (tmp_path / "best.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "rubric.md").write_text("Better.\n")
    best = ("--data", "best.jsonl", "--columns", "request=q,responses=r,id=id", "--rubric", "rubric.md")
    fair = ("--scale", "best-of-3", "-j", "planted/chooser?name=fair&accuracy=1")
    run_command(tmp_path, "measure", *best, *fair, "--out", "best")
    run_command(tmp_path, "measure", "-j", "planted/coin?name=fair", "--out", "written")
    expected = "expected a run with data of your own, single texts or pairs; name another folder."
    for folder, found in (
        ("best", "verdicts on best-of-3 found"),
        ("written", "no verdicts on items as they are"),
    ):
        for judge in ((), ("-j", "fair")):
            told = run_command(tmp_path, "trust", "fit", folder, *judge, code=2).err
            assert told == f"steelyard: {folder}: {found}, {expected}\n"


def test_a_judge_that_has_changed_is_refused(repeated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_command(repeated, "trust", "fit", "run", "-j", "sharp", "--signal", "repeats", "--error", "0.25")
    monkeypatch.chdir(repeated)
    sharp = "planted/rater?sensitivity=0.97&specificity=0.97&noise=0.1"
    with pytest.raises(CertificateError, match="the judge has changed"):
        steelyard.trusted("planted/rater?sensitivity=0.5", "run/trust.json")
    ask = steelyard.trusted(steelyard.remedied(sharp, scale="binary"), "run/trust.json")
    assert ask.trust.stages[0].signal.calls == 5


# Pairs, by hand


@pytest.mark.parametrize(
    ("answers", "voted"),
    [
        (("1", "1", "0"), ("1", 2 / 3)),
        (("1", "0"), (None, 0.0)),
        (("1", None, None), ("1", 1 / 3)),
        ((None, None), (None, 0.0)),
    ],
)
def test_the_most_frequent_answer(answers: tuple[str | None, ...], voted: tuple[str | None, float]) -> None:
    assert most_frequent(answers) == voted


def test_orders_by_hand() -> None:
    assert same_winner([CallAnswer("u", "uv"), CallAnswer("u", "vu")]) == 1.0
    assert same_winner([CallAnswer("u", "uv"), CallAnswer("v", "vu")]) == 0.5
    assert same_winner([CallAnswer("u", "uv"), CallAnswer(None, "vu")]) is None
    assert same_winner([CallAnswer("u", "uv")]) is None


def test_a_function_is_asked_in_both_orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge of pairs that prefers the longer text, and the first where they are as long."""
    (tmp_path / "pairs.jsonl").write_text(
        "".join(
            json.dumps({"q": f"how {n}?", "a": "long text" * (1 + n % 2), "b": "long text" * (2 - n % 2),
                        "best": 1 if n % 2 else 2}) + "\n"
            for n in range(40)
        )
    )  # fmt: skip
    (tmp_path / "rubric.md").write_text("Better.\n")
    (tmp_path / "longer.py").write_text(
        "def judge(request, first, second):\n    return '1' if len(first) >= len(second) else '2'\n"
    )
    (tmp_path / "study.yaml").write_text(
        "judges: [{name: longer, model: 'python/longer:judge'}]\nprobes: [position]\n"
        "task: {scale: pairwise, rubric: rubric.md}\n"
        "data: {path: pairs.jsonl, columns: {request: q, response_1: a, response_2: b, label: best}}\n"
    )
    run_command(tmp_path, "measure", "study.yaml", "--out", "run")
    run_command(tmp_path, "trust", "fit", "run", "-j", "longer", "--error", "0.25")
    body = json.loads((tmp_path / "run" / "trust.json").read_text())
    assert body["stages"][0]["signal"] == {
        "name": "orders",
        "kind": "orders",
        "calls": 2,
        "share": True,
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    longer = import_module("longer")

    ask = steelyard.trusted(longer.judge, "run/trust.json")
    assert (ask("q", "short", "much longer"), ask("q", "much longer", "short")) == ("2", "1")
    assert isinstance(ask("q", "equal", "equal"), steelyard.Escalate)
    applied = run_command(tmp_path, "trust", "apply", "run/trust.json", "run", "--out", "decided.csv")
    assert "Accepted: 40 of 40 rows" in applied.out
    with (tmp_path / "decided.csv").open(newline="") as file:
        decided = {row["item"]: row["trust_answer"] for row in csv.DictReader(file)}
    assert sorted(decided.values()) == ["1"] * 20 + ["2"] * 20  # as the label names them
    # A run with other calls behind the signal is another instrument.
    (tmp_path / "twice.yaml").write_text((tmp_path / "study.yaml").read_text() + "replicates: 2\n")
    run_command(tmp_path, "measure", "twice.yaml", "--out", "twice")
    told = run_command(tmp_path, "trust", "apply", "run/trust.json", "twice", code=2).err
    assert "signal orders of judge 'longer' takes 4 calls, expected 2 calls as in run/trust.json" in told


def test_a_function_that_gives_no_answer_twice_is_not_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both orders agree on a word that is no answer."""
    pairs = [
        {"q": f"how {n}?", "a": "long" * (2 + n % 2), "b": "long" * (3 - n % 2), "best": 2 - n % 2}
        for n in range(40)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (tmp_path / "rubric.md").write_text("Better.\n")
    (tmp_path / "shrugs.py").write_text(
        "def judge(request, first, second):\n    if request == 'q':\n        return 'cannot say'\n"
        "    return '1' if len(first) >= len(second) else '2'\n"
    )
    (tmp_path / "study.yaml").write_text(
        "judges: [{name: shrugs, model: 'python/shrugs:judge'}]\nprobes: [position]\n"
        "task: {scale: pairwise, rubric: rubric.md}\n"
        "data: {path: pairs.jsonl, columns: {request: q, response_1: a, response_2: b, label: best}}\n"
    )
    run_command(tmp_path, "measure", "study.yaml", "--out", "run")
    run_command(tmp_path, "trust", "fit", "run", "-j", "shrugs", "--error", "0.25")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    ask = steelyard.trusted(import_module("shrugs").judge, "run/trust.json")
    assert ask("p", "short", "much longer") == "2"
    assert ask("q", "short", "much longer") == steelyard.Escalate("no judge gave an answer")


def test_the_jury_of_a_run_is_the_fitted_one(repeated: Path, tmp_path: Path) -> None:
    """Another juror, or one that has changed, gives another signal under the same name."""
    fit = ("trust", "fit", "run", "-j", "sharp", "--signal", "jury", "--error", "0.25", "--out", "jury.json")
    run_command(repeated, *fit)
    study = (repeated / "study.yaml").read_text()
    changed = study.replace("sensitivity=0.8&", "sensitivity=0.7&")
    other = changed.replace("name: blunt", "name: other")
    for name, text, told in (
        ("changed", changed, "was fitted for judge 'blunt' with fingerprint"),
        (
            "other",
            other,
            "signal jury of judge 'sharp' takes 10 calls, 5 of other, expected 10 calls, 5 of blunt",
        ),
    ):
        (repeated / f"{name}.yaml").write_text(text)
        run_command(repeated, "measure", f"{name}.yaml", "--out", name)
        code = 3 if name == "changed" else 2
        assert told in run_command(repeated, "trust", "apply", "jury.json", name, code=code).err


def test_judges_that_are_shown_no_question_may_be_asked_another(repeated: Path) -> None:
    """`apply` and `trusted` go by one rule; another scale is another judge."""
    fit = (
        "trust",
        "fit",
        "run",
        "-j",
        "sharp",
        "--signal",
        "repeats",
        "--error",
        "0.25",
        "--out",
        "own.json",
    )
    run_command(repeated, *fit)
    assert json.loads((repeated / "own.json").read_text())["question"] is None
    (repeated / "even.md").write_text("Even numbers pass.\n")
    study = (repeated / "study.yaml").read_text()
    for name, old, new, told in (
        ("even", "rubric.md", "even.md", None),
        ("longer", "scale: binary", "scale: 0-5", "was fitted on the scale binary, found 0-5"),
    ):
        (repeated / f"{name}.yaml").write_text(study.replace(old, new))
        run_command(repeated, "measure", f"{name}.yaml", "--out", name)
        done = run_command(repeated, "trust", "apply", "own.json", name, code=3 if told else 0)
        assert told is None or told in done.err


def test_an_item_with_fewer_calls_has_no_agreement_of_repeats() -> None:
    once, thrice = [CallAnswer("1")], [CallAnswer("1"), CallAnswer("1"), CallAnswer("0")]
    panel = {"j": ItemAnswers({"a": ItemAnswer(once, "a"), "b": ItemAnswer(thrice, "b")})}
    assert agreement_signals("j", panel, ["a", "b"]) == {"repeats": [None, 2 / 3]}


# Replies


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"score": 1, "confidence": 85}', 85.0),
        ('Sure. {"score": 1, "confidence": "85 %"}', 85.0),
        ('{"score": 1, "confidence": 0.7}', 0.7),
        ('{"score": 1}', None),
        ('{"score": 1, "confidence": 140}', None),
        ('{"score": 1, "confidence": true}', None),
        ('{"confidence": 20} {"confidence": 90}', None),
        ('{"score": 1, "confidence": "NaN"}', None),
        ("", None),
    ],
)
def test_stated_confidence(text: str, value: float | None) -> None:
    assert stated_confidence(text) == value


def test_token_probability() -> None:
    reply = Reply("1", logprobs={"1": np.log(0.6), " 1": np.log(0.1), "0": np.log(0.2), "x": np.log(0.1)})
    assert token_probability(LogprobReader(), reply, Binary()) == pytest.approx(0.7 / 0.9)
    assert token_probability(LogprobReader(), Reply("1"), Binary()) is None


def sure_of_thirds(request: Received) -> Answer:
    """A server that is sure of every third item, and right there."""
    assert "confidence in percent" in request.user
    assert "response_format" not in request.body
    number = int(request.user.partition("so it is number ")[2].split()[0])
    right, sure = number % 2, number % 3 == 0
    given = right if sure or number % 5 else 1 - right
    return says(json.dumps({"reason": "so", "score": given, "confidence": 99 if sure else 60}))


def test_the_shipped_prompt_is_asked_and_its_confidence_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_items(tmp_path)
    (tmp_path / "prompt.md").write_text((ROOT / "examples" / "confidence-prompt.md").read_text())
    judge: dict[str, Any] = {"name": "asked", "model": "openai/m", "prompt": "prompt.md"}
    judge["reader"] = {"json": "score"}
    body = {
        "judges": [judge],
        "probes": ["stochastic_stability"],
        "task": {"scale": "binary", "rubric": "rubric.md"},
        "data": {"path": "items.csv", "columns": dict(part.split("=") for part in COLUMNS.split(","))},
    }
    (tmp_path / "study.yaml").write_text(json.dumps(body))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    with ScriptedServer(sure_of_thirds) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        run_command(tmp_path, "measure", "study.yaml", "--out", "run")
        fit = ("trust", "fit", "run", "--signal", "stated", "-j", "asked", "--error", "0.15")
        run_command(tmp_path, *fit)
        stage = json.loads((tmp_path / "run" / "trust.json").read_text())["stages"][0]
        assert stage["signal"]["kind"] == "stated percent"
        assert stage["threshold"] == 0.99
        table = read_run(tmp_path / "run", ["asked"], {"asked": ["stated"]})
        values = table.judges["asked"].signals["stated"].values
        assert sorted(set(values.tolist())) == [0.6, 0.99]
        ask = steelyard.trusted(judge, "run/trust.json", rubric="rubric.md")
        assert [ask("how?", f"so it is number {n}") for n in (3, 6)] == [1, 0]
        found = ask("how?", "so it is number 5")
        assert found == steelyard.Escalate("no judge is sure", 0, 0.6)
        with pytest.raises(CertificateError, match="was fitted for another instruction or rubric"):
            steelyard.trusted(judge, "run/trust.json")
        (tmp_path / "other.md").write_text("Even numbers pass.\n")
        told = "was fitted for another instruction or rubric"
        with pytest.raises(CertificateError, match=told):
            steelyard.trusted(judge, "run/trust.json", rubric="other.md")
        (tmp_path / "study.yaml").write_text(json.dumps(body).replace("rubric.md", "other.md"))
        run_command(tmp_path, "measure", "study.yaml", "--out", "other")
        assert told in run_command(tmp_path, "trust", "apply", "run/trust.json", "other", code=3).err
