"""A figure of the page: panels, a key, what it says to those who cannot see it, and the data behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import JudgeEntry
from steelyard.datasheet.summary import Summary
from steelyard.metrics.estimate import Estimate

SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left",
)  # fmt: skip
SERIES = 8


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
    label: str
    """The content in a sentence, for readers who cannot see it."""
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


def shown(*estimates: Estimate | None) -> bool:
    """True where every figure has a value to draw."""
    return all(estimate is not None and not numbers.undefined(estimate) for estimate in estimates)


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
    at = estimate.value if estimate.value is not None else 0.0
    interval = estimate.interval
    low = at if interval is None or interval.low is None else interval.low
    high = at if interval is None or interval.high is None else interval.high
    return low, high


def cell(estimate: Estimate | None) -> str:
    """A figure with its counts, for a data table."""
    return " ".join(part for part in (numbers.figure(estimate), numbers.counts(estimate)) if part)


def everyone(summary: Summary) -> Sequence[JudgeEntry]:
    """Measured judges, then baselines."""
    return (*summary.measured, *summary.baselines)
