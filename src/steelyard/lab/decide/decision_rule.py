"""A rule that a sequential run decides: a figure, a direction, a limit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from steelyard.arrays import Floats
from steelyard.errors import ConfigError
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.columns import Pairs
from steelyard.probes.catalogue import installed, metrics_of
from steelyard.probes.probe import PAIRWISE
from steelyard.stimuli.stimulus import Stimulus

FORM = re.compile(
    r"\s*(?P<metric>\w+)\s*(?:@\s*delta\s*=\s*(?P<delta>[0-9.]+)\s*)?(?P<side>[<>])\s*(?P<limit>[0-9.eE+-]+)\s*"
)


@dataclass(frozen=True)
class DecisionRule:
    """`dark_current<0.1`, `target_sensitivity@delta=1>0.8`."""

    metric: str
    """Metric id."""
    side: str
    """`<` or `>`: where the figure should lie."""
    limit: float
    """Between 0 and 1, both left out."""
    delta: float | None = None
    """Quality step, for figures that have one."""

    def __str__(self) -> str:
        step = "" if self.delta is None else f"@delta={self.delta:g}"
        return f"{self.metric}{step}{self.side}{self.limit:g}"

    @property
    def probe(self) -> str:
        """The probe whose pairs show the figure."""
        return decidable()[self.metric][0]

    @property
    def figure(self) -> Metric:
        """What is counted."""
        return decidable()[self.metric][1]

    def concerns(self, stimulus: Stimulus) -> bool:
        """True for the stimuli that the figure is about."""
        figure = self.figure
        return (
            stimulus.probe == self.probe
            and bool(figure.conditions(stimulus.kind, stimulus.delta))
            and (stimulus.labelled or not figure.labelled)
            and (self.delta is None or stimulus.delta == self.delta)
        )

    def share(self, pairs: Pairs) -> Floats:
        """What each complete pair contributes: its event, or the share of its calls with the event."""
        events = self.figure.events(pairs).astype(np.float64)
        return np.asarray(events.reshape(len(pairs), -1).mean(axis=1))

    def holds(self, side: str) -> bool:
        """Whether a figure found `above` or `below` the limit is as the rule wants it."""
        return side == {"<": "below", ">": "above"}[self.side]


@cache
def decidable() -> Mapping[str, tuple[str, Metric]]:
    """Metrics by their ids, with the probe: shares of pairs or their calls that the catalogue can show."""
    shares: dict[str, tuple[str, Metric]] = {}
    for name, probe in installed().items():
        if PAIRWISE in getattr(probe, "forms", (PAIRWISE,)) and not getattr(probe, "needs", ""):
            for metric in metrics_of(name):
                if metric.event is not None:
                    shares.setdefault(metric.id, (name, metric))
    return shares


def parse_rule(text: str) -> DecisionRule:
    """The rule in a text, or one sentence about what is wrong with it."""
    match = FORM.fullmatch(text)
    if match is None:
        raise _wrong(text, "expected metric<limit or metric>limit, such as dark_current<0.10")
    metric, delta = match["metric"], match["delta"]
    known = decidable()
    if metric not in known:
        raise _wrong(text, f"unknown metric {metric!r}; known: {', '.join(known)}")
    limit = _number(match["limit"])
    if limit is None or not 0 < limit < 1:
        raise _wrong(text, f"found the limit {match['limit']}, expected a number between 0 and 1")
    step = None if delta is None else _number(delta)
    if known[metric][1].by_step and not step:
        raise _wrong(text, f"{metric} belongs to a quality step; write {metric}@delta=1")
    if delta is not None and not known[metric][1].by_step:
        raise _wrong(text, f"{metric} has no quality step; leave @delta out")
    return DecisionRule(metric, match["side"], limit, step)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _wrong(text: str, problem: str) -> ConfigError:
    return ConfigError(f"--decide {text!r}: {problem}.")
