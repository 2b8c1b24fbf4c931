"""Resuming a run folder: only the study, stimuli and plan of its snapshot may go on, grown or corrected.

A judge whose replies could not be parsed may be corrected. The reader is part of the instrument, so another
reader makes other trials. Where nothing else differs and the replies could not be parsed, they are filed
under the new trials: what was paid for is not asked again. Where the prompt differs too, as a built-in one
does with its reader, the judge is accepted if no more than its preflight calls were made; those replies stay
in the file, and no figure uses them. A run whose replies could be parsed is never changed in this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from steelyard.core.content_hash import NO_DIGESTS
from steelyard.core.files import write_error
from steelyard.errors import ConfigError, StoreError
from steelyard.run_folder.run_folder import JSON, RunFolder
from steelyard.run_folder.snapshot import (
    check_stimuli,
    load_snapshot,
    planned_trials,
    restore_plan,
    save_snapshot,
)
from steelyard.runner.preflight import PREFLIGHT_CALLS
from steelyard.runner.record import RunRecord, submitted
from steelyard.store.review_log import ReviewLog
from steelyard.store.run_store import RunStore
from steelyard.store.trials import StoredReply
from steelyard.study.planner import Plan
from steelyard.study.study import Study
from steelyard.trials.builtin_prompts import response_format
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial
from steelyard.verdicts.verdict import Unreadable


def calls_made(folder: RunFolder) -> tuple[set[str], set[str]]:
    """Keys of calls that have a reply, and of those that wait in batches."""
    if not folder.database.exists():
        return set(), set()
    with folder.store() as store:
        return store.answered(), submitted(store)


def reread_replies(folder: RunFolder, study: Study) -> None:
    """Give judges of the folder the readers that the study has for them, where their replies gain by it."""
    if not (folder.study.exists() and folder.database.exists()):
        return
    held = load_snapshot(folder.study)
    if study.extends(held):
        return
    wanted = {judge.name: judge for judge in study.judges}
    read_again = tuple(_with_readers(judge, wanted.get(judge.name)) for judge in held.judges)
    asked_again = tuple(_replaced(judge, wanted.get(judge.name)) for judge in held.judges)
    for judges, most in ((read_again, None), (asked_again, PREFLIGHT_CALLS)):
        corrected = replace(held, judges=judges, command=study.command)
        if corrected.hash != held.hash and study.extends(corrected):
            _correct(folder, held, corrected, most)
            return


def with_found_readers(study: Study, folder: RunFolder) -> Study:
    """The study with the readers that earlier replies in its folder asked for, where nobody states one."""
    if not study.unread or not folder.study.exists():
        return study
    held = {judge.name: judge for judge in load_snapshot(folder.study).judges}
    judges = tuple(
        _with_readers(judge, held.get(judge.name)) if judge.name in study.unread else judge
        for judge in study.judges
    )
    return replace(study, judges=judges)


def _correct(folder: RunFolder, held: Study, corrected: Study, most: int | None) -> None:
    """Take the corrected judges, where the replies of those that differ could not be read; `most` of each."""
    with folder.store() as store:
        trials = restore_plan(held, store.planned(), folder.stimuli).trials if store.has_plan else ()
        changed = {judge.name: judge for judge in corrected.judges}
        arms = list(_by_protocol(trials, changed))
        record = RunRecord(store)
        if all(_is_unreadable(arm, record, most) for arm in arms):
            store.move_replies(list(_moves(arms, changed, record, store)))
            save_snapshot(folder.study, corrected)


def _with_readers(held: Judge, wanted: Judge | None) -> Judge:
    others = {} if wanted is None else wanted.protocols
    protocols = {
        name: replace(protocol, reader=others[name].reader) if name in others else protocol
        for name, protocol in held.protocols.items()
    }
    return replace(held, protocols=protocols)


def _replaced(held: Judge, wanted: Judge | None) -> Judge:
    """The other judge; only one that is asked itself, and that the provider is not told of otherwise."""
    alike = wanted is not None and wanted.composition is None and held.composition is None
    return wanted if wanted is not None and alike and not held.baseline else held


def _by_protocol(trials: Iterable[Trial], judges: dict[str, Judge]) -> Iterator[list[Trial]]:
    arms: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        name, protocol = trial.judge.name, trial.protocol
        there = protocol in judges[name].protocols
        if not there or trial.judge.fingerprint(protocol) != judges[name].fingerprint(protocol):
            arms.setdefault((name, protocol), []).append(trial)
    yield from arms.values()


def _is_unreadable(arm: Sequence[Trial], record: RunRecord, most: int | None) -> bool:
    """Whether fewer than half of the replies could be parsed, as in a preflight; true without replies."""
    replies = record.replies(arm)
    if most is not None and len(replies) > most:
        return False
    told = [(trial, replies[trial.key].reply) for trial in arm if trial.key in replies]
    readable = sum(not isinstance(record.parse_verdict(*each), Unreadable) for each in told)
    return 2 * readable < len(told) or not told


def _moves(
    arms: Iterable[list[Trial]], judges: dict[str, Judge], record: RunRecord, store: RunStore
) -> Iterator[tuple[Trial, Trial]]:
    failures = store.failures()
    for arm in arms:
        replies = record.replies(arm)
        judge = judges[arm[0].judge.name]
        if _same_but_for_reader(arm[0], judge) and _same_request(arm[0], judge, replies.values()):
            for trial in arm:
                if trial.key in replies or trial.key in failures:
                    yield trial, replace(trial, judge=judge, question=None)


def _same_but_for_reader(trial: Trial, judge: Judge) -> bool:
    protocol = judge.protocols.get(trial.protocol)
    if protocol is None:
        return False
    held = trial.judge.protocols[trial.protocol]
    as_held = {**judge.protocols, trial.protocol: replace(protocol, reader=held.reader)}
    return replace(judge, protocols=as_held).fingerprint(trial.protocol) == trial.judge.fingerprint(
        trial.protocol
    )


def _same_request(trial: Trial, judge: Judge, replies: Iterable[StoredReply]) -> bool:
    """Whether the server was asked for what the other reader would have it asked for.

    A schema that no reply keeps to was not in force; log-probabilities beside a text change nothing in it.
    """
    before = response_format(trial.judge.protocols[trial.protocol].reader).wants
    after = response_format(judge.protocols[trial.protocol].reader).wants
    if before == after or (before, after) == ("logprobs", "text"):
        return True
    return (before, after) == ("json", "text") and not any("{" in stored.reply.text for stored in replies)


def prepare_folder(folder: RunFolder, plan: Plan) -> Plan:
    """Freeze a plan here, or go on with the one that is here; it may gain judges and probes."""
    study = plan.study
    reread_replies(folder, study)
    held = require_same_study(folder, study)
    interrupted = False  # `--until verdict`, between the study of a larger profile and its stimuli
    if study.looks:
        with folder.store() as store:
            interrupted = store.study != study.hash
    if held is not None and held.hash == study.hash and not interrupted:
        _check_written(folder, plan)
        check_stimuli(folder, plan)
        _save_plan(folder, plan)
        looks = held.looks if study.looks is None else study.looks
        going_on = replace(study, command=held.command, decides=held.decides, looks=looks)
        if looks != held.looks:
            save_snapshot(folder.study, going_on)
        return replace(plan, study=going_on)
    if study.looks:  # first, so that what is interrupted goes on at the larger profile
        save_snapshot(folder.study, study)
    try:
        plan.all_stimuli.write(folder.stimuli)
    except OSError as error:
        raise write_error(folder.path, error) from error
    save_snapshot(folder.study, study)
    _save_plan(folder, plan)
    return plan


def require_same_study(folder: RunFolder, study: Study) -> Study | None:
    """The study that lies here, if any; one that the other does not go on with is refused."""
    if not folder.study.exists():
        return None
    held = load_snapshot(folder.study)
    check_replies(folder)
    changed = None if held.source is None or study.source is None else study.source.changed(held.source)
    if held.source is not None and changed is not None:  # refused even where the same items come of them
        if changed not in held.source.files:
            raise ConfigError(
                f"{folder.path}: holds a study of other data than {changed}; choose another --out."
            )
        raise ConfigError(
            f"{folder.path}: {changed} has changed since this study was frozen (its SHA-256 is another); "
            "restore the file, or choose another --out."
        )
    if not study.extends(held) and not study.grows(held):
        differing = _difference(held, study)
        raise ConfigError(f"{folder.path}: holds another study ({differing}); choose another --out.")
    return held


def check_replies(folder: RunFolder) -> None:
    """Refuse to ask again what a datasheet says was answered, where the replies behind it are gone."""
    gone = not folder.database.exists() or not folder.database.stat().st_size
    if gone and (folder.path / JSON).exists():
        raise StoreError(
            f"{folder.database}: the replies behind datasheet.json are gone, and would be paid for again; "
            "restore the file, or choose another --out."
        )


def _check_written(folder: RunFolder, plan: Plan) -> None:
    if not plan.study.authored:
        return
    with folder.store(read_only=True) as store:
        frozen = store.planned().stimuli if store.has_plan else plan.hashes
    if frozen != plan.hashes and not _was_reviewed_again(folder, plan):
        raise ConfigError(
            f"{folder.stimuli}: written stimuli were changed after the study was frozen; restore the file "
            "and review them anew with `steelyard review`, or choose another --out."
        )


def _was_reviewed_again(folder: RunFolder, plan: Plan) -> bool:
    """Whether the written stimuli are those of the newest version that a review was finished with."""
    if not folder.reviews.exists():
        return False
    with closing(ReviewLog(folder.reviews)) as log:
        sets = log.sets()
    written = {each.id: [each.lineage.review or "", each.hash] for each in plan.study.authored}
    return len(sets) > 1 and all(
        written.get(name) == list(member) for name, member in sets[-1].members.items()
    )


def _save_plan(folder: RunFolder, plan: Plan) -> None:
    """Once per study, whatever interrupted the first attempt; again where its calls are others."""
    with folder.store() as store:
        frozen = store.planned().key if store.has_plan else NO_DIGESTS
        same = np.array_equal(np.sort(frozen), np.sort(plan.trials.key))
        if store.study != plan.study.hash or not same:
            store.save_plan(plan.study.hash, planned_trials(plan))


def _difference(held: Study, wanted: Study) -> str:
    parts = (
        *("name", "seed", "profile", "replicates", "probes"),
        *("judges", "task", "checklists", "reference", "writers"),
    )
    differing = [part for part in parts if getattr(held, part) != getattr(wanted, part)]
    differing += ["items"] if held.items_hash != wanted.items_hash else []
    single = len(differing) == 1 and not differing[0].endswith("s")
    return f"{', '.join(differing)} {'differs' if single else 'differ'}"
