"""One figure of two judges in words: its name, its interval, what was left out."""

from __future__ import annotations

from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named, probe_title
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.comparison.unit_events import Dropped


def label(row: Comparison) -> str:
    """`chooses the better text, Δ1`: the plain words and the condition."""
    return _joined(metric_named(row.metric).short, condition(row))


def name(row: Comparison) -> str:
    """`chooses the better text (target sensitivity), Δ1`: the same with the term."""
    return _joined(metric_named(row.metric).name, condition(row))


def condition(row: Comparison) -> str:
    """What tells the row from others of its metric: the probe and the protocol where they are needed."""
    hidden = ("protocol",) if row.group.get("protocol") == "base" else ()
    same = ("delta", "kind") if row.group.get("kind") == "same_subset" else ()
    group = {key: value for key, value in row.group.items() if key not in (*hidden, *same)}
    probe = "" if row.probe in ("vacuum", "ladder", "position", "run") else probe_title(row.probe)
    pairs = ""
    if metric_named(row.metric).over_kinds and row.probe == "ladder":
        pairs = "between equals" if same else "" if group else "all pairs"
    return _joined(probe, pairs, numbers.condition(group) if group else "")


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


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
    sides = [
        (name, _format_dropped(side)) for name, side in (("A", row.dropped_first), ("B", row.dropped_second))
    ]
    return "; ".join(f"{name} {told}" for name, told in sides if told)


def _format_dropped(side: Dropped) -> str:
    counts = (
        ("not shown", side.not_shown),
        ("unreadable", side.unreadable),
        ("failed", side.failed),
        ("without a reference", side.no_reference),
        ("compared with another reference", side.other_reference),
        ("abstained", side.abstained),
    )
    return ", ".join(f"{count} {word}" for word, count in counts if count)
