"""Single texts with and without a cue, in columns: their mean scores, and how far the cue moves each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, Names
from steelyard.metrics.scores.columns import Scores


@dataclass(frozen=True, eq=False)
class Ratings:
    """Texts with their mean score: one entry for each text that has a score."""

    item: Names
    """Name of the item that the text was made from."""
    score: Floats
    label: Floats
    """NaN where nobody but the judge has said."""
    low: Ints
    high: Ints
    cluster: Names
    stratum: Names
    calls: Ints
    lost: dict[str, int]

    @classmethod
    def of(cls, scores: Scores) -> Ratings:
        upward = scores.with_pass_high
        rows = upward.where(upward.decided)
        texts, first, place = np.unique(rows.stimulus, return_index=True, return_inverse=True)
        calls = np.bincount(place, minlength=len(texts))
        sums = np.bincount(place, weights=rows.score, minlength=len(texts))
        label = np.where(rows.own_label, np.nan, rows.expected)[first]
        return cls(
            np.array(rows.items, dtype=np.object_)[rows.item[first]],
            sums / np.maximum(1, calls),
            label,
            rows.low[first],
            rows.high[first],
            np.array(rows.clusters, dtype=np.object_)[rows.cluster[first]],
            rows.stratum[first].astype(np.object_),
            calls,
            scores.lost(),
        )

    def where(self, mask: Mask | Ints) -> Ratings:
        names = ("item", "score", "label", "low", "high", "cluster", "stratum", "calls")
        return replace(self, **{name: getattr(self, name)[mask] for name in names})

    def __len__(self) -> int:
        return len(self.score)

    @property
    def graded(self) -> Mask:
        return _graded(self.low, self.high)

    def has_room(self, room: int, *, up: bool) -> Mask:
        return _has_room(self.label, self.low, self.high, room, up=up)

    @property
    def scale(self) -> Ints:
        return np.unique(np.column_stack([self.low, self.high]), axis=0, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True, eq=False)
class Moves:
    """Items with a score as they are and with the cue: how far the cue moves it, in levels."""

    moved: Floats
    label: Floats
    low: Ints
    high: Ints
    cluster: Names
    stratum: Names
    calls: Ints
    lost: dict[str, int]

    @classmethod
    def of(cls, plain: Ratings, cued: Ratings) -> Moves:
        _, before, after = np.intersect1d(plain.item.astype(str), cued.item.astype(str), return_indices=True)
        one, other = plain.where(before), cued.where(after)
        return cls(
            other.score - one.score,
            one.label,
            one.low,
            one.high,
            one.cluster,
            one.stratum,
            one.calls + other.calls,
            {key: cued.lost[key] + plain.lost[key] for key in cued.lost},
        )

    def where(self, mask: Mask) -> Moves:
        names = ("moved", "label", "low", "high", "cluster", "stratum", "calls")
        return replace(self, **{name: getattr(self, name)[mask] for name in names})

    def __len__(self) -> int:
        return len(self.moved)

    @property
    def graded(self) -> Mask:
        return _graded(self.low, self.high)

    @property
    def upward(self) -> bool:
        """Whether the cue raises the scores on the whole; that no row at an end can turn round."""
        return float(self.moved.sum()) >= 0

    def has_room(self, room: int, *, up: bool) -> Mask:
        return _has_room(self.label, self.low, self.high, room, up=up)

    @property
    def units(self) -> Names:
        """What is independent: the cluster, or the item where there is one cluster."""
        several = len(set(self.cluster.tolist())) > 1
        return self.cluster if several else np.arange(len(self)).astype(str).astype(np.object_)


def _graded(low: Ints, high: Ints) -> Mask:
    """Rows on an ordinal scale: yes and no are no levels."""
    return np.asarray((low != 0) | (high != 1))


def _has_room(label: Floats, low: Ints, high: Ints, room: int, *, up: bool) -> Mask:
    """Rows whose label lies so many levels from the end; none without a label."""
    return np.asarray(label <= high - room if up else label >= low + room)
