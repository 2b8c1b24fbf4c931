"""Figure: accuracy by stratum of the data, one small plot for each judge."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.render.html.drawing.chart import colour, draw, layer, mark
from steelyard.datasheet.render.html.drawing.figure import Figure, Panel, cell, looks, spoken
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.render.html.drawing.tiles import LETTER
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.sections.tables import by_stratum
from steelyard.datasheet.words import numbers
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.strata import STRATUM_GAP

WIDTH, LINE = 260, 26
"""Width of a plot and height of a line, in pixels."""
PADDING = 8
"""Pixels between the names and the plot."""
MOST = 20
"""Strata that are drawn; the table below has all of them."""
CAPTION = (
    "Share of right verdicts on unchanged items or natural pairs in each stratum, with 95 % intervals. The "
    "dashed line is the judge's accuracy over all strata. A diamond marks a stratum that is lower than the "
    "others, after correction for having looked at all of them."
)


def strata(summary: Summary) -> Figure | None:
    """Accuracy by stratum; None where the data have none."""
    accuracies = {judge.name: _accuracies(summary, judge) for judge in summary.measured}
    drawn = {name: rows for name, rows in accuracies.items() if rows}
    if not drawn:
        return None
    names = list(dict.fromkeys(str(e.group["stratum"]) for rows in drawn.values() for e in rows))
    header = ("stratum", *drawn)
    table = tuple((name, *(cell(summary, _of(rows, name)) for rows in drawn.values())) for name in names)
    panels = tuple(
        Panel(_plot(summary, judge, rows, names[:MOST], spoken(header, table)), judge)
        for judge, rows in drawn.items()
    )
    omitted = (f"{len(names) - MOST} further strata",) if len(names) > MOST else ()
    return Figure("Accuracy by stratum", CAPTION, panels, header, table, omitted=omitted, wide=True)


def _accuracies(summary: Summary, judge: JudgeEntry) -> list[Estimate]:
    return [
        estimate
        for estimate in by_stratum(summary.datasheet, judge.name)
        if estimate.metric == ACCURACY.id and numbers.defined(estimate)
    ]


def _of(rows: Sequence[Estimate], name: str) -> Estimate | None:
    return next((estimate for estimate in rows if estimate.group["stratum"] == name), None)


def _plot(
    summary: Summary, judge: str, rows: Sequence[Estimate], names: Sequence[str], description: str
) -> str:
    shown = [estimate for estimate in rows if estimate.group["stratum"] in names]
    role = colour(looks(summary)[judge].role)
    worst = _worse(summary, judge)
    points = [
        {
            "name": str(e.group["stratum"]),
            "at": e.value,
            "sign": "worse" if e.group["stratum"] == worst else "other",
        }
        for e in shown
    ]
    ends = [
        {"name": str(e.group["stratum"]), "low": e.interval.low, "high": e.interval.high}
        for e in shown
        if e.interval is not None
    ]
    shape: Spec = {
        "field": "sign",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": ["other", "worse"], "range": ["circle", "diamond"]},
    }
    layers = [
        *_whole(summary, judge, rows),
        layer(
            ends,
            mark("rule", color=role, strokeWidth=1.6),
            x={"field": "low"},
            x2={"field": "high"},
            y={"field": "name"},
        ),
        layer(
            points,
            mark("point", filled=True, size=80, opacity=1, color=role),
            x={"field": "at"},
            y={"field": "name"},
            shape=shape,
        ),
    ]
    place: Spec = {
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {"title": "accuracy", "grid": True, "values": [0, 0.2, 0.4, 0.6, 0.8, 1]},
    }
    for each in layers:
        encoding = each["encoding"]
        encoding["x"] = {**place, **encoding["x"]}
        if "y" in encoding:
            encoding["y"] = {**_lines(names), **encoding["y"]}
    return draw(
        layers,
        width=WIDTH,
        height=LINE * len(names),
        title=f"Accuracy by stratum, {judge}",
        label=description,
    )


def _worse(summary: Summary, judge: str) -> str | None:
    """The stratum that is lower than the others, where the test shows it."""
    gaps = summary.datasheet.of(judge, STRATUM_GAP.id)
    return next((str(gap.group["stratum"]) for gap in gaps if gap.finding == "flagged"), None)


def _whole(summary: Summary, judge: str, rows: Sequence[Estimate]) -> list[Spec]:
    """The accuracy over all strata."""
    pooled = summary.datasheet.find(judge, ACCURACY.id, rows[0].probe, protocol="base")
    if pooled is None or not numbers.defined(pooled):
        return []
    drawn = mark("rule", color=colour("muted"), strokeWidth=1.2, strokeDash=[4, 3])
    return [layer([{"at": pooled.value}], drawn, x={"field": "at"})]


def _lines(names: Sequence[str]) -> Spec:
    axis: Spec = {"title": None, "grid": False, "ticks": False, "domain": False, "labelLimit": 160}
    axis["minExtent"] = min(160, LETTER * max(map(len, names))) + PADDING
    axis |= {"labelColor": colour("ink"), "labelFontSize": 13, "labelPadding": PADDING}
    return {"type": "nominal", "sort": list(names), "axis": axis}
