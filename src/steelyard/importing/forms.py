"""Middles of lines that differ in names alone: one of each form is checked, and the names for themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.importing.cut_lines import CutLines, UnusualError
from steelyard.importing.lines import Body
from steelyard.importing.styles import is_name
from steelyard.verdicts.stimulus_columns import Coded


@dataclass(frozen=True, eq=False)
class Forms:
    """The forms of the middles of cut lines."""

    codes: Ints
    """Form of each middle."""
    lines: Ints
    """The first line of each form."""

    @classmethod
    def of(cls, lines: CutLines, names: Collection[str]) -> Forms:
        """Forms by everything but these keys, under which any name may stand; raises where none does."""
        middles = lines.bodies[1]
        told = {body[key] for key in names for body in middles if type(body.get(key)) is str}
        if not all(map(is_name, told)):
            raise UnusualError
        codes = Coded.of(_forms(middles, names)).codes
        return cls(codes, lines.firsts(1)[np.unique(codes, return_index=True)[1]])


def _forms(bodies: Iterable[Body], names: Collection[str]) -> Iterator[tuple[object, ...]]:
    """What each body says beside names; by its spelling, since 0.0 and -0.0, or 1 and true, are equal."""
    others: dict[tuple[str, ...], list[int]] = {}
    for body in bodies:
        keys, values = tuple(body), tuple(body.values())
        if keys not in others:
            others[keys] = [place for place, key in enumerate(keys) if key not in names]
        kinds = tuple(map(type, values))
        yield keys, kinds, *[values[n] if kinds[n] is str else repr(values[n]) for n in others[keys]]
