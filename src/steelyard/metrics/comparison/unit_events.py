"""Events of each unit, on which two judges can be paired; which units pair, and why the rest do not.

A criterion is a figure of the datasheet that is a share or a mean of units: calls, pairs or comparisons
either show the metric's event or do not, or each adds an amount. Figures that are neither (thresholds, d′,
correlations) have no unit to be paired on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from math import isnan

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.metrics import proportions
from steelyard.metrics.comparison import rows
from steelyard.metrics.comparison.rows import ComparisonCriterion, Entry, Identity, Key, UnitEvent
from steelyard.metrics.faults import Faults, FigureFault
from steelyard.metrics.metric import LEFT_OUT, Amount, Lengths, Metric
from steelyard.metrics.pairs.choices import LONGEST, WEIGHED
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.length import longer_text
from steelyard.metrics.proportions import MERIT
from steelyard.metrics.run.confidence import AUROC, BRIER, OVERCONFIDENCE, RIGHT, WRONG
from steelyard.metrics.run.confidence import PROBE as CONFIDENCE
from steelyard.metrics.scores.columns import rescaled_to_original
from steelyard.stimuli.original import NATURAL_PROBE, ORIGINAL
from steelyard.verdicts.call_answers import CallAnswers, as_they_are, call_confidence
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.readers import TOKEN
from steelyard.verdicts.verdict import Abstained, Failed, Unreadable


def _by_length(pairs: Pairs, lengths: Lengths) -> Ints:
    """Pairs that the longer text wins weigh like those that the shorter wins; of one length, as they are, and
    alone where the longer text wins all others, or the shorter."""
    longer = longer_text(pairs, lengths)
    side = np.where(longer == 0, 0, np.where(pairs.better == longer, 2, 1))
    side = np.where((pairs.better > 0) & (longer != LEFT_OUT) & (longer > 0).any(), side, LEFT_OUT)
    return np.where(side > 0, LEFT_OUT, side) if {0} < set(side.tolist()) - {LEFT_OUT} < {0, 1, 2} else side


_CHOICES = Amount(
    lambda pairs, _: pairs.points,
    (0.0, 1.0),
    side=lambda pairs, _: np.where(pairs.better > 0, 0, LEFT_OUT),
    labelled=True,
)
_WEIGHED = replace(
    _CHOICES,
    side=_by_length,
    group={WEIGHED: LONGEST},
    one_side="people prefer the longer text in every pair, or the shorter in every pair",
)
_VERDICTS = Amount(
    lambda scores, _: np.where(scores.decided, 2.0 * scores.right - 1, np.nan),
    side=lambda scores, _: np.where(scores.binary, np.where(scores.expected == 0, 1, 2), LEFT_OUT),
    labelled=True,
)
"""Of yes/no verdicts 1 for right, −1 for wrong; both labels weigh alike, which makes Youden's J. Ranks have
no calls to pair."""
_AMOUNTS = {"ladder": (_CHOICES,), NATURAL_PROBE: (_CHOICES, _WEIGHED), ORIGINAL: (_VERDICTS,)}
MERITS = {probe: tuple(replace(MERIT, amount=each) for each in _AMOUNTS[probe]) for probe in _AMOUNTS}
"""Merit by probe, as the datasheet tests it: of natural pairs a second time, whatever the length."""
MEAN_VERDICT = Metric(
    "mean_verdict",
    meaning="Mean verdict on items without a label, from 0 for the lowest answer of the scale to 1 for the "
    "highest; of yes/no verdicts the share of 1. Two judges are compared on it, none is judged by it.",
    plain="how high it scores",
    amount=Amount(
        lambda scores, _: np.where(scores.decided, scores.share, np.nan),
        (0.0, 1.0),
        side=lambda scores, _: np.where(np.isnan(scores.expected), 0, LEFT_OUT),
    ),
)
SAME_VERDICT = Metric("same_verdict", meaning="Calls that both judges answered with the same verdict.")
COMPARED_ALONE = {**MERITS, ORIGINAL: (*MERITS[ORIGINAL], MEAN_VERDICT)}
"""By probe what two judges are compared on although no probe declares it."""

MetricsOf = Callable[[str], Sequence[Metric]]
LOSSES = {
    ComparisonCriterion("run", proportions.UNREADABLE_RATE.id, (), "call"): Unreadable,
    ComparisonCriterion("run", proportions.FAILED_RATE.id, (), "call"): Failed,
    ComparisonCriterion("run", proportions.ABSTENTION_RATE.id, (), "call"): Abstained,
}

CONTRADICTIONS = ComparisonCriterion("run", proportions.CONTRADICTION_RATE.id, (), "call")


CONFIDENCES = [
    rows.criterion_for(CONFIDENCE, "base", metric, {}, place)
    for place, metric in enumerate((AUROC, OVERCONFIDENCE, BRIER))
]


class UnitEvents(dict[ComparisonCriterion, dict[Key, UnitEvent]]):
    def __init__(self) -> None:
        super().__init__()
        self.faults: dict[ComparisonCriterion, FigureFault] = {}
        """Figures whose event could not be computed, pooled over their conditions."""

    def add(self, entries: Iterable[Entry]) -> None:
        for question, key, event in entries:
            self.setdefault(question, {})[key] = event


def unit_events(observations: Sequence[Observation], identity: Identity, metrics_of: MetricsOf) -> UnitEvents:
    """Every unit of one judge; an event function that raises costs its own figure alone."""
    result, calls = UnitEvents(), list(observations)
    result.add(_call_events(calls, identity))
    if any(call.confidence is not None for call in calls):
        result.add(_confidences(Observations.of(calls), identity))
    pairs = [o for o in calls if len(o.stimulus.texts) == 2]
    scores = rescaled_to_original([o for o in calls if len(o.stimulus.texts) != 2])
    for shown in chain(rows.pair_rows(pairs, identity), rows.score_rows(scores, identity)):
        for place, metric in enumerate((*COMPARED_ALONE.get(shown.probe, ()), *metrics_of(shown.probe))):
            if metric.compared and metric.has_units:
                _enter(result, shown, metric, place)
    for events in (rows.edit_invariance_events, rows.rotation_events):
        result.add(events(scores, identity, metrics_of))
    return result


def call_unit(protocol: str, key: Key) -> Key:
    """The unit among all calls of a judge, whatever the protocol."""
    name, order, replicate = key
    return name, f"{protocol} {order}", replicate


def _enter(result: UnitEvents, shown: rows.ProbeRows, metric: Metric, place: int) -> None:
    whole = rows.criterion_for(shown.probe, shown.protocol, metric, {}, place)

    def broken(fault: FigureFault) -> list[Entry]:
        result.faults[whole] = fault
        return []

    result.add(Faults().guarded("", whole.title, lambda: list(_placed(shown, metric, place)), broken))


def _placed(shown: rows.ProbeRows, metric: Metric, place: int) -> Iterator[Entry]:
    """Each unit in every condition that it counts in; none without the reference that it needs."""
    conditions: dict[tuple[str, float | None], list[ComparisonCriterion]] = {}
    for unit, event in shown.events(metric):
        stimulus = unit.stimulus
        at = stimulus.kind, stimulus.delta
        if at not in conditions:
            conditions[at] = [
                rows.criterion_for(shown.probe, shown.protocol, metric, group, place)
                for group in metric.compared_in(*at)
            ]
        for question in conditions[at]:
            yield question, unit.key, event


def _call_events(calls: Sequence[Observation], identity: Identity) -> Iterator[Entry]:
    """Of every call whether it is lost, and where any reason ends with an answer, whether it contradicts."""
    reasons = any(call.contradicts is not None for call in calls)
    for call in calls:
        shown, contradicts = call.stimulus, call.contradicts
        key = call_unit(call.protocol, (identity(shown), call.order, call.replicate))
        for question, kind in LOSSES.items():
            yield question, key, UnitEvent(isinstance(call.verdict, kind), None, shown.id, shown.cluster)
        if reasons:
            loss = rows.loss_of([call.verdict]) or (UNNAMED if contradicts is None else None)
            yield CONTRADICTIONS, key, UnitEvent(contradicts, loss, shown.id, shown.cluster)


def _confidences(observations: Observations, identity: Identity) -> Iterator[Entry]:
    """Labelled calls on items as they are, with how sure the judge says it is, and whether it is right."""
    plain = as_they_are(observations)
    shares, kind, _ = call_confidence(plain)
    if kind in (None, TOKEN):
        return
    answers = CallAnswers.of(plain)
    for call, share, right in zip(plain, shares.tolist(), answers.right.tolist(), strict=True):
        shown, key = call.stimulus, (identity(call.stimulus), call.order, call.replicate)
        if not shown.labelled or call.own_label:
            continue
        loss = rows.loss_of([call.verdict]) or (UNSURE if isnan(share) else None)
        if isinstance(call.verdict, Abstained) and len(shown.texts) != 2:
            loss = "abstained"
        against = repr(shown.expectation)
        for question, value in zip(CONFIDENCES, (share, share - right, (share - right) ** 2), strict=True):
            side = (RIGHT if right else WRONG) if question.metric == AUROC.id else 0
            ends = (-1.0, 1.0) if question.metric == OVERCONFIDENCE.id else (0.0, 1.0)
            event = UnitEvent(None if loss else value, loss, shown.id, shown.cluster, against, side, ends)
            yield question, key, event


UNSURE = "unsure"
"""Why a call is not compared that has an answer and no confidence."""
UNNAMED = "unnamed"
"""Why a call is not compared whose reason does not end with an answer."""


@dataclass(frozen=True)
class Dropped:
    not_shown: int = 0
    """Shown to the other judge only."""
    unreadable: int = 0
    failed: int = 0
    no_reference: int = 0
    """Shown to this judge too, but without a reference, or with its own verdict for one."""
    other_reference: int = 0
    """Shown to both, and compared with different references."""
    abstained: int = 0
    unnamed: int = 0
    """The reason does not end with an answer, where that is counted."""
    unsure: int = 0
    """An answer without a confidence, where that is needed."""

    def to_json(self) -> dict[str, int]:
        """A plain mapping; the reasons that few figures have where they are met."""
        everywhere = ("not_shown", "unreadable", "failed")
        return {key: count for key, count in asdict(self).items() if count or key in everywhere}


@dataclass(frozen=True)
class Units:
    events: Mapping[Key, UnitEvent]
    protocol: str
    calls: Collection[Key]
    needs_confidence: bool = False

    @classmethod
    def of(cls, question: ComparisonCriterion, events: UnitEvents) -> Units:
        every = next(iter(LOSSES))
        protocol = str(question.condition.get("protocol", ""))
        calls = events.get(every, {}).keys()
        return cls(events.get(question, {}), protocol, calls, question.probe == CONFIDENCE)

    def shared(self, other: Units) -> list[Key]:
        """Units of both judges that are held against the same reference, or against none; sorted."""
        mine, theirs = self.events, other.events
        return sorted(key for key in mine.keys() & theirs.keys() if mine[key].against == theirs[key].against)

    def dropped(self, other: Units, shared: Sequence[Key]) -> Dropped:
        """Units of the other judge that lack a verdict of this one, by reason; `shared` are those of both."""
        mine, both = self.events, self.events.keys() & other.events.keys()
        absent = other.events.keys() - mine.keys()
        # Of a judge that never says how sure it is there are no such units.
        unsure = self.needs_confidence and not mine
        seen = sum(call_unit(self.protocol, key) in self.calls for key in absent)
        lost = [mine[key].loss for key in shared]
        return Dropped(
            not_shown=len(absent) - seen,
            unreadable=lost.count("unreadable"),
            failed=lost.count("failed"),
            no_reference=0 if unsure else seen,
            other_reference=len(both) - len(lost),
            abstained=lost.count("abstained"),
            unnamed=lost.count(UNNAMED),
            unsure=seen if unsure else lost.count(UNSURE),
        )
