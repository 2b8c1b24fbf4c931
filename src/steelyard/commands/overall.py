"""Several data sets, a run folder each: what a judge gets right on each, what a point costs, and overall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from steelyard.commands.report import current_datasheet
from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import ConfigError
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.run.cost import (
    COST_PER_POINT,
    COST_PER_POINT_MEAN,
    COST_PER_POINT_POOLED,
    COST_TOTAL,
    CostRow,
    OverallCost,
    overall_cost,
)
from steelyard.metrics.run.volatility import ACCURACY_MEAN
from steelyard.metrics.run.volatility import METRICS as OVER_PROBES
from steelyard.metrics.run.volatility import PROBE as VOLATILITY
from steelyard.metrics.scores.shares import OWN_LABELS
from steelyard.stimuli.original import ORIGINAL

SPREAD = OVER_PROBES[1:]
"""Standard deviation over probes and that of sampling alone, least and greatest accuracy."""


@dataclass(frozen=True)
class DataSetRow:
    data_set: str
    """Name of the study, or of its folder where two studies share a name."""
    accuracy: float
    """Mean of the accuracies of its probes, each counted once."""
    dollars: float | None
    """What the labelled calls of these probes cost; None where a price is not known."""
    probes: tuple[str, ...]
    partial: str | None
    reference: str = ""
    spread: Mapping[str, float | None] = field(default_factory=dict)
    """The run's figures of how its accuracy differs between probes, by metric; empty with fewer than two."""

    @property
    def cost(self) -> CostRow | None:
        return None if self.dollars is None else CostRow(self.data_set, self.dollars, self.accuracy)


@dataclass(frozen=True)
class JudgeOverall:
    judge: str
    rows: tuple[DataSetRow, ...]
    missing: Mapping[str, str]

    @property
    def accuracy_mean(self) -> float | None:
        """Mean of the rows, each data set counted once; None without a row."""
        return fmean(row.accuracy for row in self.rows) if self.rows else None

    @property
    def lacking(self) -> dict[str, tuple[str, ...]]:
        """Data set to the probes that its accuracy is without and that of another data set is not."""
        every = {probe for row in self.rows for probe in row.probes}
        lacks = {row.data_set: tuple(sorted(every.difference(row.probes))) for row in self.rows}
        return {name: probes for name, probes in lacks.items() if probes}

    @property
    def cost(self) -> OverallCost:
        """Cost per point over the data sets, both ways; neither where a data set has no price, or none is."""
        known = [row.cost for row in self.rows if row.cost is not None]
        return overall_cost(known) if known and len(known) == len(self.rows) else OverallCost(None, None)

    def to_json(self) -> dict[str, Any]:
        return {
            "judge": self.judge,
            "data_sets": [
                {
                    "name": row.data_set,
                    ACCURACY_MEAN.id: row.accuracy,
                    COST_TOTAL.id: row.dollars,
                    COST_PER_POINT.id: row.cost.per_point if row.cost else None,
                    **row.spread,
                    "probes": list(row.probes),
                    "partial": row.partial,
                    **({"reference": row.reference} if row.reference else {}),
                }
                for row in self.rows
            ],
            "missing": list(self.missing),
            "reasons": dict(self.missing),
            ACCURACY_MEAN.id: self.accuracy_mean,
            COST_PER_POINT_POOLED.id: self.cost.pooled,
            COST_PER_POINT_MEAN.id: self.cost.mean_of_rows,
        }


def overall(folders: Sequence[Path]) -> list[JudgeOverall]:
    places = [folder.resolve() for folder in folders]
    for number, folder in enumerate(folders):
        if places[number] in places[:number]:
            raise ConfigError(f"{folder}: found twice, expected each run folder once; leave one out.")
    sheets = [current_datasheet(folder) for folder in folders]
    _check_models(sheets)
    named = dict(zip(_names(folders, sheets), sheets, strict=True))
    _check_stimuli(named)
    judges = dict.fromkeys(judge.name for sheet in sheets for judge in sheet.judges if not judge.baseline)
    overalls = []
    for judge in judges:
        rows = {name: _row(judge, name, sheet) for name, sheet in named.items()}
        missing = {name: _why(judge, named[name]) for name, row in rows.items() if row is None}
        overalls.append(JudgeOverall(judge, tuple(row for row in rows.values() if row is not None), missing))
    if not any(found.rows for found in overalls):
        raise ConfigError(
            f"{', '.join(map(str, folders))}: no judge has an accuracy, expected runs on labelled texts; "
            "measure with a probe of single texts."
        )
    return overalls


def _names(folders: Sequence[Path], sheets: Sequence[Datasheet]) -> list[str]:
    studies, places = [sheet.name for sheet in sheets], [folder.resolve() for folder in folders]
    for names in (studies, [place.name for place in places]):
        if len(set(names)) == len(names):
            return names
    return [str(place) for place in places]


def _check_models(sheets: Sequence[Datasheet]) -> None:
    """Refuse one name for two models, or for juries of other members: they are not one judge."""
    models: dict[str, str] = {}
    for sheet in sheets:
        for judge in sheet.judges:
            known = models.setdefault(judge.name, judge.made)
            if known != judge.made:
                raise ConfigError(
                    f"judge {judge.name}: found {known} and {judge.made} under one name, expected one; "
                    "name the judges apart."
                )


def _check_stimuli(sheets: Mapping[str, Datasheet]) -> None:
    """Refuse one set of stimuli that a judge was measured on twice: it would count as two data sets.

    Recorded verdicts name their stimuli and do not hold them, so equal names tell nothing.
    """
    seen: dict[tuple[str, str], str] = {}
    for name, sheet in sheets.items():
        for judge in sheet.judges:
            if judge.baseline or not judge.protocols:
                continue
            other = seen.setdefault((judge.name, sheet.stimulus_set), name)
            if other != name:
                raise ConfigError(
                    f"{other} and {name}: judge {judge.name} was measured on the same stimuli in both, "
                    "expected a data set each; leave one out, or compare them with "
                    "`steelyard compare`."
                )


def _row(judge: str, name: str, sheet: Datasheet) -> DataSetRow | None:
    every, costs = _by_probe(sheet, judge, ACCURACY.id), _by_probe(sheet, judge, COST_TOTAL.id)
    # Unchanged items are those of the probes once more; they count where no probe has an accuracy.
    right = {probe: share for probe, share in every.items() if probe != ORIGINAL} or every
    if not right or _labels_itself(judge, sheet):
        return None
    paid = [costs[probe] for probe in costs if probe in right]
    dollars = sum(paid) if len(paid) == len(right) else None
    probes, mean = tuple(sorted(right)), fmean(right.values())
    found = {metric.id: sheet.find(judge, metric.id, VOLATILITY, protocol="base") for metric in SPREAD}
    spread = {name: estimate.value for name, estimate in found.items() if estimate is not None}
    return DataSetRow(name, mean, dollars, probes, sheet.partial, sheet.reference_sentence, spread)


def _labels_itself(judge: str, sheet: Datasheet) -> bool:
    plain = sheet.find(judge, ACCURACY.id, ORIGINAL, protocol="base")
    return judge == sheet.reference or (plain is not None and plain.reason == OWN_LABELS.code)


def _by_probe(sheet: Datasheet, judge: str, metric: str) -> dict[str, float]:
    return {e.probe: e.value for e in sheet.of(judge, metric) if e.is_overall and e.value is not None}


def _why(judge: str, sheet: Datasheet) -> str:
    if judge not in [entry.name for entry in sheet.judges]:
        return "not a judge of this run"
    if _labels_itself(judge, sheet):
        return str(OWN_LABELS)
    notes = dict.fromkeys(e.note for e in sheet.of(judge, ACCURACY.id) if e.is_overall and e.note)
    early = [sheet.partial] if sheet.partial else []
    return "; ".join([*(notes or ["no probe of labelled single texts"]), *early])
