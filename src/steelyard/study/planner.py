"""From a study to its stimuli and trials."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Ints, compact
from steelyard.core.content_hash import hash_of
from steelyard.probes.probe import Showing
from steelyard.stimuli.stimulus import Stimulus, StimulusSet
from steelyard.study.study import Study
from steelyard.study.study_probes import reaches
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

    def asked(self, done: Iterable[str] = ()) -> dict[tuple[str, str], list[Trial]]:
        """Calls that are not done, by judge and probe.

        A shared call counts once: for the judge that is asked where it is measured itself, else for the
        first that rests on it, and for its first probe.
        """
        counted = set(done)
        groups: dict[tuple[str, str], list[Trial]] = {}
        names = [spec.name for spec in self.study.probes]
        probes = [min(use, key=names.index) for use in self.uses]
        questions = self.trials.questions
        asked = self.trials.question.tolist()
        for composed in (False, True):
            for row, number in enumerate(asked):
                judge = questions[number].judge
                if (judge.composition is not None) is composed:
                    group = judge.name, probes[self.use[row]]
                    for key, call in _calls(self.trials, row, number):
                        if key not in counted:
                            counted.add(key)
                            groups.setdefault(group, []).append(call)
        return groups

    @property
    def all_stimuli(self) -> StimulusSet:
        return StimulusSet.of([*self.stimuli, *(s for s in self.study.authored if not s.judged)])


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


def _calls(trials: Trials, row: int, number: int) -> Iterator[tuple[str, Trial]]:
    question = trials.questions[number]
    if question.judge.composition is None:
        yield hash_of(trials.key[row]), question
    else:
        yield from ((call.key, call) for call in trials[row].calls)
