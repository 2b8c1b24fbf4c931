"""What is concluded: estimates with honest intervals, from observations alone.

Probes import from here: columns of answers, counts, shares. The modules behind it may move.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
    from steelyard.metrics.metric import Limit, Metric, ShownAs
    from steelyard.metrics.pairs.columns import (
        PairAnswer,
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
    from steelyard.metrics.proportions import ACCURACY, DARK_CURRENT, FAILED_RATE, UNREADABLE_RATE, proportion
    from steelyard.metrics.scores.columns import Outcome, Scores, collect_scores
    from steelyard.metrics.stats.clusters import Tally

__all__ = [
    "ACCURACY",
    "DARK_CURRENT",
    "FAILED_RATE",
    "UNREADABLE_RATE",
    "Estimate",
    "EstimateContext",
    "Interval",
    "Limit",
    "Metric",
    "Outcome",
    "PairAnswer",
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
    "estimate": "Estimate EstimateContext Interval",
    "metric": "Limit Metric ShownAs",
    "pairs.columns": "PairAnswer Pairs collect count_answers count_calls count_wins decided missing_rates "
    "neither readable share_of_calls tally",
    "proportions": "ACCURACY DARK_CURRENT FAILED_RATE UNREADABLE_RATE proportion",
    "scores.columns": "Outcome Scores collect_scores",
    "stats.clusters": "Tally",
}
"""Imported at first use, so that `import steelyard` and `steelyard --help` stay light."""


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module 'steelyard.metrics' has no attribute {name!r}")
