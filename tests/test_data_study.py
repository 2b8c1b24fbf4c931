"""Studies on the user's own data: one command or a study file; what is wrong is said before any call."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

import steelyard
from commands import Command, Done, run_command
from steelyard.errors import ConfigError
from steelyard.study.study_file import build_study, load_config
from steelyard.study.task_config import read_part

ROWS = [
    ("r1", "How long does an egg boil?", "Eight minutes, then\ncold  water.", "1", "kitchen"),
    ("r2", "How long does an egg boil?", "Eggs come from hens.", "0", "kitchen"),
    ("r3", "What is the capital of France?", "It is Paris, on the Seine.", "1", "places"),
    ("r4", "What is the capital of France?", "It is Lyon, on the Rhône.", "0", "places"),
    ("r5", "How many legs has a spider?", "A spider has eight legs.", "1", "animals"),
    ("r6", "How many legs has a spider?", "A spider has six legs.", "0", "animals"),
]
RUBRIC = "Score 1 when the response answers the question correctly.\nScore 0 when it does not.\n"
MAP = "id=key,request=question,response=answer,label=verdict_of_people"
BINARY = ("--data", "a.csv", "--columns", MAP, "--rubric", "rubric.md", "--scale", "binary")
RATER = ("-j", "planted/rater?sensitivity=1&specificity=1&noise=0")
RULED = ("format_invariance_1", "format_invariance_2", "format_invariance_3", "stochastic_stability")
WRITTEN = ("label_flip", "semantic_paraphrase", "verbosity_bias_long", "verbosity_bias_short")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working folder, with a data file and a rubric."""
    write_data(tmp_path)
    return tmp_path


def write_data(tmp_path: Path) -> None:
    quoted = [",".join(f'"{cell}"' for cell in row) for row in ROWS]
    header = "key,question,answer,verdict_of_people,topic"
    (tmp_path / "a.csv").write_text("\n".join([header, *quoted]) + "\n", encoding="utf-8")
    (tmp_path / "rubric.md").write_text(RUBRIC)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A folder with data and a run of them, and what the command printed."""
    folder = tmp_path_factory.mktemp("first")
    write_data(folder)
    return folder, run_command(folder, "measure", *BINARY, *RATER, "--json", "--out", "run")


@pytest.fixture
def ran(first_run: tuple[Path, Done], tmp_path: Path) -> Path:
    """That folder, to be changed."""
    return Path(shutil.copytree(first_run[0], tmp_path, dirs_exist_ok=True))


def assert_refused(done: Done, folder: Path, told: str) -> None:
    assert done.code == 2, done.err
    assert told in done.err
    assert done.err.startswith("steelyard: ")
    assert done.err.count("\n") == 1
    assert done.err.endswith((".\n", "?\n"))
    assert "Traceback" not in done.err
    assert not (folder / "run").exists()


def figure(rows: list[dict[str, Any]], probe: str, metric: str) -> dict[str, Any]:
    judge = rows[0]["judge"]
    (row,) = [
        row
        for row in rows
        if (row["judge"], row["probe"], row["metric"]) == (judge, probe, metric)
        and "slot" not in row["group"]
    ]
    return row


def test_one_command_without_a_study_file(first_run: tuple[Path, Done]) -> None:
    folder, done = first_run
    for probe in WRITTEN:
        assert probe in done.err
    assert "left out" in done.err
    assert "names no author" in done.err
    assert {row["probe"] for row in done.rows if row["metric"] == "accuracy"} == {*RULED, "original"}
    accuracy = figure(done.rows, "stochastic_stability", "accuracy")
    assert (accuracy["numerator"], accuracy["denominator"]) == (30, 30)
    frozen = yaml.safe_load((folder / "run" / "study.yaml").read_text())
    assert frozen["name"] == "a"
    assert frozen["task"]["rubric"] == RUBRIC.strip()
    assert frozen["task"]["scale"] == "binary"
    assert frozen["data"]["columns"]["label"] == "verdict_of_people"
    assert list(frozen["data"]["files"]) == ["a.csv"]


def test_a_second_run_makes_no_calls_and_a_report_needs_no_data(command: Command, ran: Path) -> None:
    sheet = (ran / "run" / "datasheet.json").read_text()
    again = command("measure", *BINARY, *RATER, "--out", "run")
    assert "No calls: every trial was answered before" in again.out
    (ran / "a.csv").unlink()
    (ran / "rubric.md").unlink()
    told = command("report", "run", "--format", "json")
    assert told.code == 0
    assert told.out == sheet


def test_a_data_file_that_changed_is_refused_on_resume(command: Command, ran: Path) -> None:
    before = {path.name: path.read_bytes() for path in (ran / "run").iterdir()}
    with (ran / "a.csv").open("a") as file:
        file.write("\n")  # the same items come of it
    done = command("measure", *BINARY, *RATER, "--out", "run")
    assert done.code == 2
    assert "a.csv has changed since this study was frozen" in done.err
    assert {path.name: path.read_bytes() for path in (ran / "run").iterdir()} == before


def test_a_data_file_may_move(command: Command, ran: Path) -> None:
    (ran / "a.csv").rename(ran / "b.csv")
    (ran / "study.yaml").write_text(
        f"name: a\ndata: {{path: b.csv, columns: {{{MAP.replace('=', ': ').replace(',', ', ')}}}}}\n"
        "task: {rubric: rubric.md, scale: binary}\n"
        "judges: ['planted/rater?sensitivity=1&specificity=1&noise=0']\n"
    )
    done = command("measure", "study.yaml", "--out", "run")
    assert done.code == 0, done.err
    assert "No calls" in done.out


def test_a_study_file_says_the_same_and_its_paths_are_relative_to_it(command: Command, folder: Path) -> None:
    there = folder / "studies"
    there.mkdir()
    for name in ("a.csv", "rubric.md"):
        (folder / name).rename(there / name)
    (there / "mine.yaml").write_text(
        "judges: ['planted/rater?sensitivity=1&specificity=1&noise=0']\n"
        "task: {instruction: Say whether the response is right., rubric: rubric.md, scale: binary}\n"
        "data:\n  path: a.csv\n"
        "  columns: {id: key, request: question, response: answer, label: verdict_of_people}\n"
        "  stratify: topic\n  sample: {per_stratum: 1}\n"
        "probes: [typos, {stochastic_stability: {replicates: 3}}]\n"
    )
    done = command("measure", "studies/mine.yaml", "--json", "--out", "run")
    assert done.code == 0, done.err
    assert done.err == ""
    assert figure(done.rows, "stochastic_stability", "accuracy")["denominator"] == 9
    frozen = yaml.safe_load((folder / "run" / "study.yaml").read_text())
    assert frozen["name"] == "mine"
    assert frozen["task"]["instruction"] == "Say whether the response is right."
    assert frozen["data"]["sample"] == {"per_stratum": 1}


def test_options_go_before_the_study_file(command: Command, folder: Path) -> None:
    there = folder / "studies"
    there.mkdir()
    (there / "mine.yaml").write_text(
        "task: {rubric: Other words., scale: binary}\nprobes: [stochastic_stability]\n"
        "judges: [planted/rater]\ndata: {path: gone.csv, columns: {request: question, response: answer}}\n"
    )
    done = command(
        "measure",
        "studies/mine.yaml",
        "--data",
        "a.csv",
        "--rubric",
        "rubric.md",
        "--sample",
        2,
        "--out",
        "run",
    )
    assert done.code == 0, done.err
    frozen = yaml.safe_load((folder / "run" / "study.yaml").read_text())
    assert frozen["task"]["rubric"] == RUBRIC.strip()
    assert len((folder / "run" / "stimuli.jsonl").read_text().splitlines()) == 2


def test_options_have_environment_twins(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("DATA", "a.csv"), ("COLUMNS", MAP), ("RUBRIC", "rubric.md"), ("SCALE", "binary")):
        monkeypatch.setenv(f"STEELYARD_{name}", value)
    done = command("plan", *RATER, "--json")
    assert done.code == 0, done.err
    assert {row["probe"] for row in json.loads(done.out)["rows"]} == set(RULED)


def test_a_prompt_goes_to_every_judge_that_is_prompted(command: Command, folder: Path) -> None:
    (folder / "prompt.md").write_text("Rate {{ response }} by {{ rubric }} from {{ low }} to {{ high }}.")
    (folder / "own.md").write_text("Mine: {{ response }}")
    (folder / "study.yaml").write_text(
        "judges: [{name: plain, model: vllm/x}, {name: own, model: vllm/y, prompt: own.md}, planted/rater]\n"
    )
    done = command("plan", "study.yaml", *BINARY, "--prompt", "prompt.md", "-p", "stochastic_stability")
    assert done.code == 0, done.err
    columns = {"request": "question", "response": "answer"}
    overrides = {
        "task": {"rubric": folder / "rubric.md", "scale": "binary"},
        "data": {"path": "a.csv", "columns": columns},
    }
    config = load_config(folder / "study.yaml", overrides)
    judges = {judge.name: judge for judge in build_study(config, folder, folder / "prompt.md").judges}
    assert judges["plain"].protocols["base"].user.startswith("Rate {{ response }}")
    assert judges["own"].protocols["base"].user == "Mine: {{ response }}"
    assert "Rate" not in judges["planted/rater"].protocols["base"].user


PAIRS = (
    "id,prompt,one,two,winner\n"
    "p1,Name a tree.,An oak.,A trout.,1\n"
    "p2,Name a fish.,A maple tree with red leaves.,A trout.,2\n"
    "p3,Name a bird.,A wren.,A robin.,tie\n"
    "p4,Name a bird.,A wren perhaps.,A robin.,\n"
)
PAIR_MAP = "id=id,request=prompt,response_1=one,response_2=two,label=winner"


def test_pairs_of_the_user_are_shown_in_both_orders(command: Command, folder: Path) -> None:
    (folder / "pairs.csv").write_text(PAIRS)
    arguments = ("--data", "pairs.csv", "--columns", PAIR_MAP, "--scale", "pairwise", "--rubric", "rubric.md")
    done = command("measure", *arguments, "-j", "planted/longest", "--json", "--out", "run")
    assert done.code == 0, done.err
    rows = [row for row in done.rows if row["judge"] == "planted/longest"]
    assert {row["probe"] for row in rows if row["metric"] == "order_consistency"} == {"position"}
    # By words: p1 and p3 have as many in both texts, p2 and p4 more in the first.
    consistent = figure(rows, "position", "order_consistency")
    assert (consistent["numerator"], consistent["denominator"]) == (2, 4)
    assert figure(rows, "position", "no_preference")["numerator"] == 2
    # Of the labelled pairs, the tie of p3 is right in both orders, all else is wrong.
    accuracy = figure(rows, "position", "accuracy")
    assert (accuracy["numerator"], accuracy["denominator"]) == (2, 6)
    stimuli = [json.loads(line) for line in (folder / "run" / "stimuli.jsonl").read_text().splitlines()]
    assert [s["expectation"]["type"] for s in stimuli] == ["Prefers", "Prefers", "NoPreference", "Unknown"]
    assert [s["expectation"].get("content") or s["expectation"].get("winner") for s in stimuli][:2] == [
        "u",
        "v",
    ]


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "missing column": (
        ("--data", "a.csv", "--columns", "request=question,response=anwser", "--scale", "binary"),
        "anwser",
    ),
    "unknown probe": (
        (*BINARY, "-p", "label_flop"),
        "unknown probe 'label_flop': did you mean 'label_flip'?",
    ),
    "probe of pairs": ((*BINARY, "-p", "ladder"), "probe 'ladder': needs a pairwise scale"),
    "unknown part": (
        ("--data", "a.csv", "--columns", "answer=a", "--scale", "binary"),
        "columns: unknown key 'answer'",
    ),
    "no scale": (
        ("--data", "a.csv", "--columns", "request=question,response=answer", "--rubric", "rubric.md"),
        "task.scale: not given, and no column of labels tells it",
    ),
    "strange scale": ((*BINARY[:-1], "6-1"), "found '6-1', expected binary, pairwise or a range"),
    "label outside the scale": ((*BINARY[:-1], "1-6"), "holds '0', expected one of 1, 2, 3, 4, 5, 6"),
    "pairs without two responses": ((*BINARY[:-1], "pairwise"), "response_1 is not mapped"),
    "no such file": (("--data", "gone.csv", *BINARY[2:]), "gone.csv"),
    "empty file": (("--data", "empty.csv", *BINARY[2:]), "empty.csv"),
    "header only": (("--data", "header.csv", *BINARY[2:]), "header.csv"),
    "unreadable file": (("--data", "broken.csv", *BINARY[2:]), "broken.csv"),
    "folder": (("--data", ".", *BINARY[2:]), "is a folder"),
    "unknown adapter": (("--data", "a.csv", "--adapter", "harmbnch"), "did you mean 'harmbench'?"),
    "scale of another adapter": (
        ("--data", "a.csv", "--adapter", "harmbench", "--scale", "1-6"),
        "found '1-6', expected 'binary', the scale of the adapter 'harmbench'",
    ),
    "columns without data": (("--columns", MAP), "--columns: needs data to read"),
    "no rubric": (
        ("--data", "a.csv", "--columns", MAP, "--scale", "binary"),
        "Steelyard's own prompt holds a rubric, and the study has none; add --prompt FILE with",
    ),
    "missing rubric": ((*BINARY, "--rubric", "gone.md"), "cannot read"),
    "empty rubric": ((*BINARY, "--rubric", "empty.csv"), "is empty, expected a text"),
    "rubric beside the pack": (("--scale", "binary", "--rubric", "rubric.md"), "which have their own"),
    "missing prompt": ((*BINARY, "-j", "vllm/x", "--prompt", "gone.md"), "gone.md"),
    "pairwise prompt": ((*BINARY, "-j", "vllm/x", "--prompt", "pair.md"), "unknown variable 'first'"),
    "probe that needs an author": (
        (*BINARY, "-p", "label_flip"),
        "probe 'label_flip': needs a text written for each item of the data, and the study names no author",
    ),
    "judge of pairs": ((*BINARY, "-j", "planted/probit"), "compares two texts and gives no score"),
    "decision": ((*BINARY, "--until", "dark_current<0.1"), "dark_current belongs to the built-in pairs"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_data_options_are_one_sentence(command: Command, folder: Path, name: str) -> None:
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("key,question,answer,verdict_of_people\n")
    (folder / "broken.csv").write_bytes(b"key,question\n\xef\xbb\xbf\xff\xfe\x00\x01ab\xc3\n")
    (folder / "pair.md").write_text("{{ first }} or {{ second }}")
    arguments, told = WRONG[name]
    judge = () if "-j" in arguments else RATER
    assert_refused(command("measure", *arguments, *judge, "--out", "run"), folder, told)


FILES: dict[str, tuple[str, str]] = {
    "unknown key of task": (
        "task: {rubrik: x}",
        "unknown key 'task.rubrik' (did you mean 'rubric'?); known keys: instruction, rubric",
    ),
    "unknown key of data": ("data: {path: a.csv, colums: {}}", "unknown key 'data.colums'"),
    "data no mapping": ("data: a.csv", "data: found 'a.csv', expected a mapping"),
    "scale no range": ("task: {scale: {ordinal: [1]}}", "task.scale.ordinal: found [1], expected 2 or more"),
    "scale backwards": ("task: {scale: {ordinal: [6, 1]}}", "task.scale: found '6-1'"),
    "scale of words": ("task: {scale: stars}", "task.scale: found 'stars'"),
    "no such instruction": ("task: {instruction: gone.md}", "task.instruction: cannot read"),
    "author alone": ("author: {model: openai/x}", "validator: found none, expected a model"),
    "validator alone": ("validator: {model: openai/x}", "validator: found one without an author"),
    "review without an author": ("review: true", "review: found one without an author"),
    "unknown key of the author": (
        "author: {model: openai/x, mood: 1}\nvalidator: openai/y",
        "unknown key 'mood'",
    ),
    "an author without words": (
        "author: planted/rater\nvalidator: openai/y",
        "gives verdicts and writes no text",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_study_file_is_one_sentence(command: Command, folder: Path, name: str) -> None:
    text, told = FILES[name]
    (folder / "study.yaml").write_text(text + "\njudges: [planted/rater]\n")
    assert_refused(command("measure", "study.yaml", "--out", "run"), folder, told)


def test_an_ordinal_scale_may_be_written_as_a_range_or_as_a_mapping(command: Command, folder: Path) -> None:
    plans = []
    for scale in ("1-6", "{ordinal: [1, 6]}"):
        (folder / "study.yaml").write_text(f"task: {{scale: {scale}}}\njudges: [planted/rater]\n")
        plans.append(command("plan", "study.yaml", "--json"))
    assert plans[0].code == 0, plans[0].err
    assert plans[0].out == plans[1].out


def test_the_same_from_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    columns = dict(part.split("=") for part in MAP.split(","))
    sheet = steelyard.measure(
        RATER[1],
        task={"rubric": "rubric.md", "scale": "binary"},
        data={"path": "a.csv", "columns": columns},
        probes=["stochastic_stability"],
        out="run",
    )
    accuracy = sheet.find("planted/rater", "accuracy", "stochastic_stability", protocol="base")
    assert accuracy is not None
    assert (accuracy.numerator, accuracy.denominator) == (30, 30)
    assert sheet.name == "a"


def test_strata_without_an_item_are_named(command: Command, folder: Path) -> None:
    drawn = ("plan", *BINARY, *RATER, "-p", "format_invariance_1", "--stratify", "topic", "--sample")
    assert "sample: no item was drawn from 1 of 3 strata ('" in command(*drawn, 2).err
    assert command(*drawn, 3).err == ""


def test_a_sentence_of_one_word_is_no_file(tmp_path: Path) -> None:
    assert read_part("Score.", tmp_path, "task.rubric") == "Score."
    with pytest.raises(ConfigError, match="cannot read"):
        read_part("rubric", tmp_path, "task.rubric")
