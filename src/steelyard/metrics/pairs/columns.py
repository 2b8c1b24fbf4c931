"""Pairs in columns: one row per canonical pair and replicate, one answer per order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, Words, numbered, unwritable, weak_cache
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict


class Answer(IntEnum):
    """How a call on a pair ended, in the order that the tests below rely on."""

    FIRST = 0
    """The text in slot 1 won."""
    SECOND = 1
    """The text in slot 2 won."""
    TIE = 2
    """Neither text won."""
    ABSTAINED = 3
    """A valid refusal to answer; counted as a tie."""
    UNREADABLE = 4
    """The reply held no answer; never a grade."""
    FAILED = 5
    """There was no reply; never a grade."""
    ABSENT = 6
    """The pair was never shown in this order."""

    @classmethod
    def of(cls, verdict: Verdict) -> Answer:
        """The answer of a pairwise verdict."""
        match verdict:
            case Decided(value="1"):
                return cls.FIRST
            case Decided(value="2"):
                return cls.SECOND
            case Tie():
                return cls.TIE
            case Abstained():
                return cls.ABSTAINED
            case Unreadable():
                return cls.UNREADABLE
            case Failed():
                return cls.FAILED
        raise ValueError(f"not a pairwise verdict: {verdict!r}")


def decided(answers: Ints) -> Mask:
    """The answer is a slot."""
    return np.less_equal(answers, Answer.SECOND)


def neither(answers: Ints) -> Mask:
    """A tie, or a valid abstention."""
    return np.asarray((answers == Answer.TIE) | (answers == Answer.ABSTAINED))


def readable(answers: Ints) -> Mask:
    """The call ended in a verdict that counts."""
    return np.less_equal(answers, Answer.ABSTAINED)


def lost(answers: Ints) -> Mask:
    """The call was made and ended without a verdict."""
    return np.asarray((answers == Answer.UNREADABLE) | (answers == Answer.FAILED))


def shown(answers: Ints) -> Mask:
    """The call was made."""
    return np.not_equal(answers, Answer.ABSENT)


def as_tie(answers: Ints) -> Ints:
    """Count a valid abstention as a tie."""
    return np.where(answers == Answer.ABSTAINED, np.int64(Answer.TIE), answers)


_WHOLE = ("clusters", "names", "mirrored")
"""What belongs to all rows together."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Columns of equal length; all arithmetic on pairs starts here."""

    pair: Ints
    """Pair number, an index into `names`; replicates of a pair share it and are not independent."""
    replicate: Ints
    """0, 1, …: which repeat of the pair this row is."""
    cluster: Ints
    """Cluster number, an index into `clusters`."""
    kind: Words
    """Condition within the probe."""
    stratum: Words
    """Domain."""
    delta: Floats
    """Quality difference; NaN where there is no ladder."""
    base_level: Floats
    """Quality of the worse text; NaN where there is no ladder."""
    better: Ints
    """0 none, 1 content u, 2 content v."""
    u_first: Ints
    """`Answer` when u stood in slot 1."""
    v_first: Ints
    """`Answer` when v stood in slot 1."""
    clusters: tuple[str, ...]
    """Names of the clusters."""
    names: tuple[str, ...]
    """Names of the pairs, by which two arms of a study find their shared pairs."""
    mirrored: bool = False
    """True where both orders of a row have one verdict by construction: its two calls are one."""

    def __len__(self) -> int:
        return len(self.cluster)

    def where(self, mask: Mask) -> Pairs:
        """The rows that the mask keeps; the names of clusters and pairs stay."""
        rows = np.flatnonzero(mask)
        if len(rows) == len(self):
            return self
        columns: dict[str, Any] = {
            f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name not in _WHOLE
        }
        return replace(self, **columns)

    @cached_property
    def calls(self) -> Ints:
        """Both answers of each row: u first, then v first."""
        return np.stack([self.u_first, self.v_first], axis=1)

    @cached_property
    def reports(self) -> Mask:
        """Calls that name a winner, by row and order."""
        return decided(self.calls)

    def wins(self, content: str) -> Mask:
        """Calls that choose this content, `u` or `v`, by row and order."""
        won = (Answer.FIRST, Answer.SECOND) if content == "u" else (Answer.SECOND, Answer.FIRST)
        return np.equal(self.calls, won)

    @cached_property
    def right(self) -> Mask:
        """Calls that name the better text, by row and order; where neither is better, a tie is right."""
        first = np.stack([self.better == 1, self.better == 2], axis=1)
        named = self.calls == np.where(first, Answer.FIRST, Answer.SECOND)
        return np.where(self.better[:, None] == 0, neither(self.calls), named)

    def table(self) -> Ints:
        """The 3×3 table (answer when u first) × (answer when v first) of complete pairs; abstained is tie."""
        u, v = as_tie(self.u_first), as_tie(self.v_first)
        complete = readable(u) & readable(v)
        return np.bincount(u[complete] * 3 + v[complete], minlength=9).reshape(3, 3)


def collect(observations: Iterable[Observation]) -> Pairs:
    """Bring the two orders of each pair together; sorted, so that arrival order does not matter.

    Whoever asks for the pairs of the same collection gets the same columns, and must not change them.
    """
    pairs = _collected(Observations.of(observations))
    unwritable(vars(pairs).values())
    return pairs


@weak_cache
def _collected(seen: Observations) -> Pairs:
    shown, orders = seen.shown, seen.order
    repeats = int(seen.replicate.max(initial=0)) + 1
    rows, row = numbered(seen.stimulus * repeats + seen.replicate)
    stimulus = rows // repeats
    codes = np.array([Answer.of(verdict) for verdict in seen.verdicts], dtype=np.int64)

    def answers(order: int) -> Ints:
        column = np.full(len(rows), Answer.ABSENT, dtype=np.int64)
        column[row[orders == order]] = codes[seen.verdict[orders == order]]
        return column

    stimuli, pair = numbered(stimulus)
    named, cluster = numbered(shown.cluster[stimulus])
    return Pairs(
        pair=pair,
        replicate=rows % repeats,
        cluster=cluster,
        kind=shown.kind[stimulus],
        stratum=shown.stratum[stimulus],
        delta=shown.delta[stimulus],
        base_level=shown.base_level[stimulus],
        better=shown.better[stimulus],
        u_first=answers(0),
        v_first=answers(1),
        clusters=tuple(shown.clusters[named].tolist()),
        names=shown.names if len(stimuli) == len(shown.names) else tuple(shown.ids[stimuli].tolist()),
        mirrored=seen.mirrored,
    )
