"""Questions on which two judges can be paired, and what became of each unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from steelyard.metrics.metric import Group, Metric
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.verdict import Failed, Unreadable, Verdict

Key = tuple[str, str, int]
"""Which unit: what was shown, in which order (empty where both make one unit), which replicate."""


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
    """What is counted: `call`, `pair` or `comparison`."""
    place: int = field(default=0, compare=False)
    """Where the probe names the metric among its own."""

    @property
    def condition(self) -> dict[str, str | float]:
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
    """Cluster."""
    against: str = ""
    """The reference that the event is held against, where it is held against one."""


def question_of(observation: Observation, metric: Metric, group: Group, place: int) -> Question:
    """The question that an observation answers, under its own probe and protocol."""
    items = tuple(sorted({**group, "protocol": observation.protocol}.items()))
    return Question(observation.stimulus.probe, metric.id, items, metric.unit, place)


def outcome_of(
    stimulus: Stimulus, verdicts: Iterable[Verdict], event: bool, *, labelled: bool = False
) -> Outcome:
    """The unit's event, or why there is none: a verdict that it rests on is missing.

    `labelled` says that the event is held against the reference of the stimulus.
    """
    lost = {type(verdict) for verdict in verdicts} & {Failed, Unreadable}
    reason = "failed" if Failed in lost else "unreadable" if lost else None
    against = repr(stimulus.expectation) if labelled else ""
    return Outcome(None if reason else event, reason, stimulus.id, stimulus.cluster, against)
