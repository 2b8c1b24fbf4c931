"""Observations of trials from the answers to their calls, column by column."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from steelyard.core.arrays import Ints, Mask
from steelyard.runner.answers import UNASKED, Answers
from steelyard.stimuli.original import ORIGINAL
from steelyard.tasks.scale import Pairwise
from steelyard.trials.calls import Calls, Composed
from steelyard.trials.judge import Judge
from steelyard.trials.reply import CommonUsage
from steelyard.trials.trial import ORDERS, members_of
from steelyard.trials.trials import Trials
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.stimulus_columns import StimulusColumns
from steelyard.verdicts.verdict import Verdict
from steelyard.verdicts.vote import RULES, turned

Value = TypeVar("Value", bound=Hashable)


def observed(
    trials: Trials, calls: Calls, answers: Answers, reference: str | None
) -> tuple[Ints, Observations]:
    """Trials that were asked, and what was read of each, in their order.

    `reference` is the judge whose verdicts on the items are their labels.
    """
    seen = np.zeros(len(trials), dtype=np.bool_)
    verdict, usage = np.zeros((2, len(trials)), dtype=np.int64)
    own = np.flatnonzero(calls.row >= 0)
    call = calls.row[own]
    seen[own] = answers.state[call] != UNASKED
    verdict[own], usage[own] = answers.verdict[call], answers.usage[call]
    for made in calls.composed:
        heard = (answers.state[made.calls] != UNASKED).all(axis=1)
        rows = made.rows[heard]
        seen[rows] = True
        verdict[rows] = _verdicts(made, made.calls[heard], answers, _paired(trials)[rows])
        usage[rows] = _usages(made, made.calls[heard], answers)
    rows = np.flatnonzero(seen)
    return rows, _joined(trials.take(rows), verdict[rows], usage[rows], answers, reference)


def _joined(
    trials: Trials, verdict: Ints, usage: Ints, answers: Answers, reference: str | None
) -> Observations:
    """Verdicts with what was shown."""
    judges, judge = _spelled(*trials.coded(lambda asked: asked.judge.name))
    protocols, protocol = _spelled(*trials.coded(lambda asked: asked.protocol))
    prompts, prompt = _spelled(*trials.coded(lambda asked: asked.wording_hash))
    ids, stimulus = _spelled(*trials.coded(lambda asked: asked.stimulus.id))
    shown = {trials.questions[number].stimulus.id: number for number in trials.numbers}
    verdicts, verdict = _used(answers.verdicts.values, verdict)
    usages, usage = _used(answers.usages.values, usage)
    resting = {judge.name for judge in trials.judges if judge.rests_on(reference)}
    return Observations(
        judges=judges,
        protocols=protocols,
        verdicts=verdicts,
        usages=usages,
        prompts=prompts,
        shown=StimulusColumns(tuple(trials.questions[shown[name]].stimulus for name in ids)),
        symmetric=frozenset(judge.name for judge in trials.judges if judge.symmetric),
        judge=judge[trials.question],
        protocol=protocol[trials.question],
        stimulus=stimulus[trials.question],
        order=trials.where(lambda asked: asked.order == ORDERS[1]).astype(np.int64),
        replicate=trials.replicate,
        verdict=verdict,
        usage=usage,
        prompt=prompt[trials.question],
        own_label=trials.where(lambda asked: asked.judge.name in resting and asked.stimulus.kind == ORIGINAL),
    )


def _spelled(values: Sequence[Value], codes: Ints) -> tuple[tuple[Value, ...], Ints]:
    """The same with the values sorted as they are written."""
    order = sorted(range(len(values)), key=lambda number: str(values[number]))
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    return tuple(values[number] for number in order), rank[codes] if len(values) else codes


def _used(values: Sequence[Value], codes: Ints) -> tuple[tuple[Value, ...], Ints]:
    """The same with the values that occur alone."""
    used = np.bincount(codes, minlength=len(values)) > 0
    place = np.cumsum(used) - 1
    return _spelled([values[number] for number in np.flatnonzero(used).tolist()], place[codes])


def _paired(trials: Trials) -> Mask:
    return trials.where(lambda asked: isinstance(asked.asked.scale, Pairwise))


def _verdicts(made: Composed, calls: Ints, answers: Answers, paired: Mask) -> Ints:
    """The verdicts that the members' make, each on the order of the trial."""
    known = answers.verdicts
    ways, way = np.unique(np.column_stack([paired, answers.verdict[calls]]), axis=0, return_inverse=True)
    common = [
        known.number(_common(made.judge, (known.values[code] for code in codes), bool(pairwise)))
        for pairwise, *codes in ways.tolist()
    ]
    return np.array(common, dtype=np.int64)[way.reshape(-1)]


def _common(judge: Judge, heard: Iterator[Verdict], pairwise: bool) -> Verdict:
    """The verdict of a judge from those of the judges that were asked; a turned pair is turned back."""
    if judge.composition is None:
        return next(heard)
    first = ORDERS[0]
    verdicts = [
        verdict if order == first else turned(verdict)
        for member, order, _ in members_of(judge, first, 0)
        for verdict in (_common(member, heard, pairwise),)
    ]
    return RULES[judge.composition.rule](verdicts, pairwise)


def _usages(made: Composed, calls: Ints, answers: Answers) -> Ints:
    """The tokens of all calls behind each verdict."""
    known, names = answers.usages, made.asked
    ways, way = np.unique(answers.usage[calls], axis=0, return_inverse=True)
    common = [
        known.number(CommonUsage.of(zip(names, (known.values[code] for code in codes), strict=True)))
        for codes in ways.tolist()
    ]
    return np.array(common, dtype=np.int64)[way.reshape(-1)]
