"""Benchmarks with a layout of their own: human votes (MT-Bench), behaviours (AgentHarm), folders of files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from steelyard.errors import DataError
from steelyard.tasks.item import Item
from steelyard.tasks.sources.cells import is_missing, long_text, messages_of, plain_text
from steelyard.tasks.sources.read import Format, read_table
from steelyard.tasks.sources.table import Table, TableRecord, table_of


def require_filled(table: Table, columns: tuple[str, ...]) -> None:
    for column in columns:
        table.require(column, column)
        for record in table.records:
            if is_missing(record.values.get(column)):
                raise DataError(
                    f"{table.name}, {record.where}: {column} is empty, expected a value; fill it."
                )


_BEHAVIOUR_COLUMNS = ("id", "prompt", "category")


def behaviours(table: Table) -> tuple[Item, ...]:
    """One item per behaviour, with no response; the variants of one behaviour share a cluster."""
    require_filled(table, _BEHAVIOUR_COLUMNS)
    return tuple(_behaviour(table.name, record) for record in table.records)


def _behaviour(name: str, record: TableRecord) -> Item:
    own, original = record.values.get("id"), record.values.get("id_original")
    return Item(
        id=plain_text(own),
        request=long_text(record.values.get("prompt"), f"{name}, {record.where}"),
        responses=(),
        cluster=plain_text(own if is_missing(original) else original),
        stratum=plain_text(record.values.get("category")),
    )


CATEGORIES = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")
"""Ten questions each, from question 81 on."""
_FIRST_QUESTION = 81
_VOTE_COLUMNS = (
    "question_id",
    "model_a",
    "model_b",
    "winner",
    "judge",
    "conversation_a",
    "conversation_b",
    "turn",
)
_SWAPPED = {"1": "2", "2": "1", "tie": "tie"}
_WINNERS = {"model_a": "1", "model_b": "2", "tie": "tie", "tie (inconsistent)": "tie"}


def items_of_votes(table: Table) -> tuple[Item, ...]:
    """One item per question, turn and pair of models, in the order of first appearance.

    Models of a pair stand in the order of their names, whichever the file put first.
    """
    require_filled(table, _VOTE_COLUMNS)
    groups: dict[tuple[str, ...], list[TableRecord]] = {}
    for record in table.records:
        models = sorted((_text(record, "model_a"), _text(record, "model_b")))
        groups.setdefault((_text(record, "question_id"), _text(record, "turn"), *models), []).append(record)
    return tuple(_voted_pair(table.name, key, records) for key, records in groups.items())


def human_majority_vote(votes: tuple[str, ...]) -> str:
    """Majority vote of people on a pair: the answer with more votes than any other, else a tie."""
    ranked = Counter(votes).most_common()
    return ranked[0][0] if len(ranked) == 1 or ranked[0][1] > ranked[1][1] else "tie"


def category(question: str) -> str | None:
    place = int(question) - _FIRST_QUESTION if question.isascii() and question.isdigit() else -1
    return CATEGORIES[place // 10] if 0 <= place < 10 * len(CATEGORIES) else None


def _voted_pair(name: str, key: tuple[str, ...], records: list[TableRecord]) -> Item:
    question, turn, *models = key
    ordered = sorted(records, key=lambda record: _text(record, "judge"))
    votes = tuple(_vote(name, record, models) for record in ordered)
    first = records[0]
    sides = ("a", "b") if _text(first, "model_a") == models[0] else ("b", "a")
    turns = [_turns(name, first, f"conversation_{side}") for side in sides]
    shown = 1 if turn == "1" else 2
    given = first.values.get("category")
    return Item(
        id=f"{question}/{turn}/{models[0]}/{models[1]}",
        request=_numbered([asked for asked, _ in turns[0]][:shown]),
        responses=tuple(_numbered([answer for _, answer in side][:shown]) for side in turns),
        cluster=question,
        label=human_majority_vote(votes),
        stratum=category(question) if given is None else plain_text(given),
        votes=votes,
        authors=tuple(models),
    )


def _vote(name: str, record: TableRecord, models: list[str]) -> str:
    winner = _text(record, "winner").strip().lower()
    if winner not in _WINNERS:
        raise DataError(
            f"{name}, {record.where}: winner is {winner!r}, expected model_a, model_b or tie; correct it."
        )
    vote = _WINNERS[winner]
    return vote if _text(record, "model_a") == models[0] else _SWAPPED[vote]


def _turns(name: str, record: TableRecord, column: str) -> list[tuple[str, str]]:
    messages = messages_of(record.values[column])
    if messages is None or len(messages) < 2:
        raise DataError(
            f"{name}, {record.where}: {column} holds no messages with role and content, expected the turns "
            "of user and assistant; correct the row."
        )
    contents = [content for _, content in messages]
    return list(zip(contents[0::2], contents[1::2], strict=False))


def _numbered(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"Turn {number}:\n{text}" for number, text in enumerate(texts, start=1))


def _text(record: TableRecord, column: str) -> str:
    return plain_text(record.values.get(column))


FILE = "dataset.json"


def read_folders(path: Path, format: Format | None = None) -> Table:
    """One file, or every `dataset.json` in a folder; columns `folder` and `row` say where a row stood."""
    if not path.is_dir():
        return _joined(str(path), [(path.parent.name, read_table(path, format))])
    files = sorted(path.rglob(FILE))
    if not files:
        raise DataError(
            f"{path}: no {FILE} found in the folder, expected one per subset; name another folder."
        )
    return _joined(
        str(path), [(file.parent.relative_to(path).as_posix(), read_table(file)) for file in files]
    )


def _joined(name: str, tables: list[tuple[str, Table]]) -> Table:
    records: list[TableRecord] = []
    for folder, table in tables:
        for record in table.records:
            values = {**record.values, "folder": folder, "row": record.number}
            records.append(TableRecord(len(records) + 1, f"{record.where} of {folder}", values))
    columns = tuple(dict.fromkeys(column for _, table in tables for column in table.columns))
    return table_of(name, (*columns, "folder", "row"), records)
