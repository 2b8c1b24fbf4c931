"""Single texts with and without a cue, in columns: their mean scores, and how far the cue moves each."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, Names
from steelyard.metrics.estimate import Sample
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

    def where(self, mask: Mask | Ints) -> Self:
        names = (field.name for field in fields(self) if field.name != "lost")
        return replace(self, **{name: getattr(self, name)[mask] for name in names})

    def __len__(self) -> int:
        return len(self.score)

    @property
    def graded(self) -> Mask:
        """Rows on an ordinal scale: yes and no are no levels."""
        return np.asarray((self.low != 0) | (self.high != 1))

    def has_room(self, room: int, *, up: bool) -> Mask:
        """Rows whose label lies so many levels from the end; none without a label."""
        return np.asarray(self.label <= self.high - room if up else self.label >= self.low + room)

    @property
    def scale(self) -> Ints:
        return np.unique(np.column_stack([self.low, self.high]), axis=0, return_inverse=True)[1].reshape(-1)


class Moves(Ratings):
    """Items with a score as they are and with the cue: how far the cue moves it, in levels."""

    @classmethod
    def between(cls, plain: Ratings, cued: Ratings) -> Moves:
        _, before, after = np.intersect1d(plain.item.astype(str), cued.item.astype(str), return_indices=True)
        one, other = plain.where(before), cued.where(after)
        return cls(
            one.item,
            other.score - one.score,
            one.label,
            one.low,
            one.high,
            one.cluster,
            one.stratum,
            one.calls + other.calls,
            {key: cued.lost[key] + plain.lost[key] for key in cued.lost},
        )

    @property
    def moved(self) -> Floats:
        return self.score

    @property
    def sample(self) -> Sample:
        return Sample(int(self.calls.sum()), len(self), len(set(self.cluster.tolist())), self.lost)

    @property
    def upward(self) -> bool:
        """Whether the cue raises the scores on the whole; that no row at an end can turn round."""
        return float(self.moved.sum()) >= 0

    @property
    def units(self) -> Names:
        """What is independent: the cluster, or the item where there is one cluster."""
        return (
            self.cluster
            if self.sample.n_clusters > 1
            else np.arange(len(self)).astype(str).astype(np.object_)
        )
