"""Simulate `measure --until verdict` on planted judges: the word it ends with, and the calls it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibration.words import LETTER, verdicts_only
from calibration.worlds import KINDS, PROFILES, World
from steelyard.arrays import Mask
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.sequential import look_at

GROWING = ("catalogue", "runs")
"""Kinds whose design grows with the profile."""


@dataclass
class UntilTally:
    """What was said of one judge, whichever look was the last."""

    runs: int = 0
    words: Counter[str] = field(default_factory=Counter)
    """Letter of the last word."""
    last: Counter[str] = field(default_factory=Counter)
    """Profile of the last look."""
    calls: int = 0
    """Calls of all runs together."""


def simulate_until(kind: str, seeds: Iterable[int], names: Sequence[str] = ()) -> dict[str, UntilTally]:
    """Looks at the judges of a kind, each by itself; calls of a look are among those of the next."""
    judges = KINDS[kind].judges
    found = {name: UntilTally() for name in names or judges}
    with verdicts_only():
        for seed in seeds:
            worlds = [World.of(kind, size, seed) for size in range(len(PROFILES))]
            for name, tally in found.items():
                _add(tally, worlds, name, judges[name].answers, seed)
    return found


def _add(tally: UntilTally, worlds: Sequence[World], name: str, answers: object, seed: int) -> None:
    largest = worlds[-1]
    everything = largest.observe({name: answers, **largest.baselines}, seed)
    judges = len(everything) // len(largest.stimulus)
    for world in worlds:
        seen = everything.where(np.tile(_shared(world, largest), judges))
        sheet = assemble(
            name="planted",
            seed=world.study.seed,
            profile=world.study.profile,
            stimulus_set="sha256:0",
            judges=world.entries([name], largest.baselines),
            probes=world.study.build_probes(),
            observations=seen,
            run={},
        )
        look = look_at(sheet, seen, len(world.stimulus))
        if look.end is not None:
            break
    tally.runs += 1
    tally.words[LETTER[sheet.verdict.word]] += 1
    tally.last[look.profile] += 1
    tally.calls += look.calls


def _shared(world: World, largest: World) -> Mask:
    """Calls of the largest world that a smaller one has as well."""
    mine = set(_calls(world))
    return np.array([call in mine for call in _calls(largest)])


def _calls(world: World) -> list[tuple[str, int, int]]:
    columns = (world.stimulus.tolist(), world.order.tolist(), world.replicate.tolist())
    return [(world.shown.names[s], order, again) for s, order, again in zip(*columns, strict=True)]
