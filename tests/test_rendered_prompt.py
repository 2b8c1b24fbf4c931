"""What is worked out once for many calls is what each would have worked out by itself."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import sqlite3
import subprocess
import sys
import tracemalloc
from contextlib import closing
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard
from steelyard.commands.measure import measure
from steelyard.core.content_hash import canonical_json, content_hash
from steelyard.errors import ConfigError, PermanentError
from steelyard.providers.planted.planted_judges import Planted
from steelyard.providers.provider import SyncProvider
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner import judge_run
from steelyard.runner.limits import RunLimits
from steelyard.store.rows import PORTIONS, insert
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.study.study_file import build_study, load_config
from steelyard.trials import trial as trial_module
from steelyard.trials.judge import Decoding, Presentation, Reply
from steelyard.trials.prompt import Message, PromptInputs, PromptTemplate, RenderedPrompt, render_prompt
from steelyard.trials.trial import Trial

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
keys = st.text() | st.integers()
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner),
    max_leaves=12,
)


def spelled_out(value: Any) -> Any:
    """Plain JSON values, by the shortest rules."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"type": type(value).__name__} | {
            f.name: spelled_out(getattr(value, f.name)) for f in fields(value)
        }
    if isinstance(value, dict):
        return {str(key): spelled_out(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [spelled_out(inner) for inner in value]
    return value


@given(values)
def test_canonical_json_is_sorted_after_its_keys_are_spelled(value: Any) -> None:
    assert canonical_json(value) == json.dumps(spelled_out(value), sort_keys=True, separators=(",", ":"))


def test_keys_that_are_numbers_are_sorted_as_they_are_spelled() -> None:
    """A mapping such as `logit_bias` keeps the hash that it had: 10 stands before 2."""
    assert canonical_json({2: 1, 10: 1}) == '{"10":1,"2":1}'


@given(
    st.lists(st.builds(Message, role=st.sampled_from(["system", "user"]), content=st.text()), max_size=3),
    st.builds(
        Decoding, seed=st.none() | st.integers(0, 99), extra=st.dictionaries(st.text(), leaves, max_size=2)
    ),
)
def test_a_rendered_prompt_hashes_like_its_messages(messages: list[Message], decoding: Decoding) -> None:
    rendered = RenderedPrompt(tuple(messages))
    whole = {"messages": tuple(messages), "decoding": decoding}
    assert rendered.body(decoding.canonical) == canonical_json(whole)
    assert rendered.hash(decoding.canonical) == content_hash(whole)
    assert rendered.characters == sum(len(message.content) for message in messages)


def study(*judges: str, **more: Any) -> Study:
    return build_study(load_config(None, {"judges": list(judges), **more}), Path())


def test_repeats_and_judges_that_ask_alike_share_a_wording() -> None:
    trials = make_plan(study("openai/a", "openai/b", profile="quick", replicates=3)).trials
    mine = [trial for trial in trials if trial.judge.name in ("a", "b", "openai/a", "openai/b")]
    shown = {(trial.stimulus.id, trial.order, trial.protocol) for trial in mine}
    assert len(mine) == 6 * len(shown)
    assert (
        len({id(trial.rendered) for trial in mine}) == len({trial.messages for trial in mine}) <= len(shown)
    )
    for trial in mine:
        whole = {"messages": trial.messages, "decoding": trial.decoding}
        assert trial.prompt_hash == "sha256:" + hashlib.sha256(canonical_json(whole).encode()).hexdigest()


def test_a_trial_key_is_the_hash_of_its_parts() -> None:
    for trial in make_plan(study("planted/tie", profile="quick", replicates=2)).trials:
        parts = trial.judge.fingerprint(trial.protocol), trial.stimulus.hash, trial.order, trial.replicate
        assert trial.key == content_hash([*parts, trial.prompt_hash])
        assert trial.repeat(trial.replicate) == trial


def test_a_copy_with_another_judge_or_stimulus_has_its_own_hashes() -> None:
    for trial in make_plan(study("planted/tie", profile="quick")).trials[:4]:
        judge = replace(trial.judge, model="first")
        stimulus = replace(trial.stimulus, request="another")
        for copy in (
            replace(trial, judge=judge, question=None),
            replace(trial, stimulus=stimulus, question=None),
        ):
            parts = copy.judge, copy.protocol, copy.stimulus, copy.task, copy.order, copy.replicate
            assert copy.key == Trial(*parts).key != trial.key
            assert copy.prompt_hash == Trial(*parts).prompt_hash
        task = replace(trial.task)
        others: list[dict[str, Any]] = [{"judge": judge}, {"stimulus": stimulus}, {"task": task}]
        for other in (*others, {"protocol": "other"}, {"order": "other"}):
            with pytest.raises(ValueError, match="of its question"):
                replace(trial.repeat(trial.replicate + 1), **other)


def test_repeats_show_what_their_question_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few prompts are at hand, and whether or not a repeat has a seed of its own."""
    monkeypatch.setattr(trial_module, "PROMPTS", 2)
    for trial in make_plan(study("planted/tie", profile="quick", replicates=2)).trials:
        alone = Trial(trial.judge, trial.protocol, trial.stimulus, trial.task, trial.order, trial.replicate)
        assert trial.presentation() == alone.presentation()
        assert trial.prompt_body == alone.prompt_body
        assert trial.prompts.render.cache_info().currsize <= 2


def test_an_error_names_the_judge_whose_template_it_is() -> None:
    """The same text under two names is one template; what goes wrong is told under the right one."""
    trial = make_plan(study("planted/tie", profile="quick")).trials[0]
    for origin in ("one, base prompt", "two, base prompt"):
        broken = (("user", PromptTemplate("{{ request[99999999] }}{{ 1 / 0 }}", origin)),)
        with pytest.raises(ConfigError, match=origin):
            render_prompt(broken, trial.effective_task, PromptInputs("r", ("a", "b")))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 300)), max_size=200))
def test_rows_of_any_number_are_all_there(wanted: list[tuple[str, int]]) -> None:
    """Also where they fill no portion, and where one is there already."""
    with closing(sqlite3.connect(":memory:")) as connection, connection:
        connection.executescript("CREATE TABLE a (n INTEGER PRIMARY KEY); CREATE TABLE b (n INTEGER);")
        into = {"a": "INSERT OR IGNORE INTO a VALUES", "b": "INSERT INTO b VALUES"}
        insert(connection, [(into[table], (number,)) for table, number in wanted])
        rows = {
            table: [n for (n,) in connection.execute(f"SELECT n FROM {table} ORDER BY rowid")]
            for table in "ab"
        }
    assert rows["a"] == sorted({number for table, number in wanted if table == "a"})
    assert rows["b"] == [number for table, number in wanted if table == "b"]
    assert PORTIONS[0] == 1


def test_calls_answered_many_a_step_are_kept_and_one_that_raises_is_its_own_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted judge that cannot answer about one pair: its calls fail, all others are answered."""
    assert issubclass(Planted, SyncProvider)
    usual, poisoned = Planted.reply, list[str]()

    def reply(self: Planted, presentation: Presentation) -> Reply:
        if presentation.trial in poisoned:
            raise PermanentError("bad_request", "this pair is too much")
        return usual(self, presentation)

    monkeypatch.setattr(Planted, "reply", reply)
    monkeypatch.setattr(judge_run, "CHUNK", 16)
    wanted = study("planted/probit", probes=["vacuum", "ladder"], profile="quick", replicates=2)
    wanted = replace(wanted, judges=wanted.judges[:1])
    mine = make_plan(wanted).trials
    assert len(mine) > judge_run.CHUNK
    item = mine[0].stimulus.id
    poisoned += [t.key.removeprefix("sha256:") for t in mine if t.stimulus.id == item]
    folder = RunFolder(tmp_path / "run")
    done = measure(wanted, folder, RunLimits())
    assert done.session.failures == {"bad_request": len(poisoned)}
    assert done.session.calls == len(mine) - len(poisoned)
    with folder.store(read_only=True) as store:
        replies, failures = store.replies(), store.failures()
    assert failures.keys() == {f"sha256:{key}" for key in poisoned}
    assert len(replies) == len(mine) - len(poisoned)
    assert store_is_sound(folder)


def store_is_sound(folder: RunFolder) -> bool:
    with folder.store(read_only=True) as store:
        return store.verify() == []


def test_replies_saved_together_share_their_moment_and_their_prompts(tmp_path: Path) -> None:
    trials = make_plan(study("planted/tie", profile="quick", replicates=2)).trials[:40]
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    with folder.store() as store:
        asyncio.run(store.save_replies([(trial, Reply("x"), 1) for trial in trials]))
        kept = store.replies([trial.key for trial in trials])
        asyncio.run(store.save_replies([(trials[0], Reply("another"), 2)]))
        again = store.replies([trials[0].key])
    assert len({stored.received for stored in kept.values()}) == 1
    assert {key: asdict(stored.reply)["text"] for key, stored in kept.items()} == {t.key: "x" for t in trials}
    assert again[trials[0].key].reply.text == "x"
    with closing(sqlite3.connect(folder.path / "run.db")) as connection, connection:
        (prompts,) = connection.execute("SELECT count(*) FROM prompts").fetchone()
    assert prompts == len({trial.prompt_hash for trial in trials}) < len(trials)


@pytest.mark.parametrize("judge", [lambda request, response: len(request) % 2, "planted/rater"])
def test_the_texts_of_a_run_are_released_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judge: Any
) -> None:
    """Neither as prompts nor as keys of a cache: a notebook measures one long file after the other."""
    monkeypatch.chdir(tmp_path)
    length, rows = 100_000, 8
    items = [{"request": f"Question {n}", "response": f"{n}" * length, "label": n % 2} for n in range(rows)]
    Path("items.json").write_text(json.dumps(items), encoding="utf-8")
    data = {"path": "items.json", "columns": {name: name for name in items[0]}}

    task = {"scale": "binary", "rubric": "1 is right"}

    def run(out: str) -> None:
        steelyard.measure(judge, probes=["stochastic_stability"], task=task, data=data, out=out)
        gc.collect()

    del items
    tracemalloc.start()
    try:
        run("first")  # imports, and caches of what is no text of the data
        before = tracemalloc.get_traced_memory()[0]
        Path("items.json").write_text(Path("items.json").read_text().replace("Question", "Another question"))
        run("second")
        assert tracemalloc.get_traced_memory()[0] - before < length * rows / 2
    finally:
        tracemalloc.stop()


STOPPED_THEN_TRACED = """
import sys
from steelyard.core.foreign_code import TooSlowError, time_bound

def stops(swallowed):
    try:
        with time_bound(0.001):
            try:
                while True:
                    pass
            except TooSlowError:
                if not swallowed:
                    raise
    except TooSlowError:
        return 1

print(sum(stops(n % 2) for n in range(20)))
sys.settrace(lambda *_: None)
print(stops(False))
"""


def test_code_that_was_stopped_leaves_nothing_behind() -> None:
    """An error that is withdrawn would have a traced thread look for it at one step without end."""
    command = [sys.executable, "-c", STOPPED_THEN_TRACED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["20", "1"]
