"""One figure of two judges in words: its name, its interval, its state, what was left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from steelyard.core.text import pluralize
from steelyard.datasheet import numbers
from steelyard.datasheet.glossary import metric_named, probe_title
from steelyard.datasheet.numbers import NOT_MEASURED
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED
from steelyard.metrics.metric import HIGH, ZERO
from steelyard.metrics.pairs.choices import WEIGHED
from steelyard.metrics.proportions import FAILED_RATE, MERIT, UNREADABLE_RATE
from steelyard.metrics.stats.intervals import PAIRS
from steelyard.probes.probe import EDITS
from steelyard.probes.probe_metadata import probes_in

BETTER, WORSE, DIFFERENT, ALIKE, UNDECIDED = "better", "worse", "different", "alike", "undecided"
DIFFER = (BETTER, WORSE, DIFFERENT)
LOSSES = (UNREADABLE_RATE.id, FAILED_RATE.id)
UNNAMED_PROBES = ("vacuum", "ladder", "position", "run", "confidence")
"""Probes whose figures say by themselves where they come from."""


def state(row: Comparison) -> str:
    """What B is beside A, for people; the one mapping from the words of JSON.

    `clear` is alike, `inconclusive` undecided, `flagged` better or worse: different where neither way is
    better, where length explains it, or where fewer than six clusters say nothing of others. Of figures that
    are best at zero, neither is better where both are about as far from it.
    """
    if row.difference is None:
        return NOT_MEASURED
    if row.status != FLAGGED:
        return ALIKE if row.status == CLEAR else UNDECIDED
    better, gain = metric_named(row.metric).better, row.difference
    if not better or row.flipped == PAIRS or row.explained_by:
        return DIFFERENT
    if better == ZERO:
        gain = abs(row.first or 0.0) - abs(row.second or 0.0)
        low, high = row.intervals[0].low or 0.0, row.intervals[0].high or 0.0
        return DIFFERENT if abs(gain) <= (high - low) / 2 else BETTER if gain > 0 else WORSE
    return BETTER if (gain > 0) == (better == HIGH) else WORSE


def same_body(share: Estimate) -> dict[str, Any]:
    low, high = (None, None) if share.interval is None else (share.interval.low, share.interval.high)
    return {"same": share.numerator or 0, "of": share.denominator or 0, "low": low, "high": high}


def same_sentence(share: Estimate) -> str:
    counts = f"{share.numerator:,} of {pluralize(share.denominator or 0, 'call')} that both answered"
    return f"same verdict in {counts}: {numbers.decimal(share.value or 0.0)} {numbers.interval(share)}"


def unlike(share: Estimate, margin: float) -> bool:
    """Whether other verdicts in more than the margin of the calls are shown."""
    return share.interval is not None and share.interval.span[1] < 1 - margin


def needs_answers(row: Comparison) -> bool:
    """Whether the figure is held against known answers: labels, or texts of known quality."""
    return row.metric == MERIT.id or metric_named(row.metric).needs_reference


def main_first(rows: Iterable[Comparison]) -> list[Comparison]:
    """Agreement with labels, then what a datasheet has limits for, then the rest; edited texts last.

    Of one metric, all steps of quality together come first.
    """
    edits = frozenset(probes_in(EDITS))

    def rank(row: Comparison) -> tuple[bool, bool, int]:
        metric = metric_named(row.metric)
        if metric.labelled or metric.id == MERIT.id:
            place = 0
        elif metric.limit_in(row.group):
            place = 1
        else:
            place = 2 if metric.better and not metric.detail else 3
        return row.probe in edits, row.group.get("protocol", "base") != "base", place

    return sorted(
        rows, key=lambda row: (*rank(row), metric_named(row.metric).by_step and "delta" in row.group)
    )


def one_of_each(rows: Iterable[Comparison]) -> list[Comparison]:
    """The main figure of each metric and state."""
    main: dict[tuple[str, str, bool], Comparison] = {}
    for row in rows:
        main.setdefault((row.metric, state(row), WEIGHED in row.group), row)
    return list(main.values())


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
    left_out = (*hidden, *same, WEIGHED)
    group = {key: value for key, value in row.group.items() if key not in left_out}
    probe = "" if row.probe in UNNAMED_PROBES else probe_title(row.probe)
    pairs = ""
    if metric_named(row.metric).over_kinds and row.probe == "ladder":
        pairs = "between equals" if same else "" if group else "all pairs"
    weighed = "whatever the length" if WEIGHED in row.group else ""
    return _joined(probe, pairs, weighed, numbers.condition(group) if group else "")


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def figures(row: Comparison) -> list[str]:
    """A, B, and the difference with its interval; empty where there is none."""
    if row.difference is None or row.first is None or row.second is None:
        return ["", "", ""]
    ends = [numbers.decimal(end, signed=metric_named(row.metric).signed) for end in (row.first, row.second)]
    return [*ends, f"{numbers.decimal(row.difference, signed=True)} {interval(row)}"]


def tests(row: Comparison) -> list[str]:
    """q, the difference that it would show, and how many units and clusters are behind it."""
    if row.difference is None:
        return ["", "", ""]
    detects = numbers.decimal(row.minimum_detectable or 0.0)
    return [probability(row.q), detects, f"{row.n_shared}/{row.n_clusters}"]


def interval(row: Comparison) -> str:
    """`[−0.02, +0.14]`: what the word is read from; `(0.00, +0.14]` where it ends before zero."""
    if not row.intervals:
        return ""
    ends, beside = row.decides, row.status == FLAGGED
    low, high = (numbers.decimal(end, signed=True) for end in ends)
    return f"{'(' if beside and not ends[0] else '['}{low}, {high}{')' if beside and not ends[1] else ']'}"


def probability(value: float | None) -> str:
    """`0.031`, `<0.0001`."""
    if value is None:
        return ""
    return "<0.0001" if value < 0.0001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def p_text(value: float) -> str:
    """`p = 0.031`, `p < 0.0001`."""
    shown = probability(value)
    return f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def dropped(row: Comparison) -> str:
    """`A: 2 unreadable; B: 3 never asked`, or nothing."""
    names = (
        *("never asked", "unreadable", "failed", "without a reference", "with another reference"),
        *("abstained", "with a reason that ends with no answer", "without a confidence"),
    )
    told = []
    for side, lost in (("A", row.dropped_first), ("B", row.dropped_second)):
        counts = (lost.not_shown, lost.unreadable, lost.failed, lost.no_reference, lost.other_reference)
        counted = zip((*counts, lost.abstained, lost.unnamed, lost.unsure), names, strict=True)
        parts = [f"{n} {word}" for n, word in counted if n]
        told += [f"{side}: {', '.join(parts)}"] if parts else []
    return "; ".join(told)
