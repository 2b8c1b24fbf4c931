"""`measure`: run open calls, then rebuild the datasheet from the store; `--until verdict` grows a run.

The first replies of a judge tell how they are read, where its owner does not say. They are ordinary calls of
the run. Where the reader at hand reads fewer than half of them and another reads most, the judge gets that
one, and its replies are filed under it: nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from steelyard.core.text import pluralize
from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import ConfigError, RunError
from steelyard.run_folder.call_examples import reader_words
from steelyard.run_folder.publication import (
    build_publication,
    losses_if_unchanged,
    save_kept_columns,
    stored_digests,
)
from steelyard.run_folder.published_files import read_datasheet, remove_published
from steelyard.run_folder.resume import prepare_folder, with_found_readers
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_snapshot, snapshot_text
from steelyard.runner.costs import check_prices
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.runner.run_messages import judges_without_verdicts, metric_errors, stop_reasons
from steelyard.runner.runner import Runner, run_async
from steelyard.runner.session import Progress, RunResult, RunSession
from steelyard.stimuli.ladder import PROFILES
from steelyard.study.planner import Plan, make_plan
from steelyard.study.study import Study
from steelyard.trials.judge import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.advice import find_reader
from steelyard.verdicts.verdict import Unreadable


@dataclass(frozen=True)
class Measurement(RunResult):
    folder: RunFolder
    datasheet: Datasheet | None
    """Built from all replies so far; None where there are none."""

    def require(self) -> Datasheet:
        """The datasheet of a finished run; what kept it from its end is raised."""
        if self.errors or self.datasheet is None:
            raise self.errors[0] if self.errors else RunError(f"{self.folder.path}: no call has a reply.")
        return self.datasheet


def measure(
    study: Study, folder: RunFolder, limits: RunLimits, progress: Progress | None = None
) -> Measurement:
    """Run or resume a study in a folder and publish its datasheet.

    What the caller must mend (a rejected key, an unknown model) is raised; replies that arrived are kept.
    """
    check_prices(study.judges, limits)
    study = with_found_readers(study, folder)
    plan = make_plan(study)  # before the folder exists: what is refused leaves nothing behind
    if not plan.trials:
        raise RunError(
            f"{folder.path}: nothing to judge, since no probe has a stimulus that may be shown; "
            "look at what was rejected in stimuli.jsonl, or add a probe."
        )
    with folder.locked():
        plan = prepare_folder(folder, plan)
        session, record = _make_calls(plan, folder, limits, progress)
        if study.unread:
            plan, session, record = _read_by_pilot(plan, session, record, folder, limits, progress)
        save_kept_columns(folder, plan.study)
        names, where = [judge.name for judge in study.judges], folder.path
        # A price that is stated later is no part of the folder: a report would not know of it.
        alike = snapshot_text(plan.study) == folder.study.read_text(encoding="utf-8")
        stored = stored_digests(folder) if alike else None
        losses = None if session.stopped else losses_if_unchanged(folder, stored)
        if losses is not None:
            return Measurement(session, (), losses, folder, read_datasheet(where))
        with folder.store() as store:
            record.store = store
            coverage = record.coverage(plan.trials)
            errors = [
                *stop_reasons(session, coverage.headline, where, typed=study.command is not None),
                *judges_without_verdicts(
                    names,
                    record.observations(plan.trials),
                    where,
                    session.aborted_judges,
                    store.last_failures(),
                ),
            ]
            answered = coverage.own.answered
            built = build_publication(plan, record, None if errors else stored) if answered else None
        if built is None:
            remove_published(where)
            return Measurement(session, tuple(errors), (), folder, None)
        del plan, record  # the columns of a million trials are not needed beside the files
        datasheet = built.write(where)
    errors += metric_errors(datasheet.faults)
    return Measurement(session, tuple(errors), built.losses, folder, datasheet)


def _make_calls(
    plan: Plan, folder: RunFolder, limits: RunLimits, progress: Progress | None
) -> tuple[RunSession, RunRecord]:
    """The calls that have no reply yet; what they needed beside the plan is free at the end."""
    with folder.store() as store:
        record, before = RunRecord(store, plan.study.reference), store.version
        runner = Runner(record, limits, progress, record.authoring.dollars)
        session = run_async(runner, lambda runner: runner.run(plan.trials))
        if store.version != before:
            record.release()  # a finished run is not parsed a second time
    return session, record


def _read_by_pilot(
    plan: Plan,
    session: RunSession,
    record: RunRecord,
    folder: RunFolder,
    limits: RunLimits,
    progress: Progress | None,
) -> tuple[Plan, RunSession, RunRecord]:
    """Go on with the readers that the first replies ask for, and say how they are read."""
    with folder.store() as store:
        record.store = store
        study = with_read_replies(plan, record)
    if study is not plan.study:
        calls = session.calls
        plan = prepare_folder(folder, make_plan(study))
        session, record = _make_calls(plan, folder, limits, progress)
        session.calls += calls
    if session.calls and progress is not None:
        with folder.store() as store:
            record.store = store
            for sentence in reading_sentences(plan, record):
                progress.say(sentence)
    return plan, session, record


FIRST = PROFILES[0]
StudyAtProfile = Callable[[str], Study]


def check_growth(study: Study) -> None:
    if study.source is not None:
        raise ConfigError(
            "--until verdict: grows by the profile, which does not change how many rows of your data are "
            "judged; leave --until out."
        )
    if study.writers is not None:
        raise ConfigError("--until verdict: texts are written for one size; leave --until or author out.")


def default_folder(study: Study) -> RunFolder:
    plain = RunFolder.default(study).path
    return RunFolder(plain.with_name(f"{plain.name}-until-verdict"))


def remaining_profiles(folder: RunFolder) -> tuple[str, ...]:
    held = load_snapshot(folder.study).profile if folder.study.exists() else FIRST
    return PROFILES[PROFILES.index(held) :]


def measure_until_verdict(
    study_at: StudyAtProfile, folder: RunFolder, limits: RunLimits, progress: Progress | None = None
) -> Measurement:
    """Run or resume the looks in a folder.

    A look that could not be finished ends it, as a budget does; the same call goes on there.
    """
    calls = 0
    looks = (load_snapshot(folder.study).looks or ()) if folder.study.exists() else ()
    for profile in remaining_profiles(folder):
        found = measure(replace(study_at(profile), looks=looks), folder, limits, progress)
        calls += found.session.calls
        found.session.calls = calls
        looks_so_far = () if found.datasheet is None else found.datasheet.facts.looks
        if found.errors or len(looks_so_far) <= len(looks) or looks_so_far[-1].end is not None:
            break
        looks, last = looks_so_far, looks_so_far[-1]
        if progress is not None:
            progress.say(f"{last}; {last.open_sentence}; going on with the next profile.")
    return found


_FEW = 64
"""Replies that are looked at under a protocol."""

Asked = list[tuple[Trial, Reply]]


def with_read_replies(plan: Plan, record: RunRecord) -> Study:
    """The study with the readers that its first replies ask for; the same one where none does."""
    judges = {judge.name: judge for judge in plan.study.judges}
    for name, protocol, asked in _replies(plan, record):
        replies = [reply for _, reply in asked]
        held, scale = judges[name].protocols[protocol], asked[0][0].effective_task.scale
        found = (
            find_reader(held.reader, scale, replies) if 2 * _readable(asked, record) < len(asked) else None
        )
        if found is not None:
            changed = {**judges[name].protocols, protocol: replace(held, reader=found[0])}
            judges[name] = replace(judges[name], protocols=changed)
    if all(judges[judge.name] is judge for judge in plan.study.judges):
        return plan.study
    return replace(plan.study, judges=tuple(judges[judge.name] for judge in plan.study.judges))


def reading_sentences(plan: Plan, record: RunRecord) -> Iterator[str]:
    """How the replies of each judge are read of which nobody had said it."""
    judges = {judge.name: judge for judge in plan.study.judges}
    for name, protocol, asked in _replies(plan, record):
        reader = reader_words(judges[name].protocols[protocol].reader)
        under = "" if protocol == "base" else f" under protocol {protocol}"
        yield (
            f"judge {name}: no reader was stated; {reader} reads {_readable(asked, record)} of the first "
            f"{pluralize(len(asked), 'reply', 'replies')}{under}"
        )


def _replies(plan: Plan, record: RunRecord) -> Iterator[tuple[str, str, Asked]]:
    """Judge and protocol, with replies of it, of judges whose owner does not say how they are read."""
    for judge in plan.study.judges:
        if judge.name not in plan.study.unread:
            continue
        arms: dict[str, list[Trial]] = {}
        for trial in plan.trials.take(plan.trials.of_judge(judge.name)):
            arms.setdefault(trial.protocol, []).append(trial)
        for protocol, trials in arms.items():
            stored = record.replies(trials)
            asked = [(trial, stored[trial.key].reply) for trial in trials if trial.key in stored][:_FEW]
            if asked:
                yield judge.name, protocol, asked


def _readable(asked: Asked, record: RunRecord) -> int:
    return sum(not isinstance(record.parse_verdict(trial, reply), Unreadable) for trial, reply in asked)
