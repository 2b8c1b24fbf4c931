"""Which figures a rule is held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Protocol, TypeVar

from steelyard.commands.gate.policy import PolicyRule
from steelyard.datasheet.words.numbers import condition
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.losses import PROBE as RUN
from steelyard.stimuli.original import ORIGINAL


class Figure(Protocol):
    """What an estimate and a comparison have in common."""

    @property
    def probe(self) -> str:
        """The probe."""

    @property
    def metric(self) -> str:
        """The metric id."""

    @property
    def group(self) -> Mapping[str, str | float]:
        """The condition."""


SAME_CONTENT = "same_subset"
"""Kind of equal pairs whose texts say the same."""
WHOLE = (RUN, ORIGINAL)
"""What a rule without a probe means where there is such a figure: all calls, all items as they are."""

F = TypeVar("F", bound=Figure)


def select(rule: PolicyRule, figures: Iterable[F]) -> list[F]:
    """The figures that a rule names; what it leaves open is taken pooled, under the base protocol.

    A rule without a probe means all calls of the run, or the items as they are, where there is such a figure.

    Where a figure is not pooled over what the rule leaves open, each part must keep the limits, except that
    figures of equal pairs mean those of the same content unless the rule says otherwise.
    """
    named = [f for f in figures if f.metric == rule.metric and rule.probe in (None, f.probe)]
    named = [f for f in named if all(f.group.get(key) == value for key, value in rule.group.items())]
    if "protocol" not in rule.group:
        named = _prefer(named, [f for f in named if f.group.get("protocol", "base") == "base"])
    if rule.probe is None:
        named = _prefer(named, [f for f in named if f.probe in WHOLE])
    named = [f for f in named if not any(_pools(other, f) for other in named)]
    if "kind" not in rule.group and not rule.group.get("delta"):
        decomposed = {f.probe for f in named if f.group.get("kind") == SAME_CONTENT}
        named = [f for f in named if f.probe not in decomposed or f.group.get("kind") == SAME_CONTENT]
    return named


def select_read(rule: PolicyRule, figures: Iterable[Estimate]) -> list[Estimate]:
    """The figures of a rule that leaves the limit to the datasheet: those that it finds something of.

    Where it finds nothing of any, those that the rule names.
    """
    every = list(figures)
    found = [f for f in every if f.metric == rule.metric and f.finding is not None]
    found = [f for f in found if f.group.get("protocol", "base") == "base"]
    found = [f for f in found if all(f.group.get(key) == value for key, value in rule.group.items())]
    return [f for f in found if not any(_pools(other, f) for other in found)] or select(rule, every)


def _prefer(all_of_them: list[F], some: list[F]) -> list[F]:
    return some or all_of_them


def _pools(wide: Figure, narrow: Figure) -> bool:
    """True where one figure is the other, pooled over more."""
    return wide.probe == narrow.probe and set(wide.group.items()) < set(narrow.group.items())


def unmatched(rule: PolicyRule, figures: Sequence[Figure], where: str) -> ConfigError:
    """The sentence about a rule that fits no figure, with what there is."""
    metrics = sorted({figure.metric for figure in figures})
    if rule.metric not in metrics:
        close = get_close_matches(rule.metric, metrics, 1)
        hint = f"did you mean {close[0]!r}" if close else f"expected one of {', '.join(metrics)}"
        return ConfigError(f"{where}: no figure {rule.metric!r} on the datasheet; {hint}.")
    there = [f"{f.probe}: {condition(f.group)}" for f in figures if f.metric == rule.metric]
    shown = "; ".join(there[:6]) + ("; …" if len(there) > 6 else "")
    return ConfigError(f"{where}: no {rule.metric} under the conditions of the rule; there is {shown}.")
