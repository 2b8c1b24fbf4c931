"""Adapters of public benchmarks, one YAML file each: columns, question, scale, licence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

from pydantic import Field

from steelyard.core.registry import Registry
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.adapters.layouts import behaviours, items_of_votes, read_folders
from steelyard.tasks.builtin_yaml import BuiltinModel, load_builtin
from steelyard.tasks.item import Item
from steelyard.tasks.scale import parse_scale
from steelyard.tasks.sources.cells import Labels, plain_text
from steelyard.tasks.sources.items import Columns, items_of
from steelyard.tasks.sources.read import Format, read_table
from steelyard.tasks.sources.table import Table, TableRecord
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.preprocess import Preparation

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
    """Column by which a second file with responses is joined, where there is one."""
    opener: Opener = read_table
    reader: Reader | None = None
    """Makes items of the table, where a map of columns does not suffice."""
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
        """Every item of the file; parts that the user maps go before the adapter's own."""
        if table.parts:
            return self._of_log(table, columns or Columns(), stratify, preparation)
        if self.reader is not None:
            if columns is not None or stratify is not None:
                raise ConfigError(
                    f"adapter {self.name!r}: columns or stratify found, expected none, for it reads the "
                    "benchmark's own layout; remove them."
                )
            return self.reader(table)
        table = _constant(self._joined(table), self.always)
        return items_of(
            table,
            self.resolve(table, columns),
            self.task.scale,
            labels=self.labels,
            stratify=stratify or _first(self.stratify, table),
        )

    def _of_log(
        self, table: Table, columns: Columns, stratify: str | None, preparation: Preparation
    ) -> tuple[Item, ...]:
        """Runs of a log of agents, in the clusters and strata of the benchmark where the log tells them."""
        own = _first(self.columns.get("cluster", ()), table)
        return items_of(
            table,
            columns.over({} if own is None else {"cluster": own}),
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
            chosen.setdefault("label", _ALWAYS)
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
                table = _with(table, name, partial(_join, parts))
        return table


_ALWAYS = "always"


def _constant(table: Table, label: str | None) -> Table:
    return table if label is None else _with(table, _ALWAYS, lambda _: label)


def _with(table: Table, column: str, value: Callable[[TableRecord], object]) -> Table:
    records = tuple(
        TableRecord(record.number, record.where, {**record.values, column: value(record)})
        for record in table.records
    )
    return Table(table.name, (*table.columns, column), records)


def _join(parts: list[str], record: TableRecord) -> str:
    return "/".join(plain_text(record.values.get(part)) for part in parts)


def _first(names: tuple[str, ...], table: Table) -> str | None:
    return next((name for name in names if name in table.columns), None)


NAMES = (
    "agentharm",
    "evalbiasbench",
    "fortress",
    "harmbench",
    "judgebench",
    "llmbar",
    "mt_bench",
    "persuade",
    "rewardbench",
)

_OPENERS: dict[str, Opener] = {"table": read_table, "folders": read_folders}
_READERS: dict[str, Reader] = {"votes": items_of_votes, "behaviours": behaviours}


class AdapterFile(BuiltinModel):
    """One YAML file; the fields of `Adapter`, hooks by name."""

    title: str
    judged: str
    file: str
    licence: str
    scale: str
    instruction: str
    rubric: str
    columns: dict[str, list[str]]
    optional: list[str] = Field(default_factory=list)
    stratify: list[str] = Field(default_factory=list)
    always: str | None = None
    labels: dict[str | int | float | bool, str | int | float | bool] | None = None
    key: str | None = None
    opener: str = "table"
    reader: str | None = None
    note: str | None = None
    pending: str | None = None
    failing: int | None = None
    asks_for_truth: bool = True


def read_adapter(name: str) -> Adapter:
    text = files("steelyard.tasks.adapters").joinpath(f"{name}.yaml").read_text("utf-8")
    body = AdapterFile.model_validate(load_builtin(text))
    return Adapter(
        name=name,
        title=body.title,
        task=Task(body.instruction.strip(), body.rubric.strip(), parse_scale(body.scale)),
        judged=body.judged,
        file=body.file,
        licence=body.licence,
        columns={part: tuple(names) for part, names in body.columns.items()},
        optional=frozenset(body.optional),
        stratify=tuple(body.stratify),
        always=body.always,
        labels=body.labels,
        key=body.key,
        opener=_OPENERS[body.opener],
        reader=None if body.reader is None else _READERS[body.reader],
        note=body.note,
        pending=body.pending,
        failing=body.failing,
        asks_for_truth=body.asks_for_truth,
    )


ADAPTERS: Registry[Adapter] = Registry("adapter")
"""Every adapter by name; other packages add theirs under the entry point group `steelyard.adapters`."""

for _name in NAMES:
    ADAPTERS.register(_name, partial(read_adapter, _name))
