"""What the probes share whose runs of agents somebody has to edit: message by message, to a target."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.scores.change import ACCURACY_CHANGE
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.probe import METRICS
from steelyard.probes.probe import Design, Showing, pointwise
from steelyard.probes.written import Written
from steelyard.tasks.item import Item
from steelyard.verdicts.observations import Observations


class RunWritten(Written):
    """Runs that are edited to a target; a subclass names the probe and says what is wanted of a run."""

    transcripts = True
    """It shows runs of agents and nothing else."""
    keeps_label = False
    metrics = tuple(metric for metric in METRICS if metric not in (INVARIANCE, EXCESS_FLIP))
    needs = "transcripts of agents"

    def runs(self, design: Design) -> Iterable[Item]:
        """The runs that edits are made from, each with the scale that it is judged on."""
        for item in self.items(design):
            if item.transcript is not None and item.failing is not None:
                yield replace(item, scale=item.scale or design.task.scale)


class TargetedRuns(RunWritten):
    """Runs that may be shown as they are: each is held against its target, none against its original."""

    metrics = tuple(metric for metric in RunWritten.metrics if metric is not ACCURACY_CHANGE)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """The runs alone."""
        del protocols
        runs = [stimulus for stimulus in design.authored.get(self.name, ()) if stimulus.judged]
        return pointwise(runs, "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """Accuracy on the runs, and how well the judge uses the scale."""
        return super().estimates(judge, observations.filter(self.name), seed)
