"""Figures by stratum of the data, as tables that every renderer shares: strata as rows."""

from __future__ import annotations

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.sections.together import TogetherTable
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.strata import STRATUM_GAP

TITLE = "By stratum"
QUESTION = (
    "Where in the data is it right, and where not? Unchanged items or natural pairs under the base protocol."
)


def strata_tables(summary: Summary) -> tuple[TogetherTable, ...]:
    """One table for each measured judge."""
    tables = (_table(summary.datasheet, judge.name) for judge in summary.measured)
    return tuple(table for table in tables if table.rows)


def by_stratum(datasheet: Datasheet, judge: str) -> list[Estimate]:
    """The figures of strata of a judge under the base protocol."""
    return [
        estimate
        for estimate in datasheet.look_up.of_judge(judge)
        if "stratum" in estimate.group
        and estimate.group.get("protocol") == "base"
        and estimate.metric != STRATUM_GAP.id
    ]


def _table(datasheet: Datasheet, judge: str) -> TogetherTable:
    strata = by_stratum(datasheet, judge)
    cells = {(str(e.group["stratum"]), e.metric): e for e in strata}
    names = list(dict.fromkeys(stratum for stratum, _ in cells))
    metrics = [
        metric
        for metric in dict.fromkeys(metric for _, metric in cells)
        if any(numbers.defined(cells.get((name, metric))) for name in names)
    ]
    header = ("stratum", datasheet.units, *(metric_named(metric).name for metric in metrics))
    rows = tuple(
        (
            name,
            str(max(e.n_units for e in strata if e.group["stratum"] == name)),
            *(_cell(cells.get((name, metric))) for metric in metrics),
        )
        for name in names
    )
    return TogetherTable(judge, "", header, rows if metrics else ())


def _cell(estimate: Estimate | None) -> str:
    if estimate is None:
        return numbers.NOT_MEASURED
    if not numbers.defined(estimate):
        return "undefined"
    return f"{numbers.figure(estimate)} {numbers.counts(estimate)}".strip()
