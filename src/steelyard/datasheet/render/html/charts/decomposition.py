"""Stacked bar chart: what a preference between texts of equal quality is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.datasheet.render.html.drawing.axis import Scale, draw, rate_axis
from steelyard.datasheet.render.html.drawing.chart import (
    SAME_QUALITY,
    Chart,
    LegendEntry,
    Panel,
    all_judges,
    aria_label,
    data_cell,
    omission_note,
    pairs_only,
    protocol_name,
    protocols,
    series_styles,
)
from steelyard.datasheet.render.html.drawing.svg import Box, SvgElement, draw_rect, draw_text
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


@dataclass(frozen=True)
class AnswerKind:
    role: str
    name: str
    meaning: str
    metric: str
    slot: int | None = None
    pale: bool = False
    """True where dark ink is written on it."""


PARTS = (
    AnswerKind(
        "stable",
        STABLE_CROSS_SENSITIVITY.name,
        "prefers a wording: same text in both orders",
        STABLE_CROSS_SENSITIVITY.id,
    ),
    AnswerKind(
        "slot-1", "prefers slot 1", "prefers slot 1 in both orders", POSITIONAL_FALSE_PREFERENCE.id, 1
    ),
    AnswerKind(
        "slot-2",
        "prefers slot 2",
        "prefers slot 2 in both orders",
        POSITIONAL_FALSE_PREFERENCE.id,
        2,
        pale=True,
    ),
    AnswerKind("one-sided", ONE_SIDED_COMMIT.name, "a winner in one order only", ONE_SIDED_COMMIT.id),
    AnswerKind("other", "other", "other: the second verdict is missing", OTHER_CONFLICT.id),
    AnswerKind(
        "none",
        NO_PREFERENCE.label,
        "no preference: tie in both orders",
        NO_PREFERENCE.id,
        pale=True,
    ),
)
TITLE = "Same-quality pairs, taken apart"
HEADER = ("judge", *(part.name for part in PARTS))
CAPTION = (
    "Each bar is all pairs of equal quality, shown in both orders; the numbers are pairs. A sound judge is "
    "one bar of no preference."
)


@dataclass(frozen=True)
class DecompositionBar:
    name: str
    label: str
    shares: tuple[Estimate | None, ...]
    baseline: bool = False

    @property
    def drawable(self) -> bool:
        return any(numbers.defined(share) for share in self.shares)


@pairs_only
def decomposition(summary: Summary) -> Chart:
    bars = list(_bars(summary))
    drawn = [bar for bar in bars if bar.drawable]
    rows = tuple((bar.name, *(data_cell(summary, share) for share in bar.shares)) for bar in bars)
    named = [(bar.name, zip(HEADER[1:], bar.shares, strict=True)) for bar in bars if not bar.drawable]
    return Chart(
        TITLE,
        CAPTION,
        tuple(_panel(summary, chunk) for chunk in _columns(drawn)),
        HEADER,
        rows,
        legend=tuple(LegendEntry(part.role, part.meaning) for part in PARTS),
        omitted=tuple(omission_note(name, shares) for name, shares in named),
        wide=len(drawn) > TALLEST,
    )


def _columns(bars: Sequence[DecompositionBar]) -> list[Sequence[DecompositionBar]]:
    if len(bars) <= TALLEST:
        return [bars] if bars else []
    half = -(-len(bars) // 2)
    return [bars[:half], bars[half:]]


def _panel(summary: Summary, bars: Sequence[DecompositionBar]) -> Panel:
    label = aria_label(
        HEADER, ((bar.name, *(data_cell(summary, share) for share in bar.shares)) for bar in bars)
    )
    height = ROW * len(bars)
    y = Scale(-0.6, len(bars) - 0.4, height)
    axis = rate_axis("share of pairs", WIDTH, grid=False)
    return Panel(
        draw(list(_bar_elements(bars, y)), width=WIDTH, height=height, title=TITLE, label=label, x=axis)
    )


def _bars(summary: Summary) -> Iterator[DecompositionBar]:
    styles = series_styles(summary)
    for judge in all_judges(summary):
        for protocol in protocols(judge):
            shares = tuple(_share(summary, judge.name, protocol, part) for part in PARTS)
            if protocol == "base" or any(share is not None for share in shares):
                label = styles[judge.name].with_protocol(protocol)
                yield DecompositionBar(protocol_name(judge, protocol), label, shares, judge.baseline)


def _share(summary: Summary, judge: str, protocol: str, part: AnswerKind) -> Estimate | None:
    slot: dict[str, str | float] = {} if part.slot is None else {"slot": part.slot}
    return summary.datasheet.find(judge, part.metric, "ladder", protocol=protocol, **SAME_QUALITY, **slot)


def _bar_elements(bars: Sequence[DecompositionBar], y: Scale) -> Iterator[SvgElement]:
    for number, bar in enumerate(bars):
        start = 0.0
        for part, estimate in zip(PARTS, bar.shares, strict=True):
            share = estimate.value if numbers.defined(estimate) and estimate.value else 0.0
            end = min(1.0, start + share)
            if estimate is not None and end > start:
                box = Box(WIDTH * start, y(number - 0.18), WIDTH * end, y(number + 0.32))
                yield draw_rect(box, role=part.role, stroke="paper")
                if text := _count(estimate, end - start):
                    middle = ((box.left + box.right) / 2, y(number + 0.07))
                    yield draw_text(text, middle, role="ink" if part.pale else "paper", size=12, weight=600)
            start = end
        role = "muted" if bar.baseline else "ink"
        yield draw_text(bar.label, (0, y(number - 0.22)), role=role, align="left", baseline="bottom")


def _count(estimate: Estimate, share: float) -> str:
    """The count, where the segment is wide enough for it."""
    text = "" if estimate.numerator is None else str(estimate.numerator)
    return text if share * WIDTH > DIGIT * len(text) + 2 else ""
