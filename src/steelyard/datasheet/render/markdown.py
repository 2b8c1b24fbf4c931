"""The datasheet as Markdown: one file that reads well in a terminal, a pull request and a wiki."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from steelyard.core.text import capital, escape_control_chars, escape_keeping_lines, pluralize
from steelyard.datasheet import example, numbers
from steelyard.datasheet.conclusion import Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.example import FindingExample, absent
from steelyard.datasheet.glossary import FINDINGS, STATUS_WORDS, interval_meanings, metric_meanings
from steelyard.datasheet.instrument_card import INSTRUMENTS_QUESTION, JudgeEntry, card_texts
from steelyard.datasheet.render import clauses
from steelyard.datasheet.render.clauses import examples_by_judge, headword, sentence, state_text
from steelyard.datasheet.sections import first_screen, remedies, tables
from steelyard.datasheet.sections.sections import FigureRow
from steelyard.datasheet.sections.summary import Summary, cost_summary, not_measured_text, summarise
from steelyard.datasheet.sections.tables import TextTable
from steelyard.metrics.estimate import Estimate


def render(datasheet: Datasheet) -> str:
    summary = summarise(datasheet)
    sheet = summary.datasheet
    baselines = "What judges without any judgement show on the same stimuli."
    examples = "Calls behind what is too high or too low, and one for each way in which a verdict is missing."
    parts = [
        *([f"{sheet.partial_sentence}."] if sheet.partial else ()),
        f"# {sheet.kind}: {escape(sheet.title)}",
        *_answer(summary),
        *_verdicts(summary),
        *_section("Readings", "", _readings(summary)),
        "## Figures",
        *_figure_tables(summary),
        *_section("Confusion", tables.CONFUSION_QUESTION, _confusion(summary)),
        *_section("By stratum", tables.STRATA_QUESTION, _tables(tables.strata_tables(summary))),
        *_section("Examples", examples, _exhibits(sheet)),
        *_section("Remedies", remedies.REMEDIES_QUESTION, _remedies(summary)),
        *_section("Written stimuli", "", _lines(report.sentence() for report in sheet.authored)),
        *_section("Baselines", baselines, _baselines(summary)),
        *_section("Judges together", "", _multi_judge_tables(summary)),
        *_section("Instruments", INSTRUMENTS_QUESTION, _instruments(sheet)),
        *_section(
            "Undefined figures", "", _lines(f"({letter}) {why}" for why, letter in summary.notes.items())
        ),
        "## How to read it",
        *_methods(sheet),
        "## Study, seed and hashes",
        "\n".join(_provenance(summary)),
    ]
    return "\n\n".join(parts) + "\n"


def _section(title: str, question: str, parts: Iterable[str]) -> list[str]:
    """The parts below their title; nothing where there are none."""
    shown = list(parts)
    return [f"## {title}", *filter(None, [escape(question)]), *shown] if shown else []


def _lines(texts: Iterable[str]) -> list[str]:
    """One list of the texts; nothing where there are none."""
    return list(filter(None, ["\n".join(f"- {escape(text)}" for text in texts)]))


def _provenance(summary: Summary) -> Iterator[str]:
    sheet = summary.datasheet
    yield f"- stimulus set `{sheet.stimulus_set}`"
    calls = f" · {pluralize(summary.calls, 'call')}" if summary.calls else ""
    yield f"- study {escape(sheet.name)}"
    yield f"- seed {sheet.seed} · profile {escape(sheet.profile)} · Steelyard {escape(sheet.version)}{calls}"
    if spent := cost_summary(sheet.facts):
        yield f"- spent: {escape(spent)}"
    yield from (f"- {opening.lower()}: {escape(words)}" for opening, words in sheet.remarks.items())
    for judge in sheet.judges:
        role = "baseline" if judge.baseline else "judge"
        told = "".join(f"; {caveat}" for caveat in sheet.caveats(judge.name))
        yield f"- {role} **{escape(judge.name)}**: {escape(judge.made)}{told}"


def _answer(summary: Summary) -> Iterator[str]:
    """What a reader needs first: word, reason and advice of each judge, the figures that carry it."""
    names = [judge.name for judge in summary.measured]
    if asked := summary.datasheet.facts.materials_sentence:
        yield escape(asked)
    if len(names) == 1:
        verdict = summary.verdict(names[0])
        if verdict is not None:
            yield f"**{headword(verdict)}**: {escape(clauses.lead(verdict))}"
        if beside := first_screen.beside_verdict(summary, names[0]):
            yield " ".join(f"{escape(capital(clauses.text(each)))}." for each in beside)
        rows = [
            [
                escape(row.name),
                f"{_row_figure(row)} {numbers.counts(row.estimate)}".strip(),
                row.limit,
                _word(row.word, row.estimate.status),
            ]
            for row in first_screen.key_figures(summary, names[0])
        ]
        if rows:
            yield table(["", "value [interval] count/total", "limit", ""], rows)
        if verdict is not None:
            yield " ".join(escape(line) for line in clauses.advice(summary.datasheet, verdict))
    elif summary.datasheet.verdicts:
        columns, judges = first_screen.judge_rows(summary)
        yield f"**{escape(first_screen.headline(summary))}**"
        yield table(
            ["judge", "verdict", *map(escape, columns)],
            [
                [
                    escape(judge.judge),
                    "" if judge.verdict is None else f"**{headword(judge.verdict)}**",
                    *(
                        "–"
                        if row is None
                        else f"{_row_figure(row)} {_word(row.word, row.estimate.status)}".rstrip()
                        for row in judge.figures
                    ),
                ]
                for judge in judges
            ],
        )
        if (step := first_screen.shared_step(summary)) and step.next:
            yield f"**Next{escape(clauses.next_of(step))}:** {escape(step.next.sentence)}"
            yield from [code_block(step.command, "sh")] if step.command else []
    if undecided := clauses.undecided_text(summary.datasheet.verdicts):
        yield escape(undecided)
    if missing := not_measured_text(summary.datasheet):
        yield escape(missing)


def _word(state: str, status: str | None) -> str:
    return f"**{state}**" if status == "flagged" else state


def _row_figure(row: first_screen.Row) -> str:
    return escape(f"{numbers.value(row.estimate)} {row.interval}".rstrip())


def _verdicts(summary: Summary) -> Iterator[str]:
    for judge in summary.measured:
        verdict = summary.verdict(judge.name)
        if verdict is not None:
            yield f"## {escape(judge.name)}: {headword(verdict)}"
            yield "\n".join(_verdict_lines(summary.datasheet, verdict))
            yield from [code_block(verdict.command, "sh")] if verdict.command else []
    rows = []
    for title, row_title in summary.finding_titles():
        decisions = [summary.finding(judge.name, title) for judge in summary.measured]
        states = (_word(state_text(each) or "no limit", each.status if each else None) for each in decisions)
        rows.append([escape(row_title), *states])
    if rows:
        yield _judge_table(summary.measured, rows)


def _verdict_lines(sheet: Datasheet, verdict: Conclusion) -> Iterator[str]:
    for fact in verdict.facts:
        guide = f" `{fact.cause.guide}`" if fact.cause else ""
        yield f"- {escape(capital(clauses.text(clauses.fact_phrase(fact))))}.{guide}"
    for opening, words in clauses.what_follows(sheet, verdict):
        yield f"- **{capital(opening)}:** {escape(words)}"


def _readings(summary: Summary) -> Iterator[str]:
    for judge in summary.datasheet.judges:
        lines = []
        for decision in summary.findings(judge.name):
            state = f", **{word}**" if (word := state_text(decision)) else ""
            lines.append(
                f"- {escape(capital(decision.row_title))}{state}: {escape(sentence(decision.clause))}"
            )
        if lines:
            yield f"### {escape(judge.name)}"
            yield "\n".join(lines)


def _remedies(summary: Summary) -> Iterator[str]:
    for shown in remedies.remedy_tables(summary):
        yield f"### {escape(shown.judge)}"
        if shown.line:
            yield f"{escape(shown.line)}."
        yield table(shown.header, ([escape(str(cell)) for cell in (a, b, *c)] for a, b, c in shown.rows))
        if shown.definitions:
            yield f"{remedies.REMEDIES_COMMAND} {', '.join(f'`{each}`' for each in shown.definitions)}"
        if shown.unknown:
            yield escape(shown.unknown)


def _confusion(summary: Summary) -> Iterator[str]:
    for whole, parts in tables.confusion_tables(summary):
        yield from _tables([whole])
        if parts:
            yield "<details><summary>By stratum</summary>"
            for part in parts:
                yield f"{escape(part.title)}:"
                yield _plain_table(part)
            yield "</details>"


def _tables(shown: Iterable[TextTable]) -> Iterator[str]:
    for each in shown:
        yield f"### {escape(each.title)}"
        yield from filter(None, [escape(each.question)])
        yield _plain_table(each)


def _plain_table(shown: TextTable) -> str:
    rows = [[escape(str(cell)) for cell in row] for row in shown.rows]
    return table([escape(name) for name in shown.header], rows)


def _instruments(datasheet: Datasheet) -> Iterator[str]:
    for card in card_texts(datasheet.instruments, datasheet.run):
        yield f"### {escape(card.judge)}"
        yield from _lines(f"{name}: {escape_control_chars(text)}" for name, text in card.facts)
        if card.texts:
            yield "<details><summary>Prompts and rubric</summary>"
            yield from (part for name, text in card.texts for part in fenced(name, text))
            yield "</details>"


def _exhibits(datasheet: Datasheet) -> Iterator[str]:
    for judge, findings in examples_by_judge(datasheet):
        yield f"### {escape(judge)}"
        yield from (part for group in findings for each in group.exhibits for part in _exhibit(each))


def _baselines(summary: Summary) -> Iterator[str]:
    if summary.baselines:
        rows = [_row(summary, row, summary.baselines) for row in summary.headlines]
        yield _judge_table(summary.baselines, rows)


def _multi_judge_tables(summary: Summary) -> Iterator[str]:
    yield from _tables(tables.multi_judge_tables(summary))
    yield from filter(None, [tables.single_judge_note(summary)])


def _methods(datasheet: Datasheet) -> Iterator[str]:
    every = (*datasheet.estimates, *datasheet.panel)
    metrics = metric_meanings(estimate.metric for estimate in every)
    lines = [f"- **{escape(metric.name)}**: {escape(metric.meaning)}" for metric in metrics]
    yield "\n".join(lines) or "No figures were measured."
    methods = interval_meanings(i.method for estimate in every for i in estimate.intervals[:1])
    yield "\n".join(f"- interval `{name}`: {escape(meaning)}" for name, meaning in methods)
    yield "\n".join(f"- *{word}*: {meaning}." for word, meaning in FINDINGS.items())


def _figure_tables(summary: Summary) -> Iterator[str]:
    behind = f"*calls/{summary.datasheet.units}/clusters*"
    for section in summary.sections:
        yield f"### {escape(section.title)}"
        if section.question:
            yield escape(section.question)
        cells = [numbers.short_basis(section.basis(judge.name)) for judge in summary.measured]
        rows = [_row(summary, row, summary.measured) for row in section.rows]
        yield _judge_table(summary.measured, [*rows, [behind, *cells]])


def _judge_table(judges: Iterable[JudgeEntry], rows: Iterable[Sequence[str]]) -> str:
    return table(["", *(escape(judge.name) for judge in judges)], rows)


def _row(summary: Summary, row: FigureRow, judges: Sequence[JudgeEntry]) -> list[str]:
    label = "– " * row.depth + escape(row.name)
    return [label, *(cell(summary, row.cells.get(judge.name)) for judge in judges)]


def cell(summary: Summary, estimate: Estimate | None) -> str:
    """A figure for a table cell; the reason of an undefined one is a lettered note."""
    if not numbers.defined(estimate):
        return escape(summary.absence(estimate))
    parts = [escape(numbers.figure(estimate)), numbers.counts(estimate)]
    if word := STATUS_WORDS.get(summary.status(estimate), ""):
        parts.append(f"**{word}**" if summary.status(estimate) == "flagged" else f"*{word}*")
    return " ".join(part for part in parts if part)


def _exhibit(exhibit: FindingExample) -> Iterator[str]:
    stimulus = exhibit.shown[-1]
    heading = f"{exhibit.reading}: {escape_control_chars(stimulus.id)}"
    yield f"<details><summary>{html.escape(heading)}</summary>"
    yield f"Why: {escape(escape_control_chars(exhibit.why))}."
    yield from fenced("request", stimulus.request)
    for name, shown in example.named_texts(exhibit.shown):
        yield from fenced(name, shown)
    for call in exhibit.calls:
        reply = call.message or call.reason if call.verdict == "failed" else call.reply
        read = escape_control_chars(example.describe_reply(call, exhibit))
        yield from fenced(f"{example.describe_call(call, exhibit)}, read as {read}", reply)
    yield "</details>"


def fenced(name: str, text: str | None) -> Iterator[str]:
    if text is None or absent(text):
        yield f"{escape(name)}: {absent(text)}"
        return
    yield f"{escape(name)}:"
    yield code_block(escape_keeping_lines(text))


def code_block(text: str, language: str = "text") -> str:
    """The text behind a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~]|&(?=#?\w+;))")
"""Signs of Markdown, and an ampersand that would begin an entity."""


def escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table from cells that are already escaped; the first column is text, the others figures."""
    lines = [
        "| " + " | ".join(header) + " |",
        "|" + "|".join([" :-- "] + [" --: "] * (len(header) - 1)) + "|",
    ]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)
