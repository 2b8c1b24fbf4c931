"""Events of each unit, on which two judges can be paired; which units pair, and why the rest do not.

A criterion is a figure of the datasheet that is a share or a mean of units: calls, pairs or comparisons
either show the metric's event or do not, or each adds an amount. Figures that are neither (thresholds, d′,
correlations) have no unit to be paired on. Units that both answered are `Paired`: their difference, its
interval, and what it could have shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, distinct
from steelyard.metrics import proportions
from steelyard.metrics.comparison.rows import (
    ComparisonCriterion,
    Entry,
    Identity,
    Key,
    ProbeRows,
    UnitEvent,
    criterion_for,
    edit_invariance_events,
    loss_of,
    pair_rows,
    score_rows,
)
from steelyard.metrics.faults import Faults, FigureFault
from steelyard.metrics.metric import LEFT_OUT, Amount, Group, Metric, Texts
from steelyard.metrics.multiplicity import JointSignFlip
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.length import longer_text
from steelyard.metrics.proportions import ABSTENTION_RATE, CONTRADICTION_RATE, FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.scores.columns import rescaled_to_original
from steelyard.metrics.stats.clusters import ClusterMean
from steelyard.metrics.stats.distributions import cluster_quantile
from steelyard.metrics.stats.intervals import (
    ALPHA,
    CLUSTERS,
    ENOUGH_CLUSTERS,
    PAIRS,
    Span,
    clipped,
    score,
    sign_flip,
    tango,
)
from steelyard.metrics.stats.sample_size import POWER
from steelyard.stimuli.original import NATURAL_PROBE, ORIGINAL
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Abstained, Failed, Unreadable

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Paired:
    first: Ints | Floats
    """1 where the first judge showed the event, else 0; or what its unit adds to a mean."""
    second: Ints | Floats
    cluster: Ints
    pair: Ints
    weight: Floats | None = None
    """What each unit counts, where the figure is a mean of amounts; None for a share of events."""
    reach: float = 1.0

    @classmethod
    def of(cls, rows: Sequence[tuple[float, float, str, str]]) -> Paired:
        """From (first, second, cluster, pair) of each unit: events, or amounts."""
        values = np.array([row[:2] for row in rows]).reshape(-1, 2)
        if values.dtype == np.bool_:
            values = values.astype(np.int64)
        return cls(values[:, 0], values[:, 1], _numbers([r[2] for r in rows]), _numbers([r[3] for r in rows]))

    @property
    def size(self) -> int:
        return len(self.first)

    @property
    def of_events(self) -> bool:
        return self.weight is None

    def mean(self, values: Ints | Floats) -> float:
        return float((values if self.weight is None else values * self.weight).sum()) / self.size

    @cached_property
    def change(self) -> Ints | Floats:
        change = self.second - self.first
        return change if self.weight is None else change * self.weight

    @cached_property
    def gained(self) -> int:
        return int(np.count_nonzero(self.change > 0))

    @cached_property
    def lost(self) -> int:
        return int(np.count_nonzero(self.change < 0))

    @property
    def difference(self) -> float:
        return float(self.change.sum()) / self.size

    @cached_property
    def n_clusters(self) -> int:
        return len(distinct(self.cluster))

    @cached_property
    def independent(self) -> Ints:
        """What is taken as independent: clusters, or pairs where there is one cluster."""
        return self.cluster if self.n_clusters > 1 else self.pair

    @cached_property
    def _means(self) -> ClusterMean:
        return ClusterMean.of(self.independent, self.change)

    @cached_property
    def effective_size(self) -> float:
        """Independent units that would carry as much information.

        Where every cluster shows the same difference, the correlation within clusters is assumed.
        """
        unclustered = float((self.change * self.change).mean()) - self.difference**2
        return self._means.effective_size(unclustered)

    def limits(self, probability: float = 0.975) -> Span:
        """Of events Tango's interval on the effective size, with Student's t on clusters less one; of amounts
        Student's t over clusters.

        Where every cluster shows the same mean change, as many other changes as the data allow might have
        been anything.
        """
        quantile = self._quantile(probability)
        if self.of_events:
            scale = self.effective_size / self.size
            return tango(self.gained * scale, self.lost * scale, self.effective_size, quantile)
        ends = (-self.reach, self.reach)
        other = score(0.0, self._means.assumed_size, quantile)[1] * self.reach
        mean = self.difference
        return self._means.limits(probability, ends) or clipped((mean - other, mean + other), ends)

    def flip(self) -> tuple[float, str]:
        """Sign-flip p of the difference, and whose sums were flipped: those of clusters or of pairs.

        Exact for sums of halves; other amounts are flipped at random where there are many.
        """
        by_clusters = self.n_clusters >= ENOUGH_CLUSTERS
        units = self.cluster if by_clusters else self.pair
        halves = 2 * np.bincount(units, weights=self.change)
        whole = np.rint(halves)
        if np.abs(halves - whole).max(initial=0.0) < _ROUNDING:
            p = sign_flip(whole.astype(np.int64))
        else:
            p = JointSignFlip.of(
                [dict(zip(map(str, range(len(halves))), halves.tolist(), strict=True))]
            ).unadjusted_p(0)
        return p, CLUSTERS if by_clusters else PAIRS

    @property
    def detectable(self) -> float:
        """Smallest difference that a two-sided 5 % test shows in four runs of five.

        The spread of changes is taken as observed, and no smaller than a change in the units that make up the
        difference itself.
        """
        reach = self._quantile(1 - ALPHA / 2) + self._quantile(POWER)
        changed, size = float((self.change * self.change).mean()), float(np.abs(self.change).mean())
        each = changed / size if size and not self.of_events else self.reach
        least = reach * reach / self.effective_size * each
        return min(self.reach, max(least, reach * sqrt(changed / self.effective_size)))

    def _quantile(self, probability: float) -> float:
        return cluster_quantile(probability, self._means.units)


def _numbers(names: Sequence[str]) -> Ints:
    return np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1].astype(np.int64)


def _by_length(pairs: Pairs, texts: Texts) -> Ints:
    """Pairs that the longer text wins weigh like those that the shorter wins; of one length, as they are."""
    longer = longer_text(pairs, texts)
    side = np.where(longer == 0, 0, np.where(pairs.better == longer, 2, 1))
    return np.where((pairs.better > 0) & longer.any(), side, LEFT_OUT)


_CHOICES = Amount(
    lambda pairs, _: pairs.points,
    (0.0, 1.0),
    side=lambda pairs, _: np.where(pairs.better > 0, 0, LEFT_OUT),
    labelled=True,
)
_WEIGHED = replace(_CHOICES, side=_by_length, group={"weighed_against": "longest"})
_VERDICTS = Amount(
    lambda scores, _: np.where(scores.decided, 2.0 * scores.right - 1, np.nan),
    side=lambda scores, _: np.where(scores.binary, np.where(scores.expected == 0, 1, 2), LEFT_OUT),
    labelled=True,
)
"""Of yes/no verdicts 1 for right, −1 for wrong; both labels weigh alike, which makes Youden's J. Ranks have
no calls to pair."""
MERITS = {
    probe: tuple(replace(proportions.MERIT, amount=amount) for amount in amounts)
    for probe, amounts in {
        "ladder": (_CHOICES,),
        NATURAL_PROBE: (_CHOICES, _WEIGHED),
        ORIGINAL: (_VERDICTS,),
    }.items()
}
"""Merit by probe, as the datasheet tests it: of natural pairs a second time, whatever the length."""


MetricsOf = Callable[[str], Sequence[Metric]]
LOSSES = {
    ComparisonCriterion("run", UNREADABLE_RATE.id, (), "call"): Unreadable,
    ComparisonCriterion("run", FAILED_RATE.id, (), "call"): Failed,
    ComparisonCriterion("run", ABSTENTION_RATE.id, (), "call"): Abstained,
}

CONTRADICTIONS = ComparisonCriterion("run", CONTRADICTION_RATE.id, (), "call")


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
    result.add(_lost(calls, identity))
    if any(call.contradicts is not None for call in calls):
        result.add(_contradictions(calls, identity))
    pairs = [o for o in calls if len(o.stimulus.texts) == 2]
    scores = rescaled_to_original([o for o in calls if len(o.stimulus.texts) != 2])
    for shown in chain(pair_rows(pairs, identity), score_rows(scores, identity)):
        for place, metric in enumerate((*MERITS.get(shown.probe, ()), *metrics_of(shown.probe))):
            if metric.compared and metric.has_units:
                _enter(result, shown, metric, place)
    result.add(edit_invariance_events(scores, identity, metrics_of))
    return result


def call_key(protocol: str, key: Key) -> Key:
    """The unit among all calls of a judge, whatever the protocol."""
    name, order, replicate = key
    return name, f"{protocol} {order}", replicate


def _enter(result: UnitEvents, shown: ProbeRows, metric: Metric, place: int) -> None:
    whole = criterion_for(shown.probe, shown.protocol, metric, {}, place)

    def broken(fault: FigureFault) -> list[Entry]:
        result.faults[whole] = fault
        return []

    result.add(Faults().guarded("", whole.title, lambda: list(_placed(shown, metric, place)), broken))


def _placed(shown: ProbeRows, metric: Metric, place: int) -> Iterator[Entry]:
    """Each unit in every condition that it counts in; none without the reference that it needs."""
    conditions: dict[tuple[str, float | None], list[ComparisonCriterion]] = {}
    for unit, event in shown.events(metric):
        stimulus = unit.stimulus
        at = stimulus.kind, stimulus.delta
        if at not in conditions:
            groups: Sequence[Group] = metric.compared_in(*at)
            conditions[at] = [criterion_for(shown.probe, shown.protocol, metric, g, place) for g in groups]
        for question in conditions[at]:
            yield question, unit.key, event


def _lost(observations: Iterable[Observation], identity: Identity) -> Iterator[Entry]:
    for observation in observations:
        stimulus, key = observation.stimulus, _key(observation, identity)
        for question, kind in LOSSES.items():
            event = isinstance(observation.verdict, kind)
            yield question, key, UnitEvent(event, None, stimulus.id, stimulus.cluster)


def _contradictions(observations: Iterable[Observation], identity: Identity) -> Iterator[Entry]:
    for observation in observations:
        stimulus, contradicts = observation.stimulus, observation.contradicts
        loss = loss_of([observation.verdict]) or (UNNAMED if contradicts is None else None)
        event = UnitEvent(contradicts, loss, stimulus.id, stimulus.cluster)
        yield CONTRADICTIONS, _key(observation, identity), event


def _key(observation: Observation, identity: Identity) -> Key:
    shown = identity(observation.stimulus), observation.order, observation.replicate
    return call_key(observation.protocol, shown)


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

    def to_json(self) -> dict[str, int]:
        """A plain mapping; the reasons that few figures have where they are met."""
        everywhere = ("not_shown", "unreadable", "failed")
        return {key: count for key, count in asdict(self).items() if count or key in everywhere}


@dataclass(frozen=True)
class Units:
    events: Mapping[Key, UnitEvent]
    protocol: str
    calls: Collection[Key]

    @classmethod
    def of(cls, question: ComparisonCriterion, events: UnitEvents) -> Units:
        every = next(iter(LOSSES))
        protocol = str(question.condition.get("protocol", ""))
        return cls(events.get(question, {}), protocol, events.get(every, {}).keys())

    def shared(self, other: Units) -> list[Key]:
        """Units of both judges that are held against the same reference, or against none; sorted."""
        mine, theirs = self.events, other.events
        return sorted(key for key in mine.keys() & theirs.keys() if mine[key].against == theirs[key].against)

    def dropped(self, other: Units, shared: Sequence[Key]) -> Dropped:
        """Units of the other judge that lack a verdict of this one, by reason; `shared` are those of both."""
        mine, both = self.events, self.events.keys() & other.events.keys()
        absent = other.events.keys() - mine.keys()
        seen = sum(call_key(self.protocol, key) in self.calls for key in absent)
        lost = [mine[key].loss for key in shared]
        return Dropped(
            not_shown=len(absent) - seen,
            unreadable=lost.count("unreadable"),
            failed=lost.count("failed"),
            no_reference=seen,
            other_reference=len(both) - len(lost),
            abstained=lost.count("abstained"),
            unnamed=lost.count(UNNAMED),
        )
