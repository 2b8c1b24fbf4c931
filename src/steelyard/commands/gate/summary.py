"""A ruling as Markdown, for a job summary or a pull request."""

from __future__ import annotations

from steelyard.commands.gate.junit import sentence
from steelyard.commands.gate.ruling import ORDER, Ruling, worst
from steelyard.datasheet.words.text import escape_control_chars

MARKS = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "❔"}


def render(ruling: Ruling) -> str:
    """Result first, then a table for each judge."""
    parts = [
        f"## Judge gate: {MARKS[ruling.result]} {ruling.result}",
        "",
        f"Study {_cell(ruling.study)}.",
    ]
    for judge in ruling.judges:
        checks = ruling.of(judge)
        result = worst(check.result for check in checks)
        parts += ["", f"### {_cell(judge)}: {MARKS[result]} {result}", ""]
        parts += ["| rule | figure | found | result | why |", "| :-- | :-- | :-- | :-- | :-- |"]
        parts += [
            f"| {_cell(check.rule)} | {_cell(check.figure)} | {_cell(check.found)} | "
            f"{MARKS[check.result]} {check.result} | {_cell(sentence(check))} |"
            for check in sorted(checks, key=lambda check: ORDER.index(check.result))
        ]
    if ruling.notes:
        parts += ["", *(f"- {_cell(note)}" for note in ruling.notes)]
    parts += ["", "Decided on whole 95 % intervals, never on points."]
    return "\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """Text that stays text in a Markdown table."""
    shown = escape_control_chars(text)
    for sign in "\\`*_[]<>|#":
        shown = shown.replace(sign, f"\\{sign}")
    return shown
