"""Markdown that is written, read back by a Markdown parser: names, commands, tables, fences."""

from __future__ import annotations

import csv as reader
import io
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from example_datasheet import example, renamed
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import data_files, markdown
from steelyard.datasheet.render.markdown import code_block, escape, fenced, table
from steelyard.datasheet.sections.sections import sections

few = settings(max_examples=60)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
line = st.text(
    st.characters(categories=["L", "N", "P", "S"], include_characters=" "), min_size=1, max_size=30
)
cell = line.map(str.strip).filter(bool)
signs = st.text("`*_{}[]()<>#|~\\!a1 -+.&;", min_size=1, max_size=12).map(str.strip).filter(bool)


def words(tokens: Sequence[Token]) -> str:
    """What a reader sees of inline text."""
    return "".join(
        "\n" if each.type in ("softbreak", "hardbreak") else each.content or words(each.children or [])
        for each in tokens
    )


def inline(text: str) -> list[Token]:
    (block,) = PARSER.parseInline(text)
    return list(block.children or [])


def tables(text: str) -> list[list[list[str]]]:
    """Every table, as rows of cells as a reader sees them."""
    found: list[list[list[str]]] = []
    inside = False
    for token in PARSER.parse(text):
        inside = token.type == "table_open" or (inside and token.type != "table_close")
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif inside and token.type == "inline":
            found[-1][-1].append(words(token.children or []))
    return found


@few
@given(st.one_of(cell, signs))
def test_a_name_is_shown_as_it_is(text: str) -> None:
    tokens = inline(f"before {escape(text)} after")
    assert {token.type for token in tokens} <= {"text", "text_special"}
    assert words(tokens) == f"before {text} after"


@few
@given(st.one_of(line, st.text("` ab", min_size=1, max_size=12)))
def test_a_command_can_be_copied_as_it_is(text: str) -> None:
    (block,) = PARSER.parse(code_block(text, "sh"))
    assert (block.type, block.info, block.content) == ("fence", "sh", f"{text}\n")


@pytest.mark.parametrize("text", ["&amp;", "a&lt;b", "&#42;&#x2A;", "AT&T; s=1&beta=2"])
def test_what_looks_like_an_entity_is_shown_as_it_is(text: str) -> None:
    assert words(inline(escape(text))) == text


def test_an_ampersand_alone_stays_readable_in_the_source() -> None:
    assert escape("planted/probit?s=1&beta=2") == "planted/probit?s=1&beta=2"


@pytest.mark.slow
@few
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(cell, min_size=n, max_size=n), min_size=1, max_size=5)
    )
)
def test_a_table_keeps_its_cells(rows: list[list[str]]) -> None:
    header = [f"h{number}" for number in range(len(rows[0]))]
    (shown,) = tables(table(header, [[escape(text) for text in row] for row in rows]))
    assert shown == [header, *rows]


def test_the_first_column_is_text_and_the_others_figures() -> None:
    assert table(["a", "b", "c"], []).splitlines()[1] == "| :-- | --: | --: |"


@few
@given(st.text("`~a\n", max_size=30))
def test_a_text_can_not_leave_its_fence(text: str) -> None:
    name, *rest = fenced("reply", text)
    if not rest:
        assert not text.strip()
        return
    assert name == "reply:"
    (token,) = (token for token in PARSER.parse(f"{rest[0]}\n\nafter\n") if token.type == "fence")
    assert token.info == "text"
    assert [*token.content.splitlines()] == text.splitlines()


def test_what_is_absent_is_said_in_place_of_a_fence() -> None:
    assert len([*fenced("reply", None)]) == 1
    assert len([*fenced("reply", "")]) == 1


# The whole report.


@pytest.fixture(scope="module")
def report() -> list[list[list[str]]]:
    return tables(markdown.render(example()))


def test_every_table_of_a_report_is_read_back_as_one(report: list[list[list[str]]]) -> None:
    sheet = example()
    assert len(report) > len(sections(sheet))
    for rows in report:
        assert len({len(row) for row in rows}) == 1


def test_every_row_of_every_section_stands_in_the_report(report: list[list[list[str]]]) -> None:
    sheet = example()
    labels = {row[0] for rows in report for row in rows}
    for section in sections(sheet):
        for row in section.rows:
            assert "– " * row.depth + row.name in labels, (section.title, row.name)


def test_every_judge_heads_a_column_and_a_hostile_name_is_one_cell() -> None:
    name = "a|b*c_d`e`<b>"
    shown = tables(markdown.render(renamed(example(), "Llama8B", name)))
    assert sum(name in rows[0] for rows in shown) > 3
    assert all(len(row) == len(rows[0]) for rows in shown for row in rows)


# The flat table.


def flat(sheet: Datasheet) -> list[dict[str, str]]:
    return list(reader.DictReader(io.StringIO(data_files.to_csv(sheet))))


def test_every_figure_has_a_line_for_each_of_its_intervals() -> None:
    sheet = example()
    rows = flat(sheet)
    assert len(rows) == sum(max(1, len(e.intervals)) for e in (*sheet.estimates, *sheet.panel))
    alike: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        alike.setdefault((row["judge"], row["probe"], row["metric"]), []).append(row)
    for estimate in sheet.estimates:
        mine = [
            row
            for row in alike[estimate.judge, estimate.probe, estimate.metric]
            if all(row[key] == str(value) for key, value in estimate.group.items())
            and sum(bool(row[key]) for key in data_files.GROUPS) == len(estimate.group)
        ]
        assert mine
        for row in mine:
            assert (float(row["value"]) if row["value"] else None) == estimate.value
            assert row["numerator"] == ("" if estimate.numerator is None else str(estimate.numerator))
        ends = {(row["method"], row["low"], row["high"]) for row in mine if row["method"]}
        assert {each.method for each in estimate.intervals} == {method for method, _, _ in ends}


def test_no_group_of_a_figure_is_without_a_column() -> None:
    sheet = example()
    for estimate in (*sheet.estimates, *sheet.panel):
        known = {key if key != "level" else "edit_level" for key in estimate.group}
        assert known <= set(data_files.COLUMNS)
    assert len(set(data_files.COLUMNS)) == len(data_files.COLUMNS)


def test_a_level_of_an_edit_is_not_that_of_its_interval() -> None:
    sheet = example()
    first = replace(sheet.estimates[0], group={"protocol": "base", "level": 3})
    row = flat(replace(sheet, estimates=(first,), panel=()))[0]
    assert (row["edit_level"], row["level"]) == ("3", "0.95")
