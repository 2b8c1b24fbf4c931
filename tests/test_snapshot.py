"""A report needs its folder and nothing else: the plan is kept with the replies."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from steelyard.commands.measure import measure
from steelyard.core.registry import Spec
from steelyard.datasheet.render.data_files import dumps
from steelyard.errors import ConfigError
from steelyard.run_folder.publication import build_datasheet
from steelyard.run_folder.resume import prepare_folder
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan, load_snapshot, snapshot_text
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.study.judge_config import parse_judge
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.tasks.task import Binary, Item, Pairwise, Task

TASK = Task("Score it.", "Right is 1.", Binary())


def study(count: int = 6, judges: tuple[str, ...] = ("planted/rater",)) -> Study:
    items = tuple(Item(f"i{n}", f"R{n}", (f"A{n}",), f"c{n}", label=str(n % 2)) for n in range(count))
    built = tuple(parse_judge(judge, Path(), TASK.scale) for judge in judges)
    return Study("s", 7, "quick", 1, built, (Spec("vacuum"),), TASK, items)


def measured(tmp_path: Path, plan: Study | None = None) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    measure(plan or study(), folder, RunLimits())
    return folder


def rebuilt(folder: RunFolder) -> str:
    plan = load_plan(folder)
    with folder.store(read_only=True) as store:
        return dumps(build_datasheet(plan, RunRecord(store)))


def test_a_report_needs_no_source(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    plan = load_plan(folder)
    assert plan.study.items == ()
    assert len(plan.trials) == 20
    assert rebuilt(folder) == (folder.path / "datasheet.json").read_text()


def test_a_snapshot_holds_what_is_known_and_comes_back(tmp_path: Path) -> None:
    held = replace(study(), looks=(), command=("--out", "x"), asked=("vacuum",), writers={})
    (tmp_path / "study.yaml").write_text(snapshot_text(held))
    body = yaml.safe_load((tmp_path / "study.yaml").read_text())
    assert list(body)[-4:] == ["judges", "command", "asked", "looks"]
    assert None not in body.values()
    assert {"data", "checklists", "reference", "prompts", "decides"}.isdisjoint(body)
    again = load_snapshot(tmp_path / "study.yaml")
    assert (again.looks, again.command, again.asked, again.writers) == ((), ("--out", "x"), ("vacuum",), {})


@pytest.mark.parametrize(("repeat", "always"), [(0, True), (1, False), (2, True)])
def test_first_and_last_repeats_are_checked_and_by_verify_all(
    tmp_path: Path, repeat: int, always: bool
) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        prepare_folder(folder, make_plan(replace(study(), replicates=3)))
    with closing(sqlite3.connect(folder.database)) as file, file:
        row = file.execute("SELECT min(position) FROM planned WHERE replicate = ?", (repeat,)).fetchone()
        file.execute("UPDATE planned SET trial = 'sha256:' || ? WHERE position = ?", ("0" * 64, *row))
    for verify in (False, True):
        if verify or always:
            with pytest.raises(ConfigError, match="in other words than those that were measured"):
                load_plan(folder, verify=verify)
        else:
            load_plan(folder, verify=verify)


def test_untried_trials_stay_in_the_plan(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        prepare_folder(folder, make_plan(study()))
    body = json.loads(rebuilt(folder))
    assert (body["run"]["asked"], body["run"]["planned"]) == (0, len(load_plan(folder).trials))
    rates = [e for e in body["estimates"] if e["metric"] == "failed_rate"]
    assert {row["value"] for row in rates} == {None}


def test_a_study_that_grows_replaces_its_plan(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    measure(study(judges=("planted/rater", "planted/random")), folder, RunLimits())
    assert {trial.judge.name for trial in load_plan(folder).trials} == {"planted/rater", "planted/random"}


def test_other_items_are_another_study(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    with pytest.raises(ConfigError, match=r"holds another study \(items differ\); choose another"):
        measure(study(count=7), folder, RunLimits())


@pytest.mark.parametrize("edit", ["text", "fewer", "label"])
def test_edited_stimuli_are_refused(tmp_path: Path, edit: str) -> None:
    folder = measured(tmp_path)
    lines = [json.loads(line) for line in folder.stimuli.read_text().splitlines()]
    if edit == "fewer":
        lines.pop()
    elif edit == "text":
        lines[0]["texts"] = ["something else"]
    else:
        lines[0]["expectation"]["value"] = "1"
    folder.stimuli.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))
    with pytest.raises(ConfigError, match=r"stimuli\.jsonl: not the stimuli that were measured; restore"):
        load_plan(folder)


def test_a_protocol_that_only_another_judge_has_is_refused(tmp_path: Path) -> None:
    judges = tuple(parse_judge(name, Path(), Pairwise()) for name in ("planted/probit", "planted/first"))
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        prepare_folder(folder, make_plan(Study("s", 7, "quick", 1, judges, (Spec("vacuum"),))))
    with closing(sqlite3.connect(folder.database)) as file, file:
        file.execute("UPDATE planned SET protocol = 'strict' WHERE judge = 'planted/first'")
    with pytest.raises(ConfigError, match="judge 'planted/first' with protocol 'strict'"):
        load_plan(folder)


def test_a_folder_whose_plan_was_never_written_is_mended_by_the_next_run(tmp_path: Path) -> None:
    """A kill between the frozen study and the run file, or a run file of a version that kept no plan."""
    folder = measured(tmp_path)
    before = (folder.path / "datasheet.json").read_text()
    with closing(sqlite3.connect(folder.database)) as connection, connection:
        connection.execute("DELETE FROM planned")
        connection.execute("DELETE FROM meta")
    connection.close()
    measure(study(), folder, RunLimits())
    assert rebuilt(folder) == before


def test_a_run_file_without_a_plan_is_reported_from_its_study(tmp_path: Path) -> None:
    judge = parse_judge("planted/probit", Path(), Pairwise())
    plan = Study("s", 7, "quick", 1, (judge,), (Spec("vacuum"),))
    folder = measured(tmp_path, plan)
    before = (folder.path / "datasheet.json").read_text()
    with closing(sqlite3.connect(folder.database)) as connection, connection:
        connection.execute("DROP TABLE planned")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    assert rebuilt(folder) == before
