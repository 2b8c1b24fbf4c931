"""Stacked bar chart: what a preference between texts of equal quality is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.datasheet.render.html.drawing.axis import Scale, draw, rate_axis
from steelyard.datasheet.render.html.drawing.chart import (
    SAME_QUALITY,
    Chart,
    Column,
    LegendEntry,
    Panel,
    Series,
    all_judges,
    aria_label,
    pairs_only,
    series,
)
from steelyard.datasheet.render.html.drawing.svg import Box, SvgElement, draw_rect, draw_text
from steelyard.datasheet.sections.sections import LADDER
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.metric import Metric
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
    column: Column
    meaning: str
    pale: bool = False
    """True where dark ink is written on it."""


def _column(metric: Metric, name: str, **slot: int) -> Column:
    return Column(name, metric.id, LADDER, {**SAME_QUALITY, **slot})


STABLE, ONE_SIDED = STABLE_CROSS_SENSITIVITY, ONE_SIDED_COMMIT
SLOT_1, SLOT_2 = (_column(POSITIONAL_FALSE_PREFERENCE, f"prefers slot {slot}", slot=slot) for slot in (1, 2))
PARTS = (
    AnswerKind("stable", _column(STABLE, STABLE.name), "prefers a wording: same text in both orders"),
    AnswerKind("slot-1", SLOT_1, "prefers slot 1 in both orders"),
    AnswerKind("slot-2", SLOT_2, "prefers slot 2 in both orders", pale=True),
    AnswerKind("one-sided", _column(ONE_SIDED, ONE_SIDED.name), "a winner in one order only"),
    AnswerKind("other", _column(OTHER_CONFLICT, "other"), "other: the second verdict is missing"),
    AnswerKind(
        "none", _column(NO_PREFERENCE, NO_PREFERENCE.label), "no preference: tie in both orders", pale=True
    ),
)
COLUMNS = [part.column for part in PARTS]
TITLE = "Same-quality pairs, taken apart"
HEADER = ("judge", *(column.name for column in COLUMNS))
CAPTION = (
    "Each bar is all pairs of equal quality, shown in both orders; the numbers are pairs. A sound judge is "
    "one bar of no preference."
)


@pairs_only
def decomposition(summary: Summary) -> Chart:
    bars = series(summary, all_judges(summary), COLUMNS)
    drawn = [bar for bar in bars if any(map(numbers.defined, bar.figures))]
    half = len(drawn) if len(drawn) <= TALLEST else -(-len(drawn) // 2)
    return Chart(
        TITLE,
        CAPTION,
        tuple(_panel(summary, part) for part in (drawn[:half], drawn[half:]) if part),
        HEADER,
        tuple(bar.row(summary) for bar in bars),
        legend=tuple(LegendEntry(part.role, part.meaning) for part in PARTS),
        omitted=tuple(bar.omission() for bar in bars if bar not in drawn),
        wide=len(drawn) > TALLEST,
    )


def _panel(summary: Summary, bars: Sequence[Series]) -> Panel:
    height, label = ROW * len(bars), aria_label(HEADER, (bar.row(summary) for bar in bars))
    elements = list(_bar_elements(bars, Scale(-0.6, len(bars) - 0.4, height)))
    axis = rate_axis("share of pairs", WIDTH, grid=False)
    return Panel(draw(elements, width=WIDTH, height=height, title=TITLE, label=label, x=axis))


def _bar_elements(bars: Sequence[Series], y: Scale) -> Iterator[SvgElement]:
    for number, bar in enumerate(bars):
        start = 0.0
        for part, estimate in zip(PARTS, bar.figures, strict=True):
            share = estimate.value if numbers.defined(estimate) and estimate.value else 0.0
            end = min(1.0, start + share)
            if estimate is not None and end > start:
                box = Box(WIDTH * start, y(number - 0.18), WIDTH * end, y(number + 0.32))
                yield draw_rect(box, role=part.role, stroke="paper")
                text = "" if estimate.numerator is None else str(estimate.numerator)
                if text and (end - start) * WIDTH > DIGIT * len(text) + 2:  # the segment has room for it
                    middle = ((box.left + box.right) / 2, y(number + 0.07))
                    yield draw_text(text, middle, role="ink" if part.pale else "paper", size=12, weight=600)
            start = end
        role = "muted" if bar.judge.baseline else "ink"
        yield draw_text(bar.label, (0, y(number - 0.22)), role=role, align="left", baseline="bottom")
