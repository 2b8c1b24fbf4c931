"""Which of two judges is better, and in what: the sentences that a comparison begins with.

A difference counts where its corrected test shows it; which way is better, the metric says. Where none
says so, a difference is told without a winner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from steelyard.core.text import pluralize, round_up
from steelyard.datasheet.comparison.rows import label
from steelyard.datasheet.findings.more_data import BUILT_IN, profile_with
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.findings import CLEAR, INCONCLUSIVE
from steelyard.metrics.metric import HIGH, ZERO
from steelyard.metrics.stats.significance import PAIRS
from steelyard.probes.probe import EDITS
from steelyard.probes.probe_metadata import probes_in

AT_MOST = 3
"""Figures that a sentence names; others are counted."""


@dataclass(frozen=True)
class ComparisonAnswer:
    first: tuple[Comparison, ...]
    """Figures in which A is better."""
    second: tuple[Comparison, ...]
    """Figures in which B is better."""
    neither: tuple[Comparison, ...]
    """Figures that differ, where neither way is better."""
    alike: tuple[Comparison, ...]
    """Figures that differ by less than the margin, if at all."""
    open: tuple[Comparison, ...]
    """Figures that these units do not decide."""
    here: tuple[Comparison, ...] = ()
    """Figures that differ in so few clusters that nothing is known of others."""

    @classmethod
    def of(cls, rows: Iterable[Comparison]) -> ComparisonAnswer:
        known = main_first(row for row in rows if row.difference is not None)
        here = tuple(row for row in known if row.differs and row.flipped == PAIRS)
        different = [row for row in known if row.differs and row not in here]
        return cls(
            tuple(row for row in different if winner(row) == "A"),
            tuple(row for row in different if winner(row) == "B"),
            tuple(row for row in different if winner(row) is None),
            tuple(row for row in known if row.status == CLEAR and not row.differs),
            tuple(row for row in known if row.status == INCONCLUSIVE and not row.differs),
            here,
        )

    def sentences(self, first: str, second: str, margin: float) -> Iterator[str]:
        sides = [(first, self.first), (second, self.second)]
        better = [f"{name} is better in {_listed(rows, _gain)}" for name, rows in sides if rows]
        if len(better) == 2:
            yield f"Each is better in something: {', while '.join(better)}."
        elif better:
            yield f"{better[0]}."
        else:
            yield "Neither is shown to be better."
        if self.here:
            clusters = pluralize(max(row.n_clusters for row in self.here), "cluster")
            differ = _listed(self.here, _both)
            yield f"In these {clusters} alone, which say nothing of others, differ {differ}."
        if self.neither:
            also = " also" if better or self.here else ""
            yield f"They{also} differ in {_listed(self.neither, _both)}."
        if self.alike:
            yield f"Alike within ±{margin:g}: {_listed(self.alike, _quoted)}."
        if self.open:
            largest = max(self.open, key=lambda row: abs(row.difference or 0.0))
            others = [row for row in self.open if row is not largest]
            yield f"Not told apart: {_listed([largest, *others], _undecided)}."


def winner(row: Comparison) -> str | None:
    """`A` or `B` where a difference is shown and one way is better; else None.

    Of figures that are best at zero, neither is better where both are about as far from it.
    """
    better = metric_named(row.metric).better
    if not row.differs or not row.difference or not better:
        return None
    if better == ZERO:
        nearer = abs(row.first or 0.0) - abs(row.second or 0.0)
        low, high = row.intervals[0].low or 0.0, row.intervals[0].high or 0.0
        return None if abs(nearer) <= (high - low) / 2 else "B" if nearer > 0 else "A"
    return "B" if (row.difference > 0) == (better == HIGH) else "A"


def main_first(rows: Iterable[Comparison]) -> list[Comparison]:
    """Agreement with labels, then what a datasheet has limits for, then the rest; edited texts last."""
    edits = frozenset(probes_in(EDITS))
    return sorted(rows, key=lambda row: _rank(row, edits))


def _rank(row: Comparison, edits: frozenset[str]) -> tuple[bool, bool, int]:
    metric = metric_named(row.metric)
    if metric.labelled:
        place = 0
    elif metric.limit_in(row.group):
        place = 1
    else:
        place = 2 if metric.better and not metric.detail else 3
    return row.probe in edits, row.group.get("protocol", "base") != "base", place


def _listed(rows: Sequence[Comparison], words: Callable[[Comparison], str]) -> str:
    """One figure of each metric, the main one; others are counted."""
    main: dict[str, Comparison] = {}
    for row in rows:
        main.setdefault(row.metric, row)
    named = list(main.values())[:AT_MOST]
    more = len(rows) - len(named)
    return "; ".join([*map(words, named), *([pluralize(more, "more figure")] if more else [])])


def _quoted(row: Comparison, figures: str = "") -> str:
    """`“reacts to nothing” (dark current; 0.10 against 0.50)`: the plain words, the term, the figures."""
    metric = metric_named(row.metric)
    inside = "; ".join(part for part in (metric.label if metric.plain else "", figures) if part)
    named = f"“{label(row)}”" if metric.plain else label(row)
    return f"{named} ({inside})" if inside else named


def _gain(row: Comparison) -> str:
    """`accuracy, unchanged items (0.97 against 0.81, by 0.16 [0.09, 0.27])`, the better first."""
    ends = [row.second, row.first] if winner(row) == "B" else [row.first, row.second]
    signed = metric_named(row.metric).signed
    better, worse = (numbers.decimal(end or 0.0, signed=signed) for end in ends)
    by = numbers.decimal(abs(row.difference or 0.0))
    return _quoted(row, f"{better} against {worse}, by {by} {_turned(row)}")


def _turned(row: Comparison) -> str:
    """The interval of the difference, counted in favour of the larger share."""
    low, high = row.intervals[0].low or 0.0, row.intervals[0].high or 0.0
    ends = (low, high) if (row.difference or 0.0) >= 0 else (-high, -low)
    return f"[{', '.join(numbers.decimal(end) for end in ends)}]"


def _both(row: Comparison) -> str:
    signed = metric_named(row.metric).signed
    shares = (numbers.decimal(end or 0.0, signed=signed) for end in (row.first, row.second))
    return _quoted(row, f"A {', B '.join(shares)}")


def _undecided(row: Comparison) -> str:
    """The figure, and how many further units would show a difference of this size."""
    detectable, difference = row.minimum_detectable, abs(row.difference or 0.0)
    if not detectable or not difference or detectable <= difference:
        return _quoted(row)
    signed, times = numbers.decimal(row.difference or 0.0, signed=True), (detectable / difference) ** 2
    more = round(row.n_clusters * (times - 1))
    if more < 1 or more > 100 * row.n_clusters:
        return _quoted(row, signed)
    if row.probe in BUILT_IN:
        profile = profile_with(row.probe, row.group, row.n_pairs * times)
        return _quoted(row, f"{signed}; {f'profile {profile}' if profile else 'no profile'} would show that")
    unit = "row" if row.n_pairs == row.n_clusters else "cluster"
    return _quoted(row, f"{signed}; about {pluralize(round_up(more), f'more {unit}')} would show that")
