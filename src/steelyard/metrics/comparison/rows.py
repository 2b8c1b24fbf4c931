"""The rows of one judge that comparisons pair: units of each probe and protocol, edited and rotated items.

Units come from columns of pairs or scores. Verdicts on edited items stand beside those on the items as they
are: kept or not, and beyond what repeats change. Items in every rotation show which slots are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from math import inf, isnan, nan
from typing import Any, NamedTuple

import numpy as np

from steelyard.metrics.metric import LEFT_OUT, Amount, Group, Metric
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.scores.best_of import ROTATION_CONSISTENCY, SLOT_PREFERENCE, RotationSets
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.stats.intervals import Span
from steelyard.stimuli.original import ORIGINAL, PERTURBED, ROTATION
from steelyard.stimuli.stimulus import Label, Stimulus
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Unreadable, Verdict

Key = tuple[str, str, int]
"""Which unit: what was shown, in which order (empty where both make one unit), which replicate."""
Figure = tuple[str, str, str]


@dataclass(frozen=True)
class ComparisonCriterion:
    """A figure whose units are events or not, or add an amount each."""

    probe: str
    """Probe whose stimuli are the units; `run` for all calls."""
    metric: str
    group: tuple[tuple[str, str | float], ...]
    unit: str
    place: int = field(default=0, compare=False)
    amount: Amount | None = field(default=None, compare=False)
    """What each unit adds, where the figure is no share of events."""

    @property
    def condition(self) -> dict[str, str | float]:
        return dict(self.group)

    @property
    def figure(self) -> Figure:
        return self.probe, self.metric, str(self.condition.get("protocol", ""))

    @property
    def title(self) -> str:
        return f"comparison of {self.metric} in {self.probe}"

    def sort_key(self, order: Sequence[str]) -> tuple[Any, ...]:
        """Base before other protocols, probes and metrics as a reader meets them, losses last."""
        group = self.condition
        protocol = str(group.get("protocol", ""))
        return (
            self.probe == "run",
            protocol != "base",
            protocol,
            order.index(self.probe) if self.probe in order else len(order),
            self.probe,
            self.place,
            float(group.get("delta", inf)),
            self.metric,
            repr(self.group),
        )


class UnitEvent(NamedTuple):
    happened: float | None
    """Whether it showed the event, or what it adds to a mean; None without a verdict."""
    loss: str | None
    """`unreadable` or `failed` where there is no verdict, `abstained` where the verdict adds nothing."""
    pair: str
    """The pair or item behind the unit; its orders and replicates are not independent."""
    cluster: str
    against: str = ""
    side: int = 0
    """The side of a balance that it stands on; 0 for none."""
    ends: Span = (0.0, 1.0)


def criterion_for(probe: str, protocol: str, metric: Metric, group: Group, place: int) -> ComparisonCriterion:
    own = {} if metric.amount is None else metric.amount.group
    items = tuple(sorted({**group, **own, "protocol": protocol}.items()))
    return ComparisonCriterion(probe, metric.id, items, metric.unit, place, metric.amount)


def loss_of(verdicts: Iterable[Verdict]) -> str | None:
    """Why a unit that rests on these verdicts has none, `failed` first; None where it has one."""
    kinds = {type(verdict) for verdict in verdicts}
    return "failed" if Failed in kinds else "unreadable" if Unreadable in kinds else None


Identity = Callable[[Stimulus], str]
"""What makes two stimuli the same: the content hash, or the name where texts are not known."""


class Unit(NamedTuple):
    """Calls that show an event together, or do not."""

    place: tuple[int, int]
    """Row of the columns, and number of the unit within it."""
    key: Key
    stimulus: Stimulus
    loss: str | None
    reference: str | None
    """What it can be held against; None without a reference, or with the judge's own verdict for one."""

    def event(self, value: float, against: str, side: int = 0, ends: Span = (0.0, 1.0)) -> UnitEvent:
        """What the unit shows, or why nothing; a value of NaN adds nothing."""
        loss, shown = self.loss or ("abstained" if isnan(value) else None), self.stimulus
        return UnitEvent(None if loss else value, loss, shown.id, shown.cluster, against, side, ends)


@dataclass(frozen=True, eq=False)
class ProbeRows:
    """The observations of a probe under a protocol; columns and units serve all its metrics."""

    probe: str
    protocol: str
    columns: Pairs | Scores
    units: dict[str, list[Unit]]
    """Units by what a metric counts: `call`; `pair` where pairs were shown in both orders, `item`."""

    def events(self, metric: Metric) -> Iterator[tuple[Unit, UnitEvent]]:
        """The units that the metric counts, with what each shows; none lacks a reference that it needs."""
        labelled, amount, columns = metric.needs_reference, metric.amount, self.columns
        every = self.units.get(metric.unit, [])
        units = [unit for unit in every if unit.reference is not None] if labelled else every
        against = {unit.place: unit.reference or "" if labelled else "" for unit in units}
        if amount is None or amount.of is None:
            mask = metric.events(columns).reshape(len(columns), -1)
            for unit in units:
                yield unit, unit.event(bool(mask[unit.place]), against[unit.place])
            return
        values = np.asarray(amount.of(columns, self._lengths), dtype=np.float64).reshape(len(columns), -1)
        sides = amount.side(columns, self._lengths) if amount.side else np.zeros(len(columns), dtype=np.int64)
        low, high = amount.ends
        for unit in units:
            row = unit.place[0]
            if sides[row] != LEFT_OUT:
                span = 1.0
                if amount.in_levels and isinstance(columns, Scores):
                    span = float(columns.high[row] - columns.low[row])
                value, ends = float(values[unit.place]), (low * span, high * span)
                yield unit, unit.event(value, against[unit.place], int(sides[row]), ends)

    @cached_property
    def _lengths(self) -> list[tuple[int, ...] | None]:
        lengths: list[tuple[int, ...] | None] = [None] * len(self.columns)
        for unit in self.units["call"]:
            shown = unit.stimulus
            lengths[unit.place[0]] = shown.pair_lengths if len(shown.texts) == 2 else (shown.words,)
        return lengths


def pair_rows(observations: Sequence[Observation], identity: Identity) -> Iterator[ProbeRows]:
    for probe, protocol, mine in _parts(observations):
        pairs = collect(mine)
        calls = {(o.stimulus.id, o.replicate, o.order): o for o in mine}
        replicates = pairs.replicate.tolist()
        names = [(pairs.names[number], replicates[row]) for row, number in enumerate(pairs.pair.tolist())]
        units: dict[str, list[Unit]] = {"call": [], "pair": []}
        for row, name in enumerate(names):
            both = [calls.get((*name, order)) for order in ORDERS]
            places = [(order, call) for order, call in enumerate(both) if call is not None]
            asked = [call for _, call in places]
            units["call"] += [_unit((row, order), [call], identity, call.order) for order, call in places]
            if len(asked) == len(both):
                units["pair"].append(_unit((row, 0), asked, identity, ""))
        yield ProbeRows(probe, protocol, pairs, units)


def score_rows(observations: Sequence[Observation], identity: Identity) -> Iterator[ProbeRows]:
    for probe, protocol, mine in _parts(observations):
        scores = collect_scores(mine)
        calls = {(o.stimulus.id, o.replicate): o for o in mine}
        names = [scores.stimuli[number] for number in scores.stimulus]
        shown = [calls[name] for name in zip(names, scores.replicate.tolist(), strict=True)]
        units = [_unit((row, 0), [call], identity, call.order) for row, call in enumerate(shown)]
        yield ProbeRows(probe, protocol, scores, {"call": units, "item": units})


def _unit(place: tuple[int, int], calls: Sequence[Observation], identity: Identity, order: str) -> Unit:
    call, stimulus = calls[0], calls[0].stimulus
    reference = repr(stimulus.expectation) if stimulus.labelled and not call.own_label else None
    key, loss = (identity(stimulus), order, call.replicate), loss_of(call.verdict for call in calls)
    return Unit(place, key, stimulus, loss, reference)


def _parts(observations: Iterable[Observation]) -> Iterator[tuple[str, str, list[Observation]]]:
    parts: dict[tuple[str, str], list[Observation]] = {}
    for observation in observations:
        parts.setdefault((observation.stimulus.probe, observation.protocol), []).append(observation)
    return ((*names, mine) for names, mine in parts.items())


Entry = tuple[ComparisonCriterion, Key, UnitEvent]


def rotation_events(
    scores: Sequence[Observation], identity: Identity, metrics_of: Callable[[str], Sequence[Metric]]
) -> Iterator[Entry]:
    """Items that were shown in every rotation: whether the choice is kept, and each slot's share less 1/N."""
    for probe, protocol, mine in _parts(o for o in scores if o.stimulus.kind == ROTATION):
        sets, declared = RotationSets.of(collect_scores(mine)), metrics_of(probe)
        slots, kept = range(1, sets.responses + 1), sets.votes.max(axis=1) == sets.responses
        above = np.stack([(sets.slot == slot).mean(axis=1) for slot in slots], axis=1) - 1 / sets.responses
        same = criterion_for(probe, protocol, ROTATION_CONSISTENCY, {}, declared.index(ROTATION_CONSISTENCY))
        place = declared.index(SLOT_PREFERENCE)
        named = [criterion_for(probe, protocol, SLOT_PREFERENCE, {"slot": slot}, place) for slot in slots]
        calls: dict[tuple[str, int], list[Observation]] = {}
        for call in mine:
            calls.setdefault((call.stimulus.lineage.parent, call.replicate), []).append(call)
        for row, (item, replicate) in enumerate(zip(sets.item, sets.replicate.tolist(), strict=True)):
            asked = calls[sets.scores.items[item], replicate]
            if len(asked) < sets.responses:
                continue
            shown, lost = min((call.stimulus for call in asked), key=_turn), loss_of(c.verdict for c in asked)
            unit = Unit((row, 0), (identity(shown), "", replicate), shown, lost, None)
            yield same, unit.key, unit.event(bool(kept[row]), "")
            for question, share in zip(named, above[row].tolist(), strict=True):
                value, even = share if sets.chosen[row] else nan, 1 / sets.responses
                yield question, unit.key, unit.event(value, "", ends=(-even, 1 - even))


def _turn(stimulus: Stimulus) -> float:
    return stimulus.level or 0.0


def edit_invariance_events(
    scores: Sequence[Observation], identity: Identity, metrics_of: Callable[[str], Sequence[Metric]]
) -> Iterator[Entry]:
    """Edits that keep the label beside the calls on their item, of probes that report invariance."""
    originals: dict[tuple[str, str], list[Observation]] = {}
    edits: dict[tuple[str, str, str], list[Observation]] = {}
    for seen in scores:
        protocol, item = seen.protocol, seen.stimulus.lineage.parent
        if seen.stimulus.kind == ORIGINAL:
            originals.setdefault((protocol, item), []).append(seen)
        elif seen.stimulus.kind == PERTURBED:
            edits.setdefault((seen.stimulus.probe, protocol, item), []).append(seen)
    for (probe, protocol, item), edited in edits.items():
        declared = metrics_of(probe)
        plain = originals.get((protocol, item), [])
        # An edit keeps the label where it expects that of the unchanged item, or has none of its own.
        kept = [
            edit
            for edit in edited
            if plain
            and (
                edit.stimulus.expectation == plain[0].stimulus.expectation
                or not isinstance(edit.stimulus.expectation, Label)
            )
        ]
        wanted = [metric for metric in (INVARIANCE, EXCESS_FLIP) if metric in declared]
        asked = {each: criterion_for(probe, protocol, each, {}, declared.index(each)) for each in wanted}
        if kept:
            yield from _items(asked, kept, plain, identity)


def _items(
    asked: Mapping[Metric, ComparisonCriterion],
    edited: Sequence[Observation],
    plain: Sequence[Observation],
    identity: Identity,
) -> Iterator[Entry]:
    """One item under each question: every comparison of an edit, and all of them less those of repeats."""
    if INVARIANCE in asked:
        for edit, own in product(edited, plain):
            key = (identity(edit.stimulus), f"beside {own.replicate}", edit.replicate)
            loss = loss_of((edit.verdict, own.verdict))
            event = None if loss else edit.verdict == own.verdict
            shown = edit.stimulus
            yield asked[INVARIANCE], key, UnitEvent(event, loss, shown.id, shown.cluster)
    if EXCESS_FLIP in asked and len(plain) > 1:
        excess = _excess([call.verdict for call in edited], [call.verdict for call in plain])
        loss = None if excess is not None else loss_of(call.verdict for call in (*edited, *plain))
        item = plain[0].stimulus
        unit = UnitEvent(excess, loss, item.id, item.cluster, ends=(-1.0, 1.0))
        yield asked[EXCESS_FLIP], (identity(item), "", 0), unit


def _excess(edited: Sequence[Verdict], plain: Sequence[Verdict]) -> float | None:
    """Share of changes by the edit less that by asking again; None where verdicts are missing for one."""
    edited, plain = (
        [verdict for verdict in side if isinstance(verdict, Decided | Abstained)] for side in (edited, plain)
    )
    changes = [edit != own for edit, own in product(edited, plain)]
    repeats = [one != other for one, other in combinations(plain, 2)]
    if not changes or not repeats:
        return None
    return sum(changes) / len(changes) - sum(repeats) / len(repeats)
