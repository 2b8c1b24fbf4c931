"""What a judge did with each unit, as events on which two judges can be paired.

A question is a figure of the datasheet that is a share of events: calls, pairs or items either show the
event or do not. Figures that are no such share (thresholds, d′, correlations) have no unit to be paired on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from steelyard.metrics.comparison.item_outcomes import item_outcomes
from steelyard.metrics.comparison.question import Group, Key, Outcome, Question, outcome_of, question_of
from steelyard.metrics.heading import step
from steelyard.stimuli.expectation import NoPreference, Prefers, Unknown
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

Identity = Callable[[Stimulus], str]
"""What makes two stimuli the same: the content hash, or the name where texts are not known."""
Outcomes = dict[Question, dict[Key, Outcome]]


@dataclass(frozen=True)
class _CallFigure:
    probe: str
    metric: str
    groups: Callable[[Stimulus], Sequence[Group]]
    event: Callable[[Observation], bool]
    labelled: bool = False
    """The event is held against a reference."""


@dataclass(frozen=True)
class _PairFigure:
    probe: str
    metric: str
    groups: Callable[[Stimulus], Sequence[Group]]
    event: Callable[[str | None, str | None], bool]


def outcomes(observations: Sequence[Observation], identity: Identity) -> Outcomes:
    """Every unit of one judge, by question."""
    found: Outcomes = {}
    for question, key, outcome in _all(observations, identity):
        found.setdefault(question, {})[key] = outcome
    return found


def _all(observations: Sequence[Observation], identity: Identity) -> Iterator[tuple[Question, Key, Outcome]]:
    for observation in observations:
        name, stimulus = identity(observation.stimulus), observation.stimulus
        key = (name, observation.order, observation.replicate)
        for question, event, labelled in _of_call(observation):
            yield question, key, outcome_of(stimulus, [observation.verdict], event, labelled=labelled)
        for question, kind in LOSSES.items():
            event = isinstance(observation.verdict, kind)
            yield question, call_key(observation.protocol, key), outcome_of(stimulus, [], event)
    yield from _of_pairs(observations, identity)
    yield from item_outcomes(observations, identity)


LOSSES = {
    Question("run", "unreadable_rate", (), "call"): Unreadable,
    Question("run", "failed_rate", (), "call"): Failed,
}
"""Questions of every call that a judge was asked."""


def call_key(protocol: str, key: Key) -> Key:
    """The unit among all calls of a judge, whatever the protocol."""
    name, order, replicate = key
    return name, f"{protocol} {order}", replicate


def _of_call(observation: Observation) -> Iterator[tuple[Question, bool, bool]]:
    """Each question with its event, and whether that is held against a reference."""
    stimulus = observation.stimulus
    for figure in _CALLS:
        if figure.probe == stimulus.probe and len(stimulus.texts) == 2:
            for group in figure.groups(stimulus):
                question = question_of(observation, figure.metric, group, "call")
                yield question, figure.event(observation), figure.labelled


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
        if len(orders) == 2:
            for question, outcome in _of_pair(orders["uv"], orders["vu"]):
                yield question, (name, "", replicate), outcome


def _of_pair(u_first: Observation, v_first: Observation) -> Iterator[tuple[Question, Outcome]]:
    stimulus, verdicts = u_first.stimulus, [u_first.verdict, v_first.verdict]
    slots = _slot(u_first.verdict), _slot(v_first.verdict)
    for figure in _PAIRS:
        if figure.probe == stimulus.probe:
            for group in figure.groups(stimulus):
                question = question_of(u_first, figure.metric, group, "pair")
                yield question, outcome_of(stimulus, verdicts, figure.event(*slots))


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


def _any(stimulus: Stimulus) -> Sequence[Group]:
    del stimulus
    return ({},)


def _equals(stimulus: Stimulus) -> Sequence[Group]:
    same = stimulus.kind == "same_subset" and not stimulus.delta
    return ({"delta": 0, "kind": "same_subset"},) if same else ()


def _step(stimulus: Stimulus) -> Sequence[Group]:
    better = isinstance(stimulus.expectation, Prefers) and stimulus.delta is not None and stimulus.delta > 0
    return ({"delta": step(stimulus.delta or 0)},) if better else ()


def _steps(stimulus: Stimulus) -> Sequence[Group]:
    """Each step by itself, and all of them together."""
    own = _step(stimulus)
    return ({}, *own) if own else ()


def _labelled(stimulus: Stimulus) -> Sequence[Group]:
    return () if isinstance(stimulus.expectation, Unknown) else ({},)


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
    _CallFigure("ladder", "target_sensitivity", _steps, _agrees, labelled=True),
    _CallFigure("ladder", "tie_rate", _step, _neither),
    _CallFigure("position", "accuracy", _labelled, _agrees, labelled=True),
    _CallFigure("position", "tie_rate", _any, _neither),
)
_PAIRS = (
    _PairFigure("ladder", "stable_cross_sensitivity", _equals, _same_content),
    _PairFigure("ladder", "positional_false_preference", _equals, _both(None)),
    _PairFigure("position", "order_consistency", _any, _same_content),
    _PairFigure("position", "flip_first", _any, _both("1")),
    _PairFigure("position", "flip_second", _any, _both("2")),
)
