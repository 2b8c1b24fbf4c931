"""Figure: what a stricter prompt buys and costs. False preference against sensitivity, base to strict."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import JudgeEntry
from steelyard.datasheet.html.chart import draw
from steelyard.datasheet.html.figure import (
    SAME_QUALITY,
    Figure,
    Look,
    Panel,
    arm_name,
    cell,
    crowd_key,
    everyone,
    looks,
    protocols,
    spoken,
    why_not,
)
from steelyard.datasheet.html.scatter import HEIGHT, WIDTH, Axes, Point, arrow, scatter
from steelyard.datasheet.summary import Summary
from steelyard.metrics.estimate import Estimate

TITLE = "Criterion trade-off"
HEADER = ("judge", "raw false preference", "target sensitivity, 1 step", "criterion shift, same quality")
CAPTION = (
    "The best place is the upper left corner. An arrow runs from the base protocol to a stricter one: left "
    "is fewer false preferences, down is real differences lost in ties."
)


def criterion(summary: Summary) -> Figure:
    """Operating points, joined where a judge has more than one protocol."""
    look = looks(summary)
    axes = Axes.named("raw false preference, same quality", "target sensitivity, 1 step")
    arms = [(judge, list(_points(summary, judge, look[judge.name]))) for judge in everyone(summary)]
    points = [point for _, found in arms for point in found]
    rows = tuple(row for judge in everyone(summary) for row in _rows(summary, judge))
    omitted = [
        why_not(judge.name, zip(HEADER[1:3], _two(summary, judge.name, "base"), strict=True))
        for judge, found in arms
        if not found
    ]
    joined = [(found[0], later) for _, found in arms for later in found[1:] if later.at != found[0].at]
    arrows = [spec for start, end in joined for spec in arrow(axes, start, end)]
    layers = [*arrows, *scatter(axes, points)]
    svg = draw(layers, width=WIDTH, height=HEIGHT, title=TITLE, label=spoken(HEADER, rows)) if points else ""
    panels = (Panel(svg),) if svg else ()
    key = crowd_key(summary)
    return Figure("criterion", TITLE, CAPTION, panels, HEADER, rows, key, tuple(omitted))


def _two(summary: Summary, judge: str, protocol: str) -> tuple[Estimate | None, Estimate | None]:
    find = summary.datasheet.find
    return (
        find(judge, "raw_false_preference", "ladder", protocol=protocol, **SAME_QUALITY),
        find(judge, "target_sensitivity", "ladder", protocol=protocol, delta=1),
    )


def _points(summary: Summary, judge: JudgeEntry, look: Look) -> Iterator[Point]:
    for protocol in protocols(judge):
        false, target = _two(summary, judge.name, protocol)
        if numbers.defined(false) and numbers.defined(target):
            hollow = protocol != "base"
            tag = look.arm(protocol) if look.tag == look.label else look.tag
            yield Point(tag, false, target, look, quiet=judge.baseline, hollow=hollow)


def _rows(summary: Summary, judge: JudgeEntry) -> Iterator[tuple[str, ...]]:
    for protocol in protocols(judge):
        false, target = _two(summary, judge.name, protocol)
        if protocol == "base":
            yield (judge.name, cell(summary, false), cell(summary, target), "reference")
        elif false is not None or target is not None:
            shift = summary.datasheet.find(
                judge.name, "criterion_shift", "criterion", protocol=protocol, delta=0
            )
            yield (
                arm_name(judge, protocol),
                cell(summary, false),
                cell(summary, target),
                cell(summary, shift),
            )
