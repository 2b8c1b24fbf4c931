from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from commands import run_command
from steelyard.commands.measure import measure
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render.terminal import render
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.study.study_file import StudyConfig, build_study, load_config

PROBIT = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02"


def measured(config: StudyConfig, folder: Path, judges: int) -> Datasheet:
    """The datasheet of the first judges, without the baselines."""
    study = build_study(config, folder)
    study = replace(study, judges=study.judges[:judges])
    return measure(study, RunFolder(folder / "run"), RunLimits()).require()


def test_standard_profile_prints_the_published_sizes(tmp_path: Path) -> None:
    given = {"judges": ["planted/tie"], "probes": ["vacuum", "ladder"], "profile": "standard"}
    sheet = measured(StudyConfig.model_validate(given), tmp_path, judges=1)

    def size(metric: str, **group: object) -> tuple[int, int]:
        row = sheet.find("planted/tie", metric, protocol="base", **group)
        return row.n_calls, row.n_units

    assert size("dark_current")[0] == 120
    assert size("raw_false_preference", delta=0, kind="same_subset") == (120, 60)
    assert [size("target_sensitivity", delta=d)[0] for d in (1, 2, 3, 4, 5)] == [100, 80, 60, 40, 20]
    console = Console(file=StringIO(), width=100)
    render(sheet, console)
    for printed in ("/120", "/60", "/100", "/80", "/40", "/20"):
        assert printed in console.file.getvalue()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of every default probe, one call at a time, and a small one."""
    folder = tmp_path_factory.mktemp("cli")
    run_command(folder, "measure", "-j", PROBIT, "--out", "probit", "--concurrency", 1)
    run_command(folder, "measure", "-j", "planted/tie", "-p", "vacuum", "--out", "tie")
    return folder


@pytest.fixture
def tied(runs: Path, tmp_path: Path) -> Path:
    """The small run, to be changed."""
    return Path(shutil.copytree(runs / "tie", tmp_path / "run"))


def test_run_folder_is_complete_and_report_rebuilds_it(steelyard, tied: Path) -> None:
    files = ["study.yaml", "stimuli.jsonl", "run.db", "datasheet.json", "datasheet.md", "datasheet.html"]
    assert all((tied / name).stat().st_size for name in files)
    before = {name: (tied / name).read_bytes() for name in files if name.startswith("datasheet")}
    for name in before:
        (tied / name).unlink()
    done = steelyard("report", "run", "--verify", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert {name: (tied / name).read_bytes() for name in before} == before
    assert done.stdout.encode() == before["datasheet.json"]


@pytest.mark.parametrize("form", ["md", "html", "csv"])
def test_report_prints_every_format(steelyard, tied: Path, form: str) -> None:
    done = steelyard("report", "run", "--format", form)
    assert done.returncode == 0
    assert "planted/tie" in done.stdout


def test_second_run_makes_no_calls(steelyard) -> None:
    first = steelyard("measure", "-j", PROBIT, "-p", "vacuum")
    second = steelyard("measure", "-j", PROBIT, "-p", "vacuum")
    assert re.search(r"^\d+ calls in ", first.stdout, re.M)
    assert "No calls: every" in second.stdout


def test_the_same_study_gives_the_same_bytes(runs: Path, process, tmp_path: Path) -> None:
    """In a process whose sets have another order, too."""
    process("measure", "-j", PROBIT, "--out", "b", "--concurrency", 16, PYTHONHASHSEED="7")
    a, b = (json.loads((out / "datasheet.json").read_text()) for out in (runs / "probit", tmp_path / "b"))
    assert a.pop("run") is not None
    assert b.pop("run") is not None
    assert json.dumps(a) == json.dumps(b)


def test_datasheet_json_has_the_shape_of_the_contract(runs: Path) -> None:
    body = json.loads((runs / "probit" / "datasheet.json").read_text())
    assert body["schema"] == "steelyard.datasheet/2"
    assert {"name", "seed", "stimulus_set", "version"} <= set(body["study"])
    assert body["study"]["stimulus_set"].startswith("sha256:")
    assert [judge["name"] for judge in body["judges"]] == [
        "planted/probit",
        "coin",
        "first",
        "tie",
        "longest",
    ]
    assert [judge["baseline"] for judge in body["judges"]] == [False, True, True, True, True]
    assert set(body["judges"][0]["protocols"]) == {"base", "strict"}
    assert {"started", "finished", "latency_ms"} <= set(body["run"])
    keys = {
        *("judge", "probe", "metric", "group", "unit", "value", "numerator", "denominator", "intervals"),
        *("n_calls", "n_units", "n_clusters", "design_effect", "excluded", "bounds", "censored", "chance"),
        *("finding", "minimum_detectable", "note", "calls_needed", "reading"),
        *("p", "p_corrected"),
    }
    for row in body["estimates"]:
        # A code stands beside the sentence where a program decides on why there is no value; a share has the
        # number of independent trials behind it.
        assert set(row) - {"reason", "effective_size", "quantile"} == keys
        assert ("effective_size" in row) == ("quantile" in row)
        assert "reason" not in row or row["value"] is None, row
        assert row["value"] is not None or row["note"], row
        assert row["finding"] in (None, "clear", "flagged", "inconclusive")
        if (
            row["unit"] == "call"
            and row["value"] is not None
            and row["metric"].endswith(("_rate", "sensitivity"))
        ):
            assert "wilson" in [interval["method"] for interval in row["intervals"]], row
        if row["value"] is not None:
            assert row["intervals"], row


WRONG = {
    "unknown probe": (["-p", "vacum"], "did you mean 'vacuum'"),
    "unknown provider": (["-j", "litellm/gpt-4o"], "is openai/NAME?base_url=URL; known: anthropic"),
    "no slash": (["-j", "gpt-4o"], "expected provider/model"),
    "unknown key": (["-j", "planted/coin?colour=red"], "unknown key 'colour'"),
    "bad number": (["-j", "planted/probit?s=big"], "s"),
    "out of range": (["-j", "planted/probit?lapse=2"], "lapse"),
    "unknown planted": (["-j", "planted/oracle"], "unknown planted model 'oracle'"),
    "wrong parameter": (["-j", "planted/coin?s=1"], "belongs to planted/probit only"),
    "same name": (["-j", "planted/coin", "-j", "planted/coin"], "two judges are named"),
    "profile": (["--profile", "huge"], "huge"),
    "study missing": (["nowhere.yaml"], "nowhere.yaml"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage_is_exit_2_with_a_sentence_and_no_run(steelyard, tmp_path: Path, name: str) -> None:
    arguments, told = WRONG[name]
    done = steelyard("measure", *arguments, "--out", "run")
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run" / "datasheet.json").exists()


@pytest.mark.parametrize("words", ["labels draw v.csv --judge j -n 10", "import v.csv"])
def test_an_option_that_is_missing_is_named(steelyard, words: str) -> None:
    done = steelyard(*words.split())
    assert done.returncode == 2
    assert "--out is missing" in done.stderr


STUDIES = {
    "empty": ("", "found an empty file"),
    "not yaml": ("judges: [a, b", "line 1"),
    "list": ("- a\n- b\n", "found a list"),
    "unknown key": ("judge: planted/coin\n", "unknown key 'judge'"),
    "author alone": ("author: {model: openai/x}\n", "validator: found none, expected a model"),
    "wrong type": ("seed: seven\n", "seed"),
    "no judges": ("judges: []\n", "judges"),
    "bad name": ("name: ../../etc\n", "name"),
    "missing prompt": ("judges: [{model: openai/x, prompt: gone.md}]\n", "gone.md"),
    "bad template": ('judges: [{model: openai/x, prompt: "{{ first }"}]\n', "not a valid Jinja2 template"),
    "unknown variable": ('judges: [{model: openai/x, prompt: "{{ label }}"}]\n', "unknown variable 'label'"),
    "bad reader": ("judges: [{model: openai/x, reader: guess}]\n", "'guess'"),
    "bad regex": ("judges: [{model: openai/x, reader: {regex: '('}}]\n", "regex"),
    "probe options": ("judges: [planted/coin]\nprobes: [{vacuum: {depth: 3}}]\n", "wrong options"),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_wrong_study_file_is_exit_2_with_a_sentence(steelyard, tmp_path: Path, name: str) -> None:
    text, told = STUDIES[name]
    (tmp_path / "study.yaml").write_text(text)
    done = steelyard("measure", "study.yaml", "--out", "run")
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_study_file_with_two_named_judges(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "name: mine\nseed: 3\nprobes: [ladder, criterion]\njudges:\n"
        "  - {name: sharp, model: planted/probit, s: 2.0, sigma: 0.1, lapse: 0.0}\n"
        "  - {name: blunt, model: planted/probit, s: 0.1, sigma: 0.1, protocols: {strict: {tau: 3.0}}}\n"
    )
    sheet = measured(load_config(tmp_path / "mine.yaml", {}), tmp_path, judges=2)

    def value(judge: str, metric: str, **group: object) -> float:
        row = sheet.find(judge, metric, **group)
        assert row is not None
        assert row.value is not None
        return row.value

    steep = value("sharp", "target_sensitivity", protocol="base", delta=3)
    assert steep == 1.0 > value("blunt", "target_sensitivity", protocol="base", delta=3)
    assert value("blunt", "criterion_shift", protocol="strict", delta=0) > 0


def test_another_study_in_the_same_folder_is_refused(steelyard) -> None:
    steelyard("measure", "-j", "planted/coin", "-p", "vacuum", "--out", "run")
    done = steelyard("measure", "-j", "planted/tie", "-p", "vacuum", "--out", "run")
    assert done.returncode == 2
    assert "(judges differ)" in done.stderr


def test_plan_counts_and_spends_nothing(steelyard, tmp_path: Path) -> None:
    done = steelyard("plan", "-j", "openai/gpt-4o", "--profile", "standard", "--json", "--out", "run")
    assert done.returncode == 0, done.stderr
    rows = {(r["judge"], r["probe"]): r for r in json.loads(done.stdout)["rows"]}
    calls = [rows["openai/gpt-4o", probe]["calls"] for probe in ("vacuum", "ladder", "criterion", "length")]
    assert calls == [120, 492, 540, 48]
    assert rows["openai/gpt-4o", "vacuum"]["dollars"] > 0
    assert not (tmp_path / "run").exists()


def test_dry_run_prints_the_plan(steelyard, tmp_path: Path) -> None:
    done = steelyard("measure", "-j", "planted/coin", "--dry-run")
    assert done.returncode == 0
    assert "nothing was spent" in done.stdout
    assert not (tmp_path / "steelyard-runs").exists()


def test_options_have_environment_twins(steelyard) -> None:
    done = steelyard("measure", "-j", "planted/tie", "-p", "vacuum", "--json", STEELYARD_PROFILE="standard")
    assert json.loads(done.stdout)["study"]["profile"] == "standard"


@pytest.mark.parametrize("command", ["probes", "judges", "--help", "--version"])
def test_lists(steelyard, command: str) -> None:
    done = steelyard(command)
    assert done.returncode == 0
    assert done.stdout.strip()


def test_help_imports_nothing_heavy(process) -> None:
    done = process("--help", PYTHONPROFILEIMPORTTIME="1")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not imported & {"numpy", "scipy", "aiohttp", "pydantic", "rich", "jinja2", "xllamacpp", "yaml"}


def test_doctor_tries_a_judge(steelyard) -> None:
    done = steelyard("doctor", "-j", "planted/first")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "planted/first: protocol base: ok" in done.stdout
    assert '  replied  \'{"winner": "1"}\'' in done.stdout.splitlines()
    assert re.search(r"^  read as  1, .*\bjson$", done.stdout, re.M)


def test_report_on_a_folder_that_is_no_run(steelyard, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = steelyard("report", "empty")
    assert done.returncode == 2
    assert "a run folder" in done.stderr


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE replies SET body = replace(body, 'tie', '1')", "reply to trial"),
        ("UPDATE prompts SET body = replace(body, 'answer', 'reply')", "prompt sha256"),
        ("UPDATE prompts SET body = '{'", "prompt sha256"),
        ("UPDATE prompts SET body = 'é' || body", "prompt sha256"),
        ("UPDATE trials SET replicate = replicate + 1", "trial sha256"),
    ],
)
def test_report_finds_damage(steelyard, tied: Path, tmp_path: Path, damage: str, told: str) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "run" / "run.db") as connection:
        connection.execute(damage)
    connection.close()
    done = steelyard("report", "run", "--verify")
    assert done.returncode == 1
    assert f"damaged rows, the first: {told}" in done.stderr


@pytest.mark.parametrize("column", ["judge", "protocol"])
def test_a_plan_that_the_study_does_not_know_is_refused(
    steelyard, tied: Path, tmp_path: Path, column
) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "run" / "run.db") as connection:
        connection.execute(f"UPDATE planned SET {column} = 'nobody' WHERE position = 3")
    connection.close()
    done = steelyard("report", "run", "--verify")
    assert done.returncode == 2
    assert f"{column} 'nobody'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_one_instrument_under_two_names_is_refused(steelyard, tmp_path: Path) -> None:
    (tmp_path / "twice.yaml").write_text(
        "judges: [{name: a, model: planted/coin}, {name: b, model: planted/coin}]\n"
    )
    done = steelyard("measure", "twice.yaml")
    assert done.returncode == 2
    assert re.search("'a' and 'b' .* one instrument", done.stderr)


def test_a_budget_needs_a_price(steelyard) -> None:
    judge = "openai/nobody-knows-me?base_url=http://127.0.0.1:9/v1"
    done = steelyard("measure", "-j", judge, "--budget", 1, "--out", "run")
    assert done.returncode == 2
    assert "no price is" in done.stderr
    half = steelyard("plan", "-j", judge + "&input_price=2")
    assert half.returncode == 2
    assert "both or neither" in half.stderr


def test_a_stated_price_is_planned_with(steelyard) -> None:
    judge = "openai/mine?base_url=http://127.0.0.1:9/v1&input_price=2000000&output_price=0"
    rows = json.loads(steelyard("plan", "-j", judge, "-p", "vacuum", "--json").stdout)["rows"]
    mine = [row for row in rows if row["judge"].startswith("openai")]
    assert [row["dollars"] for row in mine] == [2 * row["input_tokens"] for row in mine]
    assert mine


def test_a_study_may_gain_judges_and_probes(steelyard, tmp_path: Path) -> None:
    steelyard("measure", "-j", "planted/first", "-p", "vacuum", "--out", "run")
    both = ("-j", "planted/first", "-j", PROBIT)
    more = steelyard("measure", *both, "-p", "vacuum", "-p", "criterion", "--out", "run", "--json")
    assert more.returncode == 0, more.stderr
    names = [judge["name"] for judge in json.loads(more.stdout)["judges"] if not judge["baseline"]]
    assert names == ["planted/first", "planted/probit"]
    assert steelyard("report", "run").returncode == 0
    fewer = steelyard("measure", "-j", "planted/first", "-p", "vacuum", "--out", "run")
    assert fewer.returncode == 2
    assert "(probes, judges differ)" in fewer.stderr


@pytest.mark.parametrize("name", ["run.db", "stimuli.jsonl", "study.yaml"])
def test_report_refuses_a_folder_that_lost_a_file(steelyard, tied: Path, tmp_path: Path, name: str) -> None:
    before = (tmp_path / "run" / "datasheet.json").read_bytes()
    (tmp_path / "run" / name).unlink()
    done = steelyard("report", "run")
    assert done.returncode == 2
    assert f"no {name} found" in done.stderr
    assert (tmp_path / "run" / "datasheet.json").read_bytes() == before


EDITS = {
    "temperature: 0.0": "temperature: 0.5",
    "Wording, style": "Wording and style",
    "profile: quick": "profile: huge",
    "replicates: 1": "replicates: many",
    "protocols:": "protocol:",
}


@pytest.mark.parametrize("old", EDITS)
def test_report_refuses_an_edited_study(steelyard, tied: Path, tmp_path: Path, old: str) -> None:
    study = tmp_path / "run" / "study.yaml"
    assert old in study.read_text()
    study.write_text(study.read_text().replace(old, EDITS[old]))
    done = steelyard("report", "run")
    assert done.returncode == 2, done.stderr
    assert "restore the file" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("probes", "told"),
    [("[vacuum, vacuum]", "stands there twice"), ("[{criterion: {protocol: base}}]", "other than base")],
)
def test_probes_that_would_repeat_themselves_are_refused(
    steelyard, tmp_path: Path, probes: str, told: str
) -> None:
    (tmp_path / "study.yaml").write_text(f"judges: [planted/tie]\nprobes: {probes}\n")
    done = steelyard("measure", "study.yaml")
    assert done.returncode == 2
    assert told in done.stderr


def test_names_that_look_alike_are_refused(steelyard, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        "judges: [{name: a b, model: planted/first}, {name: 'a  b', model: planted/tie}]\n"
    )
    done = steelyard("measure", "study.yaml")
    assert done.returncode == 2
    assert re.search("two judges .*'a b'", done.stderr)


def test_a_judge_without_a_strict_protocol_says_so(steelyard) -> None:
    done = steelyard("measure", "-j", "planted/first", "-p", "vacuum", "-p", "criterion", "--json")
    rows = [r for r in json.loads(done.stdout)["estimates"] if r["metric"] == "criterion_shift"]
    assert {row["value"] for row in rows} == {None}
    assert all(row["note"].endswith("no strict protocol") for row in rows)
