"""A verdict on a terminal: the word, the facts, what follows, what to do next."""

from __future__ import annotations

from steelyard.datasheet.render.printer import STYLES, Printer
from steelyard.datasheet.verdict import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Verdict
from steelyard.datasheet.words.verdict_text import brought

COLOURS = {
    UNFIT: STYLES["flagged"],
    CARE: STYLES["inconclusive"],
    NO_FAULT: STYLES["clear"],
    TOO_LITTLE: STYLES["undefined"],
}
"""Of the words of a verdict."""


def print_verdict(printer: Printer, verdict: Verdict, remedy: str = "") -> None:
    """The verdict on one judge, under its name, and what a remedy would do by the calls of the run."""
    printer.console.print()
    heading = printer.text(f"{verdict.judge}: ", "bold")
    heading.append_text(printer.text(verdict.word, COLOURS.get(verdict.word, "")))
    printer.line(heading)
    for fact in verdict.facts:
        printer.indented(printer.text(f"{fact.sentence}{brought(fact)}"))
    for opening, text in (
        ("so: ", verdict.so),
        ("remedy: ", remedy),
        ("next: ", "" if verdict.next is None else verdict.next.sentence),
    ):
        if text:
            line = printer.text(opening, "bold")
            line.append_text(printer.text(text))
            printer.indented(line)
    if verdict.command:
        printer.whole(f"  {verdict.command}")
