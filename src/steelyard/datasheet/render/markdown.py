"""The datasheet as Markdown: one file that reads well in a terminal, a pull request and a wiki."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from steelyard.core.text import pluralize
from steelyard.datasheet.conclusion import Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.examples.example import (
    FindingExample,
    absent,
    describe_call,
    describe_reply,
    named_texts,
)
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.questions.question import Decision
from steelyard.datasheet.render.clauses import (
    advice,
    fact_phrase,
    headword,
    lead,
    next_of,
    sentence,
    state_text,
    text,
    undecided_text,
)
from steelyard.datasheet.render.examples import examples_by_judge
from steelyard.datasheet.sections import first_screen
from steelyard.datasheet.sections.instrument_cards import INSTRUMENTS_QUESTION, INSTRUMENTS_TITLE, card_texts
from steelyard.datasheet.sections.remedies import (
    REMEDIES_COMMAND,
    REMEDIES_QUESTION,
    REMEDIES_TITLE,
    remedy_brief,
    remedy_tables,
)
from steelyard.datasheet.sections.rows import FigureRow, Section
from steelyard.datasheet.sections.summary import Summary, cost_summary, summarise
from steelyard.datasheet.sections.tables import (
    CONFUSION_QUESTION,
    CONFUSION_TITLE,
    MULTI_JUDGE_TITLE,
    STRATA_QUESTION,
    STRATA_TITLE,
    TextTable,
    confusion_tables,
    multi_judge_tables,
    single_judge_note,
    strata_tables,
)
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import FINDINGS, STATUS_WORDS, interval_meanings, metric_meanings
from steelyard.datasheet.words.text import capital, escape_control_chars, escape_keeping_lines
from steelyard.metrics.estimate import Estimate


def render(datasheet: Datasheet) -> str:
    summary = summarise(datasheet)
    sheet = summary.datasheet
    parts = [
        *([f"{sheet.partial_sentence}."] if sheet.partial else ()),
        f"# {sheet.kind}: {escape(sheet.title)}",
        *_answer(summary),
        *_verdicts(summary),
        *_readings(summary),
        "## Figures",
        *figure_tables(summary, summary.measured),
        *_confusion(summary),
        *_strata(summary),
        *_exhibits(sheet),
        *_remedies(summary),
        *_authored(sheet),
        *(_baselines(summary) if summary.baselines else ()),
        *_multi_judge_tables(summary),
        *_instruments(sheet),
        *_notes(summary),
        *_methods(sheet),
        "## Study, seed and hashes",
        "\n".join(_provenance(summary)),
    ]
    return "\n\n".join(parts) + "\n"


def _provenance(summary: Summary) -> Iterator[str]:
    sheet = summary.datasheet
    yield f"- stimulus set `{sheet.stimulus_set}`"
    calls = f" · {pluralize(summary.calls, 'call')}" if summary.calls else ""
    yield f"- study {escape(sheet.name)}"
    yield f"- seed {sheet.seed} · profile {escape(sheet.profile)} · Steelyard {escape(sheet.version)}{calls}"
    if spent := cost_summary(sheet.facts):
        yield f"- spent: {escape(spent)}"
    if sheet.reference_sentence:
        yield f"- reference: {escape(sheet.reference_sentence)}"
    if looks := sheet.facts.looks_sentence:
        yield f"- looks: {escape(looks)}"
    if missing := sheet.facts.missing_labels:
        yield f"- labels: {missing}"
    for judge in sheet.judges:
        role = "baseline" if judge.baseline else "judge"
        told = "".join(f"; {caveat}" for caveat in sheet.caveats(judge.name))
        yield f"- {role} **{escape(judge.name)}**: {escape(judge.made)}{told}"


def _answer(summary: Summary) -> Iterator[str]:
    """What a reader needs first: word, reason and advice of each judge, the figures that carry it."""
    names = [judge.name for judge in summary.measured]
    if len(names) == 1:
        verdict = summary.verdict(names[0])
        if verdict is not None:
            yield f"**{headword(verdict)}**: {escape(lead(verdict))}"
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
            yield " ".join(escape(line) for line in advice(summary.datasheet, verdict))
    elif summary.datasheet.verdicts:
        columns, judges = first_screen.judge_rows(summary)
        yield f"**{escape(first_screen.headline(summary))}**"
        yield table(
            ["judge", "verdict", *map(escape, columns)],
            [
                [
                    escape(judge.judge),
                    "" if judge.verdict is None else f"**{headword(judge.verdict)}**",
                    *("–" if row is None else _judge_cell(row) for row in judge.figures),
                ]
                for judge in judges
            ],
        )
        if step := first_screen.shared_step(summary):
            yield f"**Next{escape(next_of(step))}:** {escape(step.next.sentence)}" if step.next else ""
            yield from [code_block(step.command, "sh")] if step.command else []
    if undecided := undecided_text(summary.datasheet.verdicts):
        yield escape(undecided)


def _judge_cell(row: first_screen.Row) -> str:
    word = _word(row.word, row.estimate.status)
    return f"{_row_figure(row)} {word}".rstrip()


def _word(state: str, status: str | None) -> str:
    return f"**{state}**" if status == "flagged" else state


def _row_figure(row: first_screen.Row) -> str:
    return escape(f"{numbers.value(row.estimate)} {row.interval}".rstrip())


def _verdicts(summary: Summary) -> Iterator[str]:
    for judge in summary.measured:
        verdict = summary.verdict(judge.name)
        if verdict is not None:
            yield f"## {escape(judge.name)}: {headword(verdict)}"
            yield "\n".join(_verdict_lines(verdict, remedy_brief(summary.datasheet, judge.name)))
            yield from [code_block(verdict.command, "sh")] if verdict.command else []
    titles = summary.finding_titles()
    if titles:
        header = ["", *(escape(judge.name) for judge in summary.measured)]
        yield table(header, [[escape(row), *_states(summary, title)] for title, row in titles])


def _verdict_lines(verdict: Conclusion, remedy: str) -> Iterator[str]:
    for fact in verdict.facts:
        guide = f" `{fact.cause.guide}`" if fact.cause else ""
        yield f"- {escape(capital(text(fact_phrase(fact))))}.{guide}"
    for opening, words in (("So", verdict.advice.value), ("Remedy", remedy)):
        if words:
            yield f"- **{opening}:** {escape(words)}"
    if verdict.next is not None:
        yield f"- **Next:** {escape(verdict.next.sentence)}"


def _states(summary: Summary, title: str) -> list[str]:
    decisions = (summary.finding(judge.name, title) for judge in summary.measured)
    return [_word(state_text(each) or "no limit", each.status if each else None) for each in decisions]


def _readings(summary: Summary) -> Iterator[str]:
    if summary.datasheet.findings:
        yield "## Readings"
    for judge in summary.datasheet.judges:
        if mine := summary.findings(judge.name):
            yield f"### {escape(judge.name)}"
            yield "\n".join(map(_reading, mine))


def _reading(decision: Decision) -> str:
    state = f", **{word}**" if (word := state_text(decision)) else ""
    return f"- {escape(capital(decision.row_title))}{state}: {escape(sentence(decision.clause))}"


def _remedies(summary: Summary) -> Iterator[str]:
    tables = remedy_tables(summary)
    if tables:
        yield f"## {REMEDIES_TITLE}"
        yield REMEDIES_QUESTION
    for shown in tables:
        yield f"### {escape(shown.judge)}"
        if shown.line:
            yield f"{escape(shown.line)}."
        yield table(shown.header, ([escape(str(cell)) for cell in (a, b, *c)] for a, b, c in shown.rows))
        if shown.definitions:
            yield f"{REMEDIES_COMMAND} {', '.join(f'`{each}`' for each in shown.definitions)}"
        if shown.unknown:
            yield escape(shown.unknown)


def _authored(datasheet: Datasheet) -> Iterator[str]:
    if datasheet.authored:
        yield "## Written stimuli"
        yield "\n".join(f"- {escape(report.sentence())}" for report in datasheet.authored)


def _confusion(summary: Summary) -> Iterator[str]:
    matrices = confusion_tables(summary)
    if matrices:
        yield f"## {CONFUSION_TITLE}"
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


def _plain_table(shown: TextTable) -> str:
    rows = [[escape(str(cell)) for cell in row] for row in shown.rows]
    return table([escape(name) for name in shown.header], rows)


def _strata(summary: Summary) -> Iterator[str]:
    tables = strata_tables(summary)
    if tables:
        yield f"## {STRATA_TITLE}"
        yield escape(STRATA_QUESTION)
    for shown in tables:
        yield f"### {escape(shown.title)}"
        yield _plain_table(shown)


def _instruments(datasheet: Datasheet) -> Iterator[str]:
    cards = card_texts(datasheet)
    if cards:
        yield f"## {INSTRUMENTS_TITLE}"
        yield escape(INSTRUMENTS_QUESTION)
    for card in cards:
        yield f"### {escape(card.judge)}"
        yield "\n".join(
            f"- {escape(name)}: {escape(escape_control_chars(text))}" for name, text in card.facts
        )
        if card.texts:
            yield "<details><summary>Prompts and rubric</summary>"
            yield from (part for name, text in card.texts for part in fenced(name, text, escape))
            yield "</details>"


def _exhibits(datasheet: Datasheet) -> Iterator[str]:
    if datasheet.exhibits:
        yield "## Examples"
        yield "Calls behind what is too high or too low, and one for each way in which a verdict is missing."
    for judge, findings in examples_by_judge(datasheet):
        yield f"### {escape(judge)}"
        for group in findings:
            yield from (exhibit_block(exhibit, escape) for exhibit in group.exhibits)


def _baselines(summary: Summary) -> Iterator[str]:
    yield "## Baselines"
    yield "What judges without any judgement show on the same stimuli."
    header = ["", *(escape(judge.name) for judge in summary.baselines)]
    yield table(header, [_row(summary, row, summary.baselines) for row in summary.headlines])


def _multi_judge_tables(summary: Summary) -> Iterator[str]:
    tables = multi_judge_tables(summary)
    if tables or single_judge_note(summary):
        yield f"## {MULTI_JUDGE_TITLE}"
    for shown in tables:
        yield f"### {shown.title}"
        yield escape(shown.question)
        yield table(shown.header, [[escape(str(cell)) for cell in row] for row in shown.rows])
    if single_judge_note(summary):
        yield single_judge_note(summary)


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


def figure_tables(summary: Summary, judges: Sequence[JudgeEntry]) -> Iterator[str]:
    for section in summary.sections:
        yield f"### {escape(section.title)}"
        if section.question:
            yield escape(section.question)
        yield _section_table(summary, section, judges)


def _section_table(summary: Summary, section: Section, judges: Sequence[JudgeEntry]) -> str:
    rows = [_row(summary, row, judges) for row in section.rows]
    behind = f"*calls/{summary.datasheet.units}/clusters*"
    rows.append([behind, *(_basis(section.basis(judge.name)) for judge in judges)])
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


def _basis(estimate: Estimate | None) -> str:
    return numbers.NOT_MEASURED if estimate is None else numbers.short_basis(estimate)


def exhibit_block(exhibit: FindingExample, escape: Callable[[str], str]) -> str:
    return "\n\n".join(_parts(exhibit, escape))


def _parts(exhibit: FindingExample, escape: Callable[[str], str]) -> Iterator[str]:
    stimulus = exhibit.shown[-1]
    heading = f"{exhibit.reading}: {escape_control_chars(stimulus.id)}"
    yield f"<details><summary>{html.escape(heading)}</summary>"
    yield f"Why: {escape(escape_control_chars(exhibit.why))}."
    yield from fenced("request", stimulus.request, escape)
    for name, shown in named_texts(exhibit.shown):
        yield from fenced(name, shown, escape)
    for call in exhibit.calls:
        reply = call.message or call.reason if call.verdict == "failed" else call.reply
        name = (
            f"{describe_call(call, exhibit)}, read as {escape_control_chars(describe_reply(call, exhibit))}"
        )
        yield from fenced(name, reply, escape)
    yield "</details>"


def fenced(name: str, text: str | None, escape: Callable[[str], str]) -> Iterator[str]:
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
