"""A judge that could not be read, corrected: its folder takes it, and replies to its prompt are read again.

A reader is part of the instrument, so that another reader makes other trials. Where nothing else differs and
the replies could not be read, they are filed under those trials: what was paid for is not asked again. Where
the prompt differs too, as a built-in one does with its reader, the judge is taken if no more than its pilot
was asked; those replies stay in the file, and no figure rests on them. A run that could be read is never
changed in this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from steelyard.core.atomic_write import write_text
from steelyard.run_folder.frozen_plan import thaw_plan
from steelyard.run_folder.frozen_study import freeze, thaw
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.pilot import PILOT
from steelyard.runner.record import Record
from steelyard.store.replies import StoredReply
from steelyard.store.run_store import RunStore
from steelyard.study.study import Study
from steelyard.trials.answer_form import answer_form
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial
from steelyard.verdicts.verdict import Unreadable


def reread(folder: RunFolder, study: Study) -> None:
    """Give judges of the folder the readers that the study has for them, where their replies gain by it."""
    if not (folder.study.exists() and folder.database.exists()):
        return
    held = thaw(folder.study)
    if study.extends(held):
        return
    wanted = {judge.name: judge for judge in study.judges}
    read_again = tuple(_with_readers(judge, wanted.get(judge.name)) for judge in held.judges)
    asked_again = tuple(_replaced(judge, wanted.get(judge.name)) for judge in held.judges)
    for judges, most in ((read_again, None), (asked_again, PILOT)):
        corrected = replace(held, judges=judges, command=study.command)
        if corrected.hash != held.hash and study.extends(corrected):
            _correct(folder, held, corrected, most)
            return


def _correct(folder: RunFolder, held: Study, corrected: Study, most: int | None) -> None:
    """Take the corrected judges, where the replies of those that differ could not be read; `most` of each."""
    with folder.store() as store:
        trials = thaw_plan(held, store.planned(), folder.stimuli).trials if store.has_plan else ()
        changed = {judge.name: judge for judge in corrected.judges}
        arms = list(_arms(trials, changed))
        record = Record(store)
        if all(_unread(arm, record, most) for arm in arms):
            store.refile(list(_moves(arms, changed, record, store)))
            write_text(folder.study, freeze(corrected))


def _with_readers(held: Judge, wanted: Judge | None) -> Judge:
    """The judge with the other's readers, where its protocols differ in nothing else."""
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


def _arms(trials: Iterable[Trial], judges: dict[str, Judge]) -> Iterator[list[Trial]]:
    """Trials by judge and protocol, of those that are to be read in another way."""
    arms: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        name, protocol = trial.judge.name, trial.protocol
        there = protocol in judges[name].protocols
        if not there or trial.judge.fingerprint(protocol) != judges[name].fingerprint(protocol):
            arms.setdefault((name, protocol), []).append(trial)
    yield from arms.values()


def _unread(arm: Sequence[Trial], record: Record, most: int | None) -> bool:
    """Whether fewer than half of the replies could be read, as a pilot finds it; so where there are none."""
    replies = record.replies(arm)
    if most is not None and len(replies) > most:
        return False
    verdicts = [record.read(trial, replies[trial.key].reply) for trial in arm if trial.key in replies]
    readable = sum(not isinstance(verdict, Unreadable) for verdict in verdicts)
    return 2 * readable < len(verdicts) or not verdicts


def _moves(
    arms: Iterable[list[Trial]], judges: dict[str, Judge], record: Record, store: RunStore
) -> Iterator[tuple[Trial, Trial]]:
    """Trials that have a reply or a failure, each with what it becomes."""
    failures = store.failures()
    for arm in arms:
        replies = record.replies(arm)
        judge = judges[arm[0].judge.name]
        if _same_but_for_reader(arm[0], judge) and _same_request(arm[0], judge, replies.values()):
            for trial in arm:
                if trial.key in replies or trial.key in failures:
                    yield trial, replace(trial, judge=judge)


def _same_but_for_reader(trial: Trial, judge: Judge) -> bool:
    """Nothing but the reader of the trial's protocol is another."""
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
    before = answer_form(trial.judge.protocols[trial.protocol].reader).wants
    after = answer_form(judge.protocols[trial.protocol].reader).wants
    if before == after or (before, after) == ("logprobs", "text"):
        return True
    return (before, after) == ("json", "text") and not any("{" in stored.reply.text for stored in replies)
