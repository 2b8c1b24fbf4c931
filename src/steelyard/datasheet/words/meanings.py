"""What the metrics and intervals of a report mean, for its last page."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.datasheet.words.glossary import INTERVALS, metric_named


def metric_meanings(metrics: Iterable[str]) -> list[tuple[str, str]]:
    """Label and meaning of each metric that has one, each once, in order of first appearance."""
    named = map(metric_named, dict.fromkeys(metrics))
    return [(each.label, each.meaning) for each in named if each.meaning]


def interval_meanings(methods: Iterable[str]) -> list[tuple[str, str]]:
    """How each kind of interval is made, each once, in order of first appearance."""
    return [(name, INTERVALS.get(name, "see the note of the figure.")) for name in dict.fromkeys(methods)]
