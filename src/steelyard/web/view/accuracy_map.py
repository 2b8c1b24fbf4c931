"""Judges by probes: how many of the calls that have a reference were wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.commands.view.call_index import CallFilter, CallIndex

STEPS = (0.05, 0.15, 0.3, 0.5)
"""Shares of wrong calls at which a tile grows darker."""


@dataclass(frozen=True)
class Tile:
    """One judge on one probe."""

    wrong: int
    """Calls that gave another answer than the reference."""
    held: int
    """Calls with a verdict that is held against a reference."""
    calls: int
    """Every call."""

    @property
    def share(self) -> float | None:
        """Share of wrong calls; None where no call is held against a reference."""
        return self.wrong / self.held if self.held else None

    @property
    def depth(self) -> int:
        """0 to 4, how dark the tile is."""
        return 0 if self.share is None else sum(self.share >= step for step in STEPS)


@dataclass(frozen=True)
class AccuracyMap:
    """Tiles by judge and probe."""

    judges: tuple[str, ...]
    """Rows, baselines last."""
    probes: tuple[str, ...]
    """Columns."""
    tiles: Mapping[tuple[str, str], Tile]
    """Judge and probe to the tile."""
    baselines: frozenset[str] = frozenset()
    """Judges among them that stand beside those under test."""


def accuracy_map(index: CallIndex) -> AccuracyMap:
    """The map of a run, counted from its calls."""
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
