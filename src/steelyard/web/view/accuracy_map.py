"""Judges by probes: how many of the calls that have a reference were wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.commands.view.call_index import CallFilter, CallIndex

STEPS = (0.05, 0.15, 0.3, 0.5, 0.7, 0.9)
"""Shares from which on a tile is a step darker."""


@dataclass(frozen=True)
class Tile:
    wrong: int
    held: int
    """Calls with a verdict that is held against a reference."""
    calls: int

    @property
    def share(self) -> float | None:
        return self.wrong / self.held if self.held else None

    @property
    def depth(self) -> int:
        return 0 if self.share is None else sum(self.share >= step for step in STEPS)


@dataclass(frozen=True)
class AccuracyMap:
    judges: tuple[str, ...]
    probes: tuple[str, ...]
    tiles: Mapping[tuple[str, str], Tile]
    baselines: frozenset[str] = frozenset()


def accuracy_map(index: CallIndex) -> AccuracyMap:
    answers = index.answers
    tiles: dict[tuple[str, str], Tile] = {}
    for judge in index.judges:
        for probe in index.probes:
            keep = index.mask(CallFilter(judge=judge, probe=probe))
            if keep.any():
                wrong, held = int(np.sum(answers.wrong & keep)), int(np.sum(answers.has_reference & keep))
                tiles[judge, probe] = Tile(wrong, held, int(keep.sum()))
    probes = tuple(probe for probe in index.probes if any(place[1] == probe for place in tiles))
    baselines = frozenset(judge for judge in index.judges if index.is_baseline(judge))
    return AccuracyMap(index.judges, probes, tiles, baselines)
