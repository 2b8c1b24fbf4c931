"""Votes of several people on pairs of conversations (MT-Bench) to one item per pair."""

from __future__ import annotations

from collections import Counter

from steelyard.errors import DataError
from steelyard.tasks.adapters.filled import require_filled
from steelyard.tasks.item import Item
from steelyard.tasks.sources.cells import messages_of, plain_text
from steelyard.tasks.sources.table import Record, Table

CATEGORIES = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")
"""Ten questions each, from question 81 on."""
_FIRST_QUESTION = 81
_COLUMNS = (
    "question_id",
    "model_a",
    "model_b",
    "winner",
    "judge",
    "conversation_a",
    "conversation_b",
    "turn",
)
_OTHER = {"1": "2", "2": "1", "tie": "tie"}
_WINNERS = {"model_a": "1", "model_b": "2", "tie": "tie", "tie (inconsistent)": "tie"}


def items_of_votes(table: Table) -> tuple[Item, ...]:
    """One item per question, turn and pair of models, in the order of first appearance.

    Models of a pair stand in the order of their names, whichever the file put first.
    """
    require_filled(table, _COLUMNS)
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in table.records:
        models = sorted((_text(record, "model_a"), _text(record, "model_b")))
        groups.setdefault((_text(record, "question_id"), _text(record, "turn"), *models), []).append(record)
    return tuple(_item(table.name, key, records) for key, records in groups.items())


def majority(votes: tuple[str, ...]) -> str:
    """The answer with more votes than any other; a tie where no answer has."""
    ranked = Counter(votes).most_common()
    return ranked[0][0] if len(ranked) == 1 or ranked[0][1] > ranked[1][1] else "tie"


def category(question: str) -> str | None:
    """The category of a question of the published eighty, by its number."""
    place = int(question) - _FIRST_QUESTION if question.isascii() and question.isdigit() else -1
    return CATEGORIES[place // 10] if 0 <= place < 10 * len(CATEGORIES) else None


def _item(name: str, key: tuple[str, ...], records: list[Record]) -> Item:
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
        label=majority(votes),
        stratum=category(question) if given is None else plain_text(given),
        votes=votes,
        authors=tuple(models),
    )


def _vote(name: str, record: Record, models: list[str]) -> str:
    winner = _text(record, "winner").strip().lower()
    if winner not in _WINNERS:
        raise DataError(
            f"{name}, {record.where}: winner is {winner!r}, expected model_a, model_b or tie; correct it."
        )
    vote = _WINNERS[winner]
    return vote if _text(record, "model_a") == models[0] else _OTHER[vote]


def _turns(name: str, record: Record, column: str) -> list[tuple[str, str]]:
    """Question and answer of each turn."""
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


def _text(record: Record, column: str) -> str:
    return plain_text(record.values.get(column))
