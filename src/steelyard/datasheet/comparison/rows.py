"""One figure of two judges in words: its name, its interval, what was left out."""

from __future__ import annotations

from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named, probe_title
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.comparison.units import Dropped


def label(row: Comparison) -> str:
    """`target sensitivity, Δ1`; the probe and the protocol where they are needed to tell rows apart."""
    hidden = ("protocol",) if row.group.get("protocol") == "base" else ()
    same = ("delta", "kind") if row.group.get("kind") == "same_subset" else ()
    group = {key: value for key, value in row.group.items() if key not in (*hidden, *same)}
    parts = [metric_named(row.metric).label]
    if row.probe not in ("vacuum", "ladder", "position", "run"):
        parts.append(probe_title(row.probe))
    if group:
        parts.append(numbers.condition(group))
    return ", ".join(parts)


def interval(row: Comparison) -> str:
    """`[−0.02, +0.14]`: the 95 % interval of the difference."""
    if not row.intervals:
        return ""
    ends = [row.intervals[0].low, row.intervals[0].high]
    return "[" + ", ".join(numbers.decimal(end or 0.0, signed=True) for end in ends) + "]"


def probability(value: float | None) -> str:
    """`0.031`, `<0.0001`."""
    if value is None:
        return ""
    return "<0.0001" if value < 0.0001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def dropped(row: Comparison) -> str:
    """`A 2 unreadable; B 3 not shown`, or nothing."""
    sides = [(name, _told(side)) for name, side in (("A", row.dropped_first), ("B", row.dropped_second))]
    return "; ".join(f"{name} {told}" for name, told in sides if told)


def _told(side: Dropped) -> str:
    counts = (
        ("not shown", side.not_shown),
        ("unreadable", side.unreadable),
        ("failed", side.failed),
        ("without a reference", side.no_reference),
        ("held against another reference", side.other_reference),
    )
    return ", ".join(f"{count} {word}" for word, count in counts if count)
