"""The built-in pack: written responses with reference answers, and written variants of each.

The reliability probes need an item twice: as it is, and changed in one known way. Here both are written out
and frozen, so those probes run without a model to write for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated

from pydantic import BeforeValidator

from steelyard.core.validation import StrictModel
from steelyard.tasks.builtin_yaml import builtin_texts, load_builtin
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Scale, parse_scale
from steelyard.tasks.task import Task


class Flip(StrictModel):
    response: str
    label: str
    why: str
    """Which line of the rubric decides; never shown to a judge."""


class PackItem(StrictModel):
    id: str
    """Task and number: the cluster of everything derived from the item."""
    stratum: str
    request: str
    response: str
    label: str
    why: str
    """Which line of the rubric decides; never shown to a judge."""
    label_flip: Flip
    paraphrase: str
    long: str
    short: str
    ambiguous: str | None = None
    """A response at the border, for which no reference answer is given."""
    ordinal: Annotated[
        tuple[tuple[str, str], ...], BeforeValidator(lambda given: tuple(sorted(given.items())))
    ] = ()
    """A reference answer and a response for each answer of an ordinal scale; empty where none are written."""

    def labelled(self) -> Iterator[tuple[str, str]]:
        for text in (self.response, self.paraphrase, self.long, self.short):
            yield text, self.label
        yield self.label_flip.response, self.label_flip.label
        for label, text in self.ordinal:
            yield text, label


class PackTask(StrictModel):
    id: str
    instruction: str
    rubric: str
    scale: Annotated[Scale, BeforeValidator(parse_scale)]
    items: Annotated[tuple[PackItem, ...], BeforeValidator(tuple)]

    @property
    def task(self) -> Task:
        return Task(self.instruction, self.rubric, self.scale)

    def item(self, entry: PackItem) -> Item:
        return Item(
            id=entry.id,
            request=entry.request,
            responses=(entry.response,),
            cluster=entry.id,
            label=entry.label,
            stratum=entry.stratum,
            rubric=self.rubric,
            instruction=self.instruction,
            scale=self.scale,
        )


def parse_pack_task(text: str) -> PackTask:
    return PackTask.model_validate(load_builtin(text))


@cache
def pack() -> tuple[PackTask, ...]:
    return tuple(sorted(map(parse_pack_task, builtin_texts("pack")), key=lambda task: task.id))


def pack_items(scale: Scale | None = None) -> tuple[Item, ...]:
    chosen = [task for task in pack() if scale is None or task.scale == scale]
    return tuple(task.item(entry) for task in chosen for entry in task.items)


def pack_item(item: Item) -> PackItem | None:
    entry = _entries().get(item.id)
    return entry if entry is not None and (entry.response,) == item.responses else None


@cache
def _entries() -> dict[str, PackItem]:
    return {entry.id: entry for task in pack() for entry in task.items}
