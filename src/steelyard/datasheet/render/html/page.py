"""The page: header, readings, summary, figures, every estimate, and how to read them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.render.html.figures.catalogue import figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.datasheet.sections.together import alone, together
from steelyard.datasheet.words.glossary import FINDINGS, INTERVALS, metric_named, probe_title
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import Faults
from steelyard.metrics.panel.over_judges import PANEL


def render(datasheet: Datasheet, faults: Faults | None = None) -> str:
    """One HTML document, the same for the same datasheet; what can not be drawn is a fault."""
    summary = summarise(datasheet)
    sheet = summary.datasheet
    return document(
        "page.html.j2",
        sheet=sheet,
        summary=summary,
        figures=figures(summary, faults),
        together=together(summary),
        alone=alone(summary),
        every=[(judge, _grouped(sheet.estimates, judge.name)) for judge in sheet.judges],
        every_together=_grouped(sheet.panel, PANEL),
        metrics=_metrics(sheet),
        methods=_methods(sheet),
        findings=FINDINGS,
    )


def _grouped(estimates: Iterable[Estimate], judge: str) -> list[tuple[str, list[Estimate]]]:
    """Estimates of a judge by probe, in the datasheet's order."""
    mine = [estimate for estimate in estimates if estimate.judge == judge]
    order = list(dict.fromkeys(estimate.probe for estimate in mine))
    mine.sort(key=lambda estimate: order.index(estimate.probe))
    return [
        (probe_title(probe), list(group))
        for probe, group in groupby(mine, key=lambda estimate: estimate.probe)
    ]


def _metrics(datasheet: Datasheet) -> list[tuple[str, str]]:
    names = dict.fromkeys(estimate.metric for estimate in (*datasheet.estimates, *datasheet.panel))
    return [
        (metric_named(name).label, metric_named(name).meaning) for name in names if metric_named(name).meaning
    ]


def _methods(datasheet: Datasheet) -> list[tuple[str, str]]:
    names: dict[str, Any] = dict.fromkeys(
        interval.method
        for estimate in (*datasheet.estimates, *datasheet.panel)
        for interval in estimate.intervals
    )
    return [(name, INTERVALS.get(name, "described in the notes of its figures.")) for name in names]
