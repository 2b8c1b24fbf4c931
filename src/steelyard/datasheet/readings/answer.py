"""The answer to a question that a datasheet asks: a word and a sentence."""

from __future__ import annotations

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.metric import Metric

Answer = tuple[str, str]
"""`clear`, `flagged`, …, and what was found."""


def unanswered(estimate: Estimate | None) -> Answer | None:
    """What is said of a figure without a value; nothing where it was not asked for."""
    return None if estimate is None else ("undefined", estimate.note or "not measured")


def worst(*words: str) -> str:
    """The word of several figures together: flagged where one is, clear where all are."""
    return min(words, key=(FLAGGED, INCONCLUSIVE, CLEAR).index)


def limit_of(metric: Metric) -> float:
    """What a datasheet holds the metric against."""
    if metric.limit is None:
        raise ValueError(f"{metric.id} has no limit")
    return metric.limit.value
