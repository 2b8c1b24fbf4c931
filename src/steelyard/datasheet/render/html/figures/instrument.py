"""Figure: the instrument model, one panel per parameter, judges and protocols below each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.datasheet.render.html.drawing.chart import colour, draw, layer, mark
from steelyard.datasheet.render.html.drawing.figure import (
    Figure,
    Look,
    Panel,
    arm_name,
    cell,
    looks,
    of_pairs,
    protocols,
    spoken,
    why_not,
)
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument.estimates import FIT_PROBABILITY, LIMIT_OF_DETECTION
from steelyard.metrics.instrument.likelihood import NAMES, RESOLUTION
from steelyard.metrics.instrument.resolution_ratio import RESOLUTION_RATIO

WIDTH, ROW = 210, 30
"""Width of a panel and height of a row, in pixels."""
TITLE = "Instrument model"
CAPTION = (
    "One fit per judge and protocol, in units of the judge's noise; the lapse rate is a share, the limit of "
    "detection counts quality steps. Bars are 95 % intervals; an arrow is an end that the data leave open. "
    "Hollow marks are another protocol: one that only makes a judge more cautious moves its tie threshold "
    "and leaves its resolution where it was."
)
PARAMETERS = tuple(metric.id for metric in NAMES)
DRAWN = (*PARAMETERS, LIMIT_OF_DETECTION.id)
METRICS = (*DRAWN, FIT_PROBABILITY.id, RESOLUTION_RATIO.id)
HEADER = ("judge", *(metric_named(metric).name for metric in METRICS))


@dataclass(frozen=True)
class Arm:
    """One judge under one protocol."""

    name: str
    """Judge and protocol."""
    label: str
    """The same, short enough for the figure."""
    look: Look
    """Colour and shape."""
    hollow: bool
    """True for a protocol other than base."""
    figures: dict[str, Estimate]
    """Metric to estimate."""


@of_pairs
def instrument(summary: Summary) -> Figure | None:
    """A dot plot of every parameter; None where no judge was fitted."""
    arms = list(_arms(summary))
    drawn = [arm for arm in arms if any(numbers.defined(arm.figures.get(name)) for name in PARAMETERS)]
    if not drawn:
        return None
    rows = [(arm.name, *(cell(summary, arm.figures.get(m)) for m in METRICS)) for arm in arms]
    omitted = [
        why_not(arm.name, [(HEADER[1], arm.figures.get(RESOLUTION.id))]) for arm in arms if arm not in drawn
    ]
    panels = [_panel(summary, drawn, metric) for metric in DRAWN]
    return Figure(TITLE, CAPTION, tuple(panels), HEADER, tuple(rows), omitted=tuple(omitted), wide=True)


def _arms(summary: Summary) -> Iterator[Arm]:
    look = looks(summary)
    for judge in summary.measured:
        for protocol in protocols(judge):
            figures = {
                metric: estimate
                for metric in METRICS
                if (estimate := summary.datasheet.find(judge.name, metric, "ladder", protocol=protocol))
            }
            if figures or protocol == "base":
                mine = look[judge.name]
                yield Arm(arm_name(judge, protocol), mine.arm(protocol), mine, protocol != "base", figures)


def _panel(summary: Summary, arms: Sequence[Arm], metric: str) -> Panel:
    label = metric_named(metric).name
    shown = [(arm, arm.figures[metric]) for arm in arms if numbers.defined(arm.figures.get(metric))]
    low, high = _domain([estimate for _, estimate in shown])
    x: Spec = {
        "field": "x",
        "type": "quantitative",
        "scale": {"domain": [low, high], "nice": False},
        "axis": {"title": None, "tickCount": 4, "format": "~f", "grid": True},
    }
    y: Spec = {
        "field": "row",
        "type": "nominal",
        "scale": {"domain": [arm.label for arm in arms]},
        "axis": {"title": None, "domain": False, "ticks": False, "labelLimit": 150, "labelPadding": 10},
    }
    zero = layer([{"x": 0}], mark("rule", color=colour("muted"), strokeWidth=1), x=x)
    drawn = [spec for arm, estimate in shown for spec in _drawn(arm, estimate, (low, high))]
    placed = [{**spec, "encoding": {"x": x, "y": y, **spec["encoding"]}} for spec in drawn]
    words = spoken(("judge", label), ((arm.name, cell(summary, arm.figures.get(metric))) for arm in arms))
    title = f"{TITLE}: {label}"
    return Panel(draw([zero, *placed], width=WIDTH, height=ROW * len(arms), title=title, label=words), label)


def _domain(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """From zero or the lowest end to the highest, with a margin in which arrows stand."""
    ends = [0.0]
    for estimate in estimates:
        interval = estimate.interval
        known = (estimate.value, interval.low, interval.high) if interval else (estimate.value,)
        ends += [end for end in known if end is not None]
    low, high = min(ends), max(ends)
    room = 0.12 * (high - low) or 1.0
    return (low - room if low < 0 else 0.0), high + room


def _drawn(arm: Arm, estimate: Estimate, domain: tuple[float, float]) -> list[Spec]:
    """The interval, an arrow for each open end, and the value; a bound has no mark of its own."""
    role, interval = colour(arm.look.role), estimate.interval
    low = domain[0] if interval is None or interval.low is None else interval.low
    high = domain[1] if interval is None or interval.high is None else interval.high
    bar = mark("rule", color=role, strokeWidth=2.5, opacity=0.65)
    specs = [layer([{"row": arm.label, "x": low, "x2": high}], bar, x2={"field": "x2"})]
    for end, at, shape in (("low", low, "triangle-left"), ("high", high, "triangle-right")):
        if interval is not None and getattr(interval, end) is None:
            tip = mark("point", shape=shape, size=70, fill=role, stroke=role, opacity=1)
            specs.append(layer([{"row": arm.label, "x": at}], tip))
    if estimate.censored is None:
        fill = colour("paper") if arm.hollow else role
        dot = mark("point", shape=arm.look.shape, size=70, strokeWidth=1.8, fill=fill, stroke=role, opacity=1)
        specs.append(layer([{"row": arm.label, "x": estimate.value}], dot))
    return specs
