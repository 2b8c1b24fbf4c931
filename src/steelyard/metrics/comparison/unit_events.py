"""What a judge did with each unit, as events on which two judges can be paired.

A question is a figure of the datasheet that is a share or a mean of units: calls, pairs or comparisons either
show the metric's event or do not, or each adds an amount. Figures that are neither (thresholds, d′,
correlations) have no unit to be paired on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from steelyard.metrics.basis import Group
from steelyard.metrics.common import ABSTENTION_RATE, FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.comparison.kept import kept_events
from steelyard.metrics.comparison.merit import MERIT, PROBES
from steelyard.metrics.comparison.question import Figure, Key, Question, UnitEvent, question_of
from steelyard.metrics.comparison.shown import Identity, Shown, shown_pairs, shown_scores
from steelyard.metrics.faults import Fault, Faults
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.original_range import on_original_range
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Abstained, Failed, Unreadable

MetricsOf = Callable[[str], Sequence[Metric]]
"""A probe's name to the metrics that it declares."""
Entry = tuple[Question, Key, UnitEvent]
"""A unit under one of its questions."""

LOSSES = {
    Question("run", UNREADABLE_RATE.id, (), "call"): Unreadable,
    Question("run", FAILED_RATE.id, (), "call"): Failed,
    Question("run", ABSTENTION_RATE.id, (), "call"): Abstained,
}
"""Questions of every call that a judge was asked."""


class Broken(NamedTuple):
    """A figure whose event could not be computed."""

    question: Question
    """The figure, pooled over its conditions."""
    fault: Fault
    """Why."""


class UnitEvents(dict[Question, dict[Key, UnitEvent]]):
    """Every unit of one judge, by question."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: dict[Figure, Broken] = {}
        """Figures that have no events, since their event function raised."""

    def add(self, entries: Iterable[Entry]) -> None:
        """Enter units under their questions."""
        for question, key, event in entries:
            if question not in self:
                self[question] = {}
            self[question][key] = event


def unit_events(observations: Sequence[Observation], identity: Identity, metrics_of: MetricsOf) -> UnitEvents:
    """Every unit of one judge; an event function that raises costs its own figure alone."""
    result, calls = UnitEvents(), list(observations)
    result.add(_lost(calls, identity))
    pairs = [o for o in calls if len(o.stimulus.texts) == 2]
    scores = on_original_range([o for o in calls if len(o.stimulus.texts) == 1])
    for shown in chain(shown_pairs(pairs, identity), shown_scores(scores, identity)):
        merit = (MERIT,) if shown.probe in PROBES else ()
        for place, metric in enumerate((*merit, *metrics_of(shown.probe))):
            if metric.compared and metric.has_units:
                _enter(result, shown, metric, place)
    result.add(kept_events(scores, identity, metrics_of))
    return result


def call_key(protocol: str, key: Key) -> Key:
    """The unit among all calls of a judge, whatever the protocol."""
    name, order, replicate = key
    return name, f"{protocol} {order}", replicate


def _enter(result: UnitEvents, shown: Shown, metric: Metric, place: int) -> None:
    """The units of one figure, or the fault in its place."""
    whole = question_of(shown.probe, shown.protocol, metric, {}, place)

    def broken(fault: Fault) -> list[Entry]:
        result.faults[whole.figure] = Broken(whole, fault)
        return []

    result.add(Faults().guarded("", whole.title, lambda: list(_placed(shown, metric, place)), broken))


def _placed(shown: Shown, metric: Metric, place: int) -> Iterator[Entry]:
    """Each unit in every condition that it counts in; none without the reference that it needs."""
    conditions: dict[tuple[str, float | None], list[Question]] = {}
    for unit, showed in shown.events(metric):
        stimulus = unit.stimulus
        at = stimulus.kind, stimulus.delta
        if at not in conditions:
            groups: Sequence[Group] = metric.compared_in(*at)
            conditions[at] = [question_of(shown.probe, shown.protocol, metric, g, place) for g in groups]
        event = unit.event(showed, labelled=metric.held)
        for question in conditions[at]:
            yield question, unit.key, event


def _lost(observations: Iterable[Observation], identity: Identity) -> Iterator[Entry]:
    for observation in observations:
        stimulus = observation.stimulus
        key = call_key(observation.protocol, (identity(stimulus), observation.order, observation.replicate))
        for question, kind in LOSSES.items():
            event = isinstance(observation.verdict, kind)
            yield question, key, UnitEvent(event, None, stimulus.id, stimulus.cluster)
