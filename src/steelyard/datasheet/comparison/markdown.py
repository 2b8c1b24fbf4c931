"""A comparison as Markdown: the answer, the figures that differ, and all others behind a fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steelyard.datasheet.comparison.rows import figures, name, state, tests
from steelyard.datasheet.comparison.sheet import HOW_TO_READ, ComparisonSheet
from steelyard.datasheet.render.markdown import code_block, escape, table
from steelyard.metrics.comparison.comparison import Comparison

COLUMNS = ("figure", "A", "B", "B − A", "B is")


def render(comparison: ComparisonSheet) -> str:
    return "\n\n".join(_blocks(comparison.escaped())) + "\n"


def _blocks(sheet: ComparisonSheet) -> Iterator[str]:
    answer = sheet.answered
    yield f"# {escape(sheet.title)}"
    yield f"**{escape(answer.headline)}**"
    for letter, side in (("A", sheet.first), ("B", sheet.second)):
        facts = (
            f"{letter}: {side.judge}{side.model_suffix}, {side.folder}",
            side.reference_sentence,
            side.partial,
        )
        yield escape(" · ".join(filter(None, facts)))
    yield from filter(None, [escape(sheet.namesakes())])
    if answer.shown:
        yield table(COLUMNS, _rows(answer.shown))
    yield from map(escape, (*answer.remarks(), *answer.lists(), *sheet.not_paired()))
    if answer.rows:
        step, command = sheet.next_step
        yield f"**Next:** {escape(step)}{':' if command else '.'}"
        yield from [code_block(command, "sh")] if command else []
    yield "<details><summary>All figures and tests</summary>"
    yield table((*COLUMNS, "q", "detects", "units/clusters"), _rows(sheet.asked_of_both, full=True))
    yield from map(escape, (*sheet.left_out(), sheet.sentence(), HOW_TO_READ))
    yield "</details>"


def _rows(shown: Iterable[Comparison], *, full: bool = False) -> Iterator[list[str]]:
    for row in shown:
        cells = [name(row), *figures(row), state(row), *(tests(row) if full else ())]
        yield [escape(cell) for cell in cells]
