"""The built-in pack: written responses with reference answers, and written variants of each.

The reliability probes need an item twice: as it is, and changed in one known way. Here both are written out
and frozen, so those probes run without a model to write for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import Field

from steelyard.tasks.builtin_yaml import BuiltinModel, load_builtin
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Scale, parse_scale
from steelyard.tasks.task import Task


@dataclass(frozen=True)
class Flip:
    """A small edit of a response that changes what the rubric says about it."""

    response: str
    label: str
    why: str
    """Which line of the rubric decides; never shown to a judge."""


@dataclass(frozen=True)
class PackItem:
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
    """The same content in about twice as many words that add nothing."""
    short: str
    """The same content in about half as many words."""
    ambiguous: str | None
    """A response at the border, for which no reference answer is given."""
    ordinal: tuple[tuple[str, str], ...]
    """A reference answer and a response for each answer of an ordinal scale; empty where none are written."""

    def labelled(self) -> Iterator[tuple[str, str]]:
        for text in (self.response, self.paraphrase, self.long, self.short):
            yield text, self.label
        yield self.label_flip.response, self.label_flip.label
        for label, text in self.ordinal:
            yield text, label


@dataclass(frozen=True)
class PackTask:
    id: str
    instruction: str
    rubric: str
    scale: Scale
    items: tuple[PackItem, ...]

    @property
    def task(self) -> Task:
        return Task(self.instruction, self.rubric, self.scale)

    def item(self, entry: PackItem) -> Item:
        """One entry as an item of a study; its variants derive from it, so it is a cluster of its own."""
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


class _FlipEntry(BuiltinModel):
    response: str
    label: str
    why: str


class _ItemEntry(BuiltinModel):
    id: str
    stratum: str
    request: str
    response: str
    label: str
    why: str
    label_flip: _FlipEntry
    paraphrase: str
    long: str
    short: str
    ambiguous: str | None = None
    ordinal: dict[str, str] = Field(default_factory=dict)


class _TaskFile(BuiltinModel):
    id: str
    instruction: str
    rubric: str
    scale: str
    items: list[_ItemEntry]


def parse_pack_task(text: str) -> PackTask:
    body = _TaskFile.model_validate(load_builtin(text))
    items = tuple(_pack_item(entry) for entry in body.items)
    return PackTask(body.id, body.instruction, body.rubric, parse_scale(body.scale), items)


def _pack_item(entry: _ItemEntry) -> PackItem:
    flip = entry.label_flip
    return PackItem(
        entry.id,
        entry.stratum,
        entry.request,
        entry.response,
        entry.label,
        entry.why,
        Flip(flip.response, flip.label, flip.why),
        entry.paraphrase,
        entry.long,
        entry.short,
        entry.ambiguous,
        tuple(sorted(entry.ordinal.items())),
    )


@cache
def pack() -> tuple[PackTask, ...]:
    folder = files("steelyard.tasks").joinpath("pack")
    texts = [entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".yaml")]
    return tuple(sorted((parse_pack_task(text) for text in texts), key=lambda task: task.id))


def pack_items(scale: Scale | None = None) -> tuple[Item, ...]:
    chosen = [task for task in pack() if scale is None or task.scale == scale]
    return tuple(task.item(entry) for task in chosen for entry in task.items)


def pack_item(item: Item) -> PackItem | None:
    """The entry an item was made from, with its variants; nothing for an item from elsewhere."""
    made = _sources().get(item.id)
    return made if made is not None and (made.response,) == item.responses else None


@cache
def _sources() -> dict[str, PackItem]:
    return {entry.id: entry for task in pack() for entry in task.items}
