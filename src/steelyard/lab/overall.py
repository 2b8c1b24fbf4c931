"""Several data sets, a run folder each: what a judge gets right on each, what a point costs, and overall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import ConfigError
from steelyard.lab.datasheet_file import read_datasheet
from steelyard.metrics.cost import CostRow, OverallCost, overall_cost

_BASE = {"protocol": "base"}


@dataclass(frozen=True)
class DataSetRow:
    """One judge on one data set."""

    data_set: str
    """Name of the study, or of its folder where two studies share a name."""
    accuracy: float
    """Mean of the accuracies of its probes, each counted once."""
    dollars: float | None
    """What the labelled calls of these probes cost; None where a price is not known."""

    @property
    def cost(self) -> CostRow | None:
        """Dollars and accuracy, where both are known."""
        return None if self.dollars is None else CostRow(self.data_set, self.dollars, self.accuracy)


@dataclass(frozen=True)
class JudgeOverall:
    """One judge over all data sets that have an accuracy of it."""

    judge: str
    """Name on the datasheets."""
    rows: tuple[DataSetRow, ...]
    """Its data sets, in the order given."""
    missing: tuple[str, ...]
    """Data sets without an accuracy of this judge."""

    @property
    def accuracy_mean(self) -> float:
        """Mean of the rows, each data set counted once."""
        return fmean(row.accuracy for row in self.rows)

    @property
    def cost(self) -> OverallCost:
        """Cost per point over the data sets, both ways; neither where a data set has no price."""
        known = [row.cost for row in self.rows if row.cost is not None]
        return overall_cost(known) if len(known) == len(self.rows) else OverallCost(None, None)

    def to_json(self) -> dict[str, Any]:
        """A plain mapping."""
        return {
            "judge": self.judge,
            "data_sets": [
                {
                    "name": row.data_set,
                    "accuracy_mean": row.accuracy,
                    "cost_total": row.dollars,
                    "cost_per_point": row.cost.per_point if row.cost else None,
                }
                for row in self.rows
            ],
            "missing": list(self.missing),
            "accuracy_mean": self.accuracy_mean,
            "cost_per_point_pooled": self.cost.pooled,
            "cost_per_point_mean": self.cost.mean_of_rows,
        }


def overall(folders: Sequence[Path]) -> list[JudgeOverall]:
    """Every judge that at least one of these folders has an accuracy of."""
    sheets = [read_datasheet(folder) for folder in folders]
    names = [sheet.name for sheet in sheets]
    if len(set(names)) < len(names):
        names = [folder.resolve().name for folder in folders]
    _check(sheets)
    judges = dict.fromkeys(judge.name for sheet in sheets for judge in sheet.judges if not judge.baseline)
    found = [_judge(judge, dict(zip(names, sheets, strict=True))) for judge in judges]
    told = [judge for judge in found if judge.rows]
    if not told:
        raise ConfigError(
            f"{', '.join(map(str, folders))}: no judge has an accuracy, expected runs on labelled texts; "
            "measure with a probe of single texts."
        )
    return told


def _check(sheets: Sequence[Datasheet]) -> None:
    """Refuse one name for two models: they are not one judge."""
    models: dict[str, str] = {}
    for sheet in sheets:
        for judge in sheet.judges:
            known = models.setdefault(judge.name, judge.model)
            if known != judge.model:
                raise ConfigError(
                    f"judge {judge.name}: found {known} and {judge.model} under one name, expected one; "
                    "name the judges apart."
                )


def _judge(judge: str, sheets: dict[str, Datasheet]) -> JudgeOverall:
    rows = {name: _row(judge, name, sheet) for name, sheet in sheets.items()}
    known = tuple(row for row in rows.values() if row is not None)
    return JudgeOverall(judge, known, tuple(name for name, row in rows.items() if row is None))


def _row(judge: str, name: str, sheet: Datasheet) -> DataSetRow | None:
    """The probes that have an accuracy, and the dollars of each."""
    mine = [e for e in sheet.estimates if e.judge == judge and dict(e.group) == _BASE and e.value is not None]
    right = {e.probe: e.value for e in mine if e.metric == "accuracy"}
    paid = {e.probe: e.value for e in mine if e.metric == "cost_total" and e.probe in right}
    if not right:
        return None
    dollars = sum(value or 0.0 for value in paid.values()) if len(paid) == len(right) else None
    return DataSetRow(name, fmean(value or 0.0 for value in right.values()), dollars)
