"""Label placement: a place beside each point that covers no other point or label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from statistics import fmean

from steelyard.datasheet.render.html.drawing.svg import Box

LETTER, LINE = 8.0, 16.0
"""Width of a letter and height of a line, in pixels, at the figure's font size."""
LIFTS = (
    0.0,
    *(side * lines for lines in (0.7, 1.2, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0) for side in (-1, 1)),
)
"""How far a label may move up or down, in lines, nearest first."""


@dataclass(frozen=True)
class PlacedLabel:
    text: str
    x: float
    y: float
    """Middle of the line in pixels, from the top."""
    align: str
    far: bool
    """True where a thin line should lead back to the point."""


def place_labels(
    points: Sequence[tuple[float, float, str]],
    *,
    width: float,
    height: float,
    radius: float = 9.0,
    avoid: Sequence[Box] = (),
) -> list[PlacedLabel]:
    """Labels for points in pixels, each at the candidate that covers least; equal input, equal places."""
    marks = [Box(x - radius, y - radius, x + radius, y + radius) for x, y, _ in points]
    # Hiding a mark or another label is worse than crossing a whisker.
    taken = [*avoid, *marks, *marks, *marks]
    frame = Box(0, -LINE, width + 12, height + 4)
    labels: list[PlacedLabel] = []
    for x, y, text in points:
        label, box = _best(_candidates(x, y, text, radius), taken, frame)
        taken += [box, box, box]
        labels.append(label)
    return labels


def _best(
    candidates: Iterator[tuple[PlacedLabel, Box]], taken: Sequence[Box], frame: Box
) -> tuple[PlacedLabel, Box]:
    """The first of those that cover least; one that covers nothing ends the search."""
    best, least = next(candidates), inf
    for candidate in chain([best], candidates):
        box = candidate[1]
        outside = (box.right - box.left) * (box.bottom - box.top) - box.overlap(frame)
        cost = round(sum(box.overlap(other) for other in taken) + 3 * outside, 3)
        if cost < least:
            best, least = candidate, cost
        if not least:
            break
    return best


def _candidates(x: float, y: float, text: str, radius: float) -> Iterator[tuple[PlacedLabel, Box]]:
    size, gap = LETTER * len(text), radius + 3
    for lift in LIFTS:
        middle = y + lift * LINE
        for align, anchor, left in (
            ("left", x + gap, x + gap),
            ("right", x - gap, x - gap - size),
            ("center", x, x - size / 2),
        ):
            if align == "center" and abs(lift) < 1:
                continue
            box = Box(left, middle - LINE / 2, left + size, middle + LINE / 2)
            yield PlacedLabel(text, anchor, middle, align, far=abs(lift) > 1.3), box


def spread_labels(heights: Sequence[float], *, gap: float = LINE, low: float, high: float) -> list[float]:
    """Heights moved apart, so that lines of text written at them do not overlap; order is kept.

    All move as little as they can, in the sum of squares; where there is no room, the gaps are even.
    """
    order = sorted(range(len(heights)), key=lambda n: (heights[n], n))
    gap = min(gap, (high - low) / max(1, len(heights) - 1))
    # Less the gaps before it, a line may stand as high as the one before: neighbours that do not are pooled.
    pools: list[list[float]] = []
    for position, number in enumerate(order):
        pools.append([heights[number] - position * gap])
        while len(pools) > 1 and fmean(pools[-1]) < fmean(pools[-2]):
            pools[-2:] = [[*pools[-2], *pools[-1]]]
    top = high - (len(heights) - 1) * gap
    level = [min(top, max(low, fmean(pool))) for pool in pools for _ in pool]
    result = list(heights)
    for position, number in enumerate(order):
        result[number] = level[position] + position * gap
    return result
