"""Adapters of public benchmarks, one YAML file each, and the layouts that need a reader of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

from steelyard.core.registry import Registry
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.pack import load_builtin
from steelyard.tasks.sources.items import Columns, items_of
from steelyard.tasks.sources.read import Format, read_table
from steelyard.tasks.sources.table import (
    Labels,
    Table,
    TableRecord,
    is_missing,
    long_text,
    messages_of,
    plain_text,
    table_of,
)
from steelyard.tasks.task import Item, Task, parse_scale
from steelyard.tasks.transcripts.preprocess import Preparation


def require_filled(table: Table, columns: tuple[str, ...]) -> None:
    for column in columns:
        table.require(column, column)
        for record in table.records:
            if is_missing(record.values.get(column)):
                raise DataError(
                    f"{table.name}, {record.where}: {column} is empty, expected a value; fill it."
                )


def behaviours(table: Table) -> tuple[Item, ...]:
    """One item per behaviour, with no response; the variants of one behaviour share a cluster."""
    require_filled(table, ("id", "prompt", "category"))
    return tuple(
        Item(
            id=_text(record, "id"),
            request=long_text(record.values.get("prompt"), f"{table.name}, {record.where}"),
            responses=(),
            cluster=_text(record, "id" if is_missing(record.values.get("id_original")) else "id_original"),
            stratum=_text(record, "category"),
        )
        for record in table.records
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
        return _join_folders(str(path), [(path.parent.name, read_table(path, format))])
    files = sorted(path.rglob(FILE))
    if not files:
        raise DataError(
            f"{path}: no {FILE} found in the folder, expected one per subset; name another folder."
        )
    return _join_folders(
        str(path), [(file.parent.relative_to(path).as_posix(), read_table(file)) for file in files]
    )


def _join_folders(name: str, tables: list[tuple[str, Table]]) -> Table:
    records: list[TableRecord] = []
    for folder, table in tables:
        for record in table.records:
            values = {**record.values, "folder": folder, "row": record.number}
            records.append(TableRecord(len(records) + 1, f"{record.where} of {folder}", values))
    columns = tuple(dict.fromkeys(column for _, table in tables for column in table.columns))
    return table_of(name, (*columns, "folder", "row"), records)


Opener = Callable[[Path, Format | None], Table]
Reader = Callable[[Table], tuple[Item, ...]]


@dataclass(frozen=True)
class Adapter:
    """How one benchmark is read and what its judge is asked."""

    name: str
    title: str
    task: Task
    judged: str
    """What the judge decides, in one phrase."""
    file: str
    licence: str
    columns: Mapping[str, tuple[str, ...]]
    """Part to the columns that may hold it, best first; `a/b` stands for two columns joined by a slash."""
    optional: frozenset[str] = frozenset()
    stratify: tuple[str, ...] = ()
    always: str | None = None
    """The label of every row, where the file has none because it is always the same."""
    labels: Labels | None = None
    key: str | None = None
    opener: Opener = read_table
    reader: Reader | None = None
    note: str | None = None
    pending: str | None = None
    """Why items of its usual file cannot be judged, where that is so; those of a log of agents can."""
    failing: int | None = None
    """Answer of an agent's run that breaks its rubric; the lowest where it says none."""
    asks_for_truth: bool = True
    """False where its rubric does not fail an agent that reports what its tools did not return."""

    def items(
        self,
        table: Table,
        columns: Columns | None = None,
        stratify: str | None = None,
        preparation: Preparation = Preparation(),  # noqa: B008 - frozen
    ) -> tuple[Item, ...]:
        if table.parts:
            # Runs of a log of agents, in the clusters and strata of the benchmark where the log tells them.
            own = _first(self.columns.get("cluster", ()), table)
            mapped = (columns or Columns()).over({} if own is None else {"cluster": own})
        else:
            if self.reader is not None:
                if columns is not None or stratify is not None:
                    raise ConfigError(
                        f"adapter {self.name!r}: columns or stratify found, expected none, for it reads the "
                        "benchmark's own layout; remove them."
                    )
                return self.reader(table)
            table, preparation = self._joined(table), Preparation()
            if self.always is not None:
                table = with_column(table, ALWAYS, lambda _: self.always)
            mapped = self.resolve(table, columns)
        return items_of(
            table,
            mapped,
            self.task.scale,
            labels=self.labels,
            stratify=stratify or _first(self.stratify, table),
            preparation=preparation,
        )

    def resolve(self, table: Table, columns: Columns | None = None) -> Columns:
        chosen = dict(columns.used()) if columns is not None else {}
        for part, names in self.columns.items():
            column = _first(names, table)
            if part not in chosen and (column or part not in self.optional):
                chosen[part] = column or self._missing(part, names[0], table)
        if self.always is not None:
            chosen.setdefault("label", ALWAYS)
        return Columns(**chosen)

    def _missing(self, part: str, name: str, table: Table) -> str:
        if self.key is not None and part.startswith("response"):
            raise DataError(
                f"{table.name}: no column {name!r} for {part}, expected a second file of responses; name "
                f"it under responses, with key {self.key}."
            )
        table.require(name, part)
        return name

    def _joined(self, table: Table) -> Table:
        for name in sorted({name for names in self.columns.values() for name in names if "/" in name}):
            parts = name.split("/")
            if all(part in table.columns for part in parts):
                table = with_column(table, name, partial(_join, parts))
        return table


ALWAYS = "always"


def _join(parts: list[str], record: TableRecord) -> str:
    return "/".join(_text(record, part) for part in parts)


def with_column(table: Table, column: str, value: Callable[[TableRecord], object]) -> Table:
    records = tuple(
        TableRecord(record.number, record.where, {**record.values, column: value(record)})
        for record in table.records
    )
    return Table(table.name, (*table.columns, column), records)


def _first(names: tuple[str, ...], table: Table) -> str | None:
    return next((name for name in names if name in table.columns), None)


_OPENERS: dict[str, Opener] = {"table": read_table, "folders": read_folders}
_READERS: dict[str | None, Reader] = {"votes": items_of_votes, "behaviours": behaviours}


def read_adapter(name: str) -> Adapter:
    """The adapter of one file: its keys are the fields of `Adapter`, hooks by name; others raise an error."""
    body = load_builtin(files(__package__).joinpath(f"{name}.yaml").read_text("utf-8"))
    task = Task(body.pop("instruction").strip(), body.pop("rubric").strip(), parse_scale(body.pop("scale")))
    opener, reader = _OPENERS[body.pop("opener", "table")], _READERS.get(body.pop("reader", None))
    body["columns"] = {part: tuple(names) for part, names in body["columns"].items()}
    body |= {"stratify": tuple(body.get("stratify", ())), "optional": frozenset(body.get("optional", ()))}
    return Adapter(name=name, task=task, opener=opener, reader=reader, **body)


ADAPTERS: Registry[Adapter] = Registry("adapter")
"""Every adapter by name; other packages add theirs under the entry point group `steelyard.adapters`."""

for _file in files(__package__).iterdir():
    if _file.name.endswith(".yaml"):
        _name = _file.name.removesuffix(".yaml")
        ADAPTERS.register(_name, partial(read_adapter, _name))
