"""The exhibits of a datasheet under the readings that they stand behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.exhibits.exhibit import Exhibit


@dataclass(frozen=True)
class Exhibited:
    """The exhibits behind one reading of one judge."""

    title: str
    """Title of the reading."""
    anchor: str
    """Where they stand on the page."""
    exhibits: Sequence[Exhibit]
    """Most telling first."""


def exhibited(datasheet: Datasheet) -> list[tuple[str, list[Exhibited]]]:
    """Judges with their exhibits, in the order of the datasheet."""
    groups: dict[str, dict[str, list[Exhibit]]] = {}
    for exhibit in datasheet.exhibits:
        groups.setdefault(exhibit.judge, {}).setdefault(exhibit.reading, []).append(exhibit)
    return [(judge, _under(number, titles)) for number, (judge, titles) in enumerate(groups.items())]


def _under(judge: int, titles: Mapping[str, Sequence[Exhibit]]) -> list[Exhibited]:
    return [
        Exhibited(title, f"exhibit-{judge}-{number}", mine)
        for number, (title, mine) in enumerate(titles.items())
    ]
