"""Simulate comparisons of two planted judges and write them to docs/verdicts.json.

PYTHONPATH=tests python -m calibration.changes [--seeds N] [--more]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from calibration.answers import PairAnswers, mixed, probit, sees, tossed, where_longer
from calibration.circumstances import circumstances
from calibration.words import PROFILES, load, options, save, sheet_of, verdicts_only
from calibration.worlds import World
from steelyard.commands.compare import Verdicts, compare_judges
from steelyard.commands.gate import drift
from steelyard.commands.gate.policy import find_policy
from steelyard.commands.gate.ruling import apply_policy, worst
from steelyard.metrics.findings import MARGIN

POLICY = find_policy("default")
NEW, OLD = Path("new"), Path("old")
JUDGE = "judge"


@dataclass(frozen=True)
class Change:
    """A judge before and after."""

    before: PairAnswers
    after: PairAnswers
    metrics: tuple[str, ...] = ()
    """Metrics of which one should be named; none where nothing changed."""


_PLAIN = probit(0.8, 0.6)
_SOUND = probit(5, 2.5)
_EXCELLENT = sees((0.99, 1, 1, 1, 1), equals=0.01)
_SLOT = ("net_slot_preference", "positional_false_preference")
_STEPS = ("target_sensitivity", "merit")
_TIES = ("dark_current", "raw_false_preference", "tie_rate", "no_preference", "target_sensitivity", "merit")
_NOISE = (*_STEPS, "raw_false_preference", "dark_current", "stable_cross_sensitivity")

CHANGES: Mapping[str, Change] = {
    "none: a middling judge": Change(_PLAIN, _PLAIN),
    "none: an excellent judge": Change(_EXCELLENT, _EXCELLENT),
    "none: a judge that leans": Change(probit(4.2, 2.5, 1.9), probit(4.2, 2.5, 1.9)),
    "position: net 0 to .32": Change(_PLAIN, probit(0.8, 0.6, 0.5), _SLOT),
    "position: net 0 to .50": Change(_PLAIN, probit(0.8, 0.6, 0.8), _SLOT),
    "position: net 0 to .08, sound otherwise": Change(_SOUND, probit(5, 2.5, 1.1), _SLOT),
    "position: net 0 to .27, sound otherwise": Change(_SOUND, probit(5, 2.5, 1.9), _SLOT),
    "sensitivity: resolution .8 to 1.2": Change(_PLAIN, probit(1.2, 0.6), _STEPS),
    "sensitivity: .99 to .80 at one step": Change(
        _EXCELLENT, sees((0.8, 0.95, 1, 1, 1), equals=0.01), _STEPS
    ),
    "ties: threshold .6 to .9": Change(_PLAIN, probit(0.8, 0.9), _TIES),
    "length: the longer wins where lengths differ": Change(
        _EXCELLENT, where_longer(_EXCELLENT, equal_only=False), ("length_lean", "padded_preference")
    ),
    "noise: a coin in 20 % of calls": Change(_EXCELLENT, mixed(0.2, tossed(), _EXCELLENT), _NOISE),
    "wording: prefers wordings": Change(_SOUND, probit(5, 2.5, wording=3.0), _NOISE),
}
"""Changes by name, on pairs of the built-in catalogue."""


@dataclass
class Tally:
    """What was said of one change at one size."""

    runs: int = 0
    told: int = 0
    """Runs in which all figures together show a difference."""
    figure: int = 0
    """Runs in which some figure shows one."""
    due: int = 0
    """Runs in which a figure shows one that the change should move."""
    named: Counter[str] = field(default_factory=Counter)
    """Metric to runs in which it shows a difference."""
    drift: Counter[str] = field(default_factory=Counter)
    """Results of the drift checks of the default policy."""

    def merge(self, other: Tally) -> None:
        """Take in further runs."""
        for name in ("runs", "told", "figure", "due"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.named.update(other.named)
        self.drift.update(other.drift)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Tally:
        """The tally that was written."""
        return cls(**{**body, "named": Counter(body["named"]), "drift": Counter(body["drift"])})


Tallies = dict[tuple[str, int], Tally]
"""Change and size to what was said."""


def simulate(size: int, seeds: Iterable[int]) -> Tallies:
    """Every change, each seed with texts and noise of its own."""
    found: Tallies = {}
    for seed in seeds:
        world = World.of("catalogue", size, seed)
        for number, (name, change) in enumerate(CHANGES.items()):
            tally = found.setdefault((name, size), Tally())
            _add(tally, world, change, 1_000 * seed + 2 * number)
    return found


def _add(tally: Tally, world: World, change: Change, seed: int) -> None:
    (entry,) = world.entries([JUDGE])
    old, new = (
        Verdicts(folder, (entry,), world.observe({JUDGE: judge}, draw), "sha256:0", recorded=True)
        for folder, judge, draw in ((OLD, change.before, seed), (NEW, change.after, seed + 1))
    )
    sheet = compare_judges(old, entry, new, entry, MARGIN)
    named = {row.metric for row in sheet.rows if row.differs}
    tally.runs += 1
    tally.told += sheet.p is not None and sheet.p <= 0.05
    tally.figure += bool(named)
    tally.due += bool(named & set(change.metrics))
    tally.named.update(named)
    with verdicts_only(), patch.object(drift, "load_verdicts", {OLD: old, NEW: new}.__getitem__):
        sheet_after = sheet_of(world, {JUDGE: change.after}, seed + 1, beside=False)
        ruling = apply_policy(sheet_after, POLICY, [JUDGE], "default")
        checks, _ = drift.drift_checks(NEW, OLD, POLICY, ruling, MARGIN)
    tally.drift[worst(check.result for check in checks)] += 1


def main() -> None:
    """Run all changes and write them into the file."""
    given = options("calibration.changes", __doc__).parse_args()
    body = load(given.file)
    held = body.get("changes", {}) if given.more else {}
    found = {
        (name, size): Tally.from_json(one) for name, each in held.items() for size, one in enumerate(each)
    }
    first = max((tally.runs for tally in found.values()), default=0)
    jobs = [(size, [seed]) for seed in range(first, first + given.seeds) for size in (2, 1, 0)]
    with ProcessPoolExecutor(given.workers) as pool:
        for part in pool.map(simulate, [size for size, _ in jobs], [seeds for _, seeds in jobs]):
            for place, tally in part.items():
                found.setdefault(place, Tally()).merge(tally)
    changes = {name: [vars(found[name, size]) for size in range(len(PROFILES))] for name in CHANGES}
    save({**circumstances(), **body, "changes": changes}, given.file)


if __name__ == "__main__":
    main()
