"""Figure: what a preference between texts of equal quality is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.datasheet.render.html.drawing.chart import TEXT, colour, draw, layer, mark, rate_axis
from steelyard.datasheet.render.html.drawing.figure import (
    SAME_QUALITY,
    Figure,
    Key,
    Panel,
    arm_name,
    cell,
    everyone,
    looks,
    of_pairs,
    protocols,
    spoken,
    why_not,
)
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.decomposition import (
    NO_PREFERENCE,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    STABLE_CROSS_SENSITIVITY,
)
from steelyard.metrics.pairs.equals import OTHER_CONFLICT

WIDTH, ROW, DIGIT = 430, 46, 9
"""Width of a full bar, height of a row and width of a digit, in pixels."""
TALLEST = 10
"""Bars in one column."""


@dataclass(frozen=True)
class Part:
    """One kind of answer to a pair shown in both orders."""

    role: str
    """Colour role."""
    name: str
    """Column name."""
    meaning: str
    """Words of the key."""
    metric: str
    """Metric id."""
    slot: int | None = None
    """Slot, for answers that are split by it."""
    pale: bool = False
    """True where dark ink is written on it."""


PARTS = (
    Part(
        "stable",
        STABLE_CROSS_SENSITIVITY.name,
        "prefers a wording: same text in both orders",
        STABLE_CROSS_SENSITIVITY.id,
    ),
    Part("slot-1", "prefers slot 1", "prefers slot 1 in both orders", POSITIONAL_FALSE_PREFERENCE.id, 1),
    Part(
        "slot-2",
        "prefers slot 2",
        "prefers slot 2 in both orders",
        POSITIONAL_FALSE_PREFERENCE.id,
        2,
        pale=True,
    ),
    Part("one-sided", ONE_SIDED_COMMIT.name, "a winner in one order only", ONE_SIDED_COMMIT.id),
    Part("other", "other", "other: the second verdict is missing", OTHER_CONFLICT.id),
    Part(
        "none",
        NO_PREFERENCE.label,
        "no preference: tie in both orders",
        NO_PREFERENCE.id,
        pale=True,
    ),
)
"""In drawing order."""
TITLE = "Same-quality pairs, taken apart"
HEADER = ("judge", *(part.name for part in PARTS))
CAPTION = (
    "Each bar is all pairs of equal quality, shown in both orders; the numbers are pairs. A sound judge is "
    "one bar of no preference."
)


@dataclass(frozen=True)
class Bar:
    """One judge under one protocol."""

    name: str
    """Judge and protocol."""
    label: str
    """The same, short enough for the figure."""
    shares: tuple[Estimate | None, ...]
    """One estimate per part."""
    quiet: bool = False
    """True for baselines."""

    @property
    def drawable(self) -> bool:
        """True where at least one part has a value."""
        return any(numbers.defined(share) for share in self.shares)


@of_pairs
def decomposition(summary: Summary) -> Figure:
    """Stacked bars over the canonical pairs of equal quality."""
    bars = list(_bars(summary))
    drawn = [bar for bar in bars if bar.drawable]
    rows = tuple((bar.name, *(cell(summary, share) for share in bar.shares)) for bar in bars)
    named = [(bar.name, zip(HEADER[1:], bar.shares, strict=True)) for bar in bars if not bar.drawable]
    return Figure(
        TITLE,
        CAPTION,
        tuple(_panel(summary, chunk) for chunk in _columns(drawn)),
        HEADER,
        rows,
        key=tuple(Key(part.role, part.meaning) for part in PARTS),
        omitted=tuple(why_not(name, shares) for name, shares in named),
        wide=len(drawn) > TALLEST,
    )


def _columns(bars: Sequence[Bar]) -> list[Sequence[Bar]]:
    """The bars in one column, or in two of about the same height."""
    if len(bars) <= TALLEST:
        return [bars] if bars else []
    half = -(-len(bars) // 2)
    return [bars[:half], bars[half:]]


def _panel(summary: Summary, bars: Sequence[Bar]) -> Panel:
    label = spoken(HEADER, ((bar.name, *(cell(summary, share) for share in bar.shares)) for bar in bars))
    return Panel(draw(_layers(bars), width=WIDTH, height=ROW * len(bars), title=TITLE, label=label))


def _bars(summary: Summary) -> Iterator[Bar]:
    look = looks(summary)
    for judge in everyone(summary):
        for protocol in protocols(judge):
            shares = tuple(_share(summary, judge.name, protocol, part) for part in PARTS)
            if protocol == "base" or any(share is not None for share in shares):
                label = look[judge.name].arm(protocol)
                yield Bar(arm_name(judge, protocol), label, shares, judge.baseline)


def _share(summary: Summary, judge: str, protocol: str, part: Part) -> Estimate | None:
    slot: dict[str, str | float] = {} if part.slot is None else {"slot": part.slot}
    return summary.datasheet.find(judge, part.metric, "ladder", protocol=protocol, **SAME_QUALITY, **slot)


def _layers(bars: Sequence[Bar]) -> list[Spec]:
    segments = [segment for number, bar in enumerate(bars) for segment in _segments(number, bar)]
    numbered = [segment for segment in segments if segment["text"]]
    names = [
        {"y": number - 0.22, "text": bar.label, "ink": colour("muted" if bar.quiet else "ink")}
        for number, bar in enumerate(bars)
    ]
    ink: Spec = {"field": "ink", "type": "nominal", "scale": None}
    x = rate_axis("from", "share of pairs", grid=False)
    scale = {"domain": [len(bars) - 0.4, -0.6], "nice": False}
    y: Spec = {"field": "y", "type": "quantitative", "axis": None, "scale": scale}
    return [
        layer(
            segments,
            mark("rect", stroke=colour("paper"), strokeWidth=1),
            x=x,
            x2={"field": "to"},
            y=y,
            y2={"field": "y2"},
            fill={"field": "fill", "type": "nominal", "scale": None},
        ),
        layer(
            numbered,
            mark("text", fontSize=12, fontWeight=600),
            x={**x, "field": "centre"},
            y={**y, "field": "middle"},
            text=TEXT,
            color=ink,
        ),
        layer(names, mark("text", align="left", baseline="bottom", x=0), y=y, text=TEXT, color=ink),
    ]


def _segments(number: int, bar: Bar) -> Iterator[dict[str, object]]:
    start = 0.0
    for part, estimate in zip(PARTS, bar.shares, strict=True):
        share = estimate.value if numbers.defined(estimate) and estimate.value else 0.0
        end = min(1.0, start + share)
        if estimate is not None and end > start:
            yield {
                "y": number - 0.18,
                "y2": number + 0.32,
                "middle": number + 0.07,
                "from": start,
                "to": end,
                "centre": (start + end) / 2,
                "fill": colour(part.role),
                "text": _count(estimate, end - start),
                "ink": colour("ink" if part.pale else "paper"),
            }
        start = end


def _count(estimate: Estimate, share: float) -> str:
    """The count, where the segment is wide enough for it."""
    text = "" if estimate.numerator is None else str(estimate.numerator)
    return text if share * WIDTH > DIGIT * len(text) + 2 else ""
