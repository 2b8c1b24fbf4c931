"""History of a judge over several runs: its word and key figures over time, and where a change is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from steelyard.core.text import pluralize
from steelyard.datasheet.comparison.rows import label, main_first, probability
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.conclusion import Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import Condition
from steelyard.datasheet.sections.first_screen import Row, counterpart, key_figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.errors import UsageError
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.estimate import Estimate

MOST_FIGURES = 5
MOST_CHANGES = 4
"""Figures of a change that its sentence names."""

Address = tuple[str, str, Condition]
Compare = Callable[[str, str], ComparisonSheet]
"""From two sides such as `0:judge` to their comparison."""


@dataclass(frozen=True)
class RunChange:
    """What the comparison with the run before shows."""

    shown: bool
    sentence: str
    moved: frozenset[Address] = frozenset()
    """The figures that differ."""
    sides: tuple[str, str] = ("", "")
    """Both runs, as the page of comparisons takes them."""

    def is_of(self, estimate: Estimate) -> bool:
        return _address(estimate) in self.moved


@dataclass(frozen=True)
class RunRow:
    number: int
    """Place of the run among the folders."""
    folder: str
    sheet: Datasheet
    judge: str
    word: Conclusion | None = None
    figures: tuple[Row | None, ...] = ()
    change: RunChange | None = None
    """None for the first run."""

    @property
    def side(self) -> str:
        return f"{self.number}:{self.judge}"


@dataclass(frozen=True)
class History:
    title: str
    columns: tuple[str, ...]
    rows: tuple[RunRow, ...]
    """Newest first."""

    @property
    def changes(self) -> int:
        return sum(row.change is not None and row.change.shown for row in self.rows)


def history_titles(runs: Iterable[tuple[int, str, Datasheet | None]]) -> list[str]:
    return list(_series(runs))


def histories(runs: Iterable[tuple[int, str, Datasheet | None]], compare: Compare) -> list[History]:
    """One history for each judge that several runs measured, and for each study with one judge at a time."""
    return [_history(title, points, compare) for title, points in _series(runs).items()]


def _series(runs: Iterable[tuple[int, str, Datasheet | None]]) -> dict[str, list[RunRow]]:
    every = [
        RunRow(number, folder, sheet, judge.name)
        for number, folder, sheet in runs
        if sheet is not None
        for judge in sheet.judges
        if not judge.baseline
    ]
    judges: dict[str, list[RunRow]] = {}
    studies: dict[str, list[RunRow]] = {}
    for point in sorted(every, key=lambda point: (point.sheet.facts.finished or "", point.number)):
        judges.setdefault(point.judge, []).append(point)
        studies.setdefault(f"Study {point.sheet.name}", []).append(point)
    alone = {  # one judge at a time, under more than one name: the study is what goes on
        title: points
        for title, points in studies.items()
        if len({point.number for point in points}) == len(points) > 1
        and len({point.judge for point in points}) > 1
    }
    return {**{name: points for name, points in judges.items() if len(points) > 1}, **alone}


def _history(title: str, points: Sequence[RunRow], compare: Compare) -> History:
    summaries = [summarise(point.sheet) for point in points]
    columns = key_figures(summaries[-1], points[-1].judge)[:MOST_FIGURES]
    rows = []
    for before, point, summary in zip((None, *points), points, summaries, strict=False):
        word, judge = summary.verdict(point.judge), point.judge
        figures = tuple(counterpart(column, summary, judge) for column in columns)
        change = None if before is None else _change(before.side, point.side, compare)
        rows.append(replace(point, word=word, figures=figures, change=change))
    return History(title, tuple(column.name for column in columns), tuple(reversed(rows)))


def _change(before: str, after: str, compare: Compare) -> RunChange:
    """By the rule of `compare`: all figures together, and single figures corrected for their number."""
    try:
        sheet = compare(before, after)
    except UsageError as error:
        return RunChange(False, f"Cannot be compared: {error}")
    moved = main_first(row for row in sheet.rows if row.differs)
    together = f"p = {probability(sheet.p)} over all figures together" if sheet.p is not None else "no figure"
    if not moved:
        return RunChange(False, f"No change is shown ({together}).", sides=(before, after))
    named = "; ".join(_moved(row) for row in moved[:MOST_CHANGES])
    more = len(moved) - MOST_CHANGES
    others = f"; {pluralize(more, 'more figure')}" if more > 0 else ""
    places = frozenset(map(_address, moved))
    return RunChange(True, f"A change is shown: {named}{others} ({together}).", places, (before, after))


def _address(figure: Comparison | Estimate) -> Address:
    """Probe, metric and condition; the prompt is base where none is named."""
    group = frozenset(item for item in figure.group.items() if item != ("protocol", "base"))
    return figure.probe, figure.metric, group


def _moved(row: Comparison) -> str:
    signed = metric_named(row.metric).signed
    ends = (numbers.decimal(end or 0.0, signed=signed) for end in (row.first, row.second))
    return f"{label(row)} {' → '.join(ends)}"
