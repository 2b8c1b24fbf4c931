"""The policy: limits that a judge's figures must keep, the figures each rule applies to, and its validity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from difflib import get_close_matches
from importlib.resources import files
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict

from steelyard.core.files import read_problem
from steelyard.core.validation import checked
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.numbers import condition
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.losses import PROBE as RUN
from steelyard.stimuli.original import ORIGINAL

if TYPE_CHECKING:
    from steelyard.metrics.comparison.comparison import Comparison

SHIPPED = ("smoke", "default", "strict")
VALID_FOR, FLAGS = "valid_for", "flags"
CLEAR_ON_SHEET = "clear"
"""In the place of limits: those of the datasheet, which has to call the figure clear."""
UNNAMED, ALLOW, FAIL = "unnamed", "allow", "fail"
"""Which flagged readings fail a judge: those that no rule names, none, or all."""


ALIASES = {"worth": "cue_worth"}
"""Short names of metrics in a policy."""

PolicyLike: TypeAlias = str | Path | Mapping[str, Any]


class RuleConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    max: float | None = None
    min: float | None = None
    delta: float | None = None
    base_level: float | None = None
    kind: str | None = None
    cue: str | None = None
    protocol: str | None = None
    slot: int | None = None
    stratum: str | None = None
    probe: str | None = None


@dataclass(frozen=True)
class PolicyRule:
    metric: str
    low: float | None
    high: float | None
    probe: str | None
    group: Mapping[str, str | float]
    uses_sheet_limit: bool = False
    """True where the datasheet's own finding decides, by the datasheet's own limit."""

    @property
    def span(self) -> tuple[float, float]:
        return -inf if self.low is None else self.low, inf if self.high is None else self.high

    @property
    def has_limit(self) -> bool:
        """Whether it sets, or takes over, a limit; a difference is tested and has none."""
        return self.low is not None or self.high is not None

    def __str__(self) -> str:
        named = [self.probe.replace("_", " ")] if self.probe else []
        named += [condition(self.group)] if self.group else []
        sides = (("at least", self.low), ("at most", self.high))
        limits = " and ".join(f"{word} {limit:g}" for word, limit in sides if limit is not None)
        return ", ".join([metric_named(self.metric).name, *named]) + f": {limits or 'fine on the datasheet'}"


@dataclass(frozen=True)
class Policy:
    rules: tuple[PolicyRule, ...]
    valid_for: timedelta | None
    """None: a certificate does not expire."""
    body: Mapping[str, Any]
    name: str = ""
    shipped: bool = False
    """True where it is for judges of any kind, so that a rule without a figure is left out."""
    flags: str = UNNAMED


def find_policy(given: PolicyLike) -> Policy:
    if isinstance(given, Mapping):
        return parse_policy(given, "policy")
    if not isinstance(given, (str, Path)):
        raise ConfigError(
            f"policy: found {type(given).__name__}, expected a file, a mapping of rules, or one of "
            f"{', '.join(SHIPPED)}."
        )
    path = Path(given)
    if path.exists() or str(given) not in SHIPPED:
        return load_policy(path)
    text = files(__package__).joinpath("policies", f"{given}.yaml").read_text(encoding="utf-8")
    return replace(parse_policy(yaml.safe_load(text), f"policy {given}"), name=str(given), shipped=True)


def load_policy(path: Path) -> Policy:
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        known = ", ".join(SHIPPED)
        raise ConfigError(f"{path}: {read_problem(path, error)}; name a policy file, or {known}.") from error
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise ConfigError(f"{path}: not YAML ({problem}); correct it.") from error
    return replace(parse_policy(body, str(path)), name=str(path))


def parse_policy(body: object, where: str) -> Policy:
    if not isinstance(body, Mapping) or not set(body) - {VALID_FOR, FLAGS}:
        raise ConfigError(f"{where}: no rule found, expected lines such as `dark_current: {{max: 0.05}}`.")
    rules = [
        _rule(ALIASES.get(metric, metric) if isinstance(metric, str) else metric, limits, where)
        for metric, entry in body.items()
        if metric not in (VALID_FOR, FLAGS)
        for limits in (entry if isinstance(entry, list) and entry else [entry])
    ]
    flags = body.get(FLAGS, UNNAMED)
    if flags not in (UNNAMED, ALLOW, FAIL):
        raise ConfigError(f"{where}: flags: found {flags!r}, expected {UNNAMED}, {ALLOW} or {FAIL}.")
    return Policy(tuple(rules), _valid_for(body.get(VALID_FOR), where), dict(body), flags=flags)


def _rule(metric: object, entry: object, where: str) -> PolicyRule:
    if isinstance(metric, str) and entry == CLEAR_ON_SHEET:
        limit = metric_named(metric).limit
        if limit is None:
            return PolicyRule(metric, None, None, None, {}, uses_sheet_limit=True)
        low, high = (end if isfinite(end) else None for end in limit.allowed)
        return PolicyRule(metric, low, high, None, limit.group, uses_sheet_limit=True)
    if not isinstance(metric, str) or not isinstance(entry, dict):
        raise ConfigError(
            f"{where}: {metric}: found {entry!r}, expected limits such as {{max: 0.05}}, a list of them, or "
            f"{CLEAR_ON_SHEET}."
        )
    limits = checked(RuleConfig, entry, f"{where}: {metric}")
    if limits.max is None and limits.min is None:
        raise ConfigError(f"{where}: {metric}: found neither max nor min, expected at least one of them.")
    if limits.max is not None and limits.min is not None and limits.min > limits.max:
        raise ConfigError(f"{where}: {metric}: min {limits.min:g} is above max {limits.max:g}; correct one.")
    named = limits.model_dump(exclude_none=True, exclude={"max", "min", "probe"})
    return PolicyRule(metric, limits.min, limits.max, limits.probe, named)


def _valid_for(text: object, where: str) -> timedelta | None:
    if text is None:
        return None
    match = re.fullmatch(r"([1-9]\d{0,4})([hdw])", str(text))
    if not match:
        raise ConfigError(f"{where}: valid_for: found {text!r}, expected a time such as 90d, 12w or 36h.")
    unit = {"h": "hours", "d": "days", "w": "weeks"}[match[2]]
    return timedelta(**{unit: int(match[1])})


MetricValue: TypeAlias = "Estimate | Comparison"
SAME_CONTENT = "same_subset"
"""Kind of equal pairs whose texts say the same."""
WHOLE = (RUN, ORIGINAL)
"""What a rule without a probe means where there is such a figure: all calls, all items as they are."""

F = TypeVar("F", bound=MetricValue)


def select(rule: PolicyRule, figures: Iterable[F]) -> list[F]:
    """The figures that a rule names; what it leaves open is taken pooled, under the base protocol.

    A rule without a probe means all calls of the run, or the items as they are, where there is such a figure.

    Where a figure is not pooled over what the rule leaves open, each part must keep the limits, except that
    figures of equal pairs mean those of the same content unless the rule says otherwise.
    """
    named = [f for f in figures if f.metric == rule.metric and rule.probe in (None, f.probe)]
    named = [f for f in named if all(f.group.get(key) == value for key, value in rule.group.items())]
    if "protocol" not in rule.group:
        named = [f for f in named if f.group.get("protocol", "base") == "base"] or named
    if rule.probe is None:
        named = [f for f in named if f.probe in WHOLE] or named
    named = [f for f in named if not any(_pools(other, f) for other in named)]
    if "kind" not in rule.group and not rule.group.get("delta"):
        decomposed = {f.probe for f in named if f.group.get("kind") == SAME_CONTENT}
        named = [f for f in named if f.probe not in decomposed or f.group.get("kind") == SAME_CONTENT]
    return named


def select_with_finding(rule: PolicyRule, figures: Iterable[Estimate]) -> list[Estimate]:
    """The figures of a rule that leaves the limit to the datasheet: those that it finds something of.

    Where it finds nothing of any, those that the rule names.
    """
    every = list(figures)
    found = [f for f in every if f.metric == rule.metric and f.status is not None]
    found = [f for f in found if f.group.get("protocol", "base") == "base"]
    found = [f for f in found if all(f.group.get(key) == value for key, value in rule.group.items())]
    return [f for f in found if not any(_pools(other, f) for other in found)] or select(rule, every)


def _pools(wide: MetricValue, narrow: MetricValue) -> bool:
    """True where one figure is the other, pooled over more."""
    return wide.probe == narrow.probe and set(wide.group.items()) < set(narrow.group.items())


def no_match_error(rule: PolicyRule, figures: Sequence[MetricValue], where: str) -> ConfigError:
    metrics = sorted({figure.metric for figure in figures})
    if rule.metric not in metrics:
        close = get_close_matches(rule.metric, metrics, 1)
        hint = f"did you mean {close[0]!r}" if close else f"expected one of {', '.join(metrics)}"
        return ConfigError(f"{where}: no figure {rule.metric!r} on the datasheet; {hint}.")
    there = [f"{f.probe}: {condition(f.group)}" for f in figures if f.metric == rule.metric]
    shown = "; ".join(there[:6]) + ("; …" if len(there) > 6 else "")
    return ConfigError(f"{where}: no {rule.metric} under the conditions of the rule; there is {shown}.")
