"""What lies in a run file comes back as it went in; what was changed there is found, column by column."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core.content_hash import canonical_json, content_hash, digests_of, hash_of, plain
from steelyard.errors import StoreError
from steelyard.store.authoring import AuthoredRow
from steelyard.store.connection import MIGRATIONS, migrate
from steelyard.store.rows import CHUNK
from steelyard.store.run_store import RunStore
from steelyard.store.trials import PlannedTrial, reply_body, reply_from
from steelyard.trials.judge import Decoding, Judge, Protocol, Reply, Slots, Usage
from steelyard.trials.prompt import Message
from steelyard.trials.trial import AUTHOR, VALIDATOR, Exchange, Trial
from test_store import some_trials

text = st.text(max_size=40)
numbers = st.floats(-1e6, 0)
replies = st.builds(
    Reply,
    text=text,
    logprobs=st.none() | st.dictionaries(st.sampled_from(["1", "2", "tie"]), numbers),
    scores=st.none() | st.tuples(numbers, numbers),
    usage=st.builds(
        Usage,
        *[st.integers(0, 10**6)] * 5,
        batched=st.booleans(),
        billed=st.none() | st.floats(0, 1e4) | st.integers(0, 9),
        dollars=st.none() | st.floats(0, 1e4),
    ),
    finish=st.sampled_from(["stop", "length", "refusal", "filter"]),
    served_model=st.none() | text,
    effective=st.dictionaries(text, st.integers() | text, max_size=2),
    latency_ms=st.floats(0, 1e6),
)


def exchange(attempt: int = 0, role: str = AUTHOR, prompt: str = "Write.", brief: str = "b/1") -> Exchange:
    judge = Judge("writer", "openai", "m", {"write": Protocol("write")}, options={"input_price": 2.5})
    return Exchange(
        role, judge, "write", brief, (Message("user", prompt),), Decoding(), Slots("Write.", ()), attempt
    )


@contextmanager
def opened(path: Path, *, read_only: bool = False) -> Iterator[RunStore]:
    store = RunStore(path, read_only=read_only)
    try:
        yield store
    finally:
        store.close()


# Replies


@pytest.mark.slow
@settings(max_examples=60)
@given(replies)
def test_a_reply_is_what_its_body_says(reply: Reply) -> None:
    body = reply_body(reply)
    assert reply_from(body, reply.latency_ms) == reply
    assert "latency_ms" not in body
    whole = plain(reply)
    del whole["latency_ms"]
    for name in ("billed", "dollars"):
        if whole["usage"][name] is None:
            del whole["usage"][name]
    if not whole["usage"]["requests"]:
        del whole["usage"]["requests"]
    assert body == canonical_json(whole)


@pytest.mark.slow
@settings(max_examples=15)
@given(rows=st.lists(st.tuples(replies, st.integers(1, 9)), min_size=1, max_size=5))
def test_replies_survive_the_file(
    rows: list[tuple[Reply, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("store") / "run.db"
    trials = some_trials(len(rows))
    with opened(path) as store:

        async def save() -> None:
            await asyncio.gather(*(store.save_reply(t, r, n) for t, (r, n) in zip(trials, rows, strict=True)))

        asyncio.run(save())
    with opened(path, read_only=True) as store:
        found = store.replies()
        assert {key: (row.reply, row.attempts) for key, row in found.items()} == {
            trial.key: row for trial, row in zip(trials, rows, strict=True)
        }
        assert store.answered() == set(found)
        assert store.verify() == []


def test_only_the_replies_that_were_asked_for(tmp_path: Path) -> None:
    trials = some_trials(4)
    with opened(tmp_path / "run.db") as store:
        for trial in trials[:3]:
            asyncio.run(store.save_reply(trial, Reply(trial.key), 1))
        wanted = [trials[0].key, trials[2].key, trials[3].key, "no such key"]
        assert store.replies(wanted).keys() == {trials[0].key, trials[2].key}
        assert store.replies([]) == {}
        assert len(store.replies()) == 3


def test_the_last_failure_counts_and_keeps_its_text(tmp_path: Path) -> None:
    (trial,) = some_trials(1)
    with opened(tmp_path / "run.db") as store:
        asyncio.run(store.save_failure(trial, "timeout", "first", 2))
        asyncio.run(store.save_failure(trial, "http_500", "half a pair: \ud800, é, \x00", 6))
        found = store.failures()[trial.key]
        assert (found.reason, found.attempts) == ("http_500", 6)
        assert found.message == "half a pair: \\ud800, é, \x00"
        assert store.verify() == []


# Authors and validators


def test_an_exchange_comes_back_with_what_it_was_asked(tmp_path: Path) -> None:
    one, two = exchange(), exchange(1, VALIDATOR, "Is it so?", "b/2")
    with opened(tmp_path / "run.db") as store:
        asyncio.run(store.save_reply(one, Reply("a text", usage=Usage(3, 4), latency_ms=7.0), 2))
        asyncio.run(store.save_failure(two, "timeout", "nothing came", 6))
        assert store.answered() == set()
        found = store.exchanges()[one.key]
        assert (found.reply.text, found.attempts, found.reply.latency_ms) == ("a text", 2, 7.0)
        assert (found.role, found.model, found.question, found.brief) == (
            "author",
            "openai/m",
            "write",
            "b/1",
        )
        assert found.prices == {"input_price": 2.5}
        assert found.prompt_characters == len("Write.")
        assert store.exchanges([two.key]) == {}
        assert store.exchange_failures()[two.key].reason == "timeout"
        asyncio.run(store.save_reply(two, Reply("yes"), 1))
        assert store.exchange_failures() == {}
        assert store.exchanges([two.key]).keys() == {two.key}
        assert store.verify() == []


def test_another_try_is_another_exchange_and_the_same_try_is_kept_once(tmp_path: Path) -> None:
    first, second = exchange(0), exchange(1)
    assert first.key != second.key
    assert first.prompt_hash == second.prompt_hash
    assert exchange(0, VALIDATOR).key != first.key
    with opened(tmp_path / "run.db") as store:
        for call, answer in ((first, "one"), (first, "again"), (second, "two")):
            asyncio.run(store.save_reply(call, Reply(answer), 1))
        assert {row.reply.text for row in store.exchanges().values()} == {"one", "two"}


def test_authored_stimuli_are_kept_together_and_stay(tmp_path: Path) -> None:
    rows = [AuthoredRow(f"s{n}", f"brief {n}", "roles", canonical_json({"n": n})) for n in range(3)]
    with opened(tmp_path / "run.db") as store:
        assert store.authored() == {}
        asyncio.run(store.save_authored(rows[:2]))
        changed = replace(rows[0], body=canonical_json({"n": 99}))
        asyncio.run(store.save_authored([changed, rows[2]]))
        assert list(store.authored().values()) == rows
        assert store.verify() == []
    assert rows[0].digest != replace(rows[0], roles="others").digest


# The plan


def plan(count: int) -> list[PlannedTrial]:
    return [
        PlannedTrial(content_hash(n), "j", "base", "s", "uv", n, ("vacuum", "ladder")[: n % 3])
        for n in range(count)
    ]


def test_a_plan_comes_back_in_its_order_and_a_grown_one_replaces_it(tmp_path: Path) -> None:
    with opened(tmp_path / "run.db") as store:
        assert store.study is None
        assert not store.has_plan
        store.save_plan("study one", reversed(plan(5)))
        assert list(store.planned()) == list(reversed(plan(5)))
        assert store.has_plan
        store.save_plan("study two", plan(7))
        assert list(store.planned()) == plan(7)
    with opened(tmp_path / "run.db", read_only=True) as store:
        assert store.study == "study two"


@pytest.mark.slow
@given(
    st.lists(
        st.builds(
            PlannedTrial,
            st.integers(0, 9).map(content_hash) | st.text(max_size=9),
            st.sampled_from(["j", "two, of them", "été"]),
            st.sampled_from(["base", "strict"]),
            st.integers(0, 3).map(content_hash) | st.just("s"),
            st.sampled_from(["uv", "vu"]),
            st.integers(0, 99),
            st.sampled_from([(), ("vacuum",), ("vacuum", "ladder")]),
        ),
        max_size=12,
    )
)
@settings(max_examples=40)
def test_any_plan_comes_back_row_by_row(rows: list[PlannedTrial]) -> None:
    with TemporaryDirectory() as place, opened(Path(place, "run.db")) as store:
        store.save_plan("study", rows)
        planned = store.planned()
        said = [replace(row, trial=hash_of(digests_of([row.trial]).tolist()[0])) for row in rows]
        assert list(planned) == said
        asked = [(row.judge, row.protocol, row.stimulus, row.order) for row in rows]
        assert planned.questions == tuple(dict.fromkeys(asked))
        assert planned.uses == tuple(dict.fromkeys(row.probes for row in rows))


def test_a_plan_longer_than_a_reading_comes_back_and_so_does_one_with_gaps(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    rows = [replace(row, order=("uv", "vu")[n % 2]) for n, row in enumerate(plan(CHUNK + 3))]
    with opened(path) as store:
        store.save_plan("study", rows)
        assert list(store.planned()) == rows
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM planned WHERE position IN (2, 3, ?)", (CHUNK + 1,))
        connection.execute("UPDATE planned SET position = position + ? WHERE position > ?", (1 << 60, CHUNK))
    with opened(path) as store:
        assert list(store.planned()) == [row for n, row in enumerate(rows) if n not in (1, 2, CHUNK)]


@pytest.mark.parametrize("change", ["replicate = 'x'", "presented = 'u,v'", "probes = '['"])
def test_a_planned_trial_that_is_none_is_one_sentence(tmp_path: Path, change: str) -> None:
    path = tmp_path / "run.db"
    with opened(path) as store:
        store.save_plan("study", plan(3))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE planned SET {change} WHERE position = 2")
    with opened(path) as store, pytest.raises(StoreError, match="not a usable run file"):
        store.planned()


def test_a_plan_that_breaks_off_leaves_the_one_before(tmp_path: Path) -> None:
    def half() -> Iterator[PlannedTrial]:
        yield plan(1)[0]
        raise RuntimeError("the probe broke")

    with opened(tmp_path / "run.db") as store:
        store.save_plan("study", plan(3))
        with pytest.raises(RuntimeError, match="the probe broke"):
            store.save_plan("another", half())
        assert list(store.planned()) == plan(3)
        assert store.study == "study"


def test_replies_move_to_other_trials_all_or_none(tmp_path: Path) -> None:
    first, second = some_trials(2)
    moved = [replace(t.stimulus, stratum="elsewhere") for t in (first, second)]
    both = zip((first, second), moved, strict=True)
    renamed = [replace(trial, stimulus=other, question=None) for trial, other in both]
    assert all(new.key != old.key for new, old in zip(renamed, (first, second), strict=True))
    with opened(tmp_path / "run.db") as store:
        asyncio.run(store.save_reply(first, Reply("kept"), 3))
        asyncio.run(store.save_failure(second, "timeout", "late", 6))

        def moves() -> Iterator[tuple[Trial, Trial]]:
            yield first, renamed[0]
            raise RuntimeError("half way")

        with pytest.raises(RuntimeError, match="half way"):
            store.move_replies(moves())
        assert store.answered() == {first.key}
        store.move_replies(zip((first, second), renamed, strict=True))
        assert store.answered() == {renamed[0].key}
        assert store.replies()[renamed[0].key].attempts == 3
        assert store.failures().keys() == {renamed[1].key}
        assert store.verify() == []


# Damage


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a row in every table."""
    path = tmp_path_factory.mktemp("whole") / "run.db"
    trial, other = some_trials(2)
    with opened(path) as store:
        store.save_plan("study", plan(2))
        asyncio.run(store.save_reply(trial, Reply("x"), 1))
        asyncio.run(store.save_failure(other, "timeout", "late", 6))
        asyncio.run(store.save_reply(exchange(), Reply("y"), 1))
        asyncio.run(store.save_authored([AuthoredRow("s", "brief", "roles", "{}")]))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.mark.parametrize(
    ("table", "column", "value", "told"),
    [
        ("prompts", "body", "'{}'", "prompt"),
        ("prompts", "hash", "substr(hash, 1, 40)", "prompt"),
        ("prompts", "hash", "upper(hash)", "prompt"),
        ("trials", "fingerprint", "'other'", "trial"),
        ("trials", "stimulus", "'other'", "trial"),
        ("trials", "presented", "'vu'", "trial"),
        ("trials", "replicate", "5", "trial"),
        ("replies", "body", "'{}'", "reply to trial"),
        ("replies", "digest", "'x'", "reply to trial"),
        ("exchanges", "role", "'validator'", "exchange"),
        ("exchanges", "fingerprint", "'other'", "exchange"),
        ("exchanges", "attempt", "3", "exchange"),
        ("exchanges", "body", "'{}'", "reply to exchange"),
        ("exchanges", "digest", "'x'", "reply to exchange"),
        ("authored", "brief", "'other'", "authored stimulus s"),
        ("authored", "roles", "'other'", "authored stimulus s"),
        ("authored", "body", "'[]'", "authored stimulus s"),
    ],
)
def test_every_column_that_is_hashed_is_watched(
    whole: Path, tmp_path: Path, table: str, column: str, value: str, told: str
) -> None:
    path = tmp_path / "run.db"
    shutil.copy(whole, path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE {table} SET {column} = {value}")
        connection.commit()
    with opened(path) as store:
        sentences = store.verify()
        assert sentences
        assert all(sentence.startswith(told) for sentence in sentences)
        assert all("does not match its" in sentence for sentence in sentences)


@pytest.mark.parametrize("statement", ["UPDATE replies SET body = 'no json'", "DROP TABLE replies"])
def test_a_file_that_cannot_be_read_is_one_sentence(whole: Path, tmp_path: Path, statement: str) -> None:
    path = tmp_path / "run.db"
    shutil.copy(whole, path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    with (
        opened(path) as store,
        pytest.raises(StoreError, match=r"run\.db: not a usable run file .* restore a copy"),
    ):
        store.replies()


def test_a_missing_file_is_not_made_by_a_reader(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a usable run file"):
        RunStore(tmp_path / "gone.db", read_only=True)
    assert not (tmp_path / "gone.db").exists()


# Earlier formats


@pytest.mark.slow
@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_a_file_of_every_earlier_format_is_brought_forward(tmp_path: Path, version: int) -> None:
    path = tmp_path / "run.db"
    with closing(sqlite3.connect(path)) as connection:
        for script in MIGRATIONS[:version]:
            connection.executescript(script)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
    (trial,) = some_trials(1)
    with opened(path) as store:
        asyncio.run(store.save_reply(trial, Reply("x"), 1))
        asyncio.run(store.save_reply(exchange(), Reply("y"), 1))
        store.save_plan("study", plan(2))
        assert store.verify() == []
        assert len(store.planned()) == 2
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        migrate(connection, path)  # Nothing is left to do.


def test_a_file_without_authors_and_plan_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(MIGRATIONS[0])
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    with opened(path, read_only=True) as store:
        assert not store.has_plan
        assert store.exchanges() == store.exchange_failures() == store.authored() == {}
        assert store.verify() == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
