"""What is concluded: estimates with honest intervals, from observations alone.

Probes import from here: columns of answers, counts, shares. The modules behind it may move.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.metrics.common import ACCURACY, DARK_CURRENT, FAILED_RATE, UNREADABLE_RATE
    from steelyard.metrics.estimate import Estimate, Interval
    from steelyard.metrics.estimate_context import EstimateContext
    from steelyard.metrics.metric import Limit, Metric, ShownAs
    from steelyard.metrics.pairs.columns import (
        Answer,
        Pairs,
        collect,
        count_answers,
        count_calls,
        count_wins,
        decided,
        missing_rates,
        neither,
        readable,
        share_of_calls,
        tally,
    )
    from steelyard.metrics.proportions import proportion
    from steelyard.metrics.scores.columns import Outcome, Scores, collect_scores
    from steelyard.metrics.stats.clusters import Tally

__all__ = [
    "ACCURACY",
    "DARK_CURRENT",
    "FAILED_RATE",
    "UNREADABLE_RATE",
    "Answer",
    "Estimate",
    "EstimateContext",
    "Interval",
    "Limit",
    "Metric",
    "Outcome",
    "Pairs",
    "Scores",
    "ShownAs",
    "Tally",
    "collect",
    "collect_scores",
    "count_answers",
    "count_calls",
    "count_wins",
    "decided",
    "missing_rates",
    "neither",
    "proportion",
    "readable",
    "share_of_calls",
    "tally",
]

_HOMES = {
    "ACCURACY": "common",
    "DARK_CURRENT": "common",
    "FAILED_RATE": "common",
    "UNREADABLE_RATE": "common",
    "Answer": "pairs.columns",
    "Outcome": "scores.columns",
    "Estimate": "estimate",
    "EstimateContext": "estimate_context",
    "Interval": "estimate",
    "Limit": "metric",
    "Metric": "metric",
    "Pairs": "pairs.columns",
    "Scores": "scores.columns",
    "ShownAs": "metric",
    "Tally": "stats.clusters",
    "collect": "pairs.columns",
    "collect_scores": "scores.columns",
    "count_answers": "pairs.columns",
    "count_calls": "pairs.columns",
    "count_wins": "pairs.columns",
    "decided": "pairs.columns",
    "missing_rates": "pairs.columns",
    "neither": "pairs.columns",
    "proportion": "proportions",
    "readable": "pairs.columns",
    "share_of_calls": "pairs.columns",
    "tally": "pairs.columns",
}
"""Imported at first use, so that `import steelyard` and `steelyard --help` stay light."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'steelyard.metrics' has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
