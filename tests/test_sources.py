"""Files of users: every format gives the same items, and what is wrong is said in one sentence."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import openpyxl
import pyarrow as arrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import ConfigError, DataError
from steelyard.study.study_file import load_config
from steelyard.tasks.data_config import DataConfig
from steelyard.tasks.sources.items import (
    Columns,
    draw_items,
    empty_texts,
    items_of,
    parse_columns,
    repeated_texts,
)
from steelyard.tasks.sources.read import Format, _lines, _rows, csv_header, encoding_of, read_table
from steelyard.tasks.sources.table import LabelMap, PerStratum, draw
from steelyard.tasks.task import Binary, Item, Ordinal, Pairwise

ROWS: list[dict[str, Any]] = [
    {
        "key": "a",
        "prompt": "Why?",
        "answer": 'line one\rline two\r\n"quoted", and so\non',
        "score": 1,
        "topic": "x",
    },
    {"key": "b", "prompt": "", "answer": "naïve — “text”", "score": 0, "topic": "y"},
    {"key": "c", "prompt": "How; when\tor|where?", "answer": "", "score": 1, "topic": "x"},
]
COLUMNS = Columns(request="prompt", response="answer", label="score", id="key")


def data_config(body: dict[str, Any], where: str) -> DataConfig:
    """The `data` key of a study file."""
    data = load_config(None, {"data": body}, where).data
    assert data is not None
    return data


def csv_text(rows: list[dict[str, Any]], **options: Any) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), quoting=csv.QUOTE_ALL, **options)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def write_xlsx(path: Path, rows: list[dict[str, Any]]) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append(list(row.values()))
    book.save(path)


WRITERS: dict[str, Callable[[Path], object]] = {
    "d.csv": lambda path: path.write_bytes(csv_text(ROWS).encode()),
    "d.tsv": lambda path: path.write_bytes(csv_text(ROWS, delimiter="\t").encode()),
    "d.jsonl": lambda path: path.write_text("\n\n".join(json.dumps(row) for row in ROWS)),
    "d.json": lambda path: path.write_text(json.dumps(ROWS, indent=1)),
    "d.parquet": lambda path: pyarrow.parquet.write_table(arrow.Table.from_pylist(ROWS), path),
}


def load(path: Path, columns: Columns = COLUMNS, **options: Any) -> tuple[Item, ...]:
    sample, table = options.pop("sample", None), read_table(path, options.pop("format", None))
    return draw_items(items_of(table, columns, options.pop("scale", Binary()), **options), sample, 7)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_items_exactly(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    assert load(path, stratify="topic") == tuple(
        Item(row["key"], row["prompt"], (row["answer"],), row["key"], str(row["score"]), stratum=row["topic"])
        for row in ROWS
    )


def test_a_spreadsheet_gives_the_same_items(tmp_path: Path) -> None:
    path = tmp_path / "d.xlsx"
    rows = [{**row, "answer": row["answer"].replace("\r", "")} for row in ROWS]
    write_xlsx(path, rows)
    assert [item.responses for item in load(path)] == [(row["answer"],) for row in rows]
    assert [item.label for item in load(path)] == ["1", "0", "1"]


def formulas(path: Path, cell: str, settings: str = "") -> None:
    """A sheet of two rows whose first answer is a formula, as different programs write one."""
    write_xlsx(path, [{"key": "a", "answer": "=1+1"}, {"key": "b", "answer": "two"}])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet, book = "xl/worksheets/sheet1.xml", "xl/workbook.xml"
    assert '<c r="B2"><f>1+1</f><v /></c>' in parts[sheet]
    parts[sheet] = parts[sheet].replace('<c r="B2"><f>1+1</f><v /></c>', cell)
    parts[book] = parts[book].replace('fullCalcOnLoad="1"', settings)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("cell", "settings"),
    [
        ('<c r="B2"><f>1+1</f><v /></c>', ""),
        ('<c r="B2"><f>1+1</f><v>0</v></c>', 'fullCalcOnLoad="1"'),
        ('<c r="B2"><f t="array" ref="B2">1+1</f><v></v></c>', ""),
    ],
)
def test_a_formula_that_nobody_calculated_is_no_empty_text(tmp_path: Path, cell: str, settings: str) -> None:
    path = tmp_path / "d.xlsx"
    formulas(path, cell, settings)
    with pytest.raises(
        DataError, match=r"d\.xlsx, row 1: column 'answer', used for response, holds the formula '=1\+1' with"
    ):
        load(path, Columns(response="answer"))
    assert [item.id for item in load(path, Columns(response="key"))] == ["1", "2"]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('<c r="B2"><f>1+1</f><v>2</v></c>', "2"),
        ('<c r="B2" t="str"><f>T(1)</f><v></v></c>', ""),
        ('<c r="B2" t="inlineStr"><is><t>=1+1</t></is></c>', "=1+1"),
    ],
)
def test_a_formula_is_the_value_that_a_spreadsheet_saved_with_it(
    tmp_path: Path, cell: str, text: str
) -> None:
    path = tmp_path / "d.xlsx"
    formulas(path, cell)
    assert [item.responses[0] for item in load(path, Columns(response="answer"))] == [text, "two"]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_the_encoding_is_found(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(csv_text(ROWS).encode(encoding))
    assert [item.responses[0] for item in load(path)] == [row["answer"] for row in ROWS]


def test_bytes_that_windows_does_not_know_are_latin_1() -> None:
    assert encoding_of(b"caf\xe9 \x80") == "cp1252"
    assert encoding_of(b"caf\xe9 \x81") == "latin-1"
    assert encoding_of("日本語のテキスト".encode()) == "utf-8"


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n', "SEP=;\r"])
def test_the_line_of_a_spreadsheet_that_names_the_delimiter_is_no_header(tmp_path: Path, line: str) -> None:
    path, end = tmp_path / "d.csv", line.rpartition(";")[2].lstrip('"')
    path.write_text(f"{line}id;answer{end}1;a, b{end}2;c{end}", encoding="utf-8-sig", newline="")
    table = read_table(path)
    assert table.columns == csv_header(path) == ("id", "answer")
    assert [record.values["answer"] for record in table.records] == ["a, b", "c"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str, quoting: int) -> None:
    path = tmp_path / "d.csv"
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(ROWS[0])
    writer.writerows(row.values() for row in ROWS)
    path.write_bytes(out.getvalue().encode())
    assert [item.responses[0] for item in load(path)] == [row["answer"] for row in ROWS]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_records_may_end_with_any_line_break(tmp_path: Path, end: str) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(csv_text(ROWS, lineterminator=end).encode())
    assert [item.responses[0] for item in load(path)] == [row["answer"] for row in ROWS]


def test_a_bare_cr_in_an_unquoted_field_is_data_where_records_end_with_lf(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"key,answer\na,one\rtwo\nb,three\r\r\n")
    columns = Columns(response="answer", id="key")
    assert [item.responses[0] for item in load(path, columns)] == ["one\rtwo", "three\r"]


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=30), min_size=1, max_size=6), st.booleans())
def test_any_text_survives_a_csv_file(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], crlf: bool
) -> None:
    path = tmp_path_factory.mktemp("csv") / "d.csv"
    rows = [{"answer": text, "n": str(number)} for number, text in enumerate(texts)]
    path.write_bytes(b"\xef\xbb\xbf" + csv_text(rows, lineterminator="\r\n" if crlf else "\n").encode())
    assert [item.responses[0] for item in load(path, Columns(response="answer"))] == texts


def test_nul_bytes_and_huge_fields_are_kept_and_the_limit_stays(tmp_path: Path) -> None:
    path, before = tmp_path / "d.csv", csv.field_size_limit()
    huge = "x\0y" * 200_000
    path.write_bytes(csv_text([{"answer": huge, "n": 1}]).encode())
    assert load(path, Columns(response="answer"))[0].responses == (huge,)
    assert csv.field_size_limit() == before


def damaged(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed[: rng.randrange(1, len(changed))] if rng.random() < 0.2 else changed)


@pytest.mark.parametrize("name", [*WRITERS, "d.xlsx"])
def test_a_damaged_file_is_read_or_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    path, rng, said = tmp_path / name, random.Random(5), []
    WRITERS.get(name, lambda path: write_xlsx(path, ROWS[1:]))(path)
    content = path.read_bytes()
    for _ in range(60):
        path.write_bytes(damaged(content, rng))
        try:
            load(path)
        except DataError as error:
            said.append(str(error))
    assert len(said) > 20
    assert [message for message in said if "\n" in message] == []


def test_a_damaged_part_inside_a_spreadsheet_is_refused(tmp_path: Path) -> None:
    path, rng = tmp_path / "d.xlsx", random.Random(5)
    write_xlsx(path, ROWS[1:])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, content in parts.items():
        with zipfile.ZipFile(path, "w") as archive:
            for other, sound in parts.items():
                archive.writestr(other, damaged(content, rng) if other == name else sound)
        with contextlib.suppress(DataError):
            load(path)


def test_one_broken_byte_does_not_turn_a_utf8_file_into_another(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes("key,answer\na,naïve façade\nb,ü".encode()[:-1] + b",")
    with pytest.raises(DataError, match=r"begins as utf-8 and is damaged at byte 30; save it as UTF-8"):
        load(path, Columns(response="answer"))


def test_texts_that_stand_there_twice_are_told() -> None:
    once = [Item(str(n), f"q{n}", ("a",), str(n), label="1") for n in range(3)]
    assert list(repeated_texts(once)) == []
    again, contrary = replace(once[0], id="x", cluster="x"), replace(once[1], id="y", cluster="y", label="0")
    (told,) = repeated_texts([*once, again, contrary])
    assert told.startswith("the texts of 2 items of 5 stand in an earlier one too, 1 with another label")
    assert "('x' is '0' again)" in told


def test_repeats_of_one_cluster_or_for_another_question_are_no_fault() -> None:
    item = Item("a", "q", ("text",), "c", label="1")
    other = [replace(item, id=name, cluster=name, **{part: "else"}) for name, part in
             (("r", "rubric"), ("i", "instruction"), ("f", "reference"), ("q", "request"))]  # fmt: skip
    assert list(repeated_texts([item, replace(item, id="b"), *other])) == []
    unlabelled = replace(item, id="d", label=None)
    assert list(repeated_texts([item, unlabelled])) == []
    (told,) = repeated_texts([item, replace(item, id="e", label="0")])
    assert told.startswith("the texts of 1 item of 2 stand in an earlier one too, 1 with another label")


def test_a_column_that_holds_no_texts_is_told() -> None:
    items = [Item(str(n), "q", ("" if n < 3 else "a", " \n" if n < 2 else "b"), str(n)) for n in range(4)]
    pair = Columns(request="q", response_1="left", response_2="right")
    cure = "where another column was meant, correct the map of columns."
    assert list(empty_texts(items, pair)) == [
        f"column 'left', used for response_1, is empty in 3 of 4 rows; {cure}",
        f"column 'right', used for response_2, is empty in 2 of 4 rows; {cure}",
    ]
    assert list(empty_texts(items[1:], Columns(response_2="right"))) == []
    assert list(empty_texts([Item("1", "", ("a",), "1")], Columns(response="a", label="ok"))) == []


def test_rows_are_numbered_where_no_id_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    WRITERS["d.jsonl"](path)
    assert [(item.id, item.cluster) for item in load(path, Columns(response="answer"))] == [
        ("1", "1"),
        ("2", "2"),
        ("3", "3"),
    ]


def test_every_part_of_a_pair_is_read(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    row = {
        "q": "Which?",
        "a": "one",
        "b": "two",
        "w": 2.0,
        "r": ["Is it true?", "Is it short?"],
        "ref": "three",
    }
    row |= {"ma": "gpt", "mb": "llama", "task": 17}
    path.write_text(json.dumps({"rows": [row], "version": 3}))
    columns = Columns(
        request="q", response_1="a", response_2="b", label="w", rubric="r", reference="ref", cluster="task"
    ).model_copy(update={"author_1": "ma", "author_2": "mb"})
    assert load(path, columns, scale=Pairwise()) == (
        Item(
            "1",
            "Which?",
            ("one", "two"),
            "17",
            "2",
            authors=("gpt", "llama"),
            rubric="1. Is it true?\n2. Is it short?",
            reference="three",
        ),
    )


def test_chat_messages_are_written_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    path.write_text(json.dumps({"answer": turns, "rubric": '["one", "two"]', "author": None}))
    item = load(path, Columns(response="answer", rubric="rubric", author="author"))[0]
    assert item.responses == ("user: Hi\n\nassistant: Hello",)
    assert item.rubric == "1. one\n2. two"
    assert item.authors is None


@pytest.mark.parametrize(
    ("scale", "labels", "cell", "answer"),
    [
        (Binary(), None, "Yes", "1"),
        (Binary(), None, " false ", "0"),
        (Binary(), None, True, "1"),
        (Binary(), None, 0.0, "0"),
        (Binary(), None, "1.0", "1"),
        (Binary(), None, "", None),
        (Binary(), None, float("nan"), None),
        (Binary(), {True: 0, False: 1}, "yes", "0"),
        (Binary(), {"Harmful": True, "safe": 0}, "harmful", "1"),
        (Ordinal(1, 6), None, 4.0, "4"),
        (Ordinal(1, 6), None, "4.00", "4"),
        (Ordinal(-2, 2), None, "-1.0", "-1"),
        (Ordinal(1, 3), {"poor": 1, "fair": 2, "good": 3}, "FAIR", "2"),
        (Pairwise(), None, "TIE", "tie"),
        (Pairwise(), {"A>B": 1, "B>A": "2"}, "B>A", "2"),
    ],
)
def test_labels_are_read_onto_the_scale(scale: Any, labels: Any, cell: Any, answer: str | None) -> None:
    assert LabelMap(scale, labels).read(cell, "row 1", "label") == answer


@pytest.mark.parametrize(
    ("scale", "labels", "cell"),
    [
        (Binary(), None, 2),
        (Ordinal(1, 6), None, 4.5),
        (Ordinal(1, 6), None, "7"),
        (Pairwise(False), None, "tie"),
        (Binary(), {"yes": 0, "no": 1}, "1"),
        (Ordinal(1, 6), None, "²"),
        (Ordinal(1, 6), None, "9" * 5000),
        (Ordinal(1, 6), None, "yes"),
    ],
)
def test_a_label_outside_the_scale_is_refused(scale: Any, labels: Any, cell: Any) -> None:
    with pytest.raises(
        DataError, match=r"row 1: column 'label' holds .*, expected one of .*; correct the row"
    ):
        LabelMap(scale, labels).read(cell, "row 1", "label")


def test_a_meaning_outside_the_scale_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"labels: 'bad' means 7, expected one of 1, 2, 3; correct it"):
        LabelMap(Ordinal(1, 3), {"bad": 7})


def stratum(name: str) -> str:
    return name[0]


POPULATION = [
    f"{letter}{number}" for letter, size in (("a", 50), ("b", 30), ("c", 2)) for number in range(size)
]


def taken(sample: Any, seed: int = 7, population: list[str] = POPULATION) -> list[str]:
    return draw(population, sample, seed, name=str, stratum=stratum)


def test_a_number_in_all_is_spread_over_the_strata() -> None:
    assert sorted(Counter(map(stratum, taken(9))).values()) == [2, 3, 4]
    assert Counter(map(stratum, taken(6))) == {"a": 2, "b": 2, "c": 2}
    assert sorted(Counter(map(stratum, taken(3))).values()) == [1, 1, 1]
    assert len(taken(10_000)) == len(POPULATION)


def test_a_number_per_stratum_takes_at_most_that_many() -> None:
    assert Counter(map(stratum, taken(PerStratum(per_stratum=5)))) == {"a": 5, "b": 5, "c": 2}


@given(st.integers(1, 90), st.integers(0, 5), st.randoms())
def test_the_same_rows_are_drawn_whatever_their_order(count: int, seed: int, rng: random.Random) -> None:
    shuffled = rng.sample(POPULATION, len(POPULATION))
    chosen = taken(count, seed, shuffled)
    assert set(chosen) == set(taken(count, seed))
    assert chosen == [name for name in shuffled if name in set(chosen)]
    assert len(chosen) == min(count, len(POPULATION))


def test_a_larger_sample_holds_the_smaller_and_the_seed_decides() -> None:
    assert set(taken(10)) < set(taken(20))
    assert set(taken(10, seed=1)) != set(taken(10, seed=2))


def test_each_row_is_as_likely_as_any_other_of_its_stratum() -> None:
    counts = Counter(name for seed in range(400) for name in taken(PerStratum(per_stratum=5), seed))
    # Binomial(400, 0.1): mean 40, sd 6; the bounds lie 4.6 sd out.
    assert all(12 < counts[name] < 68 for name in POPULATION if name[0] == "a")


def data(**more: Any) -> DataConfig:
    body = {
        "path": "d.csv",
        "columns": {"request": "prompt", "response": "answer", "label": "score", "id": "key"},
    }
    return data_config({**body, **more}, "study.yaml")


def test_the_data_key_reads_filters_and_draws(tmp_path: Path) -> None:
    WRITERS["d.csv"](tmp_path / "d.csv")
    config = data(stratify="topic", sample={"per_stratum": 1}, where={"score": 1.0})
    found = config.split_items(tmp_path, Binary(), 7)[0]
    assert len(found) == 1
    assert {item.id for item in data(where={"topic": ["x", "z"]}).split_items(tmp_path, Binary(), 7)[0]} == {
        "a",
        "c",
    }
    with pytest.raises(DataError, match=r"none of 3 rows fits where \{topic: 'q'\}; correct the condition"):
        data(where={"topic": "q"}).split_items(tmp_path, Binary(), 7)[0]


def test_responses_may_come_from_a_second_file(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"ID": 1, "p": "one"}\n{"ID": 2, "p": "two"}\n')
    (tmp_path / "r.jsonl").write_text('{"ID": 2.0, "answer": "zwei"}\n')
    config = data_config(
        {
            "path": "d.jsonl",
            "columns": {"request": "p", "response": "answer", "id": "ID"},
            "responses": {"path": "r.jsonl", "key": "ID"},
        },
        "study.yaml",
    )
    assert config.split_items(tmp_path, Binary(), 7)[0] == (Item("2", "two", ("zwei",), "2"),)
    (tmp_path / "r.jsonl").write_text('{"ID": 3, "answer": "drei"}\n')
    with pytest.raises(DataError, match=r"r\.jsonl, line 1: no row of .*d\.jsonl has ID '3'; correct"):
        config.split_items(tmp_path, Binary(), 7)[0]
    (tmp_path / "d.jsonl").write_text('{"ID": 3, "p": "one"}\n{"ID": 3, "p": "two"}\n')
    with pytest.raises(DataError, match=r"line 1 and line 2 have the same ID '3'"):
        config.split_items(tmp_path, Binary(), 7)[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"colums": {}},
            r"study.yaml: unknown key 'data.colums' .did you mean 'columns'..; known keys: path, ",
        ),
        ({"columns": {"reqest": "p"}}, r"unknown key 'data.columns.reqest' .* known keys: request, response"),
        ({"path": 3}, r"data.path: found 3, expected text; correct it"),
        ({"sample": 0}, r"data.sample: found 0, expected a number from 1 on or {per_stratum: N}; correct it"),
        ({"sample": {"per_stratum": "2"}}, r"data.sample.per_stratum: found '2', expected a whole number"),
        ({"responses": {"path": "r.csv"}}, r"no key 'data.responses.key' found, expected it; add it"),
        ({"format": "xls"}, r"data.format: found 'xls', expected 'csv', 'tsv', 'jsonl'"),
    ],
)
def test_a_wrong_data_key_is_said_in_one_sentence(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        data(**more)


def test_columns_of_the_command_line() -> None:
    assert parse_columns("request=test case, response=gen") == Columns(request="test case", response="gen")
    with pytest.raises(
        ConfigError,
        match=r"columns: unknown key 'respons' .did you mean 'response'..; known keys: request, response,",
    ):
        parse_columns("respons=gen")
    with pytest.raises(ConfigError, match=r"found 'response=', expected PART=COLUMN"):
        parse_columns("response=")
    with pytest.raises(ConfigError, match=r"'id' is mapped twice"):
        parse_columns("id=a,id=b")


@pytest.mark.parametrize(
    ("columns", "scale", "said"),
    [
        (Columns(request="p"), Binary(), "response is not mapped, expected it for a scale of scores"),
        (Columns(response="p"), Pairwise(), "response_1 is not mapped, expected it for a pairwise scale"),
        (Columns(response="a", response_1="p"), Binary(), "response_1 is mapped, expected response for"),
        (Columns(response="a", author_1="p"), Binary(), "author_1 is mapped, expected response for"),
        (Columns(response_1="a", response_2="p", author_1="m"), Pairwise(), "expected both; map it"),
    ],
)
def test_columns_fit_the_scale(columns: Columns, scale: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        columns.check(scale)


WRONG: list[tuple[str, bytes, str]] = [
    ("d.csv", b"", r"d\.csv: the file is empty, expected rows with a header"),
    ("d.csv", b" \n\n", r"the file is empty"),
    ("d.csv", b"\xef\xbb\xbf", r"the file is empty"),
    ("d.tsv", b"\xef\xbb\xbf\r\n", r"the file is empty"),
    ("d.jsonl", b"\xff\xfe\n\x00", r"the file is empty"),
    ("d.csv", b"key,prompt,answer,score\n", r"only a header found, expected one row per item"),
    ("d.json", b"[]", r"no rows found"),
    (
        "d.csv",
        b"key,prompt,Answers,score\na,b,c,1\n",
        r"no column 'answer' for response; did you mean 'Answers'\? f",
    ),
    (
        "d.csv",
        b"key,prompt,q,score\na,b,c,1\n",
        r"no column 'answer' .*found: 'key', 'prompt', 'q', 'score'; corr",
    ),
    (
        "d.csv",
        b"key,prompt,answer,answer,score\na,b,c,d,1\n",
        r"column 'answer', used for response, stands there 2",
    ),
    (
        "d.csv",
        b"key,prompt,answer,score\na,b,c,3\n",
        r"row 1: column 'score' holds '3', expected one of 0, 1, yes",
    ),
    (
        "d.csv",
        b"key,prompt,answer,score\na,b,c,1\na,b,d,1\n",
        r"row 1 and row 2 have the same id 'a' in column 'key'",
    ),
    ("d.csv", b"key,prompt,answer,score\n,b,c,1\n", r"row 1: column 'key' is empty, expected the id"),
    ("d.csv", b"key,prompt,answer,score\na,b,c\n", r"row 1: found 3 cells, expected 4"),
    ("d.csv", b'key,prompt,answer,score\na,b,"c,1\n', r"row 1: not valid CSV \(unexpected end of data\)"),
    ("d.csv", b'key,prompt,answer,score\na,b,"c" d,1\n', r"row 1: not valid CSV .*double every quote"),
    ("d.jsonl", b'{"key": 1}\n{"key": \n', r"line 2: not valid JSON \(.*\); correct it"),
    ("d.jsonl", b"[1]\n", r"line 1: found a list, expected one object per line"),
    ("d.json", b"3", r"found a int, expected a JSON list of objects"),
    ("d.json", b'{"a": [], "b": []}', r"found an object without one list of rows"),
    ("d.json", b"[3]", r"row 1: found a int, expected an object"),
    ("d.json", b'[\n{"a": 1\n]', r"line 3: not valid JSON"),
    (
        "d.jsonl",
        b'{"key": 1, "prompt": "", "answer": null, "score": 1}',
        r"line 1: column 'answer' holds no response",
    ),
    (
        "d.jsonl",
        b'{"key": 1, "prompt": "", "answer": [3], "score": 1}',
        r"line 1: found a list, expected a text or",
    ),
    ("d.parquet", b"PAR1 not", r"d\.parquet: not a readable Parquet file \(.+\); fetch"),
    ("d.xlsx", b"not a zip", r"d\.xlsx: not a readable XLSX file \(.+\); save it again"),
    (
        "d.txt",
        b"x",
        r"the ending '\.txt' names no known format, expected one of csv, tsv, jsonl, json, parquet, xlsx",
    ),
    ("d.csv", b"\xff\xfea\x00b", r"begins as utf-16 and is damaged at byte"),
]


@pytest.mark.parametrize(("name", "content", "said"), WRONG)
def test_a_wrong_file_is_said_in_one_sentence(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=said) as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv: no such file; expected a data file\.$"):
        load(tmp_path / "none.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match=r"is a folder, expected a data file"):
        load(tmp_path / "d.csv")


@pytest.mark.parametrize(("name", "module"), [("parquet", "pyarrow"), ("xlsx", "openpyxl")])
def test_a_missing_extra_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"d.{name}"
    path.write_bytes(b"x")
    with pytest.raises(DataError, match=rf"needs {module}, which is not installed; run pip install {module}"):
        load(path)


def test_an_extra_that_cannot_be_loaded_is_not_called_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "pyarrow"
    package.mkdir()
    (package / "__init__.py").write_text(
        'raise ImportError("numpy.core.multiarray failed to import\\nsee below")'
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "d.parquet").write_bytes(b"x")
    fault = (
        r"d\.parquet: Parquet needs pyarrow, which cannot be loaded \(numpy\.core\.multiarray failed to "
        r"import\); run pip install --force-reinstall pyarrow\.$"
    )
    with pytest.raises(DataError, match=fault):
        load(tmp_path / "d.parquet")
    (package / "__init__.py").write_text("import no_such_dependency")
    with pytest.raises(DataError, match=r"cannot be loaded \(No module named 'no_such_dependency'"):
        load(tmp_path / "d.parquet")


def test_an_xlsx_that_is_a_zip_of_something_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "d.xlsx", "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(DataError, match="not a readable XLSX file"):
        load(tmp_path / "d.xlsx")


def test_names_and_rows_may_stand_apart(tmp_path: Path) -> None:
    """As in eval_results_table.json of MLflow 2.22, and as pandas writes with `orient="split"`."""
    path = tmp_path / "eval_results_table.json"
    table = {"columns": ["inputs", "tone/v1/score"], "data": [["q0", 2], ["q1", 5]]}
    path.write_text(json.dumps(table))
    assert [record.values for record in read_table(path).records] == [
        {"inputs": "q0", "tone/v1/score": 2},
        {"inputs": "q1", "tone/v1/score": 5},
    ]
    path.write_text(json.dumps({**table, "data": [["q0", 2], ["q1"]]}))
    with pytest.raises(DataError, match="found an object without one list of rows"):
        read_table(path)


def test_the_format_may_be_said(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    WRITERS["d.jsonl"](path)
    assert len(read_table(path, "jsonl").records) == 3


@pytest.mark.slow
def test_a_large_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    rows = (
        {"key": number, "prompt": "p", "answer": f"text {number}", "score": number % 2}
        for number in range(5_000)
    )
    path.write_text(csv_text([next(rows), *rows]))
    items = load(path, sample=100)
    assert len(items) == 100


GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "bring-your-data.md"


def test_the_guide_names_every_part_and_format() -> None:
    text = GUIDE.read_text("utf-8")
    assert [part for part in Columns.model_fields if f"`{part}`" not in text] == []
    assert [name for name in get_args(Format) if f"`.{name}`" not in text] == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text",
    ["a,b|1,2", "a,b||1,2||", "a,b|1,", "a,b|1,x\ry|3,4", "a,b|1,2\r", "a|x|  |y", "a;b|1;2|", "|a,b|\r,2|"],
)
def test_rows_without_quotes_are_read_as_with_them(text: str, end: str) -> None:
    text = text.replace("|", end)
    for delimiter in ",;":
        assert list(_lines(text, delimiter)) == list(_rows(text, delimiter, "x.csv"))


def test_rows_of_a_table_are_records_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,same\n2,same\n3,other\n")
    records = read_table(tmp_path / "t.csv").records
    assert [(each.number, each.where, each.values["a"]) for each in records] == [
        (1, "row 1", "1"),
        (2, "row 2", "2"),
        (3, "row 3", "3"),
    ]
    assert (len(records), records[-1], records[1:2]) == (3, list(records)[2], [records[1]])
    assert records[0].values["b"] is records[1].values["b"]
