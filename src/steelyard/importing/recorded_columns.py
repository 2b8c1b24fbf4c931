"""Which columns of a table of recorded verdicts hold what: by a map, and by names where they are certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

from steelyard.errors import ConfigError, DataError
from steelyard.importing.ratings import parse_parts
from steelyard.tasks.sources.found_columns import (
    FILLED,
    NAMES_OF_PEOPLE,
    PREFERENCE,
    TEXT,
    VERDICT,
    ColumnFinder,
    ColumnPart,
    as_judges,
    is_preference,
    text_parts,
)
from steelyard.tasks.sources.table import LOST, SLOTS, Table, normal

LENGTHS = {"words": "text", "words_1": "text_1", "words_2": "text_2"}
"""Parts that hold the length of a text, and those that hold the text itself, whose words are counted."""
SCORED = ("item", "score", "expected", "scale", "words", "text")
"""Without an item rows are numbered, and a repeat is not known as one."""
COMPARED = ("pair", "answer", "first", "better", "words_1", "words_2", "text_1", "text_2")
"""`answer` is the slot that won: 1, 2 or tie; A and B are understood. `first` is the number of the text that
stood in slot 1, text 1 unless given; `better` that of the text that people found better, or tie."""
BY_CONTENT = {
    f"{part}_{text}": f"{part}_{n}" for part in ("words", "text") for n, text in (("1", "u"), ("2", "v"))
}
"""Parts as lines of recorded verdicts name them, of texts u and v."""
COMMON = ("judge", "task", "stratum", "protocol", "replicate", "confidence")
"""Without a judge the file is of one judge; without a replicate repeats are numbered as they come."""


def parse_recorded_columns(text: str | None) -> dict[str, str]:
    """The map as the command line writes it: `item=id,score=verdict,expected=human`."""
    known = [part for part in (*SCORED, *COMPARED, *COMMON) if part != "scale"]
    given = parse_parts(text, "columns", [*known, *BY_CONTENT], "item=id,score=verdict,expected=human")
    columns = {BY_CONTENT.get(part, part): column for part, column in given.items()}
    scored, compared = columns.keys() & set(SCORED), columns.keys() & set(COMPARED)
    if scored and compared:
        raise ConfigError(
            f"columns: found {sorted(scored)[0]} of scores and {sorted(compared)[0]} of pairs, expected "
            "parts of one; import them apart."
        )
    for words, text in LENGTHS.items():
        if {words, text} <= columns.keys():
            raise ConfigError(f"columns: found {words} and {text}, expected one of them; remove one.")
    lengths = [number for number in "12" if columns.keys() & {f"words_{number}", f"text_{number}"}]
    if len(lengths) == 1:
        other = "2" if lengths == ["1"] else "1"
        raise ConfigError(
            f"columns: the length of text {lengths[0]} alone is mapped, expected both; add words_{other} or "
            f"text_{other}."
        )
    return columns


_VERDICT = ("verdict", "score")
_ITEM = ColumnPart("item", "the id", ("id",), FILLED)
SCORE = ColumnPart("score", "the judge's verdict", _VERDICT, VERDICT)
EXPECTED = ColumnPart("expected", "the reference", ("label", *NAMES_OF_PEOPLE), VERDICT)
_TEXT = ColumnPart("text", "the text", ("response",), TEXT)
_PAIR = ColumnPart("pair", "the id", ("id",), FILLED)
_ANSWER = ColumnPart("answer", "the judge's verdict", _VERDICT, VERDICT)
_BETTER = ColumnPart("better", "the reference", ("label", *NAMES_OF_PEOPLE), VERDICT)
_WINNER = ColumnPart("winner", "the judge's verdict", (), VERDICT)
_OTHERS = tuple(
    ColumnPart(part, f"the {part}", ("judge",) if part == "judge" else (), FILLED) for part in COMMON
)


def find_recorded_columns(
    table: Table, given: Mapping[str, str], judges: Sequence[str], values: Mapping[str, float]
) -> ColumnFinder:
    """The map with what names tell: verdicts on single texts, or on pairs where they name one of two.

    Each of several `judges` has a column of verdicts; the map names the first. A single one may be a name.
    """
    mapped = given.keys() & {"score", "answer", "judge"}
    own = [] if mapped else [judge for judge in judges if len(judges) > 1 or judge in table.columns]
    preferred = is_preference(table.columns)
    finder = ColumnFinder(table, given, {*values, *(PREFERENCE if preferred else ())}, taken=own)
    if len(judges) > 1:
        _check_judges(table, given, judges)
    named = finder.candidates(SCORE)
    winner = [] if own or mapped or named else _winner(finder)
    if len(named) > 1 and not own and not mapped:
        listed = ", ".join(map(repr, named[:-1])) + f" and {named[-1]!r}"
        raise DataError(
            f"{table.name}: columns {listed} could each be the judge's verdict, expected one; say which, as "
            f"in --judge {quote(named[0])}, or name several judges: {as_judges(named)}."
        )
    compared = bool(given.keys() & {*COMPARED}) or (
        not given.keys() & {*SCORED}
        and (preferred or bool(winner) or any(map(finder.names_slots, own or named)))
    )
    for column in (own or winner)[:1]:
        finder.assign("answer" if compared else "score", column)
    finder.take(*((_PAIR, _ANSWER, _BETTER) if compared else (_ITEM, SCORE, EXPECTED)))
    texts = text_parts("text", "text", table.columns)
    lengths = texts if compared else (_TEXT,)
    finder.take(*(part for part in _OTHERS if part.name != "judge" or len(own) < 2))
    finder.take(*(part for part in lengths if part.name.replace("text", "words") not in given))
    for part in texts:  # the length of one text alone tells nothing
        if compared and not {"text_1", "text_2"} <= finder.columns.keys() and part.name in finder.found:
            del finder.columns[part.name], finder.found[part.name]
    finder.group_rows_by("pair" if compared else "item", "task", "judge", "protocol", "replicate", "first")
    needed = (_ANSWER, _PAIR) if compared else (SCORE, _ITEM)
    if needed[0].name not in finder.columns:
        likely = finder.verdict_columns()
        if finder.names_slots(finder.guess(SCORE) or ""):
            finder, needed = ColumnFinder(table, given, values), (_ANSWER, _PAIR)
            finder.take(_PAIR, *texts)
        raise finder.missing(
            *needed, more=f", or name several judges: {as_judges(likely)}" if len(likely) > 1 else ""
        )
    if not compared:
        finder.check_words(
            *own, *(finder.columns[part] for part in ("score", "expected") if part in finder.columns)
        )
    return finder


def _winner(finder: ColumnFinder) -> list[str]:
    """The column `winner`, where it names one of two and no other column may hold the verdicts."""
    found = finder.candidates(_WINNER)
    words = {normal(cell) for name in found for cell in finder.cells(name)}
    others = {*finder.verdict_columns()} - {*found}
    return found if len(found) == 1 and words <= {*SLOTS, *LOST, *finder.words} and not others else []


def _check_judges(table: Table, given: Mapping[str, str], judges: Sequence[str]) -> None:
    for part in ("score", "answer", "judge"):
        if part in given:
            raise ConfigError(
                f"--judge: found {len(judges)} columns beside --columns {part}={given[part]}, expected one "
                "way to name the verdicts; remove one."
            )
    for judge in judges:
        table.require(judge, "the verdicts of a judge")
