"""A chart of the page: drawings, legend and data, the look of each judge; and a chart as a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from html import escape
from importlib.resources import files

from steelyard.core.content_hash import content_hash, short_hash
from steelyard.core.text import short_names
from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import address
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render.html.drawing import svg
from steelyard.datasheet.sections.sections import CRITERION, LADDER, VACUUM, Cell, Text
from steelyard.datasheet.sections.summary import Summary
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
    probes = (VACUUM, LADDER, CRITERION)
    return _only_if(
        lambda sheet: sheet.form == "pairwise" and any(e.probe in probes for e in sheet.estimates), function
    )


def scores_only(function: ChartFunction) -> ChartFunction:
    """Decorator: draw only on sheets of single texts."""
    return _only_if(lambda sheet: sheet.form == "pointwise", function)


def _only_if(condition: Callable[[Datasheet], bool], function: ChartFunction) -> ChartFunction:
    @wraps(function)
    def conditional(summary: Summary) -> Chart | None:
        return function(summary) if condition(summary.datasheet) else None

    return conditional


@dataclass(frozen=True)
class SeriesStyle:
    """How one judge is drawn: colour and shape, so that either alone tells it apart."""

    role: str
    shape: str
    label: str
    """Name, short enough for a chart."""
    tag: str
    """Label in a scatter plot: the name, or a number where there are many."""


def series_styles(summary: Summary) -> dict[str, SeriesStyle]:
    """A style for each judge; baselines are grey."""
    labels = short_names([judge.name for judge in all_judges(summary)])
    styles: dict[str, SeriesStyle] = {}
    for number, judge in enumerate(summary.measured):
        label = labels[judge.name]
        tag = str(number + 1) if len(summary.measured) > NAMED_JUDGES else label
        # Shapes move on by one when the colours repeat.
        shape = SHAPES[(number + number // SERIES) % len(SHAPES)]
        styles[judge.name] = SeriesStyle(f"series-{number % SERIES + 1}", shape, label, tag)
    for judge in summary.baselines:
        styles[judge.name] = SeriesStyle("muted", "circle", labels[judge.name], labels[judge.name])
    return styles


def number_legend(summary: Summary) -> tuple[LegendEntry, ...]:
    """The numbers of a crowded scatter plot; empty where judges are labelled by name."""
    if len(summary.measured) <= NAMED_JUDGES:
        return ()
    styles = [(judge.name, series_styles(summary)[judge.name]) for judge in summary.measured]
    signs = dict(zip(SHAPES, SHAPE_CHARACTERS, strict=True))
    return tuple(LegendEntry(each.role, name, f"{signs[each.shape]} {each.tag}") for name, each in styles)


def all_judges(summary: Summary) -> tuple[JudgeEntry, ...]:
    """Measured judges, then baselines."""
    return (*summary.measured, *summary.baselines)


@dataclass(frozen=True)
class Column:
    """What is looked up for each judge and protocol."""

    name: str
    metric: str
    probe: str = LADDER
    group: Mapping[str, str | float] = field(default_factory=dict)

    def find(self, summary: Summary, judge: str, protocol: str) -> Estimate | None:
        return summary.datasheet.find(judge, self.metric, self.probe, protocol=protocol, **self.group)


@dataclass(frozen=True)
class Series:
    """A judge under one protocol, with its figure in each column."""

    judge: JudgeEntry
    protocol: str
    style: SeriesStyle
    columns: Sequence[Column]
    figures: tuple[Estimate | None, ...]

    @property
    def name(self) -> str:
        """The judge, and the protocol where it is not the base one."""
        return self.judge.name if self.protocol == "base" else f"{self.judge.name}, {self.protocol}"

    @property
    def label(self) -> str:
        """The same, short enough for a chart."""
        return self.style.label if self.protocol == "base" else f"{self.style.label}, {self.protocol}"

    def row(self, summary: Summary) -> tuple[Text, ...]:
        return (self.name, *(data_cell(summary, figure) for figure in self.figures))

    def omission(self, most: int | None = None) -> str:
        """Why it is not drawn, by its first columns or by all."""
        named = zip((column.name for column in self.columns), self.figures, strict=True)
        return omission_note(self.name, list(named)[:most])


def series(
    summary: Summary, judges: Iterable[JudgeEntry], columns: Sequence[Column], needed: int | None = None
) -> list[Series]:
    """Each judge under base, and under every protocol with a figure in one of `columns[:needed]`.

    With 0 of them needed, base is all.
    """
    styles, found = series_styles(summary), []
    for judge in judges:
        for protocol in ("base", *(name for name in judge.protocols if name != "base")):
            figures = tuple(column.find(summary, judge.name, protocol) for column in columns)
            if protocol == "base" or any(figure is not None for figure in figures[:needed]):
                found.append(Series(judge, protocol, styles[judge.name], columns, figures))
    return found


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


MARGIN, HEADING, LINE = 16, 34, 22
"""Pixels around everything, for the title, and for a line of text."""
WORD = 7.2
"""Pixels of a letter of the legend, about."""
_COLOUR = re.compile(r"--([\w-]+):\s*(?:light-dark\(\s*([^,]+),[^)]*\)|([^;]+));")
_SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"')
_ROLE = re.compile(r"var\(--([\w-]+)\)")


def figure_key(estimate: Estimate) -> str:
    """A name of a figure for the marks that stand for it."""
    judge, probe, metric, group = address(estimate)
    return short_hash(content_hash([judge, probe, metric, sorted(map(list, group), key=str)]))


def marking(element: svg.SvgElement, estimate: Estimate | None) -> svg.SvgElement:
    """The mark of a figure, to be a link to what stands behind it."""
    if estimate is None:
        return element
    told = f"{estimate.judge}, {metric_named(estimate.metric).name} {numbers.value(estimate)}"
    link = svg.tag("a", element.markup, href=f"#{MARK}{figure_key(estimate)}", aria_label=told)
    return replace(element, markup=link)


MARK = "figure-"
_MARK = re.compile(rf'href="#{MARK}(\w+)"')
_LINKS = re.compile(r"</?a\b[^>]*>")


def linked_marks(chart: Chart, figures: Mapping[str, Estimate], link: Callable[[Estimate], str]) -> Chart:
    """The chart with marks that lead to their figures."""

    def place(match: re.Match[str]) -> str:
        estimate = figures.get(match[1])
        return "" if estimate is None else f'href="{escape(link(estimate))}"'

    return replace(
        chart, panels=tuple(replace(panel, svg=_MARK.sub(place, panel.svg)) for panel in chart.panels)
    )


def chart_svg(chart: Chart) -> str:
    """The chart as an SVG file of its own: drawings, titles and legend, in the light colours."""
    parts, width, top = [], 0.0, float(MARGIN + HEADING)
    for panel in chart.panels:
        sizes = _SIZE.search(panel.svg)
        across, down = (float(sizes[1]), float(sizes[2])) if sizes else (0.0, 0.0)
        if panel.title:
            parts.append(_text(MARGIN, top + 14, panel.title, weight=600))
            top += LINE
        alone = _LINKS.sub("", panel.svg)
        parts.append(alone.replace("<svg ", f'<svg x="{MARGIN}" y="{top:g}" ', 1))
        width, top = max(width, across), top + down + MARGIN
    width = max(width, len(chart.title) * 1.4 * WORD)
    for line in _lines(chart.legend, width):
        parts.append(_legend_line(line, top))
        top += LINE
    body = "\n".join([_text(MARGIN, MARGIN + 16, chart.title, size=18, weight=600), *parts])
    across, down = width + 2 * MARGIN, top + MARGIN
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:g}" height="{down:g}" '
        f'viewBox="0 0 {across:g} {down:g}" font-family="system-ui, sans-serif">\n'
        f"<title>{escape(chart.title)}</title>\n"
        f'<rect width="100%" height="100%" fill="var(--paper)"/>\n{body}\n</svg>\n'
    )
    roles = _roles()  # a role that the style sheet has not is drawn in ink
    return _ROLE.sub(lambda role: roles.get(role[1], roles["ink"]), svg)


def _text(x: float, y: float, words: str, *, size: int = 14, weight: int = 400, role: str = "ink") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="var(--{role})">'
        f"{escape(words)}</text>"
    )


def _lines(legend: tuple[LegendEntry, ...], width: float) -> list[list[tuple[float, LegendEntry]]]:
    """The entries of a legend with their places, as many in a line as there is room for."""
    lines: list[list[tuple[float, LegendEntry]]] = []
    x = width
    for entry in legend:
        wide = 28 + WORD * len(entry.text + entry.sign)
        if not lines or x + wide > width:
            lines.append([])
            x = 0.0
        lines[-1].append((x, entry))
        x += wide
    return lines


def _legend_line(line: list[tuple[float, LegendEntry]], top: float) -> str:
    parts = []
    for x, entry in line:
        left = MARGIN + x
        if entry.sign:
            parts.append(_text(left, top + 14, entry.sign, role=entry.role))
        else:
            parts.append(
                f'<rect x="{left:g}" y="{top + 4:g}" width="11" height="11" fill="var(--{entry.role})"/>'
            )
        parts.append(_text(left + 8 + WORD * max(1, len(entry.sign)), top + 14, entry.text))
    return "\n".join(parts)


@cache
def _roles() -> dict[str, str]:
    """The roles of the style sheet with their light colours."""
    style = (files("steelyard.datasheet.render.html") / "style.css").read_text(encoding="utf-8")
    return {name: (light or plain).strip() for name, light, plain in _COLOUR.findall(style)}
