"""From a study to its stimuli and trials, and to what they will cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.arrays import Ints
from steelyard.digests import hash_of
from steelyard.lab.run.prices import price_of
from steelyard.lab.study.study import Study
from steelyard.probes.probe import Showing
from steelyard.providers.provider import traits_of
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.trials.answer_form import answer_form
from steelyard.trials.calls import Calls
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial, calls_behind
from steelyard.trials.trials import Trials

CHARACTERS_PER_TOKEN = 4.2
"""English prose, roughly; plans are estimates and say so."""


@dataclass(frozen=True)
class Plan:
    """What a study will do: one frozen stimulus set and every trial, each once."""

    study: Study
    stimuli: StimulusSet
    trials: Trials
    """In columns."""
    uses: tuple[frozenset[str], ...]
    """Sets of probes, which `use` is an index into."""
    use: Ints
    """The probes that use each trial."""

    @cached_property
    def calls(self) -> Trials:
        """What is really asked, each call once, whichever judges rest on it."""
        return Calls.of(self.trials).trials

    def only(self, trials: Iterable[Trial]) -> Plan:
        """The plan of some of its trials."""
        rows = self.trials.places(Trials.of(trials).key)
        return replace(self, trials=self.trials.rows(rows), use=self.use[rows])

    @property
    def hashes(self) -> set[str]:
        """Hashes of the stimuli that are shown."""
        return {stimulus.hash for stimulus in self.stimuli}

    @property
    def kept(self) -> StimulusSet:
        """What lies in the folder: the stimuli that are shown, and those written that may not be."""
        return StimulusSet.of([*self.stimuli, *(s for s in self.study.authored if not s.judged)])


@dataclass(frozen=True)
class PlanRow:
    """Expected effort of one judge and probe."""

    judge: str
    probe: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    """None where no price is known."""
    seconds: float


def make_plan(study: Study) -> Plan:
    """Build every trial of every judge; a trial that two probes want is made once."""
    questions: list[Trial] = []
    asked: list[tuple[int, int, str]] = []
    repertoire = _Repertoire(study)
    for judge in study.judges:
        known: dict[tuple[str, str, str], int] = {}
        for probe, showings in repertoire.of(judge):
            for showing in showings:
                number = _question(judge, showing, study, questions, known)
                asked.append((number, showing.replicate, probe))
    question = np.array([number for number, _, _ in asked], dtype=np.int64)
    replicate = np.array([repeat for _, repeat, _ in asked], dtype=np.int64)
    every = Trials.repeats(questions, question, replicate)
    _, first, same = np.unique(every.key, return_index=True, return_inverse=True)
    wanted: dict[int, set[str]] = {}
    for code, (_, _, probe) in zip(same.tolist(), asked, strict=True):
        wanted.setdefault(code, set()).add(probe)
    uses: dict[frozenset[str], int] = {}
    use = [uses.setdefault(frozenset(names), len(uses)) for names in wanted.values()]
    trials = every.rows(np.sort(first))
    stimuli = {stimulus.id: stimulus for stimulus in (each.stimulus for each in trials.asked)}
    return Plan(study, StimulusSet.of(stimuli.values()), trials, tuple(uses), np.array(use, dtype=np.int64))


def calls_of(study: Study, judges: Iterable[Judge]) -> Iterator[int]:
    """Calls that a study makes of each of these judges, without building them; shared ones count once."""
    repertoire, seen = _Repertoire(study), set[tuple[str, str, str, int]]()
    for judge in judges:
        before = len(seen)
        for each in (showing for _, showings in repertoire.of(judge) for showing in showings):
            for one, order, replicate in calls_behind(judge, each.order, each.replicate):
                seen.add((one.fingerprint(each.protocol), each.stimulus.id, order, replicate))
        yield len(seen) - before


class _Repertoire:
    """What each probe shows, built once for all judges that have the same protocols."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._built: dict[frozenset[str], list[tuple[str, list[Showing]]]] = {}
        self._stimuli: dict[str, Stimulus] = {}

    def of(self, judge: Judge) -> list[tuple[str, list[Showing]]]:
        """Probe and showings, in the order of the study."""
        protocols = frozenset(judge.protocols)
        if protocols not in self._built:
            self._built[protocols] = [
                (probe.name, [self._shared(s) for s in probe.showings(self._study.design, judge.protocols)])
                for probe in self._study.build_probes()
            ]
        return self._built[protocols]

    def _shared(self, showing: Showing) -> Showing:
        """The same stimulus object wherever it is shown, so that it is hashed once."""
        first = self._stimuli.setdefault(showing.stimulus.id, showing.stimulus)
        if first is showing.stimulus or first != showing.stimulus:
            return showing
        return Showing(first, showing.protocol, showing.order, showing.replicate)


def _question(
    judge: Judge,
    showing: Showing,
    study: Study,
    questions: list[Trial],
    known: dict[tuple[str, str, str], int],
) -> int:
    """Number of what is asked, without its words; repeats share it."""
    stimulus, order = showing.stimulus, showing.order
    number = known.get((showing.protocol, stimulus.id, order))
    if number is not None and questions[number].stimulus is stimulus:
        return number
    asked = Trial(judge, showing.protocol, stimulus, study.task, order, showing.replicate)
    questions.append(asked.sealed())
    known[showing.protocol, stimulus.id, order] = len(questions) - 1
    return len(questions) - 1


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
    """Keys and words of the calls behind a trial; repeats of a question have the same words."""
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


def _part(calls: list[Trial]) -> PlanRow:
    """The calls of one judge that is asked."""
    instrument = calls[0].judge
    letters = sum(call.wording.letters for call in calls)
    tokens_in = round(letters / CHARACTERS_PER_TOKEN)
    tokens_out = sum(answer_form(call.judge.protocols[call.protocol].reader).tokens for call in calls)
    price = price_of(instrument)
    seconds = traits_of(instrument.address).seconds_per_call * len(calls)
    dollars = None if price is None else price.dollars(tokens_in, tokens_out, len(calls))
    return PlanRow(instrument.name, "", len(calls), tokens_in, tokens_out, dollars, seconds)
