"""Figure: what a preference between texts of equal quality is made of."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.datasheet.html.chart import Spec, colour, draw
from steelyard.datasheet.html.figure import Figure, Panel, cell, everyone, why_not
from steelyard.datasheet.html.labels import short
from steelyard.datasheet.summary import Summary
from steelyard.metrics.estimate import Estimate

WIDTH, ROW = 430, 46

PARTS: tuple[tuple[str, str, str, int | None], ...] = (
    ("stable", "stable: same text in both orders", "stable_cross_sensitivity", None),
    ("slot-1", "positional: slot 1 in both orders", "positional_false_preference", 1),
    ("slot-2", "positional: slot 2 in both orders", "positional_false_preference", 2),
    ("one-sided", "one-sided: a winner in one order only", "one_sided_commit", None),
    ("other", "other: the other order gave no verdict", "other_conflict", None),
    ("none", "no preference: tie in both orders", "no_preference", None),
)
"""Colour role, words, metric and slot of each segment, in drawing order."""


@dataclass(frozen=True)
class Bar:
    """One judge under one protocol."""

    name: str
    """Judge and protocol."""
    parts: tuple[Estimate | None, ...]
    """One estimate per segment."""
    quiet: bool
    """True for baselines."""

    @property
    def drawable(self) -> bool:
        """True where at least one segment has a value."""
        return any(part is not None and part.value is not None for part in self.parts)


def decomposition(summary: Summary) -> Figure:
    """Stacked bars over the canonical pairs of equal quality."""
    bars = _bars(summary)
    drawn = [bar for bar in bars if bar.drawable]
    words = tuple(
        words.partition(":")[0] if slot is None else f"positional, slot {slot}" for _, words, _, slot in PARTS
    )
    rows = tuple((bar.name, *(cell(part) for part in bar.parts)) for bar in bars)
    return Figure(
        id="decomposition",
        title="Same-quality pairs, taken apart",
        caption="Each bar is all pairs of equal quality, shown in both orders; the numbers are pairs. A sound judge is "
        "all pale: no preference.",
        panels=(Panel(draw(_spec(drawn), width=WIDTH, height=ROW * len(drawn))),) if drawn else (),
        label="Shares of same-quality pairs. "
        + "; ".join(
            f"{row[0]}: " + ", ".join(map(" ".join, zip(words, row[1:], strict=True))) for row in rows
        ),
        header=("judge", *words),
        rows=rows,
        key=tuple((role, text) for role, text, _, _ in PARTS),
        omitted=tuple(
            why_not(bar.name, [(term, part) for term, part in zip(words, bar.parts, strict=True)])
            for bar in bars
            if not bar.drawable
        ),
    )


def _bars(summary: Summary) -> list[Bar]:
    bars: list[Bar] = []
    for judge in everyone(summary):
        for protocol in judge.protocols or {"base": ""}:
            parts = tuple(_part(summary, judge.name, protocol, metric, slot) for _, _, metric, slot in PARTS)
            name = judge.name if protocol == "base" else f"{judge.name}, {protocol}"
            if protocol == "base" or any(part is not None for part in parts):
                bars.append(Bar(name, parts, judge.baseline))
    return bars


def _part(summary: Summary, judge: str, protocol: str, metric: str, slot: int | None) -> Estimate | None:
    group: dict[str, str | float] = {"protocol": protocol, "delta": 0, "kind": "same_subset"}
    if slot is not None:
        group["slot"] = slot
    return summary.datasheet.find(judge, metric, "ladder", **group)


def _spec(bars: list[Bar]) -> Spec:
    segments: list[dict[str, object]] = []
    for number, bar in enumerate(bars):
        start = 0.0
        for (role, _, _, _), part in zip(PARTS, bar.parts, strict=True):
            share = 0.0 if part is None or part.value is None else part.value
            if part is not None and share > 0:
                segments.append(_segment(number, start, share, role, part))
            start += share
    names = [{"y": number, "name": short(bar.name)} for number, bar in enumerate(bars)]
    x = {"field": "from", "type": "quantitative", "scale": {"domain": [0, 1], "nice": False, "clamp": True},
         "axis": {"title": "share of pairs", "values": [0, 0.25, 0.5, 0.75, 1], "format": ".2~f", "grid": False}}  # fmt: skip
    y = {
        "field": "y",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [len(bars) - 0.4, -0.6], "nice": False},
    }
    return {"layer": [_rects(segments, x, y), _numbers(segments, x, y), _names(names, y)]}


def _segment(number: int, start: float, share: float, role: str, part: Estimate) -> dict[str, object]:
    text = (
        str(part.numerator)
        if part.numerator is not None and share * WIDTH > 9 * len(str(part.numerator))
        else ""
    )
    ink = "paper" if role in ("stable", "slot-1", "one-sided", "other") else "ink"
    return {
        "y": number - 0.18, "y2": number + 0.32, "middle": number + 0.07, "from": start, "to": start + share,
        "centre": start + share / 2, "fill": colour(role), "text": text, "ink": colour(ink),
    }  # fmt: skip


def _rects(segments: list[dict[str, object]], x: Spec, y: Spec) -> Spec:
    return {
        "data": {"values": segments},
        "mark": {"type": "rect", "stroke": colour("paper"), "strokeWidth": 1},
        "encoding": {"x": x, "x2": {"field": "to"}, "y": y, "y2": {"field": "y2"},
                     "fill": {"field": "fill", "type": "nominal", "scale": None}},
    }  # fmt: skip


def _numbers(segments: list[dict[str, object]], x: Spec, y: Spec) -> Spec:
    return {
        "data": {"values": [segment for segment in segments if segment["text"]]},
        "mark": {"type": "text", "baseline": "middle", "fontSize": 12, "fontWeight": 600},
        "encoding": {"x": {**x, "field": "centre"}, "y": {**y, "field": "middle"},
                     "text": {"field": "text", "type": "nominal"},
                     "color": {"field": "ink", "type": "nominal", "scale": None}},
    }  # fmt: skip


def _names(names: list[dict[str, object]], y: Spec) -> Spec:
    return {
        "data": {"values": names},
        "mark": {"type": "text", "align": "left", "baseline": "bottom", "fontSize": 13, "dy": -10, "x": 0},
        "encoding": {"y": y, "text": {"field": "name", "type": "nominal"}},
    }
