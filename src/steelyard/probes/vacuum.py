"""Zero point: does the judge prefer one of two equal nothings?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs import collect
from steelyard.metrics.vacuum_estimates import vacuum_estimates
from steelyard.probes.probe import PAIRWISE, Design, Showing, both_orders, select
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.vacuum import KINDS, vacuum_pair
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.recorded_observations import RecordedObservations


class Vacuum:
    """Empty, blank and identical pairs, in both orders."""

    name = "vacuum"
    question = "Does the judge report a preference where there is nothing to prefer?"
    metrics = ("dark_current", "unreadable_rate", "failed_rate")
    levels = (PAIRWISE,)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """Two pairs per kind and task; empty has one text, so its second pair is a replicate."""
        del protocols
        return arm(design, "base")

    def estimates(self, judge: str, observations: Sequence[Observation], seed: int) -> list[Estimate]:
        """Dark current, pooled and per kind."""
        return arm_estimates(judge, observations, "base", seed)


def arm(design: Design, protocol: str) -> Iterable[Showing]:
    """The vacuum pairs under one protocol."""
    for stimulus in stimuli(design):
        repeats = 2 if stimulus.kind == "empty" and design.profile != "quick" else 1
        yield from both_orders([stimulus], protocol, repeats * design.replicates)


def stimuli(design: Design) -> Iterable[Stimulus]:
    """Quick spreads six pairs over its four tasks; the other profiles build every kind on every task."""
    tasks = design.checklists
    if design.profile == "quick":
        for number, (kind, which) in enumerate((kind, which) for kind in KINDS for which in (0, 1)):
            text = 0 if kind == "empty" else which
            yield vacuum_pair(tasks[number % len(tasks)], kind, text, design.seed)
        return
    for task in tasks:
        for kind in KINDS:
            for which in (0,) if kind == "empty" else (0, 1):
                yield vacuum_pair(task, kind, which, design.seed)


def arm_estimates(
    judge: str, observations: Sequence[Observation], protocol: str, seed: int
) -> list[Estimate]:
    """The figures of one arm; the note counts distinct prompts, since equal prompts repeat themselves."""
    chosen = select(observations, "vacuum", protocol)
    rows = vacuum_estimates(judge, protocol, collect(chosen), seed)
    return [_with_prompts(row, chosen) for row in rows]


def _with_prompts(row: Estimate, observations: Sequence[Observation]) -> Estimate:
    if row.metric != "dark_current" or row.value is None:
        return row
    kind = row.group.get("kind")
    if isinstance(observations, RecordedObservations):  # the prompts are not known
        return row
    prompts = {o.prompt for o in observations if kind in (None, o.stimulus.kind)}
    if "" in prompts:
        return row
    said = f"{row.n_calls} calls show {len(prompts)} distinct prompts"
    return replace(row, note=f"{row.note}; {said}" if row.note else said)
