"""Rows of a table to items, by a map of columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from steelyard.core.content_hash import canonical_json
from steelyard.core.text import pluralize
from steelyard.core.validation import StrictModel, checked, format_value, parse_map
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.sources.table import (
    LabelMap,
    Labels,
    Sample,
    Table,
    TableRecord,
    draw,
    is_missing,
    list_of,
    long_text,
    plain_text,
    rubric_text,
)
from steelyard.tasks.task import BestOf, Item, Pairwise, Scale, scale_name
from steelyard.tasks.transcripts.chat import json_value, turns_of
from steelyard.tasks.transcripts.preprocess import Preparation
from steelyard.tasks.transcripts.transcript import Transcript, render_transcript

POINTWISE = ("response",)
TRANSCRIPT = ("messages",)
PAIRWISE = ("response_1", "response_2")
BEST_OF = ("responses",)


class Columns(StrictModel):
    request: str | None = Field(default=None, min_length=1)
    """What was asked; without it the request is empty."""
    response: str | None = Field(default=None, min_length=1)
    messages: str | None = Field(default=None, min_length=1)
    response_1: str | None = Field(default=None, min_length=1)
    response_2: str | None = Field(default=None, min_length=1)
    responses: str | list[str] | None = Field(default=None, min_length=1)
    """Several responses of which one is the best: a column that holds a list, or a column for each."""
    label: str | None = Field(default=None, min_length=1)
    """Reference answer on the scale; empty cells have none."""
    id: str | None = Field(default=None, min_length=1)
    """Name of the row; without it rows are numbered from 1."""
    cluster: str | None = Field(default=None, min_length=1)
    """What rows share, so that they are not independent; without it each row stands for itself."""
    rubric: str | None = Field(default=None, min_length=1)
    reference: str | None = Field(default=None, min_length=1)
    context: str | None = Field(default=None, min_length=1)
    """What a response was to rest on: text, or a JSON list of passages; Python judges get it by name."""
    metadata: str | None = Field(default=None, min_length=1)
    """A JSON object; Python judges get it by name."""
    author: str | None = Field(default=None, min_length=1)
    author_1: str | None = Field(default=None, min_length=1)
    author_2: str | None = Field(default=None, min_length=1)

    def used(self) -> Iterator[tuple[str, str]]:
        for part in Columns.model_fields:
            column = getattr(self, part)
            for name in column if isinstance(column, list) else [column] if column is not None else []:
                yield part, name

    def over(self, parts: Mapping[str, str]) -> Columns:
        return Columns(**{**parts, **self.model_dump(exclude_none=True)})

    def check(self, scale: Scale) -> None:
        pairs = isinstance(scale, Pairwise)
        mapped = {part for part, _ in self.used()}
        single = TRANSCRIPT if "messages" in mapped else POINTWISE
        needed = PAIRWISE if pairs else BEST_OF if isinstance(scale, BestOf) else single
        others = [part for part in (*POINTWISE, *TRANSCRIPT, *PAIRWISE, *BEST_OF) if part not in needed]
        authors: tuple[str, ...] = ("author",) if pairs else ("author_1", "author_2")
        kind = "a pairwise scale" if pairs else "a scale of scores"
        if isinstance(scale, BestOf):
            authors, kind = ("author", "author_1", "author_2"), f"the scale {scale_name(scale)}"
            if isinstance(self.responses, list) and len(self.responses) != scale.responses:
                raise ConfigError(
                    f"columns: responses names {pluralize(len(self.responses), 'column')}, expected "
                    f"{scale.responses} for {kind}; name one for each response, or correct the scale."
                )
        for part in needed:
            if part not in mapped:
                raise ConfigError(f"columns: {part} is not mapped, expected it for {kind}; map it.")
        for part in (*others, *authors):
            if part in mapped:
                raise ConfigError(
                    f"columns: {part} is mapped, expected {' and '.join(needed)} for {kind}; remove it."
                )
        if len(mapped & {"author_1", "author_2"}) == 1:
            raise ConfigError("columns: one of author_1 and author_2 is mapped, expected both; map it.")


def parse_columns(text: str) -> Columns:
    """The map as the command line writes it: `request=test_case,response=generation`."""
    example = "request=prompt,response=answer,label=score"
    return checked(Columns, parse_map(text, "columns", "PART=COLUMN", example), "columns")


_NAMED = 5
TEXTS: dict[str, Callable[[Item], str]] = {
    "request": lambda item: item.request,
    "response": lambda item: item.responses[0],
    "response_1": lambda item: item.responses[0],
    "response_2": lambda item: item.responses[1],
}


def draw_items(items: tuple[Item, ...], sample: Sample | None, seed: int) -> tuple[Item, ...]:
    """Draw items spread over the strata, within each of them those with a label first."""
    return tuple(
        draw(
            items,
            sample,
            seed,
            name=lambda item: item.id,
            stratum=lambda item: item.stratum,
            is_preferred=lambda item: item.label is not None,
        )
    )


def empty_strata(chosen: Iterable[Item], others: Iterable[Item]) -> Iterator[str]:
    held = {item.stratum for item in chosen}
    missing = sorted({item.stratum for item in others if item.stratum is not None} - held)
    if missing:
        named = ", ".join(repr(name) for name in missing[:_NAMED])
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        yield (
            f"sample: no item was drawn from {len(missing)} of {len(held | set(missing))} strata "
            f"({named}{more}); draw more, or say {{per_stratum: N}}."
        )


def empty_texts(items: Sequence[Item], columns: Columns) -> Iterator[str]:
    """Columns of texts that are empty in half of the rows or more: where one is, another was often meant."""
    for part, column in columns.used():
        place = TEXTS.get(part)
        empty = 0 if place is None else sum(not place(item).strip() for item in items)
        if empty and 2 * empty >= len(items):
            yield (
                f"column {column!r}, used for {part}, is empty in {empty:,} of "
                f"{pluralize(len(items), 'row')}; where another column was meant, correct the map of columns."
            )


def repeated_texts(items: Sequence[Item]) -> Iterator[str]:
    """Items that show what an earlier one of another cluster shows, or have another label, in a sentence."""
    first: dict[tuple[Any, ...], Item] = {}
    apart, contradicted = [], 0
    for item in items:
        asked = (item.rubric, item.reference, item.instruction, item.scale)
        earlier = first.setdefault((item.request, item.responses, *asked), item)
        other_label = None not in (item.label, earlier.label) and item.label != earlier.label
        contradicted += other_label
        if other_label or item.cluster != earlier.cluster:
            apart.append((earlier.id, item.id))
    if apart:
        other = f", {contradicted:,} with another label" if contradicted else ""
        (earliest, repeat), repeats = apart[0], pluralize(len(apart), "item")
        yield (
            f"the texts of {repeats} of {len(items):,} stand in an earlier one too{other} "
            f"({repeat!r} is {earliest!r} again); as clusters of their own they make intervals too narrow; "
            "leave repeats out, or map a column as cluster."
        )


def items_of(
    table: Table,
    columns: Columns,
    scale: Scale,
    *,
    labels: Labels | None = None,
    stratify: str | None = None,
    preparation: Preparation = Preparation(),  # noqa: B008 - frozen
    shown: Sequence[str] = (),
) -> tuple[Item, ...]:
    """Every row as an item; the first thing that is wrong is said in one sentence.

    `preparation` is what is taken out of transcripts before they are shown; `shown` are columns that prompts
    show beside the parts of an item, which are keys of its metadata.
    """
    columns = columns.over(table.parts)
    columns.check(scale)
    if preparation.steps and columns.messages is None:
        raise ConfigError("preprocess: found beside data without transcripts; map messages, or leave it out.")
    for part, column in columns.used():
        table.require(column, part)
    if stratify is not None:
        table.require(stratify, "stratify")
    for column in shown:
        table.require(column, "the prompt")
    label_map = LabelMap(scale, labels)
    responses = PAIRWISE if isinstance(scale, Pairwise) else POINTWISE
    several = scale if isinstance(scale, BestOf) else None
    items = [
        _ItemRow(table.name, record, columns, preparation, shown).item(
            responses, label_map, stratify, several
        )
        for record in table.records
    ]
    seen: dict[str, str] = {}
    for item, record in zip(items, table.records, strict=True):
        first = seen.setdefault(item.id, record.where)
        if first != record.where:
            raise DataError(
                f"{table.name}: {first} and {record.where} have the same id {item.id!r} in column "
                f"{columns.id!r}, expected one per row; map another column as id, or this one as cluster."
            )
    return tuple(items)


@dataclass(frozen=True)
class _ItemRow:
    table: str
    record: TableRecord
    columns: Columns
    preparation: Preparation
    shown: Sequence[str]

    def item(
        self, responses: tuple[str, ...], labels: LabelMap, stratify: str | None, several: BestOf | None
    ) -> Item:
        name = self._id()
        transcript = self._transcript(name) if self.columns.messages else None
        if self.columns.request:
            request = self._long("request")
        else:
            request = "" if transcript is None else transcript.request
        column = self.columns.label
        authors = [self._cell(part.replace("response", "author")) for part in responses]
        stratum = None if stratify is None else self.record.values.get(stratify)
        return Item(
            id=name,
            request=request,
            responses=(
                self._several(several)
                if several is not None
                else tuple(self._long(part) for part in responses)
                if transcript is None
                else (render_transcript(transcript),)
            ),
            cluster=self._optional("cluster", plain_text) or name,
            label=None if column is None else labels.read(self._cell("label"), self._where, column),
            authors=None if any(map(is_missing, authors)) else tuple(map(plain_text, authors)),
            stratum=None if is_missing(stratum) else plain_text(stratum),
            rubric=self._optional("rubric", lambda cell: rubric_text(cell, self._where)),
            reference=self._optional("reference", lambda cell: long_text(cell, self._where)),
            context=self._optional("context", self._text_or_json),
            metadata=self._metadata(),
            transcript=transcript,
        )

    @property
    def _where(self) -> str:
        return f"{self.table}, {self.record.where}"

    def _cell(self, part: str) -> Any:
        column = getattr(self.columns, part)
        return None if column is None else self.record.values.get(column)

    def _id(self) -> str:
        if self.columns.id is None:
            return str(self.record.number)
        cell = self._cell("id")
        if is_missing(cell):
            raise DataError(
                f"{self._where}: column {self.columns.id!r} is empty, expected the id of the row; "
                "fill it, or leave id out and rows are numbered."
            )
        return plain_text(cell)

    def _transcript(self, name: str) -> Transcript:
        """Messages of a row; what its other columns say in one word or number is its metadata."""
        cell, column = self._cell("messages"), self.columns.messages
        if is_missing(cell):
            raise DataError(
                f"{self._where}: column {column!r} holds no messages, expected a list of chat messages; fill "
                "it, or leave the row out with where."
            )
        if not isinstance(cell, Transcript):
            mapped = {column for _, column in self.columns.used()}
            others = {
                column: value
                for column, value in self.record.values.items()
                if column not in mapped and isinstance(value, (str, int, float, bool))
            }
            turns = turns_of(cell, f"{self._where}, column {column!r}")
            cell = Transcript(name, turns, metadata=json_value(others))
        return self.preparation.prepared(cell, self._where)

    def _several(self, scale: BestOf) -> tuple[str, ...]:
        """The responses of a row, of a column each or of one that holds a list.

        All are different: a judge that names one of two equal texts names both.
        """
        columns = self.columns.responses
        if isinstance(columns, list):
            cells = [(column, self.record.values.get(column)) for column in columns]
        else:
            listed = list_of(self._cell("responses"))
            if listed is None or len(listed) != scale.responses:
                found = "no list" if listed is None else f"a list of {len(listed)}"
                raise DataError(
                    f"{self._where}: column {columns!r} holds {found}, expected a list of {scale.responses} "
                    "texts; correct the row or the scale, or name a column for each response."
                )
            cells = [(str(columns), cell) for cell in listed]
        texts = tuple(self._text("response", column, cell) for column, cell in cells)
        twice = next((place for place, text in enumerate(texts) if text in texts[:place]), None)
        if twice is not None:
            raise DataError(
                f"{self._where}: responses {texts.index(texts[twice]) + 1} and {twice + 1} are the same text"
                ", expected different ones; correct or remove the row."
            )
        return texts

    def _long(self, part: str) -> str:
        return self._text(part, getattr(self.columns, part), self._cell(part))

    def _text(self, part: str, column: str, cell: Any) -> str:
        """An empty text is a text; null is a row that lost its text."""
        if cell is None or (is_missing(cell) and cell != ""):
            raise DataError(
                f"{self._where}: column {column!r} holds no {part}, expected a text (it may be empty); "
                "fill it or remove the row."
            )
        return long_text(cell, self._where)

    def _text_or_json(self, cell: Any) -> str:
        return canonical_json(cell) if isinstance(cell, (list, dict)) else long_text(cell, self._where)

    def _metadata(self) -> str | None:
        """The mapped object, and the columns that prompts show; an empty cell is an empty text."""
        own = self._optional("metadata", self._object)
        if not self.shown:
            return own
        cells = ((column, self.record.values.get(column)) for column in self.shown)
        row = {column: "" if is_missing(cell) else self._text_or_json(cell) for column, cell in cells}
        return canonical_json({**json.loads(own or "{}"), **row})

    def _object(self, cell: Any) -> str:
        text = self._text_or_json(cell)
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise DataError(
                f"{self._where}: column {self.columns.metadata!r} holds {format_value(text)}, expected a "
                "JSON object; correct it, or leave metadata out."
            )
        return canonical_json(found)

    def _optional(self, part: str, read: Callable[[Any], str]) -> str | None:
        cell = self._cell(part)
        return None if is_missing(cell) else read(cell)
