"""Calls that nobody is waited for: many a step, and the run file is the one that single calls would make."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from steelyard.commands.measure import measure
from steelyard.providers.planted.planted_judges import Planted
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner import judge_run
from steelyard.runner.judge_run import JudgeRun
from steelyard.runner.limits import RunLimits
from steelyard.runner.session import NullProgress, Tick
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.study.study_file import build_study, load_config

KILLED = """
import os, signal, sys
from pathlib import Path
from steelyard.run_folder.run_folder import RunFolder
from steelyard.commands.measure import measure
from steelyard.runner import judge_run
from steelyard.runner.limits import RunLimits
from steelyard.study.study_file import build_study, load_config
from steelyard.store.run_store import RunStore

judge_run.CHUNK = 4
usual, steps = RunStore.save_replies, []

async def save_replies(self, answers):
    await usual(self, answers)
    steps.append(len(answers))
    if len(steps) == 6:
        os.kill(os.getpid(), signal.SIGKILL)

RunStore.save_replies = save_replies
overrides = {"judges": ["planted/probit"], "profile": "quick", "probes": ["vacuum"]}
measure(build_study(load_config(None, overrides), Path()), RunFolder(Path(sys.argv[1])), RunLimits())
"""
"""A process that is killed between two steps of its baselines."""


class Told(NullProgress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.ticks: list[Tick] = []

    def tick(self, tick: Tick) -> None:
        self.ticks.append(tick)


def quick(**changed: Any) -> Study:
    overrides = {"judges": ["planted/probit"], "profile": "quick", "probes": ["vacuum"], **changed}
    return build_study(load_config(None, overrides), Path())


def rows(folder: RunFolder) -> dict[str, list[tuple[Any, ...]]]:
    """All that lies in the run file, without the clock."""
    columns = {
        "prompts": "hash, body",
        "trials": "key, fingerprint, stimulus, presented, replicate, prompt, judge, protocol",
        "replies": "trial, body, digest, attempts, latency_ms",
        "failures": "trial, reason, message, attempts",
    }
    with closing(sqlite3.connect(folder.path / "run.db")) as connection:
        return {
            table: connection.execute(f"SELECT {names} FROM {table} ORDER BY 1, 2").fetchall()
            for table, names in columns.items()
        }


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JudgeRun, "_needs_no_queue", property(lambda _: False))


def test_the_run_file_is_that_of_single_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judges = ["planted/probit", "planted/coin", "planted/longest"]
    study, told = quick(judges=judges, replicates=2), {"together": Told(), "single": Told()}
    monkeypatch.setattr(judge_run, "CHUNK", 7)  # the last step is a short one
    measure(study, RunFolder(tmp_path / "together"), RunLimits(), told["together"])
    one_by_one(monkeypatch)
    measure(study, RunFolder(tmp_path / "single"), RunLimits(), told["single"])
    together, single = (rows(RunFolder(tmp_path / name)) for name in told)
    assert together == single
    assert len(together["replies"]) == len(make_plan(study).trials)
    assert sorted(told["together"].ticks) == sorted(told["single"].ticks)


def test_scores_by_chance_are_those_of_single_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = quick(judges=["planted/rater"], task={"scale": "1-6"}, probes=["format_invariance_1"])
    monkeypatch.setattr(judge_run, "CHUNK", 7)
    measure(study, RunFolder(tmp_path / "together"), RunLimits())
    one_by_one(monkeypatch)
    measure(study, RunFolder(tmp_path / "single"), RunLimits())
    assert rows(RunFolder(tmp_path / "together")) == rows(RunFolder(tmp_path / "single"))


def test_kill_9_between_two_steps_leaves_whole_steps_and_a_run_that_goes_on(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    killed, whole = RunFolder(tmp_path / "killed"), RunFolder(tmp_path / "whole")
    done = subprocess.run([sys.executable, "-c", KILLED, str(killed.path)], env=environment, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    kept = rows(killed)
    assert 0 < len(kept["replies"]) < len(make_plan(quick()).trials)
    assert [row[0] for row in kept["trials"]] == [row[0] for row in kept["replies"]]
    measure(quick(), killed, RunLimits())
    measure(quick(), whole, RunLimits())
    assert rows(killed) == rows(whole)
    with killed.store(read_only=True) as store:
        assert store.verify() == []


def test_equal_answers_to_prompts_of_one_length_are_one_reply() -> None:
    trials = [t for t in make_plan(quick(replicates=3)).trials if t.judge.name == "tie"]
    provider = Planted(trials[0].judge)
    replies = {id(provider.reply(trial.presentation())) for trial in trials}
    lengths = {sum(len(message.content) for message in trial.messages) // 4 for trial in trials}
    assert len(replies) == len(lengths) < len(trials)
