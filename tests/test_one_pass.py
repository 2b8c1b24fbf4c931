"""Every reply is parsed once, read once, and every probe built once in a run."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.commands.decide import decide
from steelyard.commands.decision import parse_rule
from steelyard.commands.measure import measure
from steelyard.core.registry import Spec
from steelyard.datasheet.render.data_files import dumps
from steelyard.probes.catalogue import Vacuum
from steelyard.probes.probe import PROBES
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.store import rows, run_store
from steelyard.store.connection import connect
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.tasks.task import Scale
from steelyard.trials.judge import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.readers import READERS, JsonReader
from steelyard.verdicts.verdict import Verdict

PARSED = "SELECT trial, body, latency_ms,"
"""How the store asks for the replies that are counted; exhibits look theirs up one by one."""


class CountingReader(JsonReader):
    """The reader of JSON, and how often it was asked."""

    count = 0

    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        CountingReader.count += 1
        return super().__call__(reply, scale)


class CountingVacuum(Vacuum):
    """The vacuum probe, and how often it was built."""

    count = 0

    def __init__(self) -> None:
        CountingVacuum.count += 1


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that a run file is asked, as SQLite saw it."""
    seen: list[str] = []

    def traced(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.set_trace_callback(seen.append)
        return connection

    monkeypatch.setattr(run_store, "connect", traced)
    monkeypatch.setattr(rows, "connect", traced)
    return seen


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """A planted judge of prompted replies and its baselines, all read by the counting reader."""
    monkeypatch.setitem(READERS._factories, "counting", CountingReader)
    monkeypatch.setitem(PROBES._factories, "vacuum", CountingVacuum)
    monkeypatch.setattr(CountingReader, "count", 0)
    monkeypatch.setattr(CountingVacuum, "count", 0)
    study = build_study(StudyConfig(judges=["planted/coin"], probes=["vacuum"]), Path())
    judges = [
        replace(
            judge,
            protocols={name: replace(p, reader=Spec("counting")) for name, p in judge.protocols.items()},
        )
        for judge in study.judges
    ]
    return replace(study, judges=tuple(judges))


def wanted(statements: list[str], keys: set[str]) -> Counter[str]:
    """How often each reply was asked for with its content; a statement without a list asks for all `keys`."""
    lists = [text.partition("json_each('")[2].partition("')")[0] for text in statements if PARSED in text]
    return Counter(key for listed in lists for key in (json.loads(listed) if listed else keys))


def answers(folder: RunFolder, trials: Sequence[Trial]) -> set[tuple[str, str, str]]:
    """Judge, protocol and text of every reply, each once."""
    with folder.store(read_only=True) as store:
        replies = store.replies([trial.key for trial in trials])
    return {(t.judge.name, t.protocol, replies[t.key].reply.text) for t in trials if t.key in replies}


def test_a_run_reads_each_verdict_once_and_builds_each_probe_once(study: Study, tmp_path: Path) -> None:
    """A short reply that comes again under the same judge and protocol is not read again either."""
    folder, trials = RunFolder(tmp_path / "run"), make_plan(study).trials
    measure(study, folder, RunLimits()).require()
    assert CountingReader.count == len(answers(folder, trials)) < len(trials)
    assert CountingVacuum.count == 1


def test_a_finished_run_parses_each_reply_once(study: Study, tmp_path: Path, statements: list[str]) -> None:
    folder = RunFolder(tmp_path / "run")
    first = measure(study, folder, RunLimits()).require()
    keys = {trial.key for trial in make_plan(study).trials}
    statements.clear()
    again = measure(study, folder, RunLimits())
    assert wanted(statements, keys) == dict.fromkeys(keys, 1)
    assert again.session.calls == 0
    assert dumps(again.require()) == dumps(first)


def test_a_resumed_run_parses_each_reply_at_its_start_and_after_its_calls(
    study: Study, tmp_path: Path, statements: list[str]
) -> None:
    """What was paid for before is parsed at the start, to count its cost; after the calls all of it."""
    folder = RunFolder(tmp_path / "run")
    keys = {trial.key for trial in make_plan(study).trials}
    measure(study, folder, RunLimits())
    with closing(sqlite3.connect(folder.database)) as database, database:
        lost = {row[0] for row in database.execute("SELECT trial FROM replies ORDER BY trial LIMIT 5")}
        database.executemany("DELETE FROM replies WHERE trial = ?", [(key,) for key in lost])
    statements.clear()
    again = measure(study, folder, RunLimits())
    assert again.errors == ()
    assert wanted(statements, keys) == dict.fromkeys(keys, 2)


def test_a_decision_parses_and_reads_each_reply_once(
    study: Study, tmp_path: Path, statements: list[str]
) -> None:
    """What was paid for is parsed at the start; each look then takes the replies since the one before."""
    folder, rule = RunFolder(tmp_path / "run"), parse_rule("dark_current<0.1")
    coin = replace(study, judges=study.judges[:1])
    made = decide(coin, folder, rule, None, RunLimits())
    assert made.session.calls == made.decisions[0].last.calls
    assert CountingReader.count == len(answers(folder, make_plan(coin).trials))
    statements.clear()
    again = decide(coin, folder, rule, None, RunLimits())
    assert again.decisions == made.decisions
    with folder.store(read_only=True) as store:
        answered = store.answered()
    assert len(answered) == made.session.calls
    assert {wanted(statements, answered)[key] for key in answered} == {2}


def test_observations_and_coverage_are_made_once_until_the_file_changes(study: Study, tmp_path: Path) -> None:
    folder, trials = RunFolder(tmp_path / "run"), make_plan(study).trials
    folder.path.mkdir()
    with folder.store() as store:
        record = RunRecord(store)
        assert len(record.observations(trials)) == record.coverage(trials).every.asked == 0
        asyncio.run(store.save_replies([(trial, Reply("tie"), 1) for trial in trials[:3]]))
        seen = record.observations(trials)
        assert len(seen) == record.coverage(trials).every.asked == 3
        assert record.observations(trials) is seen
        assert len(record.observations(trials[:2])) == 2
        asyncio.run(store.save_failure(trials[3], "timeout", "no reply", 1))
        assert len(record.observations(trials)) == record.coverage(trials).every.asked == 4
