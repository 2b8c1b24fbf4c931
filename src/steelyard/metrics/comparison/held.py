"""Calls held against labels, with what every constant answer would get on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.pairs.answer import Answer, lost, readable, shown
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.scores.columns import Scores
from steelyard.verdicts.observations import Observations

_SLOTS = {
    "always naming slot 1": Answer.FIRST,
    "always naming slot 2": Answer.SECOND,
    "always answering tie": Answer.TIE,
}


@dataclass(frozen=True, eq=False)
class Held:
    """Calls held against labels: one row per labelled call, with what each rule gets on it."""

    names: tuple[str, ...]
    """Names that `stimulus` is an index into."""
    stimulus: Ints
    """What was shown."""
    replicate: Ints
    """Which repeat."""
    order: Ints
    """Which content stood first; 0 for single texts."""
    least: Floats
    """What the judge gets in the worst case; for a call without a verdict the least there is."""
    most: Floats
    """What it gets in the best case; the same as `least` for every call with a verdict."""
    read: Mask
    """Calls with a verdict."""
    cluster: Ints
    """Cluster of each call."""
    unit: Ints
    """Item or pair of each call."""
    constants: Mapping[str, Floats]
    """Rule in words to what it gets on each call."""
    excluded: Mapping[str, int]
    """Calls without a verdict."""

    def __len__(self) -> int:
        return len(self.least)

    @cached_property
    def keys(self) -> list[tuple[str, int, int]]:
        """Name, replicate and order of each call, by which a baseline's calls are found."""
        names = [self.names[number] for number in self.stimulus]
        return list(zip(names, self.replicate.tolist(), self.order.tolist(), strict=True))

    @cached_property
    def got(self) -> dict[tuple[str, int, int], float]:
        """What the judge gets on each call with a verdict."""
        return {key: value for key, value, read in zip(self.keys, self.least, self.read, strict=True) if read}


def right_or_wrong(scores: Scores) -> Held:
    """Yes/no verdicts: right or wrong."""
    rows = scores.where(scores.labelled)
    right = rows.right.astype(np.float64)
    constants = {f"always answering {n}": np.equal(rows.expected, n).astype(np.float64) for n in (1, 0)}
    return _held(rows, right, np.where(rows.readable, right, 1.0), constants)


def distance_from_label(scores: Scores) -> Held:
    """Scores: levels from the label, as a loss; an abstention is as far off as the scale allows."""
    rows = scores.where(scores.labelled)
    worst = -np.maximum(rows.expected - rows.low, rows.high - rows.expected)
    near = np.where(rows.decided, -np.abs(rows.score - rows.expected), worst)
    levels = range(int(rows.low.min(initial=0)), int(rows.high.max(initial=0)) + 1) if len(rows) else ()
    constants = {f"always answering {n}": -np.abs(n - rows.expected) for n in levels}
    return _held(rows, near, np.where(rows.readable, near, 0.0), constants)


def _held(rows: Scores, least: Floats, most: Floats, constants: Mapping[str, Floats]) -> Held:
    return Held(
        names=rows.stimuli,
        stimulus=rows.stimulus,
        replicate=rows.replicate,
        order=np.zeros(len(rows), dtype=np.int64),
        least=least,
        most=most,
        read=rows.readable,
        cluster=rows.cluster,
        unit=rows.item,
        constants=constants,
        excluded=rows.lost(),
    )


def choice_of_people(observations: Observations) -> Held:
    """Calls on natural pairs: right where they name the text that people prefer, or the tie they call."""
    pairs = collect(observations.filter(labelled=True))
    asked = shown(pairs.calls).ravel()
    row, order = np.divmod(np.arange(2 * len(pairs))[asked], 2)
    calls = pairs.calls.ravel()[asked]
    right = pairs.right.ravel()[asked].astype(np.float64)
    first = np.where(order == 0, 1, 2)
    better = pairs.better[row]
    wanted = np.where(better == 0, Answer.TIE, np.where(better == first, Answer.FIRST, Answer.SECOND))
    constants = {rule: np.equal(wanted, answer).astype(np.float64) for rule, answer in _SLOTS.items()}
    missing = {
        "unreadable": int(np.count_nonzero(calls == Answer.UNREADABLE)),
        "failed": int(np.count_nonzero(calls == Answer.FAILED)),
    }
    return Held(
        names=pairs.names,
        stimulus=pairs.pair[row],
        replicate=pairs.replicate[row],
        order=order,
        least=right,
        most=np.where(lost(calls), 1.0, right),
        read=readable(calls),
        cluster=pairs.cluster[row],
        unit=pairs.pair[row],
        constants=constants,
        excluded=missing,
    )
