"""A table of coloured tiles: one colour that grows with the figure, its numbers written in every tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap

from steelyard.datasheet.render.html.drawing.chart import colour, draw, layer, mark
from steelyard.datasheet.render.html.drawing.spec import Spec

TALL = 40
"""Height of a row of tiles, in pixels."""
GAP = 2
"""Between two tiles."""
APART = 22
"""Between the measured judges and the baselines."""
NARROWEST = 92
"""Width of a tile that its heading may ask for, in pixels."""
LETTER, BOLD, SMALL = 7.8, 8.6, 5.6
"""Width of a letter of a row's name, of a heading and of the small line, in the widest font of the page."""
LINE = 15
"""Height of a line of a heading."""
FAINTEST, STRONGEST = 0.05, 0.58
"""How far the colour covers the paper at 0 and at 1; ink stays readable on both, in light and in dark."""

FRAMES: dict[str, Spec] = {
    "flagged": {"stroke": colour("bad"), "strokeWidth": 2.2},
}
"""Frames of findings, so that a pale tile is no quiet one."""


@dataclass(frozen=True)
class Tile:
    """One cell."""

    row: int
    """Row, from the top."""
    column: int
    """Column, from the left."""
    figure: str
    """The value as text; the only line of a cell without a value."""
    beside: str = ""
    """Interval and count, in small letters."""
    strength: float | None = None
    """0 to 1: how strong the colour is; None for a cell without a value."""
    role: str = "share"
    """Colour role."""
    word: str = ""
    """Finding of the figure, which frames it; empty for none."""


@dataclass(frozen=True)
class Grid:
    """Headings and tiles."""

    rows: Sequence[str]
    """Names of the rows."""
    columns: Sequence[str]
    """Names of the columns."""
    tiles: Sequence[Tile]
    """Cells; one that is missing stays empty."""
    apart: int
    """Columns before the gap that sets the rest apart; as many as there are for no gap."""

    @cached_property
    def side(self) -> int:
        """Room for the names of the rows, in pixels."""
        return round(LETTER * max(map(len, self.rows), default=0)) + 14

    @cached_property
    def broad(self) -> int:
        """Width of a tile, in pixels: as wide as its longest line, or half a heading."""
        beside = max((SMALL * len(tile.beside) for tile in self.tiles), default=0)
        heading = max((BOLD * len(name) for name in self.columns), default=0)
        return round(max(beside + 12, min(heading, NARROWEST)))

    @property
    def width(self) -> int:
        """Width of the drawing."""
        return self.side + len(self.columns) * self.broad + (APART if self.apart < len(self.columns) else 0)

    def capacity(self, room: int) -> int:
        """Columns that fit into so many pixels; at least one."""
        return max(1, (room - self.side - APART) // self.broad)

    @property
    def top(self) -> int:
        """Room for the headings."""
        return LINE * max((len(self.heading(name)) for name in self.columns), default=1) + 8

    @property
    def height(self) -> int:
        """Height of the drawing."""
        return self.top + len(self.rows) * TALL

    def heading(self, name: str) -> list[str]:
        """A name in at most two lines as wide as a tile, broken after its provider rather than anywhere."""
        letters = max(4, int((self.broad - 4) / BOLD))
        parts = [name] if len(name) <= letters else name.replace("/", "/\n", 1).splitlines()
        lines = [line for part in parts for line in wrap(part, letters)]
        return lines if len(lines) < 3 else [lines[0], lines[1][:-1] + "…"]

    def left(self, column: int) -> int:
        """Left edge of a column."""
        return self.side + column * self.broad + (APART if column >= self.apart else 0)


def draw_tiles(grid: Grid, *, title: str, label: str) -> str:
    """The grid as SVG."""
    layers = [*(_tile(grid, tile) for tile in grid.tiles), *_words(grid), *_headings(grid)]
    return draw(layers, width=grid.width, height=grid.height, title=title, label=label)


def _place(grid: Grid) -> tuple[Spec, Spec]:
    """Pixels from the upper left corner."""
    x = {"type": "quantitative", "scale": {"domain": [0, grid.width], "nice": False}, "axis": None}
    y = {"type": "quantitative", "scale": {"domain": [grid.height, 0], "nice": False}, "axis": None}
    return x, y


def _tile(grid: Grid, tile: Tile) -> Spec:
    left, up = grid.left(tile.column), grid.top + tile.row * TALL
    ends = {"x": left + GAP, "x2": left + grid.broad, "y": up + GAP, "y2": up + TALL}
    if tile.strength is None:
        drawn = mark("rect", fill="transparent", stroke=colour("grid"), strokeWidth=1.2, cornerRadius=3)
    else:
        cover = FAINTEST + (STRONGEST - FAINTEST) * min(1.0, max(0.0, tile.strength))
        drawn = mark("rect", fill=colour(tile.role), fillOpacity=round(cover, 3), cornerRadius=3)
        drawn |= FRAMES.get(tile.word, {})
    x, y = _place(grid)
    return layer(
        [ends], drawn, x={**x, "field": "x"}, x2={"field": "x2"}, y={**y, "field": "y"}, y2={"field": "y2"}
    )


def _words(grid: Grid) -> list[Spec]:
    """The figure of every tile, and below it what belongs to it."""
    figures: list[Spec] = []
    beside: list[Spec] = []
    absent: list[Spec] = []
    for tile in grid.tiles:
        across = grid.left(tile.column) + (grid.broad + GAP) / 2
        middle = grid.top + tile.row * TALL + (TALL + GAP) / 2
        lift = 8 if tile.beside else 0
        row: Spec = {"x": across, "y": middle - lift, "text": tile.figure}
        (absent if tile.strength is None else figures).append(row)
        if tile.beside:
            beside.append({"x": across, "y": middle + 8, "text": tile.beside})
    bold = mark("text", align="center", color=colour("ink"), fontSize=14, fontWeight=600)
    small = mark("text", align="center", color=colour("ink"), fontSize=10.5)
    muted = mark("text", align="center", color=colour("muted"), fontSize=11)
    return [
        _text(grid, rows, drawn)
        for rows, drawn in ((figures, bold), (beside, small), (absent, muted))
        if rows
    ]


def _headings(grid: Grid) -> list[Spec]:
    rows = [
        {"x": grid.side - 8, "y": grid.top + number * TALL + (TALL + GAP) / 2, "text": name}
        for number, name in enumerate(grid.rows)
    ]
    columns: dict[bool, list[Spec]] = {False: [], True: []}
    for number, name in enumerate(grid.columns):
        lines = grid.heading(name)
        for line, text in enumerate(reversed(lines)):
            place = {"x": grid.left(number) + (grid.broad + GAP) / 2, "y": grid.top - 10 - line * LINE}
            columns[number >= grid.apart].append({**place, "text": text})
    above = mark("text", align="center", color=colour("ink"), fontSize=13, fontWeight=600)
    quiet = mark("text", align="center", color=colour("muted"), fontSize=13)
    return [
        _text(grid, places, drawn)
        for places, drawn in (
            (rows, mark("text", align="right", color=colour("ink"), fontSize=13)),
            (columns[False], above),
            (columns[True], quiet),
        )
        if places
    ]


def _text(grid: Grid, rows: Sequence[Spec], drawn: Spec) -> Spec:
    x, y = _place(grid)
    text: Spec = {"field": "text", "type": "nominal"}
    return layer(rows, drawn, x={**x, "field": "x"}, y={**y, "field": "y"}, text=text)
