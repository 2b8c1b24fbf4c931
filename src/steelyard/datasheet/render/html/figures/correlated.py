"""Figure: do two judges err on the same inputs?"""

from __future__ import annotations

from steelyard.datasheet.render.html.drawing.figure import Figure, Panel, cell, looks, of_scores, spoken
from steelyard.datasheet.render.html.drawing.tiles import Grid, Tile, draw_tiles
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.sections.tables import judges_of
from steelyard.datasheet.words import numbers
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.panel.error_correlation import ERROR_CORRELATION

TITLE = "Errors in common"
HEADER = ("judges", ERROR_CORRELATION.name, "inputs")
CAPTION = (
    "Correlation of the errors of two judges over the same labelled inputs. At 1 they are one judge and a "
    "jury of them gains nothing; near 0 it gains most. Brown is below zero."
)


@of_scores
def correlated(summary: Summary) -> Figure | None:
    """Every two judges; None where fewer than three make a list enough."""
    correlations = {judges_of(e): e for e in summary.datasheet.panel if e.metric == ERROR_CORRELATION.id}
    names = [judge.name for judge in summary.measured if any(judge.name in pair for pair in correlations)]
    if len(names) < 3:
        return None
    rows = [(" + ".join(pair), cell(summary, e), str(e.n_units)) for pair, e in correlations.items()]
    labels = [looks(summary)[name].label for name in names]
    tiles = [
        _tile(row - 1, column, correlations.get((first, second)) or correlations.get((second, first)))
        for row, first in enumerate(names)
        for column, second in enumerate(names[:row])
    ]
    grid = Grid(labels[1:], labels[:-1], tiles, apart=len(labels))
    svg = draw_tiles(grid, title=TITLE, label=spoken(HEADER, rows))
    return Figure(TITLE, CAPTION, (Panel(svg),), HEADER, tuple(rows), wide=len(names) > 6)


def _tile(row: int, column: int, estimate: Estimate | None) -> Tile:
    if not numbers.defined(estimate) or estimate.value is None:
        return Tile(row, column, "–" if estimate is None else "undefined")
    role = "share" if estimate.value >= 0 else "slot-1"
    interval = numbers.interval(estimate).replace("0.", ".").replace("+", "")
    return Tile(row, column, numbers.value(estimate), interval, abs(estimate.value), role)
