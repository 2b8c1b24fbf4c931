"""From a study to its stimuli and trials, and to what they will cost."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum

import numpy as np

from steelyard.core.arrays import Ints, compact
from steelyard.core.content_hash import hash_of
from steelyard.probes.probe import Showing
from steelyard.providers.provider import model_info
from steelyard.runner.prices import price_of, schema_tokens
from steelyard.stimuli.stimulus import Stimulus, StimulusSet
from steelyard.study.study import Study
from steelyard.study.study_probes import reaches
from steelyard.trials.builtin_prompts import response_format
from steelyard.trials.judge import Judge
from steelyard.trials.trial import PromptCache, Trial
from steelyard.trials.trials import CallCount, Calls, Trials

NO_ROWS: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Plan:
    study: Study
    stimuli: StimulusSet
    trials: Trials
    uses: tuple[frozenset[str], ...]
    use: Ints

    @cached_property
    def calls(self) -> Trials:
        return Calls.of(self.trials).trials

    def only(self, trials: Iterable[Trial]) -> Plan:
        rows = self.trials.lookup(Trials.of(trials).key)
        return replace(self, trials=self.trials.take(rows), use=self.use[rows])

    @property
    def hashes(self) -> set[str]:
        return {stimulus.hash for stimulus in self.stimuli}

    @property
    def all_stimuli(self) -> StimulusSet:
        return StimulusSet.of([*self.stimuli, *(s for s in self.study.authored if not s.judged)])


@dataclass(frozen=True)
class PlanRow:
    judge: str
    probe: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    """None where no price is known."""
    seconds: float


def make_plan(study: Study) -> Plan:
    builder, questions, prompts = _ShowingBuilder(study), list[Trial](), PromptCache()
    question, replicate, probe = [NO_ROWS], [NO_ROWS], [NO_ROWS]
    for judge in study.judges:
        shown = builder.of(judge)
        question.append(shown.number + len(questions))
        replicate.append(shown.replicate)
        probe.append(shown.probe)
        questions += [
            Trial(judge, one.protocol, one.stimulus, study.task, one.order, one.replicate, prompts=prompts)
            for one in shown.firsts
        ]
    wanted = Trials.repeats(questions, np.concatenate(question), np.concatenate(replicate))
    _, first, key = np.unique(wanted.key, return_index=True, return_inverse=True)
    turn = np.argsort(first)
    trials = wanted.take(first[turn])
    uses, use = _uses(key.reshape(-1), np.concatenate(probe), builder.names)
    stimuli = {asked.stimulus.id: asked.stimulus for asked in trials.distinct_trials}
    return Plan(study, StimulusSet.of(stimuli.values()), trials, uses, use[turn])


def _uses(key: Ints, probe: Ints, names: Sequence[str]) -> tuple[tuple[frozenset[str], ...], Ints]:
    wanted = np.zeros((int(key.max(initial=-1)) + 1, len(names)), dtype=np.bool_)
    wanted[key, probe] = True
    sets, use = np.unique(np.packbits(wanted, axis=1), axis=0, return_inverse=True)
    members = np.unpackbits(sets, axis=1, count=len(names)).astype(np.bool_)
    named = [frozenset(name for name, there in zip(names, one, strict=True) if there) for one in members]
    return tuple(named), compact(use.reshape(-1))


def count_calls(study: Study, judges: Iterable[Judge]) -> Iterator[int]:
    builder, count = _ShowingBuilder(study), CallCount()
    for judge in judges:
        before, shown = len(count), builder.of(judge)
        what = [(one.protocol, one.stimulus.id, one.order) for one in shown.firsts]
        count.add(judge, what, shown.number, shown.replicate)
        yield len(count) - before


@dataclass(frozen=True, eq=False)
class _ShowingColumns:
    firsts: list[Showing]
    """The first showing of each stimulus, protocol and order, which `number` is an index into."""
    number: Ints
    replicate: Ints
    probe: Ints


class _ShowingBuilder:
    def __init__(self, study: Study) -> None:
        self._study, self._probes = study, study.build_probes()
        self._built: dict[tuple[frozenset[str], frozenset[str]], _ShowingColumns] = {}
        self._stimuli: dict[str, Stimulus] = {}

    @property
    def names(self) -> list[str]:
        return [probe.name for probe in self._probes]

    def of(self, judge: Judge) -> _ShowingColumns:
        unread = frozenset(each.name for each in self._probes if not reaches(each, judge, self._study))
        built = (frozenset(judge.protocols), unread)
        if built not in self._built:
            self._built[built] = self._columns(judge, unread)
        return self._built[built]

    def _columns(self, judge: Judge, unread: Collection[str]) -> _ShowingColumns:
        known: dict[tuple[int, str, str], int] = {}
        firsts, number, replicate, places = list[Showing](), array("q"), array("q"), array("q")
        for place, probe in enumerate(self._probes):
            shown: Stimulus | None = None
            protocol = ""
            showings = probe.showings(self._study.design, judge.protocols)
            for each in () if probe.name in unread else showings:
                # Repeats of a stimulus come one after another, and there are many of them.
                if shown is not each.stimulus or protocol != each.protocol:
                    shown, protocol = each.stimulus, each.protocol
                    shared, here = self._shared(shown), dict[str, int]()
                what = here.get(each.order)
                if what is None:
                    what = here[each.order] = known.setdefault(
                        (id(shared), protocol, each.order), len(firsts)
                    )
                    if what == len(firsts):
                        firsts.append(Showing(shared, protocol, each.order, each.replicate))
                number.append(what)
                replicate.append(each.replicate)
            places.extend([place] * (len(number) - len(places)))
        return _ShowingColumns(
            firsts, *(np.array(column, dtype=np.int64) for column in (number, replicate, places))
        )

    def _shared(self, stimulus: Stimulus) -> Stimulus:
        """The same stimulus object wherever it is shown, so that it is hashed once."""
        first = self._stimuli.setdefault(stimulus.id, stimulus)
        return first if first is stimulus or first == stimulus else stimulus


def plan_rows(plan: Plan, done: Iterable[str] = ()) -> list[PlanRow]:
    """Calls, tokens, dollars and time per judge and probe.

    A shared call counts once: for the judge that is asked where it is measured itself, else for the first
    that rests on it, and for its first probe.
    """
    counted = set(done)
    groups: dict[tuple[str, str], list[Trial]] = {}
    names = [spec.name for spec in plan.study.probes]
    probes = [min(use, key=names.index) for use in plan.uses]
    questions = plan.trials.questions
    asked = plan.trials.question.tolist()
    for composed in (False, True):
        for row, number in enumerate(asked):
            judge = questions[number].judge
            if (judge.composition is not None) is composed:
                group = judge.name, probes[plan.use[row]]
                for key, call in _calls(plan.trials, row, number):
                    if key not in counted:
                        counted.add(key)
                        groups.setdefault(group, []).append(call)
    return [_row(judge, probe, trials) for (judge, probe), trials in groups.items()]


def _calls(trials: Trials, row: int, number: int) -> Iterator[tuple[str, Trial]]:
    question = trials.questions[number]
    if question.judge.composition is None:
        yield hash_of(trials.key[row]), question
    else:
        yield from ((call.key, call) for call in trials[row].calls)


def _row(judge: str, probe: str, calls: list[Trial]) -> PlanRow:
    by_judge: dict[str, list[Trial]] = {}
    for call in calls:
        by_judge.setdefault(call.judge.name, []).append(call)
    parts = [_part(mine) for mine in by_judge.values()]
    known = [part.dollars for part in parts if part.dollars is not None]
    return PlanRow(
        judge,
        probe,
        len(calls),
        sum(part.input_tokens for part in parts),
        sum(part.output_tokens for part in parts),
        sum(known) if len(known) == len(parts) else None,
        sum(part.seconds for part in parts),
    )


def estimate_cost(calls: list[Trial]) -> float | None:
    """Dollars for calls by the length of their prompts; None where a price is not known."""
    return _row("", "", calls).dollars


def _part(calls: list[Trial]) -> PlanRow:
    instrument = calls[0].judge
    prompts = [call.rendered.tokens + schema_tokens(call) for call in calls]
    tokens_in = round(sum(prompts))
    tokens_out = sum(response_format(call.judge.protocols[call.protocol].reader).tokens for call in calls)
    row = plan_row(instrument, instrument.name, "", len(calls), tokens_in, tokens_out)
    price = price_of(instrument)
    if price is None or not price.long:
        return row
    # Each call at the price of its own length.
    dollars = fsum(price.dollars(round(prompt), tokens_out / len(calls)) for prompt in prompts)
    return replace(row, dollars=dollars)


def plan_row(model: Judge, name: str, probe: str, calls: int, tokens_in: int, tokens_out: int) -> PlanRow:
    """What calls of a model will take, by the price of their mean length."""
    price, seconds = price_of(model), model_info(model.address).seconds_per_call * calls
    dollars = None if price is None else price.dollars(tokens_in, tokens_out, calls)
    return PlanRow(name, probe, calls, tokens_in, tokens_out, dollars, seconds)
