"""The page of a datasheet: header, findings, charts, summary, every estimate, and how to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from steelyard.datasheet.conclusion import WORDS
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import address
from steelyard.datasheet.examples import example
from steelyard.datasheet.render import clauses
from steelyard.datasheet.render.examples import examples_by_judge
from steelyard.datasheet.render.html.charts.catalogue import charts
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.render.html.remedy_guide import guide_sections
from steelyard.datasheet.sections import first_screen
from steelyard.datasheet.sections.collapsible import collapsible_sections
from steelyard.datasheet.sections.instrument_cards import INSTRUMENTS_QUESTION, card_texts
from steelyard.datasheet.sections.remedies import (
    REMEDIES_COMMAND,
    REMEDIES_QUESTION,
    remedy_brief,
    remedy_tables,
)
from steelyard.datasheet.sections.summary import cost_summary, summarise
from steelyard.datasheet.sections.tables import (
    CONFUSION_QUESTION,
    STRATA_QUESTION,
    confusion_tables,
    multi_judge_tables,
    single_judge_note,
    strata_tables,
)
from steelyard.datasheet.words.glossary import FINDINGS, interval_meanings, metric_meanings, probe_title
from steelyard.datasheet.words.text import escape_keeping_lines, short_names
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import Faults


def render(
    datasheet: Datasheet,
    faults: Faults | None = None,
    calls_of: Callable[[Estimate], str] | None = None,
    home: str = "",
    chart_file: Callable[[str], str] | None = None,
    calls_where: Callable[[Mapping[str, str]], str] | None = None,
    calls_on: Callable[[str, str], str] | None = None,
    pages: Sequence[tuple[str, str]] = (),
) -> str:
    """One HTML document, the same for the same datasheet; a chart that raises is a fault.

    In a viewer, `calls_of` gives the address of the calls behind a number, `calls_where` of those that meet
    conditions, `calls_on` of those of a judge on a stimulus, `home` that of all runs, `chart_file` that of a
    chart as a file, and `pages` those of the run, this one first. Elsewhere a number leads to its row among
    all estimates.
    """
    summary = summarise(datasheet)
    sheet = summary.datasheet
    every = (*sheet.estimates, *sheet.panel)
    rows = {id(estimate): f"estimate-{place}" for place, estimate in enumerate(every)}
    # A clause has the estimates as they were measured, a table those with names made visible.
    measured = (*datasheet.estimates, *datasheet.panel)
    places = {address(e): rows[id(own)] for e, own in zip(reversed(measured), reversed(every), strict=True)}
    places |= {address(estimate): rows[id(estimate)] for estimate in reversed(every)}

    def calls_behind(estimate: Estimate) -> str:
        return calls_of(estimate) if calls_of else f"#{places[address(estimate)]}"

    return document(
        "page.html.j2",
        sheet=sheet,
        summary=summary,
        key=first_screen,
        clauses=clauses,
        linked=lambda phrase: clauses.linked(phrase, calls_behind),
        row_id=lambda estimate: rows.get(id(estimate)) or places[address(estimate)],
        ranks={word: rank for rank, word in enumerate(reversed(WORDS))},
        spent=cost_summary(datasheet.facts),
        charts=charts(summary, faults),
        sections=collapsible_sections(summary),
        labels=short_names([judge.name for judge in sheet.judges]),
        remedies=remedy_tables(summary),
        remedy_sections=guide_sections(sheet.verdicts),
        remedy_brief=remedy_brief,
        remedies_question=REMEDIES_QUESTION,
        remedies_measure=REMEDIES_COMMAND,
        confusion=confusion_tables(summary),
        confusion_question=CONFUSION_QUESTION,
        strata=strata_tables(summary),
        strata_question=STRATA_QUESTION,
        exhibits=examples_by_judge(sheet),
        instruments=card_texts(sheet),
        instruments_question=INSTRUMENTS_QUESTION,
        example=example,
        lines=escape_keeping_lines,
        multi_judge_tables=multi_judge_tables(summary),
        single_judge_note=single_judge_note(summary),
        every=[(judge, _by_probe(sheet.look_up.of_judge(judge.name))) for judge in sheet.judges],
        every_together=_by_probe(sheet.panel),
        metrics=metric_meanings(estimate.metric for estimate in every),
        methods=interval_meanings(each.method for estimate in every for each in estimate.intervals),
        findings=FINDINGS,
        calls_of=calls_of,
        calls_where=calls_where,
        calls_on=calls_on,
        chart_file=chart_file,
        home=home,
        pages=pages,
    )


def _by_probe(estimates: Iterable[Estimate]) -> list[tuple[str, list[Estimate]]]:
    probes: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        probes.setdefault(estimate.probe, []).append(estimate)
    return [(probe_title(probe), mine) for probe, mine in probes.items()]
