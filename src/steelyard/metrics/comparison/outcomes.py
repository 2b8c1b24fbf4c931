"""What a judge did with each unit, as events on which two judges can be paired.

A question is a figure of the datasheet that is a share of units: calls, pairs or comparisons either show the
metric's event or do not. Figures that are no such share (thresholds, d′, correlations) have no unit to be
paired on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.comparison.kept import kept_outcomes
from steelyard.metrics.comparison.question import Key, Outcome, Question, outcome_of, question_of
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.original_range import on_original_range
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.verdict import Failed, Unreadable

Identity = Callable[[Stimulus], str]
"""What makes two stimuli the same: the content hash, or the name where texts are not known."""
MetricsOf = Callable[[str], Sequence[Metric]]
"""A probe's name to the metrics that it declares."""
Outcomes = dict[Question, dict[Key, Outcome]]
Events = Iterator[tuple[Sequence[Observation], bool]]
"""The calls of a unit, and whether they show the event."""
Units = Iterator[tuple[Question, Key, Outcome]]

LOSSES = {
    Question("run", UNREADABLE_RATE.id, (), "call"): Unreadable,
    Question("run", FAILED_RATE.id, (), "call"): Failed,
}
"""Questions of every call that a judge was asked."""


def outcomes(observations: Sequence[Observation], identity: Identity, metrics_of: MetricsOf) -> Outcomes:
    """Every unit of one judge, by question."""
    found: Outcomes = {}
    for question, key, outcome in _all(observations, identity, metrics_of):
        found.setdefault(question, {})[key] = outcome
    return found


def call_key(protocol: str, key: Key) -> Key:
    """The unit among all calls of a judge, whatever the protocol."""
    name, order, replicate = key
    return name, f"{protocol} {order}", replicate


def _all(observations: Sequence[Observation], identity: Identity, metrics_of: MetricsOf) -> Units:
    yield from _lost(observations, identity)
    pairs = [o for o in observations if len(o.stimulus.texts) == 2]
    scores = on_original_range([o for o in observations if len(o.stimulus.texts) == 1])
    for make, rows in ((_of_pairs, pairs), (_of_scores, scores)):
        for probe, mine in _by_probe(rows):
            for place, metric in enumerate(metrics_of(probe)):
                if metric.event is not None and metric.compared:
                    yield from _placed(place, metric, make(metric, mine), identity)
    yield from kept_outcomes(scores, identity, metrics_of)


def _lost(observations: Iterable[Observation], identity: Identity) -> Units:
    for observation in observations:
        key = (identity(observation.stimulus), observation.order, observation.replicate)
        for question, kind in LOSSES.items():
            event = isinstance(observation.verdict, kind)
            yield question, call_key(observation.protocol, key), outcome_of(observation.stimulus, [], event)


def _by_probe(observations: Iterable[Observation]) -> Iterator[tuple[str, list[Observation]]]:
    """The observations of each probe under each protocol."""
    parts: dict[tuple[str, str], list[Observation]] = {}
    for observation in observations:
        parts.setdefault((observation.stimulus.probe, observation.protocol), []).append(observation)
    return ((probe, mine) for (probe, _), mine in parts.items())


def _of_pairs(metric: Metric, observations: Sequence[Observation]) -> Events:
    """The metric's event call by call, or on pairs that were shown in both orders."""
    pairs = collect(observations)
    calls = {(o.stimulus.id, o.replicate, o.order): o for o in observations}
    units = [(order,) for order in ORDERS] if metric.unit == "call" else [ORDERS]
    events = metric.events(pairs).reshape(len(pairs), len(units))
    names = [pairs.names[number] for number in pairs.pair]
    for row, (name, replicate) in enumerate(zip(names, pairs.replicate.tolist(), strict=True)):
        for unit, orders in enumerate(units):
            shown = [calls[name, replicate, order] for order in orders if (name, replicate, order) in calls]
            if len(shown) == len(orders):
                yield shown, bool(events[row, unit])


def _of_scores(metric: Metric, observations: Sequence[Observation]) -> Events:
    """The metric's event call by call."""
    scores = collect_scores(observations)
    calls = {(o.stimulus.id, o.replicate): o for o in observations}
    names = [scores.stimuli[number] for number in scores.stimulus]
    events = metric.events(scores).tolist()
    for name, replicate, event in zip(names, scores.replicate.tolist(), events, strict=True):
        yield [calls[name, replicate]], event


def _placed(place: int, metric: Metric, events: Events, identity: Identity) -> Units:
    """Each unit in every condition that it counts in; none without the reference that it needs."""
    for calls, event in events:
        call, stimulus = calls[0], calls[0].stimulus
        if metric.labelled and (call.own_label or not stimulus.labelled):
            continue
        outcome = outcome_of(stimulus, [c.verdict for c in calls], event, labelled=metric.labelled)
        key = (identity(stimulus), call.order if metric.unit == "call" else "", call.replicate)
        for group in metric.conditions(stimulus.kind, stimulus.delta):
            yield question_of(call, metric, group, place), key, outcome
