"""Heat maps: a share of every judge on every probe, and the error correlation of every two judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap

from steelyard.core.text import capital
from steelyard.datasheet import numbers
from steelyard.datasheet.glossary import MARKS, metric_named, probe_title
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render.html.drawing.axis import LETTER
from steelyard.datasheet.render.html.drawing.chart import (
    Chart,
    Panel,
    all_judges,
    aria_label,
    data_cell,
    scores_only,
    series_styles,
)
from steelyard.datasheet.render.html.drawing.svg import Box, SvgElement, document, draw_rect, draw_text
from steelyard.datasheet.sections.sections import Text
from steelyard.datasheet.sections.summary import Summary, even_groups
from steelyard.datasheet.sections.tables import judges_of
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric
from steelyard.metrics.panel_metrics import ERROR_CORRELATION
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.probe import COMMONEST_ANSWER, never_varies
from steelyard.probes.probe_metadata import label_changing_probes
from steelyard.stimuli.original import ORIGINAL

PAGE = 985
"""Room for a drawing, in pixels; judges that do not fit go below."""
MAJORITY = JudgeEntry("majority of all", "", False, {})
RIGHT = (
    "Verdicts that are the expected one, by probe. A stronger colour is a higher share; below it stand "
    "the 95 % interval and the count; where a probe shows some of the items only, the share on the same "
    "items unchanged. The majority of several judges stands beside them, baselines apart."
)
CONSTANT = "always the same"
"""Stands where a share would only say that a judge's answers never vary."""
KEPT = (
    "Verdicts on edited texts that equal the judge's own verdict on the unchanged one; only edits that "
    "keep the label ask for it. Of a judge that always answers the same it says nothing. ! in a frame: "
    "the edit changes more than repeats do; ?: undecided."
)
CORRELATION_CAPTION = (
    "Correlation of the errors of two judges over the same labelled inputs. At 1 they are one judge and a "
    "jury of them gains nothing; near 0 it gains most. Brown is below zero."
)


@scores_only
def accuracy(summary: Summary) -> Chart | None:
    return heatmap(summary, ACCURACY.id, RIGHT)


@scores_only
def invariance(summary: Summary) -> Chart | None:
    return heatmap(summary, INVARIANCE.id, KEPT)


def heatmap(summary: Summary, metric: str, caption: str) -> Chart | None:
    """The share of every judge on every probe; None where no judge has one."""
    shares = _ShareTable.of(summary, metric)
    if not any(numbers.defined(estimate) for estimate in shares.found.values()):
        return None
    title = f"{capital(metric_named(metric).name)} by probe"
    panels = []
    # Even groups of judges that fit the page, baselines in the last.
    for judges in even_groups(shares.judges, shares.grid(shares.judges).capacity(PAGE)):
        description = aria_label(*shares.table(judges))
        panels.append(Panel(draw_heatmap(shares.grid(judges), title=title, label=description)))
    return Chart(title, caption, tuple(panels), *shares.table(shares.judges), wide=True)


@dataclass(frozen=True)
class _ShareTable:
    summary: Summary
    found: Mapping[tuple[str, str], Estimate]
    probes: Sequence[str]
    judges: Sequence[JudgeEntry]

    @classmethod
    def of(cls, summary: Summary, metric: str) -> _ShareTable:
        """Shares of whole probes under the base protocol; items as they are belong to none.

        Of kept verdicts, edits that do not ask for the same one are left out.
        """
        apart = (ORIGINAL, *(label_changing_probes() if metric == INVARIANCE.id else ()))
        shares = {
            (judge.name, e.probe): e
            for judge in all_judges(summary)
            for e in summary.datasheet.of(judge.name, metric)
            if e.is_overall and e.probe not in apart
        }
        known = {judge for judge, _ in shares}
        judges = [judge for judge in all_judges(summary) if judge.name in known]
        probes = list(dict.fromkeys(probe for _, probe in shares))
        votes = {
            e.probe: e for e in summary.datasheet.panel if e.metric == f"jury_{metric}" and e.probe in probes
        }
        if votes:
            shares |= {(MAJORITY.name, probe): e for probe, e in votes.items()}
            judges.insert(sum(not judge.baseline for judge in judges), MAJORITY)
        return cls(summary, shares, probes, judges)

    def table(self, judges: Sequence[JudgeEntry]) -> tuple[tuple[str, ...], tuple[tuple[Text, ...], ...]]:
        """The header, and a row for each probe."""
        rows: list[tuple[Text, ...]] = []
        for probe in self.probes:
            cells = (data_cell(self.summary, self.found.get((judge.name, probe))) for judge in judges)
            rows.append((probe_title(probe), *cells))
        return ("probe", *(judge.name for judge in judges)), tuple(rows)

    def grid(self, judges: Sequence[JudgeEntry]) -> HeatmapGrid:
        styles = series_styles(self.summary)
        return HeatmapGrid(
            rows=[probe_title(probe) for probe in self.probes],
            columns=[MAJORITY.name if judge is MAJORITY else styles[judge.name].label for judge in judges],
            tiles=[
                self._tile(row, column, probe, judge)
                for row, probe in enumerate(self.probes)
                for column, judge in enumerate(judges)
            ],
            apart=sum(not judge.baseline for judge in judges) or len(judges),
        )

    def _tile(self, row: int, column: int, probe: str, judge: JudgeEntry) -> HeatmapTile:
        estimate = self.found.get((judge.name, probe))
        if not numbers.defined(estimate):
            return HeatmapTile.empty(row, column, estimate)
        if estimate.metric == INVARIANCE.id and never_varies(self._whole(judge, COMMONEST_ANSWER)):
            return HeatmapTile(row, column, CONSTANT)
        word = "" if judge.baseline else _word(self.summary, estimate)
        whole = f"{numbers.interval(estimate)} {numbers.counts(estimate)}".strip()
        beside = self._same_items(judge, estimate) or whole
        figure = f"{numbers.value(estimate)} {MARKS.get(word, '')}".rstrip()
        role = "muted" if judge.baseline else "share"
        return HeatmapTile(row, column, figure, beside, estimate.value, role, word)

    def _whole(self, judge: JudgeEntry, metric: Metric) -> Estimate | None:
        return self.summary.datasheet.find(judge.name, metric.id, ORIGINAL, protocol="base")

    def _same_items(self, judge: JudgeEntry, estimate: Estimate) -> str:
        """Accuracy on the same items unchanged, where they are not all of them."""
        every = self._whole(judge, ACCURACY)
        group = {**estimate.group, "kind": ORIGINAL}
        same = self.summary.datasheet.find(judge.name, ACCURACY.id, estimate.probe, **group)
        if estimate.metric != ACCURACY.id or not numbers.defined(every) or not numbers.defined(same):
            return ""
        return f"unchanged {numbers.value(same)}" if same.n_units < every.n_units else ""


def _word(summary: Summary, estimate: Estimate) -> str:
    """The finding of the share, or with repeats that of its excess over them."""
    if estimate.metric != INVARIANCE.id:
        return estimate.status or ""
    excess = summary.datasheet.find(estimate.judge, EXCESS_FLIP.id, estimate.probe, **estimate.group)
    return estimate.status or (excess.status if excess is not None else None) or ""


@scores_only
def correlated(summary: Summary) -> Chart | None:
    """Every two judges; None where fewer than three make a list enough."""
    correlations = {judges_of(e): e for e in summary.datasheet.panel if e.metric == ERROR_CORRELATION.id}
    names = [judge.name for judge in summary.measured if any(judge.name in pair for pair in correlations)]
    if len(names) < 3:
        return None
    rows = [(" + ".join(pair), data_cell(summary, e), str(e.n_units)) for pair, e in correlations.items()]
    labels = [series_styles(summary)[name].label for name in names]
    both = {**{pair[::-1]: e for pair, e in correlations.items()}, **correlations}
    tiles = [
        _correlation_tile(row - 1, column, both.get((first, second)))
        for row, first in enumerate(names)
        for column, second in enumerate(names[:row])
    ]
    grid = HeatmapGrid(labels[1:], labels[:-1], tiles, apart=len(labels))
    title, header = "Errors in common", ("judges", ERROR_CORRELATION.name, "inputs")
    panel = Panel(draw_heatmap(grid, title=title, label=aria_label(header, rows)))
    return Chart(title, CORRELATION_CAPTION, (panel,), header, tuple(rows), wide=len(names) > 6)


def _correlation_tile(row: int, column: int, estimate: Estimate | None) -> HeatmapTile:
    if not numbers.defined(estimate) or estimate.value is None:
        return HeatmapTile.empty(row, column, estimate)
    role = "share" if estimate.value >= 0 else "slot-1"
    interval = numbers.interval(estimate).replace("0.", ".").replace("+", "")
    return HeatmapTile(row, column, numbers.value(estimate), interval, abs(estimate.value), role)


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

    @classmethod
    def empty(cls, row: int, column: int, estimate: Estimate | None) -> HeatmapTile:
        return cls(row, column, "–" if estimate is None else "undefined")


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
    """Tiles below the names of their columns; baselines, which stand apart, are grey."""
    elements = [element for tile in grid.tiles for element in _tile(grid, tile)]
    for number, name in enumerate(grid.rows):
        at = (grid.side - 8, grid.top + number * TALL + (TALL + GAP) / 2)
        elements.append(draw_text(name, at, align="right"))
    for number, name in enumerate(grid.columns):
        role, weight = ("muted", None) if number >= grid.apart else ("ink", 600)
        middle = grid.left(number) + (grid.broad + GAP) / 2
        for line, text in enumerate(reversed(grid.heading(name))):
            elements.append(draw_text(text, (middle, grid.top - 10 - line * LINE), role=role, weight=weight))
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
