"""Probes whose transcripts of agents an author model edits, message by message, to a target."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.probe import ACCURACY_CHANGE, METRICS
from steelyard.probes.authored import AuthoredTextProbe
from steelyard.probes.probe import Design, Showing, pointwise
from steelyard.probes.sample import GivenSample
from steelyard.stimuli.authored.brief import Brief
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Ordinal
from steelyard.verdicts.observations import Observations


class AuthoredRunProbe(AuthoredTextProbe):
    transcripts = True
    keeps_label = False
    metrics = tuple(metric for metric in METRICS if metric not in (INVARIANCE, EXCESS_FLIP))
    needs = "transcripts of agents"

    def run_items(self, design: Design) -> Iterable[Item]:
        for item in self.items(design):
            if item.transcript is not None and item.failing is not None:
                yield replace(item, scale=item.scale or design.task.scale)


class TargetedRunProbe(AuthoredRunProbe):
    """Runs that may be shown as they are: each is held against its target, none against its original."""

    metrics = tuple(metric for metric in AuthoredRunProbe.metrics if metric is not ACCURACY_CHANGE)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del protocols
        runs = [stimulus for stimulus in design.authored.get(self.name, ()) if stimulus.judged]
        return pointwise(runs, "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        return super().estimates(judge, observations.filter(self.name), seed)


class AgentPerturbation(AuthoredRunProbe):
    name = "agent_perturbation"
    title = "Runs edited to fail"
    question = "Does the judge fail a run of an agent that was edited so that it breaks the rubric?"
    needs = "transcripts of agents that do not fail already"

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A failing version of every run that passes, or that nobody labelled."""
        for item in self.run_items(design):
            if item.label != item.failing:
                yield Brief(self.name, item, 0, self.name, item.failing)


class AgentPositives(TargetedRunProbe):
    """Every run as it is where it passes and the verifier agrees, else edited so that it does."""

    name = "agent_positives"
    title = "Runs that pass"
    question = "Does the judge pass a run of an agent that keeps the rubric?"

    def briefs(self, design: Design) -> Iterable[Brief]:
        for item in self.run_items(design):
            yield Brief(self.name, item, 0, self.name, item.passing)


class AgentLevels(TargetedRunProbe):
    name = "agent_levels"
    title = "Runs edited to each level"
    whole = True
    question = "Does the judge give each level of the scale to runs of agents edited for that level?"
    needs = "transcripts of agents on an ordinal scale"

    def __init__(self, targets: Sequence[int] | None = None, sample: GivenSample = None) -> None:
        """`targets` are the scores that runs are edited for; None is every score of the scale."""
        super().__init__(sample)
        listed = targets is None or (
            isinstance(targets, (list, tuple))
            and len(targets) > 0
            and all(isinstance(target, int) and not isinstance(target, bool) for target in targets)
            and len(set(targets)) == len(targets)
        )
        if not listed:
            raise ConfigError(
                f"probe {self.name!r}: targets is {targets!r}, expected a list of scores, each once."
            )
        self.targets = None if targets is None else tuple(map(str, targets))

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A version of every run for each score; a score is told by its place on the scale."""
        for item in self.run_items(design):
            if not isinstance(item.scale, Ordinal):
                continue
            for target in self.targets or ():
                if target not in item.scale.answers:
                    raise ConfigError(
                        f"probe {self.name!r}: the target {target} is not on the scale "
                        f"{item.scale.low}-{item.scale.high}; correct targets."
                    )
            for number, level in enumerate(item.scale.answers):
                if self.targets is None or level in self.targets:
                    yield Brief(self.name, item, number, self.name, level)
