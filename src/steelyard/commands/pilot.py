"""The first replies of a judge tell how they are read, where its owner does not say.

They are ordinary calls of the run. Where the reader at hand reads fewer than half of them and another reads
most, the judge gets that one, and its replies are filed under it: nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from steelyard.core.text import pluralize
from steelyard.run_folder.call_examples import reader_words
from steelyard.runner.planner import Plan
from steelyard.runner.record import RunRecord
from steelyard.study.study import Study
from steelyard.trials.presentation import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.advice import find_reader
from steelyard.verdicts.verdict import Unreadable

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
    return sum(not isinstance(record.read(trial, reply), Unreadable) for trial, reply in asked)
