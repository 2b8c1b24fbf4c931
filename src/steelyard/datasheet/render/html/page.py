"""The page: header, readings, summary, figures, every estimate, and how to read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.render.html.figures.catalogue import figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.datasheet.sections.together import alone, together
from steelyard.datasheet.words.glossary import FINDINGS, INTERVALS, metric_named, probe_title
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import Faults


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
        every=[(judge, _by_probe(sheet.look_up.of_judge(judge.name))) for judge in sheet.judges],
        every_together=_by_probe(sheet.panel),
        metrics=_metrics(sheet),
        methods=_methods(sheet),
        findings=FINDINGS,
    )


def _by_probe(estimates: Iterable[Estimate]) -> list[tuple[str, list[Estimate]]]:
    """Estimates under the headings of their probes, in order of first appearance."""
    probes: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        probes.setdefault(estimate.probe, []).append(estimate)
    return [(probe_title(probe), mine) for probe, mine in probes.items()]


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
