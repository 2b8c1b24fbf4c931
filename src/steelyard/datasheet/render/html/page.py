"""The page of a datasheet: findings, charts, every estimate, and what the guide says on its faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

from steelyard.core.text import escape_keeping_lines, short_names
from steelyard.datasheet import example, instrument_card
from steelyard.datasheet.conclusion import WORDS, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import address
from steelyard.datasheet.example import FindingExample
from steelyard.datasheet.glossary import FINDINGS, interval_meanings, metric_meanings, probe_title
from steelyard.datasheet.questions.causes import Cause
from steelyard.datasheet.questions.questions import question_of
from steelyard.datasheet.render import clauses
from steelyard.datasheet.render.clauses import examples_by_judge
from steelyard.datasheet.render.html.charts.catalogue import charts
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.render.html.drawing.chart import Chart, figure_key, linked_marks
from steelyard.datasheet.sections import first_screen, remedies, tables
from steelyard.datasheet.sections.summary import (
    collapsible_sections,
    cost_summary,
    not_measured_text,
    summarise,
)
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import Faults

SHOWN = 2
_NOTHING, _QUALITY = ("decomposition", "axes"), ("psychometric", "heat-accuracy")
CHART_OF: Mapping[Cause, Sequence[str]] = {
    **dict.fromkeys((Cause.MERIT, Cause.SENSITIVITY, Cause.NEVER_RIGHT), _QUALITY),
    **dict.fromkeys((Cause.POSITION, Cause.NATURAL_PAIRS), ("position", "decomposition")),
    **dict.fromkeys((Cause.LENGTH, Cause.CUES), ("worth",)),
    Cause.SURFACE: ("worth", "position"),
    **dict.fromkeys((Cause.ACCURACY, Cause.EXPECTED, Cause.LENIENCY, Cause.SPREAD), ("heat-accuracy",)),
    **dict.fromkeys((Cause.ROBUSTNESS, Cause.REPEATABILITY), ("heat-invariance",)),
    **dict.fromkeys(
        (Cause.NO_TIES, Cause.AT_RANDOM, Cause.EMPTY_TEXTS, Cause.DARK_CURRENT, Cause.NOISE), _NOTHING
    ),
    **dict.fromkeys((Cause.NO_SIGNAL, Cause.OVERCONFIDENT), ("reliability",)),
    Cause.RUNS: ("runs",),
    Cause.STRATA: ("strata",),
}
"""Charts that show a fault, the best first; where none of them is drawn, the first chart of the page."""


@dataclass(frozen=True)
class Evidence:
    judge: str = ""
    chart: Chart | None = None
    examples: Sequence[FindingExample] = ()


def evidence(sheet: Datasheet, charts: Sequence[Chart]) -> Evidence:
    """Of the judge with the gravest verdict, in the order of the page."""
    if not sheet.verdicts:
        return Evidence()
    verdict = min(sheet.verdicts, key=lambda each: WORDS.index(each.word))
    return Evidence(verdict.judge, _chart(verdict, charts), _examples(verdict, sheet.exhibits))


def _chart(verdict: Conclusion, charts: Sequence[Chart]) -> Chart | None:
    drawn = {chart.id: chart for chart in charts if chart.panels}
    wanted = [name for cause in verdict.causes for name in CHART_OF.get(cause, ())]
    return next((drawn[name] for name in (*wanted, *drawn) if name in drawn), None)


def _examples(verdict: Conclusion, exhibits: Sequence[FindingExample]) -> Sequence[FindingExample]:
    """Those of the first cause first, then others of the judge."""
    asked = [question_of(cause).name for cause in verdict.causes]
    mine = [each for each in exhibits if each.judge == verdict.judge]
    place = {name: number for number, name in reversed(list(enumerate(asked)))}
    return sorted(mine, key=lambda each: place.get(each.reading, len(asked)))[:SHOWN]


def render(
    datasheet: Datasheet,
    faults: Faults | None = None,
    calls_of: Callable[[Estimate], str] | None = None,
    home: str = "",
    chart_file: Callable[[str], str] | None = None,
    calls_where: Callable[[Mapping[str, str]], str] | None = None,
    calls_on: Callable[[str, str], str] | None = None,
    pages: Sequence[tuple[str, str]] = (),
    calls_remedied: Callable[[Estimate, str], str] | None = None,
) -> str:
    """One HTML document, the same for the same datasheet; a chart that raises is a fault.

    In a viewer, `calls_of` gives the address of the calls behind a number, `calls_where` of those that meet
    conditions, `calls_on` of those of a judge on a stimulus, `calls_remedied` of the answers with a remedy
    behind a figure, `home` that of all runs, `chart_file` that of a
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

    drawn = charts(summary, faults)
    marks = {figure_key(estimate): estimate for estimate in every}
    drawn = tuple(linked_marks(chart, marks, calls_behind) for chart in drawn)
    return document(
        "page.html.j2",
        sheet=sheet,
        summary=summary,
        key=first_screen,
        not_measured_text=not_measured_text,
        clauses=clauses,
        linked=lambda phrase: clauses.linked(phrase, calls_behind),
        row_id=lambda estimate: rows.get(id(estimate)) or places[address(estimate)],
        ranks={word: rank for rank, word in enumerate(reversed(WORDS))},
        spent=cost_summary(datasheet.facts),
        charts=drawn,
        evidence=evidence(sheet, drawn),
        sections=collapsible_sections(summary),
        labels=short_names([judge.name for judge in sheet.judges]),
        mends=remedies,
        remedies=remedies.remedy_tables(summary),
        remedy_sections=guide_sections(sheet.verdicts),
        tables=tables,
        exhibits=examples_by_judge(sheet),
        cards=instrument_card,
        example=example,
        lines=escape_keeping_lines,
        every=[(judge, _by_probe(sheet.look_up.of_judge(judge.name))) for judge in sheet.judges],
        every_together=_by_probe(sheet.panel),
        metrics=metric_meanings(estimate.metric for estimate in every),
        methods=interval_meanings(each.method for estimate in every for each in estimate.intervals),
        findings=FINDINGS,
        calls_of=calls_of,
        calls_remedied=calls_remedied,
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


GUIDE = "fix-a-judge.md"
"""The guide; it lies in the package where that is installed, and among the documents in a checkout."""

_INLINE = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\[([^\]]+)\]\(#([a-z-]+)\)"), r'<a href="#remedy-\2">\1</a>'),
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\*([^*]+)\*"), r"<b>\1</b>"),
)


class GuideSection(NamedTuple):
    anchor: str
    """Its place on the page, without `remedy-`."""
    title: str
    paragraphs: tuple[Markup, ...]


def guide_sections(verdicts: Iterable[Conclusion]) -> list[GuideSection]:
    """The sections of the guide on the faults in these verdicts, and those they link to, in order."""
    named = {cause.anchor for verdict in verdicts for cause in verdict.causes}
    every = _sections()
    for anchor in list(named):
        text = "".join(every[anchor].paragraphs) if anchor in every else ""
        named |= set(re.findall('href="#remedy-([a-z-]+)"', text))
    return [section for anchor, section in every.items() if anchor in named]


@cache
def _sections() -> dict[str, GuideSection]:
    """Every section by its anchor; none where the guide is not there."""
    sections = {}
    for section in re.split(r"^## ", _guide_text(), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        anchor = title.strip().lower().replace(" ", "-")
        paragraphs = tuple(_rendered(part) for part in re.split(r"\n{2,}", body) if part.strip())
        sections[anchor] = GuideSection(anchor, title.strip(), paragraphs)
    return sections


def _guide_text() -> str:
    shipped = files("steelyard") / "guides" / GUIDE
    beside = Path(__file__).parents[5] / "docs" / "guides" / GUIDE
    for place in (shipped, beside):
        if place.is_file():
            return place.read_text(encoding="utf-8")
    return ""


def _rendered(paragraph: str) -> Markup:
    text = str(escape(" ".join(paragraph.split())))
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return Markup(text)
