"""Clauses as text: the only place where the words on a judge become strings; examples of calls as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from rich.cells import cell_len, chop_cells

from steelyard.core.text import (
    capital,
    escape_control_chars,
    escape_keeping_spaces,
    listed,
    plural,
    pluralize,
)
from steelyard.datasheet import example, numbers
from steelyard.datasheet.clause import Clause, ClauseFigure, Form, Part, Phrase
from steelyard.datasheet.conclusion import NO_FAULT, Conclusion, Fact, Step
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.example import FindingExample
from steelyard.datasheet.questions.question import Decision, State, Test
from steelyard.datasheet.sections.remedies import remedy_brief
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument.worth_estimates import FAULT


def text(phrase: Phrase) -> str:
    return "".join(map(part_text, phrase))


def sentence(clause: Clause) -> str:
    return text(clause.whole)


def part_text(part: Part) -> str:
    if isinstance(part, str):
        return escape_keeping_spaces(part)
    if not isinstance(part, ClauseFigure):
        return escape_control_chars(part.text)
    match part.form:
        case Form.VALUE:
            return numbers.value(part.estimate)
        case Form.COUNT:
            return numbers.times(part.estimate, part.noun)
        case Form.RATIO:
            return f"{part.estimate.numerator}/{part.estimate.denominator}"
        case Form.WORTH:
            return _worth(part.estimate)
        case Form.FIGURE:
            return numbers.figure(part.estimate)


def linked(phrase: Phrase, address: Callable[[Estimate], str]) -> Markup:
    """The phrase, each figure a link to what stands behind it."""
    link = Markup('<a class="behind" href="{}">{}</a>')
    return Markup("").join(
        link.format(address(part.estimate), part_text(part))
        if isinstance(part, ClauseFigure)
        else escape(part_text(part))
        for part in phrase
    )


def lead_phrase(verdict: Conclusion) -> Phrase:
    """Why, in one plain sentence: the lead of the first fact, and of the second where both fit."""
    clauses = [fact.clause for fact in verdict.facts[:2]]
    if not clauses:
        return ()
    first, *rest = clauses
    opening: Phrase = ("It ", *first.lead) if first.about_judge else capitalised(first.lead)
    short = sum(len(text(clause.lead)) for clause in clauses) < LONGEST_LEAD
    if rest and rest[0].about_judge and first.about_judge and short:
        opening = (*opening, " and ", *rest[0].lead)
    return (*opening, ".")


LONGEST_LEAD = 110
"""Characters of two leads that stand in one sentence."""


def lead(verdict: Conclusion) -> str:
    return text(lead_phrase(verdict))


def capitalised(phrase: Phrase) -> Phrase:
    first, *rest = phrase
    return (capital(first), *rest) if isinstance(first, str) else (capital(part_text(first)), *rest)


def fact_phrase(fact: Fact) -> Phrase:
    """The fact with its figures, and what comes with it."""
    titles = listed(decision.printed_name for decision in fact.brings)
    return (*fact.clause.short, f"; with it come: {titles}" if titles else "")


def fact_text(fact: Fact) -> str:
    return text(fact.clause.short)


def headword(verdict: Conclusion) -> str:
    """The word on a judge; one without a fault says how much is open."""
    if verdict.word != NO_FAULT or not verdict.undecided:
        return verdict.word
    return f"{NO_FAULT} so far; {pluralize(len(verdict.undecided), 'question')} undecided"


def is_settled(verdict: Conclusion) -> bool:
    """Whether no fault was found and nothing that counts is open: what may be green."""
    return verdict.word == NO_FAULT and not verdict.undecided


def css_class(verdict: Conclusion) -> str:
    """The class that a page colours a verdict by; amber where no fault was found so far."""
    if verdict.word == NO_FAULT:
        return "no" if is_settled(verdict) else "usable"
    return verdict.word.split()[0]


def state_of(estimate: Estimate) -> str:
    """The state of any figure in one word; empty where it has none."""
    state = Test.of(estimate).state
    return "" if state is None else state.value


def state_text(decision: Decision | None) -> str:
    """The state of an answer in one word; a figure without a limit has none."""
    state = State.NOT_MEASURED if decision is None else decision.state
    return "" if state is None else state.value


def conclusion_text(verdict: Conclusion) -> str:
    lines = [*(fact_text(fact) for fact in verdict.facts), f"so: {verdict.advice.value}"]
    if verdict.next is not None:
        lines += [f"next: {verdict.next.sentence}", *([verdict.next.command] if verdict.next.command else [])]
    return "\n  ".join([f"{verdict.judge}: {headword(verdict)}", *lines])


def next_of(verdict: Conclusion) -> str:
    """` for JUDGE` after `Next` on a screen of several judges; a run is finished as a whole."""
    whole = verdict.next is None or verdict.next.step == Step.FINISH.name
    return "" if whole else f" for {verdict.judge}"


def advice(sheet: Datasheet, verdict: Conclusion) -> list[str]:
    """What to do, in a sentence or two: what follows, and the remedy that the same calls show to help."""
    remedy = remedy_brief(sheet, verdict.judge)
    return [verdict.advice.value, *([f"{capital(remedy)}."] if remedy else [])]


def what_follows(sheet: Datasheet, verdict: Conclusion) -> list[tuple[str, str]]:
    """What a verdict ends with, each part with the word that opens it."""
    step = "" if verdict.next is None else verdict.next.sentence
    parts = ("so", verdict.advice.value), ("remedy", remedy_brief(sheet, verdict.judge)), ("next", step)
    return [(opening, words) for opening, words in parts if words]


def undecided_text(verdicts: Sequence[Conclusion]) -> str:
    """`3 questions are undecided: goes by length, …`; empty where there are none."""
    counted: dict[str, int] = {}
    for verdict in verdicts:
        for title in dict.fromkeys(decision.printed_name for decision in verdict.undecided):
            counted[title] = counted.get(title, 0) + 1
    if not counted:
        return ""
    several = len(verdicts) > 1
    named = listed(f"{t} ({pluralize(n, 'judge')})" if several else t for t, n in counted.items())
    number = len(counted)
    return f"{pluralize(number, 'question')} {plural(number, 'is', 'are')} undecided at this size: {named}."


def _worth(estimate: Estimate) -> str:
    """With one decimal; `more than 1.6` where an end is open."""
    number, limits = estimate.value or 0.0, estimate.interval
    ends = [] if limits is None else [end for end in (limits.low, limits.high) if end is not None]
    # A limit that would be rounded to what decides has one digit more, and so have its neighbours.
    digits = 2 if any(round(abs(end), 1) in (0.0, FAULT) for end in ends) else 1
    point, *span = (_signed(each, digits) for each in (number, *ends))
    if estimate.censored is not None:
        return f"{'more' if estimate.censored == 'right' else 'less'} than {point}"
    return f"{point} [{', '.join(span)}]" if span else point


def _signed(number: float, digits: int) -> str:
    spelled = f"{abs(number):.{digits}f}"
    return f"−{spelled}" if number < 0 and float(spelled) else spelled


MARGIN = "  "
NAMES = 10


def render(exhibits: Sequence[FindingExample], width: int = 80) -> str:
    parts = [
        "\n".join(_exhibit(number, example.truncate(exhibit), width))
        for number, exhibit in enumerate(exhibits, start=1)
    ]
    return "\n\n".join(parts)


def _exhibit(number: int, exhibit: FindingExample, width: int) -> Iterator[str]:
    stimulus = exhibit.shown[-1]
    place = [exhibit.judge, exhibit.probe, stimulus.kind]
    place += [f"protocol {exhibit.protocol}"] if exhibit.protocol != "base" else []
    yield from _indented(f"{number}. {' · '.join(dict.fromkeys(place))}", width, "")
    yield from _indented(stimulus.id, width)
    yield from _indented(f"Why: {exhibit.why}.", width)
    for name, text in (("request", stimulus.request), *example.named_texts(exhibit.shown)):
        yield from _behind_bar(name, text, width)
    for call in exhibit.calls:
        yield from _indented(example.describe_call(call, exhibit), width)
        if call.verdict == "failed":
            yield from _behind_bar("no reply", call.message or call.reason, width)
        else:
            yield from _behind_bar("reply", call.reply, width)
        yield from _behind_bar("read as", example.describe_reply(call, exhibit), width)
    if exhibit.left_out:
        yield f"{MARGIN}and {pluralize(exhibit.left_out, 'further call')} on the same text"


def _behind_bar(name: str, text: str | None, width: int) -> Iterator[str]:
    """A text with its own line breaks, wrapped, each line behind a bar; what is invisible is spelled out."""
    lines = (example.absent(text) or text or "").splitlines()
    room = max(20, width - len(MARGIN) - NAMES - 3)
    wrapped = [part for line in lines for part in wrap(escape_keeping_spaces(line), room)]
    for place, line in enumerate(wrapped):
        yield f"{MARGIN}{name if not place else '':<{NAMES}} │ {line}".rstrip()


def _indented(line: str, width: int, indent: str = MARGIN) -> Iterator[str]:
    for place, part in enumerate(wrap(escape_control_chars(line), width - len(MARGIN) - 1)):
        yield f"{MARGIN if place else indent}{part}"


def wrap(line: str, room: int) -> list[str]:
    """Parts of at most so many terminal cells, broken at spaces where there are any; leading space stays."""
    parts = [""]
    for word in line.split(" "):
        joined = word if parts == [""] and not line.startswith(" ") else f"{parts[-1]} {word}"
        if cell_len(joined) <= room:
            parts[-1] = joined
        else:
            parts += chop_cells(word, room)
    return [part for place, part in enumerate(parts) if part or not place]


@dataclass(frozen=True)
class ExampleGroup:
    title: str
    anchor: str
    exhibits: Sequence[FindingExample]


def examples_by_judge(datasheet: Datasheet) -> list[tuple[str, list[ExampleGroup]]]:
    groups: dict[str, dict[str, list[FindingExample]]] = {}
    for exhibit in datasheet.exhibits:
        groups.setdefault(exhibit.judge, {}).setdefault(exhibit.reading, []).append(exhibit)
    return [
        (
            judge,
            [ExampleGroup(title, f"exhibit-{n}-{m}", mine) for m, (title, mine) in enumerate(found.items())],
        )
        for n, (judge, found) in enumerate(groups.items())
    ]
