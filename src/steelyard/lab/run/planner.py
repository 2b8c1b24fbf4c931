"""From a study to its stimuli and trials, and to what they will cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from steelyard.lab.run.prices import price_of
from steelyard.lab.study.study import Study
from steelyard.probes.probe import Showing
from steelyard.providers.provider import traits_of
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.trials.answer_form import answer_form
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial

CHARACTERS_PER_TOKEN = 4.2
"""English prose, roughly; plans are estimates and say so."""


@dataclass(frozen=True)
class Plan:
    """What a study will do: one frozen stimulus set and every trial, each once."""

    study: Study
    stimuli: StimulusSet
    trials: tuple[Trial, ...]
    probes: Mapping[str, frozenset[str]]
    """Trial key to the probes that use it."""

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
        for probe, showings in repertoire.of(judge):
            for showing in showings:
                trial = _trial(judge, showing, study)
                trials.setdefault(trial.key, trial)
                wanted.setdefault(trial.key, set()).add(probe)
    stimuli = {trial.stimulus.id: trial.stimulus for trial in trials.values()}
    return Plan(
        study,
        StimulusSet.of(stimuli.values()),
        tuple(trials.values()),
        {key: frozenset(names) for key, names in wanted.items()},
    )


def calls_of(study: Study, judges: Iterable[Judge]) -> Iterator[int]:
    """Calls that a study makes of each of these judges, without building them."""
    repertoire = _Repertoire(study)
    for judge in judges:
        shown = (showing for _, showings in repertoire.of(judge) for showing in showings)
        yield len({(each.stimulus.id, each.protocol, each.order, each.replicate) for each in shown})


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
        return replace(showing, stimulus=first) if first == showing.stimulus else showing


def _trial(judge: Judge, showing: Showing, study: Study) -> Trial:
    return Trial(judge, showing.protocol, showing.stimulus, study.task, showing.order, showing.replicate)


def plan_rows(plan: Plan, done: Iterable[str] = ()) -> list[PlanRow]:
    """Calls, tokens, dollars and time per judge and probe; a shared trial counts for the first probe only."""
    answered = set(done)
    groups: dict[tuple[str, str], list[Trial]] = {}
    names = [spec.name for spec in plan.study.probes]
    for trial in plan.trials:
        if trial.key not in answered:
            first = min(plan.probes[trial.key], key=names.index)
            groups.setdefault((trial.judge.name, first), []).append(trial)
    return [_row(judge, probe, trials) for (judge, probe), trials in groups.items()]


def _row(judge: str, probe: str, trials: list[Trial]) -> PlanRow:
    instrument = trials[0].judge
    characters = sum(len(message.content) for trial in trials for message in trial.messages)
    tokens_in = round(characters / CHARACTERS_PER_TOKEN)
    tokens_out = sum(answer_form(trial.judge.protocols[trial.protocol].reader).tokens for trial in trials)
    price = price_of(instrument)
    seconds = traits_of(instrument.address).seconds_per_call * len(trials)
    dollars = None if price is None else price.dollars(tokens_in, tokens_out, len(trials))
    return PlanRow(judge, probe, len(trials), tokens_in, tokens_out, dollars, seconds)
