"""The words of a datasheet: `clear`, `flagged`, `underpowered`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, sqrt

from steelyard.metrics.clusters import effective_size, quantile, wilson_cluster
from steelyard.metrics.intervals import Limits, normal_quantile, score, t_quantile
from steelyard.metrics.power import first_number, trials_to_exclude
from steelyard.metrics.tally import Tally

CLEAR, FLAGGED, UNDERPOWERED = "clear", "flagged", "underpowered"
MARGIN = 0.10
"""Largest difference that still counts as none."""
ALPHA = 0.05
POWER = 0.80


@dataclass(frozen=True)
class Limit:
    """A figure's allowed side."""

    value: float
    """The limit."""
    side: str = "max"
    """`max`: the figure must stay below; `min`: above."""
    group: Mapping[str, str | float] = field(default_factory=dict)
    """Group keys an estimate must show for the limit to apply."""


_EQUALS = {"kind": "same_subset", "protocol": "base"}
"""Where position and wording are tested, declared before the data."""

DEFAULT_LIMITS: Mapping[str, Limit] = {
    "dark_current": Limit(0.10),
    "positional_false_preference": Limit(0.10, group=_EQUALS),
    "stable_cross_sensitivity": Limit(0.10, group=_EQUALS),
    "target_sensitivity": Limit(0.80, "min", {"delta": 1}),
}
"""Limits that a datasheet is read against unless a policy sets others."""

_PARTS = ("slot", "base_level")


def limit_for(metric: str, group: Mapping[str, str | float]) -> Limit | None:
    """The default limit of a figure; parts of a figure (one slot, one base level) have none."""
    limit = DEFAULT_LIMITS.get(metric)
    if limit is None or any(key in group for key in _PARTS):
        return None
    matches = all(group.get(key) == value for key, value in limit.group.items())
    return limit if matches else None


def limit_word(limits: Limits, limit: Limit) -> str:
    """The word for a limit, from one-sided 95 % limits (low, high)."""
    low, high = limits if limit.side == "max" else (-limits[1], -limits[0])
    bound = limit.value if limit.side == "max" else -limit.value
    if high < bound:
        return CLEAR
    return FLAGGED if low > bound else UNDERPOWERED


def judge_limit(tally: Tally, limit: Limit) -> str:
    """The word for a proportion against its limit, tasks as clusters."""
    return limit_word(wilson_cluster(tally, 1 - ALPHA), limit)


def difference_word(limits: Limits | None, probability: float, margin: float = MARGIN) -> str:
    """The word for a difference, from its 90 % interval and the test's p."""
    if limits is not None and -margin < limits[0] and limits[1] < margin:
        return CLEAR
    return FLAGGED if probability <= ALPHA else UNDERPOWERED


def detectable_beyond(tally: Tally, limit: Limit) -> float:
    """Distance from the limit that a one-sided 5 % test on these data shows with 80 % power."""
    spread = sqrt(limit.value * (1 - limit.value) / effective_size(tally))
    return (quantile(tally, 1 - ALPHA) + quantile(tally, POWER)) * spread


def calls_needed(tally: Tally, limit: Limit) -> int | None:
    """Calls of this design, more tasks like these, after which the present share would be decided.

    None where the share lies on the limit. With one task calls are added to that task.
    """
    share, size, tasks = tally.k / tally.n, effective_size(tally), tally.n_clusters
    if tasks < 2:
        trials = trials_to_exclude(share, limit.value, normal_quantile(1 - ALPHA))
        return None if trials is None else ceil(trials / tally.n * tally.n_calls)

    def decided(count: int) -> bool:
        limits = score(share, size / tasks * count, t_quantile(1 - ALPHA, count - 1))
        return limit_word(limits, limit) != UNDERPOWERED

    count = first_number(decided, tasks)
    return None if count is None else ceil(count / tasks * tally.n_calls)
