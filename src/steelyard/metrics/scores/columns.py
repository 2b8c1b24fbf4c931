"""Scores in columns: one row per pointwise call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.metrics.stats.arrays import Floats, Ints, Mask
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.scale import parse_scale
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Unreadable, Verdict

_NAMES = ("items", "stimuli", "clusters")


class Ending(IntEnum):
    """How a call on a single text ended; `Scores.decided` and `Scores.readable` rely on the order."""

    SCORED = 0
    """With a score."""
    ABSTAINED = 1
    """With a valid refusal to answer."""
    UNREADABLE = 2
    """With a reply that held no answer; never a score."""
    FAILED = 3
    """Without a reply; never a score."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Columns of equal length; all arithmetic on scores starts here."""

    item: Ints
    """Item number, an index into `items`; an item and its edits share it."""
    stimulus: Ints
    """Input number, an index into `stimuli`; repeats of the same input share it."""
    original: Mask
    """True where the item was shown as it is, False for an edit of it."""
    replicate: Ints
    """0, 1, …: which repeat of the input this call is."""
    cluster: Ints
    """Task number, an index into `clusters`."""
    stratum: NDArray[np.str_]
    """Domain."""
    score: Ints
    """What the judge answered; meaningful where `ending` is SCORED, elsewhere the low end of the scale."""
    ending: Ints
    """`Ending` of the call."""
    expected: Floats
    """The label a sound judge gives; NaN where nobody has said."""
    own_label: Mask
    """True where that label is the judge's own verdict, which says nothing of the judge."""
    level: Floats
    """Strength of a graded edit; NaN where there is none."""
    low: Ints
    """Low end of the call's scale; 0 for binary."""
    high: Ints
    """High end of the call's scale; 1 for binary."""
    items: tuple[str, ...]
    """Names of the items, in order."""
    stimuli: tuple[str, ...]
    """Names of the inputs, in order."""
    clusters: tuple[str, ...]
    """Names of the tasks, in order."""

    def __len__(self) -> int:
        return len(self.item)

    def where(self, mask: Mask) -> Scores:
        """The rows that the mask keeps; all names stay."""
        columns: dict[str, Any] = {
            f.name: getattr(self, f.name)[mask] for f in fields(self) if f.name not in _NAMES
        }
        return replace(self, **columns)

    @property
    def decided(self) -> Mask:
        """The call ended in a score."""
        return np.asarray(self.ending == Ending.SCORED)

    @property
    def readable(self) -> Mask:
        """The call ended in a verdict that counts: a score or a valid abstention."""
        return np.asarray(self.ending <= Ending.ABSTAINED)

    @property
    def reports(self) -> Mask:
        """The call gives more than the lowest score."""
        return np.asarray(self.decided & (self.score > self.low))

    @property
    def right(self) -> Mask:
        """The call gives the expected score."""
        return self.decided & np.equal(self.score, self.expected)

    @property
    def labelled(self) -> Mask:
        """Somebody other than the judge has said which score is right."""
        return ~np.isnan(self.expected) & ~self.own_label

    @property
    def binary(self) -> Mask:
        """The call was answered with yes or no."""
        return np.asarray((self.low == 0) & (self.high == 1))

    @property
    def n_items(self) -> int:
        """Distinct items."""
        return len(np.unique(self.item))

    @property
    def n_clusters(self) -> int:
        """Distinct tasks."""
        return len(np.unique(self.cluster))

    @property
    def unit(self) -> Ints:
        """What is drawn again in a bootstrap: the task; where there is one task only, the item."""
        return self.cluster if self.n_clusters > 1 else self.item

    def lost(self) -> dict[str, int]:
        """Calls without a verdict, as an estimate reports them."""
        return {
            "unreadable": int(np.count_nonzero(self.ending == Ending.UNREADABLE)),
            "failed": int(np.count_nonzero(self.ending == Ending.FAILED)),
        }


def collect_scores(observations: Iterable[Observation]) -> Scores:
    """One row per call, sorted by input and repeat, so that arrival order does not matter."""
    rows = sorted(observations, key=lambda o: (o.stimulus.id, o.replicate))
    shown = [row.stimulus for row in rows]
    scales = [_ends(stimulus) for stimulus in shown]
    items, item = _numbered([stimulus.lineage.parent for stimulus in shown])
    stimuli, number = _numbered([stimulus.id for stimulus in shown])
    clusters, cluster = _numbered([stimulus.cluster for stimulus in shown])
    endings = [_ending(row.verdict, low) for row, (low, _) in zip(rows, scales, strict=True)]
    return Scores(
        item=item,
        stimulus=number,
        original=np.array([stimulus.kind == ORIGINAL for stimulus in shown], dtype=np.bool_),
        replicate=_ints(row.replicate for row in rows),
        cluster=cluster,
        stratum=np.array([stimulus.stratum for stimulus in shown], dtype=np.str_),
        score=_ints(score for _, score in endings),
        ending=_ints(ending for ending, _ in endings),
        expected=_floats(_expected(stimulus) for stimulus in shown),
        own_label=np.array([row.own_label for row in rows], dtype=np.bool_),
        level=_floats(stimulus.level for stimulus in shown),
        low=_ints(low for low, _ in scales),
        high=_ints(high for _, high in scales),
        items=items,
        stimuli=stimuli,
        clusters=clusters,
    )


def _numbered(names: list[str]) -> tuple[tuple[str, ...], Ints]:
    distinct = tuple(sorted(set(names)))
    number = {name: index for index, name in enumerate(distinct)}
    return distinct, _ints(number[name] for name in names)


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), dtype=np.int64)


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _ends(stimulus: Stimulus) -> tuple[int, int]:
    answers = parse_scale(stimulus.scale or "").answers
    return int(answers[0]), int(answers[-1])


def _ending(verdict: Verdict, low: int) -> tuple[Ending, int]:
    match verdict:
        case Decided(value=value):
            return Ending.SCORED, int(value)
        case Abstained():
            return Ending.ABSTAINED, low
        case Unreadable():
            return Ending.UNREADABLE, low
        case Failed():
            return Ending.FAILED, low
    raise ValueError(f"not a pointwise verdict: {verdict!r}")


def _expected(stimulus: Stimulus) -> float | None:
    return float(stimulus.expectation.value) if isinstance(stimulus.expectation, Label) else None
