from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from steelyard.errors import StoreError, StoreFormatError
from steelyard.store import rows
from steelyard.store.connection import connect, store_errors
from steelyard.store.run_store import RunStore
from steelyard.store.trials import SHORT
from steelyard.study.planner import make_plan
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.trials.judge import Reply, Usage
from steelyard.trials.trial import Trial


def some_trials(count: int) -> tuple[Trial, ...]:
    study = build_study(StudyConfig(judges=["planted/tie"], probes=["vacuum"]), Path())
    return make_plan(study).trials[:count]


REPLY = Reply(
    text='{"winner": "tie"} \ud800 é\x00',
    logprobs={"1": -0.5},
    scores=(1.0, -2.5),
    usage=Usage(10, 2, 1),
    finish="length",
    served_model="m",
    effective={"max_completion_tokens": 5},
    latency_ms=12.5,
)


def test_a_reply_comes_back_as_it_went_in(tmp_path: Path) -> None:
    (trial,) = some_trials(1)
    store = RunStore(tmp_path / "run.db")
    asyncio.run(store.save_reply(trial, REPLY, attempts=3))
    store.close()
    again = RunStore(tmp_path / "run.db")
    stored = again.replies()[trial.key]
    assert stored.reply == REPLY
    assert stored.attempts == 3
    assert again.answered() == {trial.key}
    assert again.verify() == []
    again.close()


def test_a_second_reply_does_not_replace_the_first(tmp_path: Path) -> None:
    (trial,) = some_trials(1)
    store = RunStore(tmp_path / "run.db")

    async def twice() -> None:
        await store.save_reply(trial, Reply("first"), 1)
        await store.save_reply(trial, Reply("second"), 1)

    asyncio.run(twice())
    assert store.replies()[trial.key].reply.text == "first"
    store.close()


def prompts_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT hash FROM prompts")]


def test_a_prompt_that_many_calls_say_at_the_same_time_is_kept_once(tmp_path: Path) -> None:
    first = some_trials(1)[0]
    repeats = [first.repeat(number) for number in range(5)]
    store = RunStore(tmp_path / "run.db")

    async def at_once() -> None:
        await asyncio.gather(*(store.save_reply(trial, REPLY, 1) for trial in repeats))

    asyncio.run(at_once())
    store.close()
    assert prompts_of(tmp_path / "run.db") == [first.prompt_hash]


def test_a_prompt_is_kept_where_who_was_sending_it_failed(tmp_path: Path) -> None:
    first = some_trials(1)[0]
    store = RunStore(tmp_path / "run.db")
    unwritable = replace(REPLY, latency_ms=cast(float, object()))

    async def at_once() -> list[BaseException | None]:
        return await asyncio.gather(
            store.save_reply(first, unwritable, 1),
            store.save_reply(first.repeat(1), REPLY, 1),
            return_exceptions=True,
        )

    failed, kept = asyncio.run(at_once())
    assert isinstance(failed, StoreError)
    assert kept is None
    assert set(store.calls([first.repeat(1).key])) == {first.repeat(1).key}
    store.close()
    assert prompts_of(tmp_path / "run.db") == [first.prompt_hash]


def test_a_failure_counts_until_a_reply_comes(tmp_path: Path) -> None:
    (trial,) = some_trials(1)
    store = RunStore(tmp_path / "run.db")
    asyncio.run(store.save_failure(trial, "timeout", "no reply within 1 s", 6))
    assert store.failures()[trial.key].reason == "timeout"
    assert store.answered() == set()
    asyncio.run(store.save_reply(trial, Reply("x"), 1))
    assert store.failures() == {}
    store.close()


def test_who_only_reads_sees_one_moment_of_a_run_that_goes_on(tmp_path: Path) -> None:
    first, second, third = some_trials(3)
    store = RunStore(tmp_path / "run.db")
    asyncio.run(store.save_reply(first, REPLY, 1))
    reader = RunStore(tmp_path / "run.db", read_only=True)
    asyncio.run(store.save_reply(second, REPLY, 1))
    asyncio.run(store.save_failure(third, "timeout", "no reply within 1 s", 6))
    assert reader.answered() == reader.replies().keys() == {first.key}
    assert reader.failures() == {}
    assert reader.verify() == []
    reader.close()
    later = RunStore(tmp_path / "run.db", read_only=True)
    assert later.answered() == {first.key, second.key}
    assert later.failures().keys() == {third.key}
    later.close()
    store.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE replies SET body = replace(body, 'length', 'stop')", "reply to trial sha256:.* its digest"),
        ("UPDATE prompts SET body = '{}'", "prompt sha256:.* its hash"),
        ("UPDATE trials SET replicate = 7", "trial sha256:.* its key"),
    ],
)
def test_verify_finds_a_changed_row(tmp_path: Path, statement: str, told: str) -> None:
    import re

    (trial,) = some_trials(1)
    store = RunStore(tmp_path / "run.db")
    asyncio.run(store.save_reply(trial, REPLY, 1))
    store.close()
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection, connection:
        connection.execute(statement)
    connection.close()
    damaged = RunStore(tmp_path / "run.db")
    (sentence,) = damaged.verify()
    assert re.search(told, sentence)
    damaged.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.db").write_bytes(b"not a database, but long enough to look at" * 50)
    with pytest.raises(StoreError, match=r"run\.db: not a usable run file"):
        RunStore(tmp_path / "run.db")


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreFormatError, match=r"run\.db: found format 99, expected at most"):
        RunStore(tmp_path / "run.db")


def test_a_full_disk_is_told_and_keeps_what_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = some_trials(2)
    store = RunStore(tmp_path / "run.db")
    asyncio.run(store.save_reply(first, Reply("kept"), 1))
    pages = store._reader.execute("PRAGMA page_count").fetchone()[0]
    store.close()

    def cramped(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    full = RunStore(tmp_path / "run.db")
    monkeypatch.setattr(rows, "connect", cramped)
    with pytest.raises(StoreError, match=r"full.*run again to resume"):
        asyncio.run(full.save_reply(second, Reply("x" * 100_000), 1))
    assert full.replies()[first.key].reply.text == "kept"
    assert full.verify() == []
    full.close()


def test_what_waits_is_written_though_the_loop_that_asked_is_gone(tmp_path: Path) -> None:
    """Another program holds the file while the run is called off; then it lets go."""
    path, trials = tmp_path / "run.db", some_trials(3)
    store = RunStore(path)

    async def called_off() -> None:
        await store.save_reply(trials[0], REPLY, 1)
        other.execute("BEGIN IMMEDIATE")
        waiting = [asyncio.create_task(store.save_reply(trial, REPLY, 1)) for trial in trials[1:]]
        await asyncio.sleep(0)  # each task runs up to its wait
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        asyncio.run(called_off())
        other.execute("ROLLBACK")
        store.close()
    with closing(RunStore(path, read_only=True)) as left:
        assert left.answered() == {trial.key for trial in trials}


WRITER = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from typing import cast
from steelyard.store.run_store import RunStore
from steelyard.trials.judge import Reply
sys.path.insert(0, sys.argv[2])
from test_store import some_trials

async def write():
    store = RunStore(Path(sys.argv[1]))
    async def one(trial):
        await store.save_reply(trial, Reply("x" * 2000), 1)
        print(trial.key, flush=True)
    await asyncio.gather(*(one(trial) for trial in some_trials(60)))
    await asyncio.Event().wait()

asyncio.run(write())
"""


def test_no_acknowledged_reply_is_lost_under_kill_9(tmp_path: Path) -> None:
    """Some of the replies are acknowledged on a pipe, then the process is killed for good."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "run.db"), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().strip() for _ in range(5)]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store = RunStore(tmp_path / "run.db")
    assert set(acknowledged) <= store.answered()
    assert store.verify() == []
    store.close()


def test_a_file_that_another_program_holds_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    RunStore(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other, other:
        other.execute("BEGIN EXCLUSIVE")
        hasty = sqlite3.connect(path, timeout=0, isolation_level=None)
        with (
            pytest.raises(StoreError, match=r"in use by another program .*locked.*: close that one"),
            store_errors(path),
        ):
            hasty.execute("BEGIN IMMEDIATE")
        hasty.close()
        other.execute("ROLLBACK")
    other.close()


def test_replies_that_come_together_are_kept_each_as_its_own(tmp_path: Path) -> None:
    """One reply to several calls, an equal one, and one that the store has met before."""
    trials = some_trials(6)
    one, equal, other = Reply("1"), Reply("1"), Reply("2", usage=Usage(1, 2))
    sent = [one, one, equal, other, Reply("x" * SHORT), one]
    with closing(RunStore(tmp_path / "run.db")) as store:
        for some in (slice(0, 4), slice(4, 6)):
            calls = zip(trials[some], sent[some], strict=True)
            asyncio.run(store.save_replies([(trial, reply, 1) for trial, reply in calls]))
        stored = store.replies()
        assert [stored[trial.key].reply for trial in trials] == sent
        assert store.verify() == []
