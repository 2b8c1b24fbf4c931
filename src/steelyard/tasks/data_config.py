"""The `data` key of a study file: strict where bytes enter, then items, and rubrics to cross them with.

Several rubrics for the same items are a list of `{id, instructions, score_levels}` in YAML or JSON; every
item is judged by every rubric. Levels, where a rubric has them, are its scale: whole numbers without a gap,
each once and each with a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from steelyard.core.registry import Spec
from steelyard.core.validation import Expected, StrictModel
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.adapters import ADAPTERS, ALWAYS, Adapter, Opener, with_column
from steelyard.tasks.pack import read_list
from steelyard.tasks.sources.found_columns import (
    FILLED,
    NAMES_OF_PEOPLE,
    TEXT,
    VERDICT,
    ColumnFinder,
    ColumnPart,
    names_better,
    text_parts,
)
from steelyard.tasks.sources.items import Columns, draw_items, items_of
from steelyard.tasks.sources.read import Format, read_table
from steelyard.tasks.sources.table import (
    LabelMap,
    SampleField,
    Table,
    Value,
    filter_rows,
    is_missing,
    join_tables,
    normal,
    plain_text,
)
from steelyard.tasks.task import BestOf, Binary, Item, Pairwise, Scale, Task, parse_scale
from steelyard.tasks.transcripts.preprocess import Preparation


class LevelConfig(StrictModel):
    score: int
    label: str = Field(min_length=1)
    description: str | None = None

    @property
    def words(self) -> str:
        return f"{self.label}: {self.description}" if self.description else self.label


_LEVELS = "a list of {score, label}, or a mapping of scores to labels"


class RubricConfig(StrictModel):
    id: str = Field(min_length=1)
    instructions: str = Field(min_length=1)
    score_levels: Annotated[list[LevelConfig] | dict[int, str] | None, Expected(_LEVELS)] = None


class _RubricFile(BaseModel):
    rubrics: list[RubricConfig] = Field(min_length=1)


@dataclass(frozen=True)
class RubricEntry:
    id: str
    text: str
    scale: Scale | None
    """From its lowest level to its highest; None where it has none."""


def read_rubrics(path: Path, wanted: Sequence[str] | None = None) -> tuple[RubricEntry, ...]:
    entries = [_entry(config, path) for config in read_list(_RubricFile, path, "rubrics").rubrics]
    names = [entry.id for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{path}: two rubrics have the id {name!r}, expected one each; rename one.")
    for name in wanted or ():
        if name not in names:
            raise ConfigError(
                f"target_rubric_ids: no rubric {name!r} in {path}; found: {', '.join(names)}; correct it."
            )
    return tuple(entry for entry in entries if wanted is None or entry.id in wanted)


def crossed(items: Iterable[Item], rubric: RubricEntry) -> tuple[Item, ...]:
    """Items to be judged by a rubric of several: its id ends their names, and they keep their clusters."""
    return tuple(
        replace(item, id=f"{item.id}/{rubric.id}", rubric=rubric.text, scale=rubric.scale) for item in items
    )


def _entry(config: RubricConfig, path: Path) -> RubricEntry:
    where = f"{path}: rubric {config.id!r}"
    given = config.score_levels or ()
    levels = list(given.items()) if isinstance(given, dict) else [(one.score, one.words) for one in given]
    if not levels:
        return RubricEntry(config.id, config.instructions.strip(), None)
    scores = sorted(score for score, _ in levels)
    if len(set(scores)) < len(scores):
        raise ConfigError(f"{where}: score_levels has a score twice, expected each once; remove one.")
    if len(scores) < 2 or scores != list(range(scores[0], scores[-1] + 1)):
        raise ConfigError(
            f"{where}: score_levels has {', '.join(map(str, scores))}, expected whole numbers that follow "
            "each other, at least two; add what is missing."
        )
    if any(not label.strip() for _, label in levels):
        raise ConfigError(
            f"{where}: score_levels has a level without a label, expected one for each; add it."
        )
    told = "\n".join(f"{score}: {label.strip()}" for score, label in sorted(levels))
    return RubricEntry(
        config.id,
        f"{config.instructions.strip()}\n\nLevels:\n{told}",
        parse_scale("binary" if scores == [0, 1] else f"{scores[0]}-{scores[-1]}"),
    )


_ID = ColumnPart("id", "the id", ("id",), FILLED)
_REQUEST = ColumnPart("request", "the request", ("request",), TEXT)
_RESPONSE = ColumnPart("response", "the response", ("response",), TEXT)
_LABEL = ColumnPart("label", "the label", ("label", *NAMES_OF_PEOPLE, "winner"), VERDICT)
ITEM_PARTS = (_ID, _REQUEST, _RESPONSE, *text_parts("response", "response", ()), _LABEL)
_OTHER_PARTS = (
    ColumnPart("reference", "the reference", ("reference",), TEXT),
    ColumnPart("context", "the context", ("context",), TEXT),
    *(ColumnPart(part, f"the {part}", holds=TEXT) for part in ("rubric", "cluster")),
)


class ResponsesConfig(StrictModel):
    path: str = Field(min_length=1)
    key: str = Field(min_length=1)
    format: Format | None = None


class ReferenceConfig(StrictModel):
    """Whose verdicts stand in for labels that nobody gave."""

    judge: str = Field(min_length=1)
    """Name of a judge of the study; its verdict on an item is the item's reference."""


class DataConfig(StrictModel):
    path: str = Field(min_length=1)
    adapter: str | None = Field(default=None, min_length=1)
    columns: Columns | None = None
    """Which column plays which part; beside an adapter, the parts that differ from its own."""
    stratify: str | None = Field(default=None, min_length=1)
    sample: SampleField = None
    """How many rows to draw: in all, spread over the strata, or `{per_stratum: N}`."""
    labels: dict[str | int | float | bool, str | int | float | bool] | None = None
    responses: ResponsesConfig | None = None
    reference: ReferenceConfig | None = None
    where: dict[str, Value | list[Value]] | None = None
    format: Format | None = None
    keep: list[str] | None = Field(default=None, min_length=1)
    """Columns that the results repeat; no judge sees them."""
    jury_reference: str | None = Field(default=None, min_length=1)
    """Column of answers that the judges' common verdict is compared with beside the label; kept too."""
    preprocess: list[str | dict[str, dict[str, Any]]] | None = None

    def with_found_columns(
        self, folder: Path, scale: Scale | None
    ) -> tuple[DataConfig, Scale | None, ColumnFinder | None]:
        """With columns that names tell where none are mapped, the scale that they show, and what found them.

        An adapter has columns of its own, and so has a log of agents.
        """
        if self.adapter is not None or (self.columns is not None and scale is not None):
            return self, scale, None
        table = self._table(folder, read_table)
        if table.parts:
            return self, scale, None
        finder = ColumnFinder(table, {}, {normal(word) for word in self.labels or {}})
        if self.columns is not None:
            return self, self._shown_scale(finder, dict(self.columns.used())), None
        texts = text_parts("response", "response", table.columns)
        pairs = isinstance(scale, Pairwise) or (
            scale is None and all(finder.candidates(part) for part in texts)
        )
        if not isinstance(scale, BestOf):
            needed = texts if pairs else (_RESPONSE,)
            finder.take(_ID, _REQUEST, *needed, _LABEL, *_OTHER_PARTS)
            if any(part.name not in finder.columns for part in needed):
                raise finder.missing(*needed, _REQUEST)
            finder.group_rows_by("id", "cluster")
        found = self.model_copy(update={"columns": Columns(**finder.columns)})
        return found, scale or self._shown_scale(finder, finder.columns), finder

    def _shown_scale(self, finder: ColumnFinder, columns: Mapping[str, str]) -> Scale | None:
        """The scale that columns and labels tell for certain."""
        if {"response_1", "response_2"} <= columns.keys():
            return Pairwise()
        label, answers = columns.get("label"), {str(answer) for answer in (self.labels or {}).values()}
        if label is None or label not in finder.table.columns or not answers <= {"0", "1"}:
            return None
        return Binary() if finder.cells(label) and finder.is_binary(label) else None

    @property
    def first_is_better(self) -> bool:
        """Whether the responses are called chosen and rejected, and no column says which is better."""
        columns = self.columns or Columns()
        return columns.label is None and names_better(columns.response_1, columns.response_2)

    @property
    def columns_beside(self) -> set[str]:
        """Columns that are used and are no part of an item."""
        named = (self.stratify, self.jury_reference, *(self.keep or ()), *(self.where or ()))
        return {name for name in named if name is not None}

    def task(self) -> Task | None:
        return None if self.adapter is None else ADAPTERS.build(Spec(self.adapter)).task

    def failing(self) -> int | None:
        return None if self.adapter is None else ADAPTERS.build(Spec(self.adapter)).failing

    def asks_for_truth(self) -> bool:
        """False where the rubric of an adapter does not fail an agent whose report is false."""
        return self.adapter is None or ADAPTERS.build(Spec(self.adapter)).asks_for_truth

    def split_items(
        self,
        folder: Path,
        scale: Scale,
        seed: int,
        rubrics: Sequence[RubricEntry] = (),
        shown: Sequence[str] = (),
    ) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
        """The items of the study and those that were not drawn, each in the order of the file.

        With several rubrics every item is there once for each; rows are drawn before that. `shown` are
        columns that prompts show.
        """
        chosen: tuple[Item, ...] = ()
        others: tuple[Item, ...] = ()
        for rubric in rubrics or (None,):
            items = self.read(folder, scale, rubric, several=len(rubrics) > 1, shown=shown)
            mine = draw_items(items, self.sample, seed)
            names = {item.id for item in mine}
            rest = [item for item in items if item.id not in names]
            chosen += mine if rubric is None else crossed(mine, rubric)
            others += tuple(rest) if rubric is None else crossed(rest, rubric)
        return chosen, others

    def read(
        self,
        folder: Path,
        scale: Scale,
        rubric: RubricEntry | None = None,
        *,
        several: bool = False,
        shown: Sequence[str] = (),
    ) -> tuple[Item, ...]:
        if self.adapter is not None:
            return self._adapted(ADAPTERS.build(Spec(self.adapter)), folder)
        table, columns = self._table(folder, read_table), self.columns or Columns()
        if rubric is not None:
            columns, scale = _labelled_by(rubric, columns, table, several), rubric.scale or scale
        if self.first_is_better:
            table = with_column(table, ALWAYS, lambda _: "1")
            columns = columns.model_copy(update={"label": ALWAYS})
        return items_of(
            table,
            columns,
            scale,
            labels=self.labels,
            stratify=self.stratify,
            preparation=Preparation.of(self.preprocess or ()),
            shown=shown,
        )

    def columns_of(self, folder: Path) -> tuple[dict[str, str], tuple[str, ...]]:
        """Columns that are a part of an item, with the part, and every column of the file."""
        if self.adapter is not None:  # its items need not be rows
            return {}, ()
        table = self._table(folder, read_table)
        used = (self.columns or Columns()).over(table.parts).used()
        hidden = {} if self.jury_reference is None else {self.jury_reference: "label"}
        return {column: part for part, column in used} | hidden, table.columns

    def kept_columns_by_item(self, folder: Path, scale: Scale) -> dict[str, dict[str, str]]:
        """What the columns to keep hold, by the item of their row; empty cells are left out."""
        names = dict.fromkeys([*(self.keep or ()), *([self.jury_reference] if self.jury_reference else ())])
        if not names:
            return {}
        opener = read_table if self.adapter is None else ADAPTERS.build(Spec(self.adapter)).opener
        table, items = self._table(folder, opener), self.read(folder, scale)
        for column in names:
            table.require(column, "jury_reference" if column == self.jury_reference else "keep")
        if len(items) != len(table.records):
            raise DataError(
                f"{table.name}: keep: an item of this adapter is no row of the file; leave it out."
            )
        return {
            item.id: {
                column: self._kept_text(column, record.values[column], f"{table.name}, {item.id}", scale)
                for column in names
                if not is_missing(record.values.get(column))
            }
            for item, record in zip(items, table.records, strict=True)
        }

    def _kept_text(self, column: str, value: Value, where: str, scale: Scale) -> str:
        """What a cell holds; an answer of the scale in the column of the jury's reference."""
        if column != self.jury_reference:
            return plain_text(value)
        if isinstance(scale, (Pairwise, BestOf)):
            raise DataError(
                f"{where}: jury_reference: judges of several texts have no jury figures; leave it out."
            )
        return str(LabelMap(scale, self.labels).read(value, where, column))

    def _adapted(self, adapter: Adapter, folder: Path) -> tuple[Item, ...]:
        table = self._table(folder, adapter.opener)
        if adapter.pending is not None and not table.parts:
            raise DataError(f"{folder / self.path}: {adapter.pending}")
        if self.labels is not None:
            adapter = replace(adapter, labels=self.labels)
        return adapter.items(table, self.columns, self.stratify, Preparation.of(self.preprocess or ()))

    def _table(self, folder: Path, opener: Opener) -> Table:
        table = opener(folder / self.path, self.format)
        if self.responses is not None:
            second = read_table(folder / self.responses.path, self.responses.format)
            table = join_tables(table, second, self.responses.key)
        return filter_rows(table, self.where) if self.where else table


def _labelled_by(rubric: RubricEntry, columns: Columns, table: Table, several: bool) -> Columns:
    """The map of columns with the labels of one rubric: `LABEL.RUBRIC`, or `LABEL` for the only one."""
    if columns.label is None:
        return columns
    own = f"{columns.label}.{rubric.id}"
    if several:
        table.require(own, f"the labels of rubric {rubric.id!r}")
    return columns.model_copy(update={"label": own}) if own in table.columns else columns
