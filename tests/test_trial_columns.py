"""Trials, replies and verdicts in columns: the same as one object after the other, whatever a run brought."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import steelyard.trials.trials
from steelyard.commands.measure import measure
from steelyard.commands.report import rebuild
from steelyard.core.content_hash import HashIndex, content_hash, digests_of, hash_of
from steelyard.errors import StoreError
from steelyard.run_folder.resume import prepare_folder
from steelyard.run_folder.run_facts import run_facts
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.answers import Answers
from steelyard.runner.costs import stored_cost
from steelyard.runner.limits import RunLimits
from steelyard.runner.preflight import PREFLIGHT_CALLS, Preflight, rank_trials
from steelyard.runner.record import Coverage, RunRecord, StoredReplies
from steelyard.stimuli.original import ORIGINAL
from steelyard.store import rows as store_rows
from steelyard.study.planner import Plan, make_plan
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.tasks.task import Ordinal, Pairwise
from steelyard.trials.judge import CommonUsage, Reply, Usage
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Calls, Trials
from steelyard.verdicts.majority_vote import RULES, swap_slots
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Failed, Verdict

PRICED = "openai/x?base_url=http://127.0.0.1:9/v1&input_price=2&output_price=8&seed=5"
PLANS = {
    "pairs": {
        "judges": [PRICED, f"consensus/orders?of={PRICED}", "majority/3?of=planted/coin"],
        "probes": ["vacuum"],
        "replicates": 2,
    },
    "nested": {"judges": ["consensus/orders?of=majority/3?of=planted/coin"], "probes": ["vacuum"]},
    "scores": {"judges": [PRICED], "probes": ["typos"], "task": {"scale": "1-6"}, "replicates": 2},
    "verdicts": {"judges": ["jury/vote?of=planted/rater&of=planted/random"], "probes": ["typos"]}
    | {"task": {"scale": "binary"}},
}


@cache
def plan_of(name: str) -> Plan:
    return make_plan(build_study(StudyConfig(**PLANS[name]), Path()))


@dataclass(frozen=True)
class Fate:
    """What becomes of a call."""

    reply: Reply | None
    reasons: tuple[str, ...] = ()
    """Failures before it."""


usages = st.builds(
    Usage,
    st.integers(0, 2).map(lambda n: 100 * n),
    st.integers(0, 3),
    cached_tokens=st.integers(0, 2),
    reasoning_tokens=st.integers(0, 1),
    batched=st.booleans(),
    billed=st.sampled_from([None, None, 0.25]),
)
replies = st.builds(
    Reply,
    st.sampled_from(
        [
            *('{"winner": "1"}', '{"winner": "2"}', '{"winner": "tie"}', '{"winner": "abstain"}', "", "none"),
            *('{"score": 1}', '{"score": 4}', "1", "2", '{"reason": "' + "word " * 60 + '", "winner": "1"}'),
        ]
    ),
    usage=usages,
    finish=st.sampled_from(["stop", "stop", "length", "refusal"]),
    served_model=st.sampled_from([None, "x-1", "x-2"]),
    effective=st.sampled_from([{}, {"seed": None}, {"temperature": 1.0, "logprobs": None}]),
    latency_ms=st.floats(0.1, 900),
)
reasons = st.lists(st.sampled_from(["timeout", "server_error"]), max_size=2).map(tuple)
fates = st.builds(Fate, st.none() | replies | replies, reasons)


def filled(folder: RunFolder, calls: Sequence[Trial], ends: Sequence[Fate]) -> None:
    """The run file after each call came to its end; the fates come again where they are too few."""
    with folder.store() as store:

        async def write() -> None:
            fate = dict(zip((call.key for call in calls), cycle(ends)))
            for call in calls:
                for reason in fate[call.key].reasons:
                    await store.save_failure(call, reason, f"{reason}!", 2)
            heard = [(call, reply, 1) for call in calls if (reply := fate[call.key].reply) is not None]
            await store.save_replies(heard)

        asyncio.run(write())


def single(trial: Trial, heard: Callable[[str], tuple[Verdict, Usage] | None]) -> Observation | None:
    """One trial by itself, a judge that is made of others from its members."""
    made = trial.judge.composition
    if made is None:
        end = heard(trial.key)
    else:
        members = [single(member, heard) for member in trial.members]
        seen = [member for member in members if member is not None]
        verdicts = [one.verdict if one.order == trial.order else swap_slots(one.verdict) for one in seen]
        used = [call for one in seen for call in one.usage.each(one.judge)]
        pairwise = isinstance(trial.effective_task.scale, Pairwise)
        whole = len(seen) == len(members)
        end = (RULES[made.rule](verdicts, pairwise), CommonUsage.of(used)) if whole else None
    if end is None:
        return None
    return Observation(
        trial.judge.name,
        trial.protocol,
        trial.stimulus,
        trial.order,
        trial.replicate,
        *end,
        trial.unseeded_prompt_hash,
        trial.judge.name == REFERENCE and trial.stimulus.kind == ORIGINAL,
        trial.judge.symmetric,
    )


REFERENCE = "openai/x"


def ends_of(trials: Sequence[Trial], record: RunRecord) -> Callable[[str], tuple[Verdict, Usage] | None]:
    """What became of each call, read from the file call by call."""
    calls = {call.key: call for trial in trials for call in trial.calls}
    stored, failures = record.store.replies(), record.store.failures()

    def heard(key: str) -> tuple[Verdict, Usage] | None:
        if key in stored:
            call, reply = calls[key], stored[key].reply
            reader = READERS.build(call.judge.protocols[call.protocol].reader)
            return reader(reply, call.effective_task.scale), reply.usage
        return (Failed(failures[key].reason), Usage()) if key in failures else None

    return heard


@settings(max_examples=25, phases=[Phase.generate])
@given(st.sampled_from(sorted(PLANS)), st.lists(fates, min_size=1, max_size=23), st.data())
def test_columns_say_what_single_trials_say(name: str, ends: list[Fate], data: st.DataObject) -> None:
    """Answers, failures, calls never asked, repeats, orders, juries: observation by observation."""
    whole = plan_of(name).trials
    chosen = data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=60, unique=True))
    trials = whole.take(np.array(chosen))
    with TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        filled(folder, Calls.of(trials).trials, ends)
        with folder.store(read_only=True) as store:
            record = RunRecord(store, REFERENCE)
            heard = ends_of(list(trials), record)
            expected = [one for trial in trials if (one := single(trial, heard)) is not None]
            seen = record.observations(trials)
            assert list(seen) == list(Observations.of(expected))
            assert (seen.verdicts, seen.usages) == (
                Observations.of(expected).verdicts,
                Observations.of(expected).usages,
            )
            assert list(record.by_trial(list(trials)).values()) == expected
            assert list(RunRecord(store, REFERENCE).observations(list(trials))) == list(seen)
            covers(trials, record)
            money(trials, record)


def covers(trials: Trials, record: RunRecord) -> None:
    """Coverage by sets of keys."""
    stored, failures = record.store.replies(), record.store.failures()
    coverage = record.coverage(trials)

    def counted(chosen: Callable[[Trial], bool]) -> Coverage:
        keys = {call.key for trial in trials if chosen(trial) for call in trial.calls}
        heard = len(keys & stored.keys())
        return Coverage(len(keys), heard + len(keys & failures.keys()), heard)

    judges = {trial.judge.name: trial.judge for trial in trials}
    assert coverage.judges == {name: counted(lambda t, n=name: t.judge.name == n) for name in judges}
    assert list(coverage.judges) == list(judges)
    assert coverage.every == counted(lambda _: True)
    tested = any(not judge.baseline for judge in judges.values())
    assert coverage.own == counted(lambda trial: not trial.judge.baseline or not tested)


def money(trials: Trials, record: RunRecord) -> None:
    """Dollars of each judge's calls, call by call."""
    stored, answers = record.store.replies(), record.answers(trials)
    for judge in answers.calls.judges:
        calls = answers.calls.take(answers.calls.of_judge(judge.name))
        mine = StoredReplies(record.store, answers)
        assert mine.cost(calls) == stored_cost(list(calls), stored)
        assert mine.of(calls).tolist() == [call.key in stored for call in calls]
        assert [call.key in mine for call in calls] == mine.of(calls).tolist()


@pytest.mark.parametrize("name", sorted(PLANS))
def test_a_trial_made_of_columns_is_the_trial(name: str) -> None:
    trials = plan_of(name).trials
    for row, trial in enumerate(trials):
        alone = Trial(trial.judge, trial.protocol, trial.stimulus, trial.task, trial.order, trial.replicate)
        assert trial == alone == trials[row]
        if trial.judge.composition is None:
            assert (trial.key, trial.messages) == (alone.key, alone.messages)
            assert (trial.prompt_hash, trial.unseeded_prompt_hash) == (
                alone.prompt_hash,
                alone.unseeded_prompt_hash,
            )
        place = trial.judge.name, trial.protocol, trial.stimulus.id, trial.order
        assert trials.find(place, trial.replicate) == row
        assert trials.find(place, 99) is None
    assert trials.find(("nobody", "base", "x", "uv"), 0) is None
    assert trials.lookup(digests_of([trials[3].key, "other"])).tolist() == [3, -1]
    assert Trials.of(list(trials)) == trials
    assert len(trials[:0]) == len(Trials.of([])) == len(Calls.of(Trials.of([])).trials) == 0
    behind = {call.key: call for trial in trials for call in trial.calls}
    assert [call.key for call in plan_of(name).calls] == list(behind)


@pytest.mark.parametrize("name", PLANS)
def test_columns_are_put_in_the_order_of_single_trials(name: str) -> None:
    trials = plan_of(name).trials
    singles = list(trials)
    columns = Trials.of(trials)
    assert list(columns.take(columns.by_prefix)) == sorted(singles, key=lambda trial: trial.prefix)
    ranks = columns.ranks(lambda asked: (asked.order, asked.stimulus.id))
    values = [(trial.order, trial.stimulus.id) for trial in singles]
    assert ranks.tolist() == [sorted(set(values)).index(value) for value in values]


@pytest.mark.parametrize("name", PLANS)
def test_a_queue_hands_out_every_call_once_and_pilots_first(name: str) -> None:
    calls = Calls.of(Trials.of(plan_of(name).trials)).trials
    mine = calls.take(calls.of_judge(calls.judges[0].name))
    preflight = Preflight(mine.judges[0], mine)
    order = preflight.order(mine)
    assert sorted(order) == list(range(len(mine)))
    first = preflight.rows(mine)
    assert [mine[place] for place in order] == [
        *(mine[place] for place in first),
        *sorted((mine[place] for place in set(order) - set(first)), key=lambda trial: trial.prefix),
    ]
    singles = list(mine)
    assert preflight.order(singles) == order
    some = singles[1::2]
    assert [some[place].key for place in preflight.rows(some)] == [
        trial.key
        for arm in rank_trials(mine).values()
        for trial in [t for t in arm if t in some][:PREFLIGHT_CALLS]
    ]


@pytest.mark.parametrize("name", PLANS)
def test_the_most_telling_stand_first(name: str) -> None:
    """The same order by the definition: repeats last, probes in turns, then hashes and orders."""
    trials = list(Calls.of(Trials.of(plan_of(name).trials)).trials)
    for protocol, arm in rank_trials(trials).items():
        mine = [trial for trial in trials if trial.protocol == protocol]
        shown = {
            probe: sorted({t.stimulus.hash for t in mine if t.stimulus.probe == probe})
            for probe in {t.stimulus.probe for t in mine}
        }
        ranks = [
            (
                *(t.replicate, shown[t.stimulus.probe].index(t.stimulus.hash)),
                *(t.stimulus.probe, t.stimulus.hash, t.order),
            )
            for t in arm
        ]
        assert ranks == sorted(ranks)
        assert len(arm) == len(mine)


@given(st.lists(st.integers(0, 40) | st.text(max_size=80)))
def test_digests_are_found_whatever_they_are_written_as(values: list[int | str]) -> None:
    known = [content_hash(value) if isinstance(value, int) else value for value in dict.fromkeys(values)]
    column = digests_of(known)
    assert len(column) == len(known)
    index = HashIndex(column)
    assert index.lookup(column).tolist() == list(range(len(known)))
    assert index.lookup(digests_of(["none of them!"])).tolist() == [-1]
    assert column[index.order].tolist() == sorted(column.tolist())
    hashes = [name for name in known if len(name) == 71 and name.startswith("sha256:")]
    assert [hash_of(digest) for digest in digests_of(hashes).tolist()] == hashes


def test_a_digest_may_end_in_zeros() -> None:
    names = [f"sha256:{'ab' * (32 - n)}{'00' * n}" for n in range(4)]
    column = digests_of(names)
    assert [hash_of(digest) for digest in column.tolist()] == names
    assert HashIndex(column).lookup(column).tolist() == [0, 1, 2, 3]


def test_the_key_of_a_repeat_may_end_in_zeros() -> None:
    trials = plan_of("pairs").trials
    repeats, key = trials.take(trials.replicate > 0), f"sha256:{'ab' * 31}00"
    made = replace(repeats, key=digests_of([key] * len(repeats)))
    assert {made[0].key, *(trial.key for trial in made)} == {key}


def test_digests_that_begin_alike_are_told_apart_by_their_ends() -> None:
    names = [f"sha256:{'07' * 16}{n:032x}" for n in (5, 3, 9, 3 << 90)]
    other = f"sha256:{'07' * 16}{4:032x}"
    index = HashIndex(digests_of(names))
    assert index.lookup(digests_of([names[2], other, *names])).tolist() == [2, -1, 0, 1, 2, 3]
    assert index.order.tolist() == [1, 0, 2, 3]


def test_a_run_that_goes_on_is_read_on(tmp_path: Path) -> None:
    """What is there already is not read again, a failure gives way to a reply, and a later one to a later."""
    trials = plan_of("scores").trials
    with RunFolder(tmp_path).store() as store:
        record = RunRecord(store)
        asyncio.run(store.save_failure(trials[0], "timeout", "late", 1))
        asyncio.run(store.save_failure(trials[1], "timeout", "late", 1))
        assert [one.verdict for one in record.observations(trials)] == [Failed("timeout")] * 2
        asyncio.run(store.save_failure(trials[1], "server_error", "500", 1))
        asyncio.run(store.save_reply(trials[0], Reply("4", usage=Usage(7, 1)), 2))
        seen = {(one.stimulus.id, one.replicate): one for one in record.observations(trials)}
        assert len(seen) == 2
        assert Failed("server_error") in {one.verdict for one in seen.values()}
        assert seen[trials[0].stimulus.id, trials[0].replicate].usage == Usage(7, 1)
        assert record.coverage(trials).every == Coverage(len(trials), 2, 1)


# Folders


SMALL = StudyConfig(judges=["planted/coin"], probes=["vacuum"], replicates=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = RunFolder(tmp_path_factory.mktemp("whole") / "run")
    measure(build_study(SMALL, Path()), folder, RunLimits()).require()
    return folder.path


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def changed(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute(statement)


@pytest.mark.parametrize("body", ["no json", "{}", '{"usage": {"colour": 1}, "scores": null}'])
def test_a_reply_that_is_none_is_one_sentence(copied: Path, body: str) -> None:
    one = "(SELECT trial FROM replies ORDER BY trial LIMIT 1 OFFSET 5)"
    changed(copied, f"UPDATE replies SET body = '{body}' WHERE trial = {one}")
    with pytest.raises(StoreError, match=r"run\.db: not a usable run file"):
        rebuild(copied)


def test_what_the_plan_does_not_hold_is_in_no_figure(copied: Path) -> None:
    """A reply and a failure of a trial that is no part of the study, and keys that are none."""
    before = rebuild(copied).datasheet
    for key in ("k", f"sha256:{'0' * 64}"):
        changed(
            copied,
            f"INSERT INTO replies SELECT '{key}', body, digest, attempts, latency_ms, received"
            " FROM replies LIMIT 1",
        )
        changed(
            copied,
            f"INSERT INTO failures (trial, reason, message, attempts, at) VALUES ('{key}x', 'r', 'm', 1, 0)",
        )
    after = rebuild(copied).datasheet
    assert (after.estimates, after.run) == (before.estimates, before.run)


def test_a_file_that_is_written_while_it_is_read_has_one_moment(copied: Path) -> None:
    plan = load_plan(RunFolder(copied))
    with RunFolder(copied).store(read_only=True) as store:
        record = RunRecord(store, plan.study.reference)
        changed(copied, "DELETE FROM replies")
        assert len(record.observations(plan.trials)) == len(plan.trials)
        assert run_facts(plan, record)["calls"] == record.coverage(plan.trials).own.answered > 0


# Memory


def peak_of(replicates: int, place: Path) -> tuple[int, int]:
    """Trials of a folder that is opened, and the most bytes that were held at once beyond the start."""
    folder = RunFolder(place / str(replicates))
    folder.path.mkdir()
    study = build_study(SMALL.model_copy(update={"replicates": replicates}), Path())
    plan = prepare_folder(folder, make_plan(study))
    ends = [Fate(Reply('{"winner": "1"}', usage=Usage(100, 5)))]
    filled(folder, plan.trials, ends)
    tracemalloc.start()
    try:
        opened = load_plan(folder)
        with folder.store(read_only=True) as store:
            record = RunRecord(store)
            record.coverage(opened.trials)
            seen = record.observations(opened.trials)
            run_facts(opened, record)
        return len(seen), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_folder_takes_little_memory_for_each_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns take some hundred bytes a trial; a trial, its reply and its observation took 3,500."""
    monkeypatch.setattr(store_rows, "CHUNK", 100)  # what is held for a moment does not grow with the run
    monkeypatch.setattr(steelyard.trials.trials, "STEP", 100)
    (few, less), (many, more) = peak_of(10, tmp_path), peak_of(60, tmp_path)
    assert many > few + 2000
    assert (more - less) / (many - few) < 700


def test_answers_hold_no_replies() -> None:
    """What came is read and let go, however long it is."""
    calls = plan_of("scores").trials
    held = vars(Answers(calls, lambda *_: Failed("none")))
    assert not any(isinstance(value, (Reply, dict)) for value in held.values())


def test_questions_on_a_scale_share_its_answers() -> None:
    """Each question that is open holds them, and a scale may have a million."""
    every = {id(trial.presentation().answers) for trial in plan_of("scores").trials}
    assert every == {id(Ordinal(1, 6).answers)}
    assert Ordinal(1, 6).answers == ("1", "2", "3", "4", "5", "6")
    assert Ordinal(0, 1).answers == ("0", "1")
