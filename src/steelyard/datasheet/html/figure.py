"""A figure of the page: drawings, a key, and the data behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import JudgeEntry
from steelyard.datasheet.summary import Summary
from steelyard.metrics.estimate import Estimate

SHAPES = (
    *("circle", "square", "triangle-up", "diamond"),
    *("cross", "triangle-down", "triangle-right", "triangle-left"),
)
SERIES = 8
"""Colours before they repeat; shapes are then paired with other colours."""
SAME_QUALITY: dict[str, str | float] = {"delta": 0, "kind": "same_subset"}
"""Condition of the pairs that are equally good."""


@dataclass(frozen=True)
class Panel:
    """One drawing."""

    svg: str
    """Markup of the drawing."""
    title: str = ""
    """Heading above it; empty for a figure of one panel."""


@dataclass(frozen=True)
class Figure:
    """Drawings with their words and their data."""

    id: str
    """Anchor on the page."""
    title: str
    """What is plotted."""
    caption: str
    """How to read it."""
    panels: tuple[Panel, ...]
    """Drawings, in reading order."""
    header: tuple[str, ...]
    """Column names of the data table."""
    rows: tuple[tuple[str, ...], ...]
    """Data table."""
    key: tuple[tuple[str, str], ...] = ()
    """Colour role and what it stands for."""
    omitted: tuple[str, ...] = ()
    """Judges that could not be drawn, and why."""
    wide: bool = False
    """True where the figure takes the whole width of the page."""


@dataclass(frozen=True)
class Look:
    """How one judge is drawn: colour and shape, so that either alone tells it apart."""

    role: str
    """Colour role."""
    shape: str
    """Vega symbol."""


def looks(summary: Summary) -> dict[str, Look]:
    """A look for each judge; baselines are grey."""
    found = {judge.name: Look("muted", "circle") for judge in summary.baselines}
    for number, judge in enumerate(summary.measured):
        shape = SHAPES[(number + number // SERIES) % len(SHAPES)]
        found[judge.name] = Look(f"series-{number % SERIES + 1}", shape)
    return found


def everyone(summary: Summary) -> tuple[JudgeEntry, ...]:
    """Measured judges, then baselines."""
    return (*summary.measured, *summary.baselines)


def protocols(judge: JudgeEntry) -> tuple[str, ...]:
    """The judge's protocols, base first."""
    return ("base", *(name for name in judge.protocols if name != "base"))


def arm_name(judge: JudgeEntry, protocol: str) -> str:
    """The judge, and the protocol where it is not the base one."""
    return judge.name if protocol == "base" else f"{judge.name}, {protocol}"


def why_not(judge: str, named: Iterable[tuple[str, Estimate | None]]) -> str:
    """The sentence that says why a judge is not drawn."""
    for what, estimate in named:
        if estimate is None:
            return f"{judge}: {what} was not measured"
        if numbers.undefined(estimate):
            return f"{judge}: {what} is undefined ({numbers.reason(estimate)})"
    return f"{judge}: nothing to draw"


def limits(estimate: Estimate) -> tuple[float, float]:
    """Ends of the recommended interval, the value itself where an end is open or missing."""
    at = estimate.value or 0.0
    interval = estimate.interval
    low = at if interval is None or interval.low is None else interval.low
    high = at if interval is None or interval.high is None else interval.high
    return low, high


def cell(summary: Summary, estimate: Estimate | None) -> str:
    """A figure with its counts, for a data table; an interval is never broken over two lines."""
    if estimate is None:
        return numbers.NOT_MEASURED
    if numbers.undefined(estimate):
        return summary.undefined(estimate)
    unbroken = numbers.interval(estimate).replace(" ", "\N{NO-BREAK SPACE}")
    return " ".join(part for part in (numbers.value(estimate), unbroken, numbers.counts(estimate)) if part)


def spoken(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Data rows as a sentence."""
    lines = [
        f"{row[0]}: " + ", ".join(f"{name} {cell}" for name, cell in zip(header[1:], row[1:], strict=True))
        for row in rows
    ]
    return "; ".join(lines) + "."
