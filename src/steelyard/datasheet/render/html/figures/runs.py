"""Figure: runs of agents that should fail and are passed, by what was done to them, where, and how much."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.datasheet.render.html.drawing.chart import colour, draw, layer, mark
from steelyard.datasheet.render.html.drawing.figure import Figure, Panel, cell, looks, spoken
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.render.html.drawing.tiles import LETTER
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.agent_runs import MISSED_FAILURES, PROBE, SIZES, THIRDS

WIDTH, LINE, PADDING = 260, 26, 8
"""Width of a plot, height of a line, and space between names and plot, in pixels."""
KEYS = ("edit", "place", "size")
"""Conditions that are drawn, in order."""
CAPTION = (
    "Share of calls that pass a run which should fail, with 95 % intervals: by what was done to the run, and "
    "of edits that broke it by their place in the run and by the words that they changed. The dashed line is "
    "the share over all such runs. A judge that reads the whole run shows no difference between the thirds."
)


def runs(summary: Summary) -> Figure | None:
    """Missed failures by condition; None where no run of an agent was judged."""
    every = {judge.name: _parts(summary, judge.name) for judge in summary.measured}
    drawn = {name: rows for name, rows in every.items() if rows}
    if not drawn:
        return None
    found = {_name(estimate): estimate for rows in drawn.values() for estimate in rows}
    names = sorted(found, key=lambda name: _order(found[name]))
    header = ("runs that should fail", *drawn)
    table = tuple((name, *(cell(summary, _of(rows, name)) for rows in drawn.values())) for name in names)
    panels = tuple(
        Panel(_plot(summary, judge, rows, names, spoken(header, table)), judge)
        for judge, rows in drawn.items()
    )
    return Figure("Failures of agents that are passed", CAPTION, panels, header, table, wide=True)


def _parts(summary: Summary, judge: str) -> list[Estimate]:
    return [
        estimate
        for estimate in summary.datasheet.of(judge, MISSED_FAILURES.id)
        if any(key in estimate.group for key in KEYS) and numbers.defined(estimate)
    ]


def _name(estimate: Estimate) -> str:
    return numbers.condition({key: value for key, value in estimate.group.items() if key in KEYS})


def _order(estimate: Estimate) -> tuple[int, str]:
    """Edits by name, then places and sizes from the first to the last."""
    key = next(key for key in KEYS if key in estimate.group)
    value = str(estimate.group[key])
    named = [*THIRDS, *(name for _, name in SIZES)]
    return KEYS.index(key), f"{named.index(value):02d}" if value in named else value


def _of(rows: Sequence[Estimate], name: str) -> Estimate | None:
    return next((estimate for estimate in rows if _name(estimate) == name), None)


def _plot(
    summary: Summary, judge: str, rows: Sequence[Estimate], names: Sequence[str], description: str
) -> str:
    role = colour(looks(summary)[judge].role)
    points = [{"name": _name(e), "at": e.value} for e in rows]
    ends = [
        {"name": _name(e), "low": e.interval.low, "high": e.interval.high}
        for e in rows
        if e.interval is not None
    ]
    rule, dot = mark("rule", color=role, strokeWidth=1.6), mark("point", filled=True, size=80, color=role)
    layers = [
        *_whole(summary, judge),
        layer(ends, rule, x={"field": "low"}, x2={"field": "high"}, y={"field": "name"}),
        layer(points, dot, x={"field": "at"}, y={"field": "name"}),
    ]
    axis = {"title": "passed", "grid": True, "values": [0, 0.2, 0.4, 0.6, 0.8, 1]}
    place: Spec = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": axis}
    for each in layers:
        encoding = each["encoding"]
        encoding["x"] = {**place, **encoding["x"]}
        if "y" in encoding:
            encoding["y"] = {**_lines(names), **encoding["y"]}
    height = LINE * len(names)
    return draw(layers, width=WIDTH, height=height, title=f"Failures passed, {judge}", label=description)


def _whole(summary: Summary, judge: str) -> list[Spec]:
    """The share over all runs that should fail."""
    pooled = summary.datasheet.find(judge, MISSED_FAILURES.id, PROBE, protocol="base")
    if pooled is None or not numbers.defined(pooled):
        return []
    drawn = mark("rule", color=colour("muted"), strokeWidth=1.2, strokeDash=[4, 3])
    return [layer([{"at": pooled.value}], drawn, x={"field": "at"})]


def _lines(names: Sequence[str]) -> Spec:
    axis: Spec = {"title": None, "grid": False, "ticks": False, "domain": False, "labelLimit": 190}
    axis["minExtent"] = min(190, LETTER * max(map(len, names))) + PADDING
    axis |= {"labelColor": colour("ink"), "labelFontSize": 13, "labelPadding": PADDING}
    return {"type": "nominal", "sort": list(names), "axis": axis}
