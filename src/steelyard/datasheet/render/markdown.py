"""The datasheet as Markdown: one file that reads well in a terminal, a pull request and a wiki."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.core.text import pluralize
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render.exhibited import exhibited
from steelyard.datasheet.render.exhibits_markdown import code_block, exhibit_block, fenced
from steelyard.datasheet.render.figures_markdown import _row, figure_tables
from steelyard.datasheet.render.markdown_text import escape, table
from steelyard.datasheet.sections.confusion import QUESTION as CONFUSION_QUESTION
from steelyard.datasheet.sections.confusion import TITLE as CONFUSION
from steelyard.datasheet.sections.confusion import confusion_tables
from steelyard.datasheet.sections.instrument_cards import QUESTION as INSTRUMENTS_QUESTION
from steelyard.datasheet.sections.instrument_cards import TITLE as INSTRUMENTS
from steelyard.datasheet.sections.instrument_cards import card_texts
from steelyard.datasheet.sections.remedies import MEASURE, QUESTION, remedy_brief, remedy_tables
from steelyard.datasheet.sections.remedies import TITLE as REMEDIES
from steelyard.datasheet.sections.spending import spending
from steelyard.datasheet.sections.strata import QUESTION as STRATA_QUESTION
from steelyard.datasheet.sections.strata import TITLE as STRATA
from steelyard.datasheet.sections.strata import strata_tables
from steelyard.datasheet.sections.summary import Summary, summarise
from steelyard.datasheet.sections.together import TITLE, TogetherTable, alone, together
from steelyard.datasheet.verdict import Verdict
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import FINDINGS
from steelyard.datasheet.words.meanings import interval_meanings, metric_meanings
from steelyard.datasheet.words.verdict_text import brought, capital
from steelyard.datasheet.words.visible import visible


def render(datasheet: Datasheet) -> str:
    """The whole document."""
    summary = summarise(datasheet)
    sheet = summary.datasheet
    parts = [
        *([f"{sheet.partial_told}."] if sheet.partial else ()),
        f"# {sheet.kind}: {escape(sheet.title)}",
        *_verdicts(summary),
        "A judge measured like an instrument. Every figure is `value [95 % interval] count/total`.",
        "\n".join(_provenance(summary)),
        *_readings(summary),
        "## Figures",
        *figure_tables(summary, summary.measured),
        *_confusion(summary),
        *_strata(summary),
        *_exhibits(sheet),
        *_remedies(summary),
        *_authored(sheet),
        *(_baselines(summary) if summary.baselines else ()),
        *_together(summary),
        *_instruments(sheet),
        *_notes(summary),
        *_methods(sheet),
    ]
    return "\n\n".join(parts) + "\n"


def _provenance(summary: Summary) -> Iterator[str]:
    sheet = summary.datasheet
    yield f"- stimulus set `{sheet.stimulus_set}`"
    calls = f" · {pluralize(summary.calls, 'call')}" if summary.calls else ""
    yield f"- study {escape(sheet.name)}"
    yield f"- seed {sheet.seed} · profile {escape(sheet.profile)} · Steelyard {escape(sheet.version)}{calls}"
    if spent := spending(sheet.facts):
        yield f"- spent: {escape(spent)}"
    if sheet.reference_told:
        yield f"- reference: {escape(sheet.reference_told)}"
    if looks := sheet.facts.looks_told:
        yield f"- looks: {escape(looks)}"
    if missing := sheet.facts.missing_labels:
        yield f"- labels: {missing}"
    for judge in sheet.judges:
        role = "baseline" if judge.baseline else "judge"
        told = "".join(f"; {caveat}" for caveat in sheet.caveats(judge.name))
        yield f"- {role} **{escape(judge.name)}**: {escape(judge.made)}{told}"


def _verdicts(summary: Summary) -> Iterator[str]:
    """A verdict on each judge, then one word for every question."""
    for judge in summary.measured:
        verdict = summary.verdict(judge.name)
        if verdict is not None:
            yield f"## {escape(judge.name)}: {verdict.word}"
            yield "\n".join(_verdict_lines(verdict, remedy_brief(summary.datasheet, judge.name)))
            yield from [code_block(verdict.command, "sh")] if verdict.command else []
    titles = summary.reading_titles()
    if titles:
        header = ["", *(escape(judge.name) for judge in summary.measured)]
        yield table(header, [[escape(title), *_words(summary, title)] for title in titles])


def _verdict_lines(verdict: Verdict, remedy: str) -> Iterator[str]:
    for fact in verdict.facts:
        guide = f" `{fact.guide}`" if fact.guide else ""
        yield f"- {escape(capital(fact.sentence))}{brought(fact)}.{guide}"
    for opening, text in (("So", verdict.so), ("Remedy", remedy)):
        if text:
            yield f"- **{opening}:** {escape(text)}"
    if verdict.next is not None:
        yield f"- **Next:** {escape(verdict.next.sentence)}"


def _words(summary: Summary, title: str) -> list[str]:
    readings = (summary.reading(judge.name, title) for judge in summary.measured)
    return [numbers.NOT_MEASURED if reading is None else _emphasis(reading.word) for reading in readings]


def _emphasis(word: str) -> str:
    return f"**{word}**" if word == "flagged" else word


def _readings(summary: Summary) -> Iterator[str]:
    if summary.datasheet.readings:
        yield "## Readings"
    for judge in summary.datasheet.judges:
        lines = [
            f"- {escape(reading.title)}, **{reading.word}**: {escape(reading.sentence)}"
            for reading in summary.readings(judge.name)
        ]
        if lines:
            yield f"### {escape(judge.name)}"
            yield "\n".join(lines)


def _remedies(summary: Summary) -> Iterator[str]:
    tables = remedy_tables(summary)
    if tables:
        yield f"## {REMEDIES}"
        yield QUESTION
    for shown in tables:
        yield f"### {escape(shown.judge)}"
        if shown.line:
            yield f"{escape(shown.line)}."
        yield table(shown.header, ([escape(str(cell)) for cell in (a, b, *c)] for a, b, c in shown.rows))
        if shown.definitions:
            yield f"{MEASURE} {', '.join(f'`{each}`' for each in shown.definitions)}"
        if shown.unknown:
            yield escape(shown.unknown)


def _authored(datasheet: Datasheet) -> Iterator[str]:
    if datasheet.authored:
        yield "## Written stimuli"
        yield "\n".join(f"- {escape(report.sentence())}" for report in datasheet.authored)


def _confusion(summary: Summary) -> Iterator[str]:
    matrices = confusion_tables(summary)
    if matrices:
        yield f"## {CONFUSION}"
        yield escape(CONFUSION_QUESTION)
    for whole, parts in matrices:
        yield f"### {escape(whole.title)}"
        yield _plain_table(whole)
        if parts:
            yield "<details><summary>By stratum</summary>"
            for part in parts:
                yield f"{escape(part.title)}:"
                yield _plain_table(part)
            yield "</details>"


def _plain_table(shown: TogetherTable) -> str:
    return table([escape(name) for name in shown.header], [[escape(c) for c in row] for row in shown.rows])


def _strata(summary: Summary) -> Iterator[str]:
    tables = strata_tables(summary)
    if tables:
        yield f"## {STRATA}"
        yield escape(STRATA_QUESTION)
    for shown in tables:
        yield f"### {escape(shown.title)}"
        yield _plain_table(shown)


def _instruments(datasheet: Datasheet) -> Iterator[str]:
    cards = card_texts(datasheet)
    if cards:
        yield f"## {INSTRUMENTS}"
        yield escape(INSTRUMENTS_QUESTION)
    for card in cards:
        yield f"### {escape(card.judge)}"
        yield "\n".join(f"- {escape(name)}: {escape(visible(text))}" for name, text in card.facts)
        if card.texts:
            yield "<details><summary>Prompts and rubric</summary>"
            yield from (part for name, text in card.texts for part in fenced(name, text, escape))
            yield "</details>"


def _exhibits(datasheet: Datasheet) -> Iterator[str]:
    if datasheet.exhibits:
        yield "## Exhibits"
        yield "Calls behind the flagged readings, and one for each way in which a verdict is missing."
    for judge, readings in exhibited(datasheet):
        yield f"### {escape(judge)}"
        for group in readings:
            yield from (exhibit_block(exhibit, escape) for exhibit in group.exhibits)


def _baselines(summary: Summary) -> Iterator[str]:
    yield "## Baselines"
    yield "What judges without any judgement show on the same stimuli."
    header = ["", *(escape(judge.name) for judge in summary.baselines)]
    yield table(header, [_row(summary, row, summary.baselines) for row in summary.headlines])


def _together(summary: Summary) -> Iterator[str]:
    tables = together(summary)
    if tables or alone(summary):
        yield f"## {TITLE}"
    for shown in tables:
        yield f"### {shown.title}"
        yield escape(shown.question)
        yield table(shown.header, [[escape(cell) for cell in row] for row in shown.rows])
    if alone(summary):
        yield alone(summary)


def _notes(summary: Summary) -> Iterator[str]:
    if summary.notes:
        yield "## Undefined figures"
        yield "\n".join(f"- ({letter}) {escape(reason)}" for reason, letter in summary.notes.items())


def _methods(datasheet: Datasheet) -> Iterator[str]:
    yield "## How to read it"
    every = (*datasheet.estimates, *datasheet.panel)
    metrics = metric_meanings(estimate.metric for estimate in every)
    lines = [f"- **{escape(metric.name)}**: {escape(metric.meaning)}" for metric in metrics]
    yield "\n".join(lines) or "No figures were measured."
    methods = interval_meanings(i.method for estimate in every for i in estimate.intervals[:1])
    yield "\n".join(f"- interval `{name}`: {escape(meaning)}" for name, meaning in methods)
    yield "\n".join(f"- *{word}*: {meaning}." for word, meaning in FINDINGS.items())
