"""Simulate `measure --until verdict` on planted judges: the word it ends with, and the calls it takes.

PYTHONPATH=tests python -m calibration.until [--seeds N] [--more]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibration.words import LETTER, circumstances, load, options, save, sheet_from, verdicts_only
from calibration.worlds import KINDS, PROFILES, World
from steelyard.core.arrays import Mask
from steelyard.datasheet.assemble import look_at
from steelyard.verdicts.observations import Observations

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

    def merge(self, other: UntilTally) -> None:
        """Take in further runs."""
        self.runs += other.runs
        self.calls += other.calls
        self.words.update(other.words)
        self.last.update(other.last)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> UntilTally:
        """The tally that was written."""
        return cls(**{**body, "words": Counter(body["words"]), "last": Counter(body["last"])})


def simulate_until(kind: str, seeds: Iterable[int], names: Sequence[str] = ()) -> dict[str, UntilTally]:
    """Looks at the judges of a kind, each to its own end; calls of a look are among those of the next."""
    judges = {name: KINDS[kind].judges[name].answers for name in names or KINDS[kind].judges}
    found = {name: UntilTally() for name in judges}
    for seed in seeds:
        worlds = [World.of(kind, size, seed) for size in range(len(PROFILES))]
        everything = worlds[-1].observe({**judges, **worlds[-1].baselines}, seed)
        going = list(judges)
        for world in worlds:
            rows = np.tile(_shared(world, worlds[-1]), len(everything.judges))
            going = _look(found, world, everything.filter(calls=rows), going)
    return found


def _look(
    found: Mapping[str, UntilTally], world: World, seen: Observations, going: Sequence[str]
) -> list[str]:
    """Count the judges whose look is the last; those that go on come back."""
    if not going:
        return []
    with verdicts_only(remedies=False):
        sheet = sheet_from(world, seen, going, world.baselines)
        look = look_at(sheet, seen, len(world.stimulus))
    still = [] if world.study.profile == PROFILES[-1] else [name for name in going if name in look.open]
    for verdict in sheet.verdicts:
        if verdict.judge not in still:
            tally = found[verdict.judge]
            tally.runs += 1
            tally.words[LETTER[verdict.word]] += 1
            tally.last[look.profile] += 1
            tally.calls += look.calls
    return still


def _shared(world: World, largest: World) -> Mask:
    """Calls of the largest world that a smaller one has as well."""
    mine = set(_calls(world))
    return np.array([call in mine for call in _calls(largest)])


def _calls(world: World) -> list[tuple[str, int, int]]:
    columns = (world.stimulus.tolist(), world.order.tolist(), world.replicate.tolist())
    return [(world.shown.names[s], order, again) for s, order, again in zip(*columns, strict=True)]


def main() -> None:
    """Run the judges of pairs and write them into the file."""
    given = options("calibration.until", __doc__).parse_args()
    body = load(given.file)
    held = body.get("until", {}) if given.more else {}
    found = {name: UntilTally.from_json(one) for name, one in held.items()}
    first = max((tally.runs for tally in found.values()), default=0)
    seeds = [[seed] for seed in range(first, first + given.seeds)]
    with ProcessPoolExecutor(given.workers) as pool:
        for part in pool.map(simulate_until, ["catalogue"] * len(seeds), seeds):
            for name, tally in part.items():
                found.setdefault(name, UntilTally()).merge(tally)
    told = {name: vars(found[name]) for name in KINDS["catalogue"].judges if name in found}
    save({**circumstances(), **body, "until": told}, given.file)


if __name__ == "__main__":
    main()
