"""Rows and sections of a report, made of estimates by their address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import Condition, Group
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric, ShownAs


@dataclass(frozen=True)
class Cell:
    """A text in a table that knows its figure or its calls, so that a page can lead to them."""

    text: str
    estimate: Estimate | None = None
    where: Mapping[str, str] | None = None
    """Conditions that its calls meet."""

    def __str__(self) -> str:
        return self.text


Text = str | Cell


@dataclass(frozen=True)
class FigureRow:
    label: str
    cells: Mapping[str, Estimate]
    """Judge name to estimate; a judge without one was not measured."""
    depth: int = 0
    """1 for a part of a row above, 2 for a part of a part."""
    essential: bool = True
    """False for rows that a short report leaves out."""
    headline: bool = False
    """True for the few rows that baselines are shown with."""

    @property
    def metric(self) -> Metric:
        return metric_named(next(iter(self.cells.values())).metric)

    @property
    def name(self) -> str:
        """The label, or the metric's plain words and term where it is labelled by its metric."""
        return self.metric.name if self.label == self.metric.label else self.label


@dataclass(frozen=True)
class Section:
    title: str
    question: str
    rows: tuple[FigureRow, ...]

    def basis(self, judge: str) -> Estimate | None:
        """What stands behind a judge's figures: the first that is defined, else the first of all."""
        cells = [cell for row in self.rows if (cell := row.cells.get(judge)) is not None]
        return next(filter(numbers.defined, cells), cells[0] if cells else None)


class RowBuilder:
    def __init__(self, datasheet: Datasheet) -> None:
        self.form = datasheet.form
        self.measured = {judge.name for judge in datasheet.judges if not judge.baseline}
        self.look_up = datasheet.look_up
        self.cells = {
            address: cells
            for address, cells in self.look_up.rows.items()
            if "stratum" not in dict(address[2])
        }

    def row(
        self,
        probe: str,
        metric: Metric,
        group: Group,
        *,
        label: str | None = None,
        depth: int = 0,
        essential: bool = True,
        headline: bool = False,
    ) -> Iterator[FigureRow]:
        """The row of an address, if any judge has it, under the metric's own label or another."""
        cells = self.cells.get((probe, metric.id, frozenset(group.items())))
        if cells:
            yield FigureRow(metric.label if label is None else label, cells, depth, essential, headline)

    def parts(
        self, probe: str, metric: Metric, named: Iterable[tuple[str, Group]], *, depth: int
    ) -> Iterator[FigureRow]:
        """Rows that a short report needs only where a measured judge shows something other than zero."""
        rows = [
            row for label, group in named for row in self.row(probe, metric, group, label=label, depth=depth)
        ]
        yield from (replace(row, essential=self.any_nonzero(rows)) for row in rows)

    def any_nonzero(self, rows: Iterable[FigureRow]) -> bool:
        """True where a measured judge shows something other than zero."""
        cells = [row.cells.items() for row in rows]
        return any(cell.value for items in cells for name, cell in items if name in self.measured)

    def free(self, probe: str, metric: Metric, group: Condition) -> bool:
        """True for a cost that is nothing for every measured judge."""
        cells = self.cells[probe, metric.id, group].items()
        return metric.shown_as is ShownAs.DOLLARS and all(
            e.value == 0 for name, e in cells if name in self.measured
        )

    def values(self, probe: str, metric: Metric, key: str) -> list[str | float]:
        """Values of a group key over the estimates of a metric, in order of first appearance."""
        groups = self.look_up.conditions(probe, metric.id)
        return list(dict.fromkeys(group[key] for group in groups if key in group))

    def steps(self, probe: str, metric: Metric, protocol: str = "base") -> list[float]:
        groups = self.look_up.conditions(probe, metric.id)
        return sorted({float(g["delta"]) for g in groups if "delta" in g and g.get("protocol") == protocol})

    def protocols(self) -> list[str]:
        """Protocols other than base, in order of first appearance."""
        groups = [dict(group) for _, _, group in self.cells]
        names = dict.fromkeys(str(group["protocol"]) for group in groups if "protocol" in group)
        return [name for name in names if name != "base"]
