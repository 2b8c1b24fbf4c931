"""The heat map: a table of tiles whose colour grows with the figure that is written in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap

from steelyard.datasheet.render.html.drawing.axis import LETTER
from steelyard.datasheet.render.html.drawing.svg import Box, SvgElement, document, draw_rect, draw_text

TALL = 40
"""Height of a row of tiles, in pixels."""
GAP = 2
"""Between two tiles."""
APART = 22
"""Between the measured judges and the baselines."""
NARROWEST = 92
"""Width of a tile that its heading may ask for, in pixels."""
BOLD, SMALL = 8.6, 5.6
"""Width of a letter of a heading and of the small line, in the widest font of the page."""
LINE = 15
"""Height of a line of a heading."""
FAINTEST, STRONGEST = 0.05, 0.58
"""How far the colour covers the paper at 0 and at 1; ink stays readable on both, in light and in dark."""

FRAMES = {"flagged": "bad"}
"""Colour roles of frames by finding, so that a pale tile is not overlooked."""


@dataclass(frozen=True)
class HeatmapTile:
    row: int
    column: int
    figure: str
    """The value as text; the only line of a cell without a value."""
    beside: str = ""
    strength: float | None = None
    """0 to 1: how strong the colour is; None for a cell without a value."""
    role: str = "share"
    word: str = ""


@dataclass(frozen=True)
class HeatmapGrid:
    rows: Sequence[str]
    columns: Sequence[str]
    tiles: Sequence[HeatmapTile]
    """Cells; one that is missing stays empty."""
    apart: int
    """Columns before the gap that sets the rest apart; as many as there are for no gap."""

    @cached_property
    def side(self) -> int:
        return round(LETTER * max(map(len, self.rows), default=0)) + 14

    @cached_property
    def broad(self) -> int:
        """Width of a tile, in pixels: as wide as its longest line, or half a heading."""
        beside = max((SMALL * len(tile.beside) for tile in self.tiles), default=0)
        heading = max((BOLD * len(name) for name in self.columns), default=0)
        return round(max(beside + 12, min(heading, NARROWEST)))

    @property
    def width(self) -> int:
        return self.side + len(self.columns) * self.broad + (APART if self.apart < len(self.columns) else 0)

    def capacity(self, room: int) -> int:
        """Columns that fit into so many pixels; at least one."""
        return max(1, (room - self.side - APART) // self.broad)

    @property
    def top(self) -> int:
        return LINE * max((len(self.heading(name)) for name in self.columns), default=1) + 8

    @property
    def height(self) -> int:
        return self.top + len(self.rows) * TALL

    def heading(self, name: str) -> list[str]:
        """A name in at most two lines as wide as a tile, broken after its provider rather than anywhere."""
        letters = max(4, int((self.broad - 4) / BOLD))
        parts = [name] if len(name) <= letters else name.replace("/", "/\n", 1).splitlines()
        lines = [line for part in parts for line in wrap(part, letters)]
        return lines if len(lines) < 3 else [lines[0], lines[1][:-1] + "…"]

    def left(self, column: int) -> int:
        return self.side + column * self.broad + (APART if column >= self.apart else 0)


def draw_heatmap(grid: HeatmapGrid, *, title: str, label: str) -> str:
    tiles = [element for tile in grid.tiles for element in _tile(grid, tile)]
    elements = [*tiles, *_row_names(grid), *_headings(grid)]
    return document(elements, width=grid.width, height=grid.height, title=title, label=label)


def _tile(grid: HeatmapGrid, tile: HeatmapTile) -> list[SvgElement]:
    left, up = grid.left(tile.column), grid.top + tile.row * TALL
    box = Box(left + GAP, up + GAP, left + grid.broad, up + TALL)
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    if tile.strength is None:
        empty = draw_rect(box, role=None, stroke="grid", stroke_width=1.2, radius=3)
        return [empty, draw_text(tile.figure, (x, y), role="muted", size=11)]
    cover = round(FAINTEST + (STRONGEST - FAINTEST) * min(1.0, max(0.0, tile.strength)), 3)
    frame = FRAMES.get(tile.word)
    drawn = [
        draw_rect(box, role=tile.role, fill_opacity=cover, stroke=frame, stroke_width=2.2, radius=3),
        draw_text(tile.figure, (x, y - (8 if tile.beside else 0)), size=14, weight=600),
    ]
    return [*drawn, draw_text(tile.beside, (x, y + 8), size=10.5)] if tile.beside else drawn


def _row_names(grid: HeatmapGrid) -> list[SvgElement]:
    return [
        draw_text(name, (grid.side - 8, grid.top + number * TALL + (TALL + GAP) / 2), align="right")
        for number, name in enumerate(grid.rows)
    ]


def _headings(grid: HeatmapGrid) -> list[SvgElement]:
    """Names of the columns; baselines, which stand apart, are grey."""
    return [
        draw_text(
            text,
            (grid.left(number) + (grid.broad + GAP) / 2, grid.top - 10 - line * LINE),
            role="muted" if number >= grid.apart else "ink",
            weight=None if number >= grid.apart else 600,
        )
        for number, name in enumerate(grid.columns)
        for line, text in enumerate(reversed(grid.heading(name)))
    ]
