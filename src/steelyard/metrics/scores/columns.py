"""Scores in columns: one row per pointwise call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, Words, distinct, numbered, unwritable, weak_cache
from steelyard.verdicts.observations import Observation, Observations
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
    """Cluster number, an index into `clusters`."""
    stratum: Words
    """Domain."""
    score: Ints
    """What the judge answered; meaningful where `ending` is SCORED, elsewhere the low end of the scale."""
    ending: Ints
    """`Ending` of the call."""
    expected: Floats
    """The label a sound judge gives; NaN where nobody has said."""
    own_label: Mask
    """True where that label is the judge's own verdict, which says nothing of the judge."""
    strength: Floats
    """Strength of a graded edit; NaN where there is none."""
    low: Ints
    """Low end of the call's scale; 0 for binary."""
    high: Ints
    """High end of the call's scale; 1 for binary."""
    failing: Floats
    """Answer that says that a text or run fails; NaN where nobody has said, and low answers are taken to."""
    items: tuple[str, ...]
    """Names of the items, in order."""
    stimuli: tuple[str, ...]
    """Names of the inputs, in order."""
    clusters: tuple[str, ...]
    """Names of the clusters, in order."""

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
    def passing_up(self) -> Scores:
        """The same calls with scores and labels turned round where high answers fail: up is passing."""
        turned = np.asarray(self.failing == self.high)
        if not turned.any():
            return self
        ends = self.low + self.high
        return replace(
            self,
            score=np.where(turned & self.decided, ends - self.score, self.score),
            expected=np.where(turned, ends - self.expected, self.expected),
            failing=np.where(turned, self.low, self.failing),
        )

    @property
    def n_items(self) -> int:
        """Distinct items."""
        return len(distinct(self.item))

    @property
    def n_clusters(self) -> int:
        """Distinct clusters."""
        return len(distinct(self.cluster))

    @property
    def unit(self) -> Ints:
        """What is drawn again in a bootstrap: the cluster; where there is one cluster only, the item."""
        return self.cluster if self.n_clusters > 1 else self.item

    def lost(self) -> dict[str, int]:
        """Calls without a verdict, as an estimate reports them."""
        return {
            "unreadable": int(np.count_nonzero(self.ending == Ending.UNREADABLE)),
            "failed": int(np.count_nonzero(self.ending == Ending.FAILED)),
        }


def collect_scores(observations: Iterable[Observation]) -> Scores:
    """One row per call, sorted by input and repeat, so that arrival order does not matter.

    Whoever asks for the scores of the same collection gets the same columns, and must not change them.
    """
    scores = _collected(Observations.of(observations))
    unwritable(vars(scores).values())
    return scores


@weak_cache
def _collected(seen: Observations) -> Scores:
    order = np.lexsort((seen.replicate, seen.stimulus))
    shown, row = seen.shown, seen.stimulus[order]
    stimuli, number = numbered(row)
    items, item = numbered(shown.item[row])
    named, cluster = numbered(shown.cluster[row])
    low, high = shown.ends[row].T
    endings = [_ending(verdict) for verdict in seen.verdicts]
    ending, score = np.array(endings, dtype=np.int64).reshape(-1, 2)[seen.verdict[order]].T
    return Scores(
        item=item,
        stimulus=number,
        original=shown.original[row],
        replicate=seen.replicate[order],
        cluster=cluster,
        stratum=shown.stratum[row],
        score=np.where(ending == Ending.SCORED, score, low),
        ending=ending,
        expected=shown.expected[row],
        own_label=seen.own_label[order],
        strength=shown.strength[row],
        low=low,
        high=high,
        failing=shown.failing[row],
        items=tuple(shown.items[items].tolist()),
        stimuli=tuple(shown.ids[stimuli].tolist()),
        clusters=tuple(shown.clusters[named].tolist()),
    )


def _ending(verdict: Verdict) -> tuple[Ending, int]:
    """How the call ended, and the score where there is one."""
    match verdict:
        case Decided(value=value):
            return Ending.SCORED, int(value)
        case Abstained():
            return Ending.ABSTAINED, 0
        case Unreadable():
            return Ending.UNREADABLE, 0
        case Failed():
            return Ending.FAILED, 0
    raise ValueError(f"not a pointwise verdict: {verdict!r}")
