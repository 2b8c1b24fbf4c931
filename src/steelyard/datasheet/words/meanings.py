"""What the metrics and intervals of a report mean, for its last page."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.datasheet.words.glossary import INTERVALS, metric_named
from steelyard.metrics.metric import Metric


def metric_meanings(metrics: Iterable[str]) -> list[Metric]:
    """Each metric that has a meaning, once, in order of first appearance."""
    return [metric for metric in map(metric_named, dict.fromkeys(metrics)) if metric.meaning]


def interval_meanings(methods: Iterable[str]) -> list[tuple[str, str]]:
    """How each kind of interval is made, each once, in order of first appearance."""
    return [(name, INTERVALS.get(name, "see the note of the figure.")) for name in dict.fromkeys(methods)]
