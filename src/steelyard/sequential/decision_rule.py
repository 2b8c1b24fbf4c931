"""A rule that a sequential run decides: a figure, a direction, a limit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.errors import ConfigError
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.scores.columns import Scores
from steelyard.probes.probe import PAIRWISE, POINTWISE, REPEATS
from steelyard.probes.probe_metadata import installed_probes, metrics_of, probes_in
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Stimulus

BUILT_IN = "built-in"
"""Where pairs of the catalogue are drawn."""
DRAWN = {
    BUILT_IN: "the built-in pairs",
    PAIRWISE: "pairs of your data",
    POINTWISE: "single texts of your data",
}
"""What is drawn, in words."""
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
    form: str = BUILT_IN
    """Whose stimuli are drawn: the catalogue's pairs, or pairs or single texts of the user's data."""

    def __str__(self) -> str:
        step = "" if self.delta is None else f"@delta={self.delta:g}"
        return f"{self.metric}{step}{self.side}{self.limit:g}"

    @property
    def probe(self) -> str:
        """The probe whose pairs show the figure."""
        return decidable(self.form)[self.metric][0]

    @property
    def figure(self) -> Metric:
        """What is counted."""
        return decidable(self.form)[self.metric][1]

    @property
    def noun(self) -> str:
        """What is drawn."""
        return "row" if self.form == POINTWISE else "pair"

    def concerns(self, stimulus: Stimulus) -> bool:
        """True for the stimuli that the figure is about."""
        figure = self.figure
        return (
            stimulus.probe == (ORIGINAL if self.form == POINTWISE else self.probe)
            and bool(figure.conditions(stimulus.kind, stimulus.delta))
            and (stimulus.labelled or not figure.labelled)
            and (self.delta is None or stimulus.delta == self.delta)
        )

    def share(self, columns: Pairs | Scores) -> Floats:
        """What each complete pair or call contributes: its event, or the share of its calls with it."""
        events = self.figure.events(columns).astype(np.float64)
        return np.asarray(events.reshape(len(columns), -1).mean(axis=1))

    def holds(self, side: str) -> bool:
        """Whether a figure found `above` or `below` the limit is as the rule wants it."""
        return side == {"<": "below", ">": "above"}[self.side]


@cache
def decidable(form: str = BUILT_IN) -> Mapping[str, tuple[str, Metric]]:
    """Metrics by their ids, with the probe: shares of what is drawn, or of its calls."""
    shares: dict[str, tuple[str, Metric]] = {}
    for name in _probes(form):
        for metric in metrics_of(name):
            if metric.event is not None:
                shares.setdefault(metric.id, (name, metric))
    return shares


def _probes(form: str) -> Iterator[str]:
    """Probes whose stimuli can be drawn one by one: of data, those of items as they are."""
    if form == POINTWISE:
        yield from probes_in(REPEATS)
        return
    for name, probe in installed_probes().items():
        pairs = PAIRWISE in getattr(probe, "forms", (PAIRWISE,))
        if pairs and bool(getattr(probe, "needs", "")) == (form == PAIRWISE):
            yield name


def parse_rule(text: str, form: str = BUILT_IN) -> DecisionRule:
    """The rule in a text, or one sentence about what is wrong with it."""
    match = FORM.fullmatch(text)
    if match is None:
        raise _wrong(text, "expected metric<limit or metric>limit, such as dark_current<0.10")
    metric, delta = match["metric"], match["delta"]
    known = decidable(form)
    if metric not in known:
        elsewhere = [other for other in (BUILT_IN, PAIRWISE, POINTWISE) if metric in decidable(other)]
        hint = f" ({metric} belongs to {DRAWN[elsewhere[0]]})" if elsewhere else ""
        raise _wrong(text, f"unknown metric {metric!r} of {DRAWN[form]}{hint}; known: {', '.join(known)}")
    limit = _number(match["limit"])
    if limit is None or not 0 < limit < 1:
        raise _wrong(text, f"found the limit {match['limit']}, expected a number between 0 and 1")
    step = None if delta is None else _number(delta)
    by_step = known[metric][1].by_step and form == BUILT_IN
    if by_step and not step:
        raise _wrong(text, f"{metric} belongs to a quality step; write {metric}@delta=1")
    if delta is not None and not by_step:
        raise _wrong(text, f"{metric} has no quality step; leave @delta out")
    return DecisionRule(metric, match["side"], limit, step, form)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _wrong(text: str, problem: str) -> ConfigError:
    return ConfigError(f"--decide {text!r}: {problem}.")
