"""From a study to its stimuli and trials, and to what they will cost."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.arrays import Ints
from steelyard.lab.run.prices import price_of
from steelyard.lab.study.study import Study
from steelyard.probes.probe import Showing
from steelyard.providers.provider import traits_of
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.trials.answer_form import answer_form
from steelyard.trials.call_count import CallCount, Shown
from steelyard.trials.calls import Calls
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial
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
    trials: dict[str, Trial] = {}
    wanted: dict[str, set[str]] = {}
    repertoire = _Repertoire(study)
    for judge in study.judges:
        first: dict[tuple[str, str, str], Trial] = {}
        for probe, showings in repertoire.of(judge):
            for showing in showings:
                trial = _trial(judge, showing, study, first)
                trials.setdefault(trial.key, trial)
                wanted.setdefault(trial.key, set()).add(probe)
    stimuli = {trial.stimulus.id: trial.stimulus for trial in trials.values()}
    uses: dict[frozenset[str], int] = {}
    use = [uses.setdefault(frozenset(names), len(uses)) for names in wanted.values()]
    return Plan(
        study,
        StimulusSet.of(stimuli.values()),
        Trials.of(trials.values()),
        tuple(uses),
        np.array(use, dtype=np.int64),
    )


def calls_of(study: Study, judges: Iterable[Judge]) -> Iterator[int]:
    """Calls that a study makes of each of these judges, without building them; shared ones count once."""
    probes, count = study.build_probes(), CallCount()
    columns: dict[frozenset[str], tuple[list[Shown], Ints, Ints]] = {}
    for judge in judges:
        before, protocols = len(count), frozenset(judge.protocols)
        if protocols not in columns:
            showings = (each for probe in probes for each in probe.showings(study.design, judge.protocols))
            columns[protocols] = _columns(showings)
        count.add(judge, *columns[protocols])
        yield len(count) - before


def _columns(showings: Iterable[Showing]) -> tuple[list[Shown], Ints, Ints]:
    """What is shown, and for each showing which of it, and its repeat."""
    known: dict[Shown, int] = {}
    number, replicate = array("q"), array("q")
    for each in showings:
        shown = each.protocol, each.stimulus.id, each.order
        number.append(known.setdefault(shown, len(known)))
        replicate.append(each.replicate)
    return list(known), np.array(number, dtype=np.int64), np.array(replicate, dtype=np.int64)


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


def _trial(judge: Judge, showing: Showing, study: Study, first: dict[tuple[str, str, str], Trial]) -> Trial:
    """A trial that shares its words with the first of its repeats."""
    stimulus, order = showing.stimulus, showing.order
    known = first.get((showing.protocol, stimulus.id, order))
    if known is not None and known.stimulus is stimulus:
        return known.repeat(showing.replicate)
    trial = Trial(judge, showing.protocol, stimulus, study.task, order, showing.replicate)
    first[showing.protocol, stimulus.id, order] = trial
    return trial


def plan_rows(plan: Plan, done: Iterable[str] = ()) -> list[PlanRow]:
    """Calls, tokens, dollars and time per judge and probe.

    A shared call counts once: for the judge that is asked where it is measured itself, else for the first
    that rests on it, and for its first probe.
    """
    counted = set(done)
    groups: dict[tuple[str, str], list[Trial]] = {}
    names = [spec.name for spec in plan.study.probes]
    probes = [min(use, key=names.index) for use in plan.uses]
    numbered = zip(plan.trials, plan.use.tolist(), strict=True)
    for trial, use in sorted(numbered, key=lambda each: each[0].judge.composition is not None):
        first = probes[use]
        for call in trial.calls:
            if call.key not in counted:
                counted.add(call.key)
                groups.setdefault((trial.judge.name, first), []).append(call)
    return [_row(judge, probe, trials) for (judge, probe), trials in groups.items()]


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
