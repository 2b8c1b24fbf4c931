"""What a judge did with each unit, as events on which two judges can be paired.

A question is a figure of the datasheet that is a share of events: calls, pairs or items either show the
event or do not. Figures that are no such share (thresholds, d′, correlations) have no unit to be paired on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.metrics.heading import step
from steelyard.stimuli.expectation import Label, NoPreference, Prefers, Unknown
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

Key = tuple[str, str, int]
"""Which unit: what was shown, in which order (empty where both make one unit), which replicate."""
Identity = Callable[[Stimulus], str]
"""What makes two stimuli the same: the content hash, or the name where texts are not known."""
Group = dict[str, str | float]


@dataclass(frozen=True)
class Question:
    """A figure whose units are events or not."""

    probe: str
    """Probe whose stimuli are the units; `run` for all calls."""
    metric: str
    """Metric id."""
    group: tuple[tuple[str, str | float], ...]
    """Condition, as sorted items."""
    unit: str
    """What is counted: `call`, `pair` or `item`."""

    @property
    def condition(self) -> Group:
        """The condition as a mapping."""
        return dict(self.group)


@dataclass(frozen=True)
class Outcome:
    """What became of one unit."""

    event: bool | None
    """Whether it showed the event; None without a verdict."""
    lost: str | None
    """`unreadable` or `failed` where there is no verdict."""
    pair: str
    """The pair or item behind the unit; its orders and replicates are not independent."""
    cluster: str
    """Task."""


Outcomes = dict[Question, dict[Key, Outcome]]


@dataclass(frozen=True)
class _CallFigure:
    probe: str
    metric: str
    group: Callable[[Stimulus], Group | None]
    event: Callable[[Observation], bool]


@dataclass(frozen=True)
class _PairFigure:
    probe: str
    metric: str
    group: Callable[[Stimulus], Group | None]
    event: Callable[[str | None, str | None], bool]


def outcomes(observations: Sequence[Observation], identity: Identity) -> Outcomes:
    """Every unit of one judge, by question."""
    found: Outcomes = {}
    for question, key, outcome in _all(observations, identity):
        found.setdefault(question, {})[key] = outcome
    return found


def _all(observations: Sequence[Observation], identity: Identity) -> Iterator[tuple[Question, Key, Outcome]]:
    for observation in observations:
        key = (identity(observation.stimulus), observation.order, observation.replicate)
        for question, event in _of_call(observation):
            yield question, key, _outcome(observation.stimulus, [observation.verdict], event)
        for metric, kind in _LOSSES.items():
            shown = (key[0], f"{observation.protocol} {observation.order}", observation.replicate)
            event = isinstance(observation.verdict, kind)
            yield Question("run", metric, (), "call"), shown, _outcome(observation.stimulus, [], event)
    yield from _of_pairs(observations, identity)
    yield from _of_items(observations, identity)


_LOSSES = {"unreadable_rate": Unreadable, "failed_rate": Failed}


def _of_call(observation: Observation) -> Iterator[tuple[Question, bool]]:
    stimulus = observation.stimulus
    for figure in _CALLS:
        group = figure.group(stimulus) if figure.probe == stimulus.probe else None
        if group is not None:
            question = _question(observation, figure.metric, group, "call")
            yield question, figure.event(observation)


def _of_pairs(
    observations: Iterable[Observation], identity: Identity
) -> Iterator[tuple[Question, Key, Outcome]]:
    """Pairs that were shown in both orders."""
    rows: dict[tuple[str, str, int], dict[str, Observation]] = {}
    for observation in observations:
        if len(observation.stimulus.texts) == 2:
            row = (observation.protocol, identity(observation.stimulus), observation.replicate)
            rows.setdefault(row, {})[observation.order] = observation
    for (_, name, replicate), orders in rows.items():
        if len(orders) < 2:
            continue
        u_first, v_first = orders["uv"], orders["vu"]
        for figure in _PAIRS:
            stimulus = u_first.stimulus
            group = figure.group(stimulus) if figure.probe == stimulus.probe else None
            if group is not None:
                event = figure.event(_slot(u_first.verdict), _slot(v_first.verdict))
                verdicts = [u_first.verdict, v_first.verdict]
                question = _question(u_first, figure.metric, group, "pair")
                yield question, (name, "", replicate), _outcome(stimulus, verdicts, event)


def _of_items(
    observations: Sequence[Observation], identity: Identity
) -> Iterator[tuple[Question, Key, Outcome]]:
    """Scores against the expected one, and scores of edited items against the judge's own on the original."""
    scores = [o for o in observations if len(o.stimulus.texts) == 1]
    originals = {
        (o.protocol, o.stimulus.lineage.parent, o.replicate): o.verdict
        for o in scores
        if o.stimulus.kind == "original"
    }
    for observation in scores:
        stimulus, verdict = observation.stimulus, observation.verdict
        key = (identity(stimulus), observation.order, observation.replicate)
        if isinstance(stimulus.expectation, Label):
            right = verdict == Decided(stimulus.expectation.value)
            question = _question(observation, "accuracy", {}, "call")
            yield question, key, _outcome(stimulus, [verdict], right)
        parent = (observation.protocol, stimulus.lineage.parent, observation.replicate)
        if stimulus.kind == "perturbed" and parent in originals:
            own = originals[parent]
            question = _question(observation, "invariance", {}, "item")
            yield question, key, _outcome(stimulus, [verdict, own], verdict == own)


def _question(observation: Observation, metric: str, group: Mapping[str, str | float], unit: str) -> Question:
    items = tuple(sorted({**group, "protocol": observation.protocol}.items()))
    return Question(observation.stimulus.probe, metric, items, unit)


def _outcome(stimulus: Stimulus, verdicts: Iterable[Verdict], event: bool) -> Outcome:
    verdicts = list(verdicts)
    lost = None
    if any(isinstance(verdict, Failed) for verdict in verdicts):
        lost = "failed"
    elif any(isinstance(verdict, Unreadable) for verdict in verdicts):
        lost = "unreadable"
    return Outcome(None if lost else event, lost, stimulus.id, stimulus.cluster)


def _decided(observation: Observation) -> bool:
    return isinstance(observation.verdict, Decided)


def _neither(observation: Observation) -> bool:
    return isinstance(observation.verdict, (Tie, Abstained))


def _agrees(observation: Observation) -> bool:
    """The call names the better text; where neither is better, a tie agrees."""
    expectation = observation.stimulus.expectation
    if isinstance(expectation, Prefers):
        return observation.winner == expectation.content
    return isinstance(expectation, NoPreference) and _neither(observation)


def _slot(verdict: Verdict) -> str | None:
    return verdict.value if isinstance(verdict, Decided) else None


def _any(stimulus: Stimulus) -> Group | None:
    del stimulus
    return {}


def _equals(stimulus: Stimulus) -> Group | None:
    same = stimulus.kind == "same_subset" and not stimulus.delta
    return {"delta": 0, "kind": "same_subset"} if same else None


def _climbs(stimulus: Stimulus) -> Group | None:
    better = isinstance(stimulus.expectation, Prefers) and stimulus.delta is not None and stimulus.delta > 0
    return {"delta": step(stimulus.delta or 0)} if better else None


def _labelled(stimulus: Stimulus) -> Group | None:
    return None if isinstance(stimulus.expectation, Unknown) else {}


def _same_content(u_first: str | None, v_first: str | None) -> bool:
    return u_first is not None and v_first is not None and u_first != v_first


def _both(slot: str | None) -> Callable[[str | None, str | None], bool]:
    """Both orders commit to the same slot; to this one where it is named."""

    def same_slot(u_first: str | None, v_first: str | None) -> bool:
        return u_first is not None and u_first == v_first and slot in (None, u_first)

    return same_slot


_CALLS = (
    _CallFigure("vacuum", "dark_current", _any, _decided),
    _CallFigure("ladder", "raw_false_preference", _equals, _decided),
    _CallFigure("ladder", "target_sensitivity", _climbs, _agrees),
    _CallFigure("ladder", "tie_rate", _climbs, _neither),
    _CallFigure("position", "accuracy", _labelled, _agrees),
    _CallFigure("position", "tie_rate", _any, _neither),
)
_PAIRS = (
    _PairFigure("ladder", "stable_cross_sensitivity", _equals, _same_content),
    _PairFigure("ladder", "positional_false_preference", _equals, _both(None)),
    _PairFigure("position", "order_consistency", _any, _same_content),
    _PairFigure("position", "flip_first", _any, _both("1")),
    _PairFigure("position", "flip_second", _any, _both("2")),
)
