"""A rule that a sequential run decides: a figure, a direction, a limit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from steelyard.errors import ConfigError
from steelyard.metrics.pairs.decidable import DECIDABLE, Decidable
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
    def figure(self) -> Decidable:
        """What the metric counts."""
        return DECIDABLE[self.metric]

    def concerns(self, stimulus: Stimulus) -> bool:
        """True for the stimuli that the figure is about."""
        return (
            stimulus.probe == self.figure.probe
            and stimulus.kind in self.figure.kinds
            and (self.delta is None or stimulus.delta == self.delta)
        )

    def holds(self, side: str) -> bool:
        """Whether a figure found `above` or `below` the limit is as the rule wants it."""
        return side == {"<": "below", ">": "above"}[self.side]


def parse_rule(text: str) -> DecisionRule:
    """The rule in a text, or one sentence about what is wrong with it."""
    match = FORM.fullmatch(text)
    if match is None:
        raise _wrong(text, "expected metric<limit or metric>limit, such as dark_current<0.10")
    metric, delta = match["metric"], match["delta"]
    if metric not in DECIDABLE:
        raise _wrong(text, f"unknown metric {metric!r}; known: {', '.join(DECIDABLE)}")
    limit = _number(match["limit"])
    if limit is None or not 0 < limit < 1:
        raise _wrong(text, f"found the limit {match['limit']}, expected a number between 0 and 1")
    step = None if delta is None else _number(delta)
    if DECIDABLE[metric].by_step and not step:
        raise _wrong(text, f"{metric} belongs to a quality step; write {metric}@delta=1")
    if delta is not None and not DECIDABLE[metric].by_step:
        raise _wrong(text, f"{metric} has no quality step; leave @delta out")
    return DecisionRule(metric, match["side"], limit, step)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _wrong(text: str, problem: str) -> ConfigError:
    return ConfigError(f"--decide {text!r}: {problem}.")
