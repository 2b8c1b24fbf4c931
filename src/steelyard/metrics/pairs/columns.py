"""Pairs in columns, one row per canonical pair and replicate; their answers counted by call and cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, Words, distinct, numbered, unwritable, weak_cache, widen
from steelyard.metrics.estimate import NO_CALLS, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import CLEAR
from steelyard.metrics.metric import Metric
from steelyard.metrics.proportions import FAILED_RATE, UNREADABLE_RATE, proportion
from steelyard.metrics.stats.clusters import Tally
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict


class PairAnswer(IntEnum):
    """How a call on a pair ended, in the order that the tests below rely on."""

    FIRST = 0
    SECOND = 1
    TIE = 2
    ABSTAINED = 3
    """A valid refusal to answer; counted as a tie."""
    UNREADABLE = 4
    """The reply held no answer; never a grade."""
    FAILED = 5
    """There was no reply; never a grade."""
    ABSENT = 6
    """The pair was never shown in this order."""

    @classmethod
    def of(cls, verdict: Verdict) -> PairAnswer:
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
    return np.less_equal(answers, PairAnswer.SECOND)


def neither(answers: Ints) -> Mask:
    """A tie, or a valid abstention."""
    return np.asarray((answers == PairAnswer.TIE) | (answers == PairAnswer.ABSTAINED))


def readable(answers: Ints) -> Mask:
    """The call ended in a verdict that counts."""
    return np.less_equal(answers, PairAnswer.ABSTAINED)


def lost(answers: Ints) -> Mask:
    """The call was made and ended without a verdict."""
    return np.asarray((answers == PairAnswer.UNREADABLE) | (answers == PairAnswer.FAILED))


def was_shown(answers: Ints) -> Mask:
    return np.not_equal(answers, PairAnswer.ABSENT)


def as_tie(answers: Ints) -> Ints:
    return np.where(answers == PairAnswer.ABSTAINED, np.int64(PairAnswer.TIE), answers)


_WHOLE = ("clusters", "names", "mirrored")


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
    stratum: Words
    delta: Floats
    """Quality difference; NaN where there is no ladder."""
    base_level: Floats
    """Quality of the worse text; NaN where there is no ladder."""
    better: Ints
    """0 none, 1 content u, 2 content v."""
    u_first: Ints
    """`PairAnswer` when u stood in slot 1."""
    v_first: Ints
    """`PairAnswer` when v stood in slot 1."""
    clusters: tuple[str, ...]
    names: tuple[str, ...]
    """Names of the pairs, by which two arms of a study find their shared pairs."""
    mirrored: bool = False
    """True where both orders of a row have one verdict by construction: its two calls are one."""

    def __len__(self) -> int:
        return len(self.cluster)

    def where(self, mask: Mask) -> Pairs:
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

    @cached_property
    def readable(self) -> Mask:
        """Calls that ended in a verdict that counts, by row and order."""
        return readable(self.calls)

    @cached_property
    def neither(self) -> Mask:
        """Ties and valid abstentions, by row and order."""
        return neither(self.calls)

    @cached_property
    def lost_calls(self) -> Mask:
        """Calls that were made and ended without a verdict, by row and order."""
        return lost(self.calls)

    @cached_property
    def shown(self) -> Mask:
        return was_shown(self.calls)

    @property
    def n_pairs(self) -> int:
        return len(distinct(self.pair))

    @property
    def n_clusters(self) -> int:
        return len(distinct(self.cluster))

    def wins(self, content: str) -> Mask:
        """Calls that choose this content, `u` or `v`, by row and order."""
        first, second = PairAnswer.FIRST, PairAnswer.SECOND
        return np.equal(self.calls, (first, second) if content == "u" else (second, first))

    @property
    def better_first(self) -> Mask:
        """Where the better text stands in slot 1, by row and order."""
        return np.stack([self.better == 1, self.better == 2], axis=1)

    @cached_property
    def wanted(self) -> Ints:
        """The answer that names the better text, by row and order; a tie where neither is better."""
        named = np.where(self.better_first, np.int64(PairAnswer.FIRST), np.int64(PairAnswer.SECOND))
        return np.where(self.better[:, None] == 0, np.int64(PairAnswer.TIE), named)

    @cached_property
    def right(self) -> Mask:
        return np.equal(as_tie(self.calls), self.wanted)

    @cached_property
    def points(self) -> Floats:
        """1 for the better text, ½ for neither, 0 for the worse, by row and order."""
        return np.where(self.neither, 0.5, self.right.astype(np.float64))

    @property
    def unit(self) -> Ints:
        """What is independent: the cluster; where there is one cluster only, the pair."""
        return self.cluster if self.n_clusters > 1 else self.pair


def collect(observations: Iterable[Observation]) -> Pairs:
    """Bring the two orders of each pair together; sorted, so that arrival order does not matter.

    Whoever asks for the pairs of the same collection gets the same columns, and must not change them.
    """
    return _collect(Observations.of(observations))


@weak_cache
def _collect(seen: Observations) -> Pairs:
    shown, orders = seen.shown, seen.order
    repeats = int(seen.replicate.max(initial=0)) + 1
    rows, row = numbered(widen(seen.stimulus) * repeats + seen.replicate)
    stimulus = rows // repeats
    codes = np.array([PairAnswer.of(verdict) for verdict in seen.verdicts], dtype=np.int64)

    def answers(order: int) -> Ints:
        column = np.full(len(rows), PairAnswer.ABSENT, dtype=np.int64)
        column[row[orders == order]] = codes[seen.verdict[orders == order]]
        return column

    stimuli, pair = numbered(stimulus)
    named, cluster = numbered(shown.cluster[stimulus])
    pairs = Pairs(
        pair=pair,
        replicate=rows % repeats,
        cluster=cluster,
        kind=_shared_texts(shown.kind)[stimulus],
        stratum=_shared_texts(shown.stratum)[stimulus],
        delta=shown.delta[stimulus],
        base_level=shown.base_level[stimulus],
        better=shown.better[stimulus],
        u_first=answers(0),
        v_first=answers(1),
        clusters=tuple(shown.clusters[named].tolist()),
        names=shown.names if len(stimuli) == len(shown.names) else tuple(shown.ids[stimuli].tolist()),
        mirrored=seen.mirrored,
    )
    unwritable(vars(pairs).values())
    return pairs


def _shared_texts(words: Words) -> Words:
    """The same texts as objects, so that a row holds 8 bytes of one and not 60."""
    return cast(Words, words.astype(np.object_))


def on_ladder(pairs: Pairs) -> Pairs:
    return pairs.where((pairs.delta > 0) & (pairs.better > 0))


def steps(pairs: Pairs) -> list[float]:
    return [float(value) for value in np.unique(pairs.delta)]


def count_calls(pairs: Pairs, test: Callable[[Ints], Mask]) -> Ints:
    """How many of a row's two calls pass the test."""
    return np.asarray(test(pairs.calls).sum(axis=1))


def count_answers(pairs: Pairs, answer: PairAnswer) -> Ints:
    return np.asarray((pairs.calls == answer).sum(axis=1))


def count_wins(pairs: Pairs, content: str) -> Ints:
    return np.asarray(pairs.wins(content).sum(axis=1))


@weak_cache
def excluded(pairs: Pairs) -> dict[str, int]:
    counts = np.bincount(pairs.calls.ravel(), minlength=len(PairAnswer))
    return {"unreadable": int(counts[PairAnswer.UNREADABLE]), "failed": int(counts[PairAnswer.FAILED])}


def by_cluster(pairs: Pairs, column: Ints | Mask) -> Ints:
    """Sum a column within clusters; clusters in the order of their names, whatever their numbers."""
    sums = np.bincount(pairs.cluster, weights=column, minlength=len(pairs.clusters))
    return np.rint(sums[_sort_order(pairs.clusters)]).astype(np.int64)


@lru_cache(maxsize=64)
def _sort_order(names: tuple[str, ...]) -> list[int]:
    return sorted(range(len(names)), key=names.__getitem__)


def tally(
    pairs: Pairs, events: Ints | Mask, trials: Ints | Mask, calls_per_trial: int = 1, *, missing: bool = True
) -> Tally:
    """Count events among trials, both given per row; `missing` says whether unread calls were left out."""
    per_cluster = by_cluster(pairs, trials)
    used = per_cluster > 0
    # Two calls that are one by construction count, and make nothing surer.
    copied = calls_per_trial == 1 and pairs.mirrored and bool(np.all(pairs.shown))
    sums, copies = by_cluster(pairs, events)[used], 2 if copied else 1
    calls, units = int(per_cluster.sum()) * calls_per_trial, len(distinct(pairs.pair[trials > 0]))
    if not missing:
        return Tally(sums, per_cluster[used], calls, units, copies=copies)
    abstained = int(count_answers(pairs, PairAnswer.ABSTAINED)[trials > 0].sum())
    lost = excluded(pairs)
    return Tally(sums, per_cluster[used], calls, units, **lost, abstained=abstained, copies=copies)


def share_of_calls(pairs: Pairs, metric: Metric) -> Tally:
    events, trials = metric.events(pairs), pairs.readable
    return tally(pairs, (events & trials).sum(axis=1), trials.sum(axis=1))


def missing_rates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    """`unreadable_rate` and `failed_rate` among all calls that were made."""
    calls = pairs.shown.sum(axis=1)
    ends = ((UNREADABLE_RATE, PairAnswer.UNREADABLE), (FAILED_RATE, PairAnswer.FAILED))
    parts = ((metric, tally(pairs, count_answers(pairs, end), calls, missing=False)) for metric, end in ends)
    return [proportion(context, metric, counts, reason=NO_CALLS) for metric, counts in parts]


BY_CONSTRUCTION = "by construction: both orders are asked, and neither slot can win"
_METHOD = "by_construction"


def by_construction(context: EstimateContext, metric: Metric, pairs: Pairs, unit: str = "call") -> Estimate:
    """Exactly 0: both orders of a pair have one verdict."""
    calls = int(pairs.readable.sum())
    return context.estimate(
        metric,
        Sample(calls, pairs.n_pairs, pairs.n_clusters, excluded(pairs)),
        unit=unit,
        value=0.0,
        numerator=0,
        denominator=calls // 2 if unit == "pair" else calls,
        intervals=(Interval(_METHOD, 0.0, 0.0),),
        chance=0.0,
        status=CLEAR,
        note=BY_CONSTRUCTION,
    )


def holds_by_construction(estimate: Estimate) -> bool:
    return estimate.interval is not None and estimate.interval.method == _METHOD
