"""A chart of the page: drawings, a legend, and the data behind them; the colour and marker of each judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.sections.rows import Cell, Text
from steelyard.datasheet.sections.sections import CRITERION, LADDER, VACUUM
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.text import short_names
from steelyard.metrics.estimate import Estimate

SHAPES = (
    *("circle", "square", "triangle-up", "diamond"),
    *("cross", "triangle-down", "triangle-right", "triangle-left"),
)
SHAPE_CHARACTERS = "●■▲◆✚▼▶◀"
NAMED_JUDGES = 6
"""Judges that are labelled by name in a scatter plot; more are numbered, with a legend."""
SERIES = 8
"""Colours before they repeat; shapes are then paired with other colours."""
SAME_QUALITY: dict[str, str | float] = {"delta": 0, "kind": "same_subset"}
"""Condition of the pairs that are equally good."""


@dataclass(frozen=True)
class LegendEntry:
    """One entry of a legend."""

    role: str
    text: str
    sign: str = ""
    """Characters in that colour; empty for a patch of colour."""


@dataclass(frozen=True)
class Panel:
    """One drawing."""

    svg: str
    title: str = ""
    """Heading above it; empty for a chart of one panel."""


@dataclass(frozen=True)
class Chart:
    """Drawings with their words and their data."""

    title: str
    caption: str
    """How to read it."""
    panels: tuple[Panel, ...]
    header: tuple[str, ...] = ()
    rows: tuple[tuple[Text, ...], ...] = ()
    legend: tuple[LegendEntry, ...] = ()
    """What colours and signs stand for, where labels do not say it."""
    omitted: tuple[str, ...] = ()
    """Judges that could not be drawn, and why."""
    wide: bool = False
    """True where the chart takes the whole width of the page."""
    id: str = ""
    """Anchor on the page; it is the name that the chart is registered under."""


ChartFunction = Callable[[Summary], Chart | None]
"""Draws a chart of a datasheet; None where there is nothing to draw."""


def pairs_only(function: ChartFunction) -> ChartFunction:
    """Decorator: draw only on sheets with probes of pairs of known quality."""
    return _only_if(_has_pairs, function)


def scores_only(function: ChartFunction) -> ChartFunction:
    """Decorator: draw only on sheets of single texts."""
    return _only_if(lambda sheet: sheet.form == "pointwise", function)


def _only_if(condition: Callable[[Datasheet], bool], function: ChartFunction) -> ChartFunction:
    @wraps(function)
    def conditional(summary: Summary) -> Chart | None:
        return function(summary) if condition(summary.datasheet) else None

    return conditional


def _has_pairs(sheet: Datasheet) -> bool:
    return sheet.form == "pairwise" and any(
        estimate.probe in (VACUUM, LADDER, CRITERION) for estimate in sheet.estimates
    )


@dataclass(frozen=True)
class SeriesStyle:
    """How one judge is drawn: colour and shape, so that either alone tells it apart."""

    role: str
    shape: str
    label: str
    """Name, short enough for a chart."""
    tag: str
    """Label in a scatter plot: the name, or a number where there are many."""

    def with_protocol(self, protocol: str) -> str:
        """The name, and the protocol where it is not the base one."""
        return self.label if protocol == "base" else f"{self.label}, {protocol}"


def series_styles(summary: Summary) -> dict[str, SeriesStyle]:
    """A style for each judge; baselines are grey."""
    labels = short_names([judge.name for judge in all_judges(summary)])
    styles: dict[str, SeriesStyle] = {}
    for number, judge in enumerate(summary.measured):
        label = labels[judge.name]
        tag = str(number + 1) if len(summary.measured) > NAMED_JUDGES else label
        styles[judge.name] = SeriesStyle(f"series-{number % SERIES + 1}", SHAPES[_shape(number)], label, tag)
    for judge in summary.baselines:
        styles[judge.name] = SeriesStyle("muted", "circle", labels[judge.name], labels[judge.name])
    return styles


def number_legend(summary: Summary) -> tuple[LegendEntry, ...]:
    """The numbers of a crowded scatter plot; empty where judges are labelled by name."""
    if len(summary.measured) <= NAMED_JUDGES:
        return ()
    return tuple(
        LegendEntry(
            f"series-{number % SERIES + 1}", judge.name, f"{SHAPE_CHARACTERS[_shape(number)]} {number + 1}"
        )
        for number, judge in enumerate(summary.measured)
    )


def _shape(number: int) -> int:
    """Shapes move on by one when the colours repeat."""
    return (number + number // SERIES) % len(SHAPES)


def all_judges(summary: Summary) -> tuple[JudgeEntry, ...]:
    """Measured judges, then baselines."""
    return (*summary.measured, *summary.baselines)


def protocols(judge: JudgeEntry) -> tuple[str, ...]:
    """The judge's protocols, base first."""
    return ("base", *(name for name in judge.protocols if name != "base"))


def protocol_name(judge: JudgeEntry, protocol: str) -> str:
    """The judge, and the protocol where it is not the base one."""
    return judge.name if protocol == "base" else f"{judge.name}, {protocol}"


def omission_note(judge: str, named: Iterable[tuple[str, Estimate | None]]) -> str:
    """Why a judge is not drawn."""
    for what, estimate in named:
        if estimate is None:
            return f"{judge}: {what} was not measured"
        if numbers.undefined(estimate):
            return f"{judge}: {what} is undefined ({numbers.reason(estimate)})"
    return f"{judge}: nothing to draw"


def interval_ends(estimate: Estimate) -> tuple[float, float]:
    """Ends of the recommended interval, the value itself where an end is open or missing."""
    at = estimate.value or 0.0
    interval = estimate.interval
    low = at if interval is None or interval.low is None else interval.low
    high = at if interval is None or interval.high is None else interval.high
    return low, high


def data_cell(summary: Summary, estimate: Estimate | None) -> Text:
    """A figure with its counts, for a data table; an interval is never broken over two lines."""
    if not numbers.defined(estimate):
        return summary.absence(estimate)
    unbroken = numbers.interval(estimate).replace(" ", "\N{NO-BREAK SPACE}")
    parts = (numbers.value(estimate), unbroken, numbers.counts(estimate))
    return Cell(" ".join(part for part in parts if part), estimate)


def aria_label(header: tuple[str, ...], rows: Iterable[tuple[Text, ...]]) -> str:
    """The data of a drawing as a sentence for screen readers."""
    lines = [
        f"{row[0]}: " + ", ".join(f"{name} {cell}" for name, cell in zip(header[1:], row[1:], strict=True))
        for row in rows
    ]
    return "; ".join(lines) + "."
