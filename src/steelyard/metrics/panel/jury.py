"""Juries: several judges on the same items, as one.

Votes are a table items × judges of answers, NaN where a judge gave none. The best of many juries looks
better than it is on the items that chose it, so it is chosen on one half of the clusters and reported on the
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from steelyard.arrays import Floats, Ints, Mask, distinct
from steelyard.identity import rng_for
from steelyard.tasks.scale import Ordinal, parse_scale

BINARY = "0-1"
"""The scale of yes and no."""
TIES = ("low", "high", "none")
"""What a tied vote becomes: the lower or the higher of the tied answers, or no verdict."""


@dataclass(frozen=True, eq=False)
class Ballots:
    """What each judge answered on each item."""

    votes: Floats
    """(items × judges) answers; NaN where there is none."""
    labels: Floats
    """Reference of each item; NaN where there is none."""
    cluster: Ints
    """Cluster of each item."""
    judges: tuple[str, ...]
    """Names of the columns."""
    scale: Ints
    """Number of each item's scale: a 1 of one scale is no 1 of another."""
    scales: tuple[str, ...] = ()
    """Names of the scales, where they are known."""

    def where(self, mask: Mask) -> Ballots:
        """The items that the mask keeps."""
        columns = self.votes[mask], self.labels[mask], self.cluster[mask]
        return Ballots(*columns, self.judges, self.scale[mask], self.scales)

    @property
    def heard(self) -> Ballots:
        """The same items, without judges that answered none of them."""
        spoke = np.flatnonzero((~np.isnan(self.votes)).any(axis=0))
        return replace(self, votes=self.votes[:, spoke], judges=tuple(self.judges[n] for n in spoke))

    @property
    def ends(self) -> Floats:
        """(items × 2) lowest and highest answer of each item's scale; infinite where it has no name."""
        ends = np.tile([-np.inf, np.inf], (len(self.scale), 1))
        for number, name in enumerate(self.scales):
            scale = parse_scale(name) if name else None
            if isinstance(scale, Ordinal):
                ends[self.scale == number] = scale.low, scale.high
        return ends

    @property
    def binary(self) -> Mask:
        """Items that were answered with yes or no."""
        return np.isin(self.scale, [number for number, name in enumerate(self.scales) if name == BINARY])


@dataclass(frozen=True)
class JuryScore:
    """A jury's accuracy on some items, in integers."""

    judges: tuple[str, ...]
    """Who sits on it."""
    right: int
    """Items whose verdict is the label."""
    items: int
    """Items with a label and a verdict."""

    @property
    def accuracy(self) -> float | None:
        """Share of items right; None without items."""
        return self.right / self.items if self.items else None


@dataclass(frozen=True)
class ChosenJury:
    """The best jury of one half, and how it does on the other."""

    chosen: JuryScore
    """On the half that chose it: flattering."""
    held_out: JuryScore
    """On the half that did not: the figure to report."""
    best_single: JuryScore
    """The best single judge of the choosing half, on the other half."""


def majority(votes: Floats, tie: str = "low") -> Floats:
    """The most frequent answer of each item; `tie` is `low`, `high` or `none`."""
    if tie not in TIES:
        raise ValueError(f"tie rule {tie!r}: expected one of {', '.join(TIES)}")
    answers = np.unique(votes[~np.isnan(votes)])
    if not len(answers):
        return np.full(len(votes), np.nan)
    counts = np.stack([(votes == answer).sum(-1) for answer in answers], axis=-1)
    best = counts == counts.max(-1, keepdims=True)
    first = answers[np.argmax(best, axis=-1)]
    last = answers[len(answers) - 1 - np.argmax(best[:, ::-1], axis=-1)]
    decided = {"low": first, "high": last, "none": np.where(first == last, first, np.nan)}[tie]
    return np.where(counts.sum(-1) > 0, decided, np.nan)


def jury_verdict(ballots: Ballots, members: Sequence[str], tie: str = "low") -> Floats:
    """What the majority of these judges says of each item; NaN where it says nothing."""
    return majority(ballots.votes[:, [ballots.judges.index(name) for name in members]], tie)


def jury_score(ballots: Ballots, members: Sequence[str], tie: str = "low") -> JuryScore:
    """How the majority of these judges does."""
    verdict = jury_verdict(ballots, members, tie)
    scored = ~np.isnan(verdict) & ~np.isnan(ballots.labels)
    right = int(np.count_nonzero(verdict[scored] == ballots.labels[scored]))
    return JuryScore(tuple(members), right, int(scored.sum()))


def juries(ballots: Ballots, size: int = 3, tie: str = "low") -> list[JuryScore]:
    """Every jury of this size, best first; equal ones in the order of their names.

    The best is right on most items, not most often where it spoke: a judge that answers one item and is
    right there is not the best of all.
    """
    scores = [jury_score(ballots, members, tie) for members in combinations(sorted(ballots.judges), size)]
    return sorted(scores, key=lambda score: (-score.right, score.items, score.judges))


def halves(ballots: Ballots, seed: int, size: int = 3) -> tuple[Ballots, Ballots] | None:
    """A random half of the clusters and the other half; None where there is one cluster only."""
    clusters = distinct(ballots.cluster).tolist()
    if len(clusters) < 2:
        return None
    rng_for(seed, "jury", size).shuffle(clusters)
    choosing = np.isin(ballots.cluster, clusters[: len(clusters) // 2])
    return ballots.where(choosing), ballots.where(~choosing)


def choose_jury(ballots: Ballots, seed: int, size: int = 3, tie: str = "low") -> ChosenJury | None:
    """The best jury of a random half of the clusters, on the other half; None with too few of either."""
    split = halves(ballots, seed, size)
    if split is None or len(ballots.judges) < size:
        return None
    seen, unseen = split
    chosen, single = juries(seen, size, tie)[0], juries(seen, 1, tie)[0]
    return ChosenJury(chosen, jury_score(unseen, chosen.judges, tie), jury_score(unseen, single.judges, tie))
