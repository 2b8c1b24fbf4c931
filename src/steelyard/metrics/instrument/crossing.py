"""A cue without a model: the step at which a text with it and a better one win alike, and what it moves.

The preference for the better text, a tie counted half and both orders averaged, is made monotone in the step,
with straight lines between steps, and read where it passes one half. A place belongs to the interval where
the preference there, with its jackknife over clusters, may be one half: as Fieller does for a ratio, the test
is inverted, since the place itself jumps from step to step and a jackknife of it covers as little as .78.
Limits that both lie between two neighbouring steps are widened to these steps: there a steep judge may turn
anywhere, and the straight line between them would cover as little as .78. Nothing is read below the first
step or beyond the last one.

Pairs of the user's data have no known steps of quality, so that there is no worth. Every pair is shown as it
is, and with the cue on its second response. The shift is the change in preference for that response, a tie
counted half and both orders averaged, with clusters as independent. Of single texts with and without a cue,
`Moves` holds the mean scores in columns, and how far the cue moves each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Self

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, Names, distinct
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Reason, Sample
from steelyard.metrics.metric import ZERO, Basis, Group, Metric, fitted
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.pairs.columns import Pairs, collect, excluded
from steelyard.metrics.pairs.ladder import isotonic
from steelyard.metrics.proportions import with_difference_word
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.stats.clusters import ClusterMean
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.stimuli.original import NATURAL_PROBE
from steelyard.verdicts.observations import Observations

LADDER, TRADEOFF, POSITION = "ladder", "tradeoff", "position"
LEAST_LADDER, LEAST_CUE = 24, 12
"""Pairs with both verdicts from which a worth is read."""
TOO_LITTLE = Reason(
    "too_few_pairs",
    f"too little data: a worth needs {LEAST_LADDER} pairs of the ladder and {LEAST_CUE} of the cue with both "
    "verdicts, on at least two quality steps",
)
_PER_STEP = 50
"""Places that are tried within one step of quality."""


def calls_of_cue(calls: Observations, group: Group) -> Mask:
    """Calls on the pairs of the cue; for position those of the ladder."""
    cue = group.get("cue")
    if cue == POSITION:
        return np.asarray(fitted(calls, group) & (calls.shown.probe == LADDER)[calls.stimulus])
    return np.asarray((calls.shown.kind == cue)[calls.stimulus])


of_cue = partial(Metric, signed=True, direction=ZERO, unit="pair", basis=Basis(only=calls_of_cue))
CROSSING = of_cue(
    "cue_worth_crossing",
    "worth without a model",
    "Step of quality at which a text with the cue and a better one without it win alike, by monotone "
    "regression.",
    detail=True,
)


def crossing_estimate(context: EstimateContext, pairs: Pairs) -> Estimate:
    """Where the order-balanced preference for the better text passes one half."""
    rows = pairs.where(np.asarray(pairs.readable.all(axis=1)))
    steps = np.unique(rows.delta)
    if len(rows) < LEAST_CUE or len(steps) < 2:
        return context.undefined(CROSSING, TOO_LITTLE, "pair", excluded(pairs))
    table = _preferences(rows, steps)
    share = isotonic(*table.sum(axis=0))
    sample = Sample(2 * len(rows), len(distinct(rows.pair)), len(table), excluded(pairs))
    value, interval = float(crossing(steps, table.sum(axis=0))), crossing_limits(steps, table)
    intervals = (Interval("jackknife_cluster", *interval),)
    end = "left" if share[0] > 0.5 else "right" if share[-1] < 0.5 else None
    return context.estimate(CROSSING, sample, unit="pair", value=value, intervals=intervals, censored=end)


def _preferences(pairs: Pairs, steps: Floats) -> Floats:
    """Preference for the better text and pairs, clusters × 2 × steps."""
    points = np.where(pairs.neither, 0.5, pairs.wins("u").astype(np.float64)).mean(axis=1)
    step = np.searchsorted(steps, pairs.delta)
    cluster = np.searchsorted(distinct(pairs.cluster), pairs.cluster)
    shape = int(cluster.max()) + 1, len(steps)
    place = cluster * len(steps) + step
    sums = [np.bincount(place, weights, shape[0] * shape[1]).reshape(shape) for weights in (points, None)]
    return np.stack(sums, axis=1).astype(np.float64)


def crossing(steps: Floats, sums: Floats) -> Floats:
    """Where the monotone share passes one half, clamped to the measured steps; `sums` is … × 2 × steps."""
    share = isotonic(sums[..., 0, :], sums[..., 1, :])
    return np.asarray((_first(steps, share, share >= 0.5) + _first(steps, share, share > 0.5)) / 2)


def _first(steps: Floats, share: Floats, reached: Mask) -> Floats:
    """The place on the line to the first step that is reached."""
    ever, index = reached.any(axis=-1), np.maximum(reached.argmax(axis=-1), 1)[..., None]
    high, low = np.take_along_axis(share, index, -1)[..., 0], np.take_along_axis(share, index - 1, -1)[..., 0]
    rise = high - low
    part = np.divide(0.5 - low, rise, out=np.zeros(np.shape(rise)), where=rise > 0)
    upper, lower = steps[index[..., 0]], steps[index[..., 0] - 1]
    inside = lower + np.clip(part, 0.0, 1.0) * (upper - lower)
    return np.asarray(np.where(~ever, steps[-1], np.where(reached[..., 0], steps[0], inside)))


def crossing_limits(steps: Floats, table: Floats) -> tuple[float | None, float | None]:
    """The 95 % limits; where both lie between two steps that follow each other, these steps.

    A judge so steep may turn anywhere between the two: the straight line is no finding.
    """
    low, high = line_limits(steps, table)
    if low is None or high is None:
        return low, high
    before = int(np.searchsorted(steps, low + 1e-9, side="right")) - 1
    one_step = high <= steps[before + 1] + 1e-9
    return (float(steps[before]), float(steps[before + 1])) if one_step else (low, high)


def line_limits(steps: Floats, table: Floats) -> tuple[float | None, float | None]:
    """The 95 % limits on straight lines between steps, from clusters × 2 × steps.

    An end is open where the first or last step may be even.
    """
    total, clusters = table.sum(axis=0), len(table)
    places = np.linspace(steps[0], steps[-1], round((steps[-1] - steps[0]) * _PER_STEP) + 1)
    share = isotonic(*total)
    without = isotonic((total - table)[:, 0], (total - table)[:, 1])
    # A step that one cluster alone has shown says without it what it says with it.
    without = _between(steps, np.where(np.isfinite(without), without, share), places)
    here = _between(steps, share, places)
    apart = without - without.mean(axis=0)
    error = np.sqrt((clusters - 1) / clusters * (apart**2).sum(axis=0))
    # Only clusters that were shown the steps beside a place tell of the spread there.
    telling = np.maximum(2, np.count_nonzero(np.abs(without - here) > 1e-12, axis=0))
    reach = np.array([t_quantile(0.975, count - 1) for count in range(2, max(clusters, 2) + 1)])
    even = np.flatnonzero(np.abs(here - 0.5) <= reach[telling - 2] * error + 1e-12)
    if not len(even):
        return (None, float(steps[0])) if here[0] > 0.5 else (float(steps[-1]), None)
    low, high = max(0, int(even[0]) - 1), min(len(places) - 1, int(even[-1]) + 1)
    return None if even[0] == 0 else float(places[low]), None if even[-1] == high else float(places[high])


def _between(steps: Floats, share: Floats, places: Floats) -> Floats:
    """Shares on the straight lines between steps; `share` is … × steps."""
    left = np.clip(np.searchsorted(steps, places, side="right") - 1, 0, len(steps) - 2)
    part = (places - steps[left]) / (steps[left + 1] - steps[left])
    return np.asarray(share[..., left] * (1 - part) + share[..., left + 1] * part)


CUE_SHIFT = Metric(
    "cue_shift",
    "shift by a cue",
    "Change in the preference for a text once it carries a cue, on pairs of the data, a tie counted half; of "
    "single texts the change in the score as a share of the scale, on yes/no scales in the pass rate.",
    plain="a cue moves the verdict",
    signed=True,
    direction=ZERO,
    unit="pair",
)
TOO_FEW = Reason(
    "too_few_pairs", "too little data: fewer than 2 pairs have verdicts with and without the cue"
)


def shift_estimates(
    context: EstimateContext, observations: Observations, probe: str, cues: Sequence[str]
) -> list[Estimate]:
    """The shift by each cue, flagged only where Holm's method over the cues lets it be."""
    plain = _item_preferences(collect(observations.filter(NATURAL_PROBE)), f"/{NATURAL_PROBE}")
    shifts = []
    for cue in cues:
        here, pairs = context.for_subgroup(cue=cue), collect(observations.filter(probe, kinds=(cue,)))
        cued = _item_preferences(pairs, f"/{probe}/{cue}")
        both = [item for item in cued if item in plain]
        if len(both) < 2:
            shifts.append(here.undefined(CUE_SHIFT, TOO_FEW, "pair", excluded(pairs)))
            continue
        moved = np.array([cued[item][0] - plain[item][0] for item in both])
        mean = ClusterMean.of(np.unique([cued[item][1] for item in both], return_inverse=True)[1], moved)
        sample = Sample(4 * len(both), len(both), mean.units, excluded(pairs))
        shifts.append(mean_shift(here, sample, mean, "pair"))
    return adjust_estimates([with_difference_word(each) for each in shifts], "cues", CUE_SHIFT)


def mean_shift(
    context: EstimateContext, sample: Sample, mean: ClusterMean, unit: str, notes: Iterable[str | None] = ()
) -> Estimate:
    limits, p = mean.difference_limits(0.975), mean.p()
    shift = context.estimate(CUE_SHIFT, sample, notes, unit=unit, value=mean.mean, chance=0.0, p=p)
    intervals = (Interval("t_cluster", *limits),)
    return replace(shift, intervals=intervals, minimum_detectable=mean.detectable)


def _item_preferences(pairs: Pairs, suffix: str) -> dict[str, tuple[float, str]]:
    """Item to its preference for the second response, over replicates with both verdicts, and its cluster."""
    whole = pairs.where(np.asarray(pairs.readable.all(axis=1)))
    points = np.where(whole.neither, 0.5, whole.wins("v").astype(np.float64)).mean(axis=1)
    found: dict[str, list[float]] = {}
    cluster: dict[str, str] = {}
    for row, number in enumerate(whole.pair.tolist()):
        item = whole.names[number].removesuffix(suffix)
        found.setdefault(item, []).append(float(points[row]))
        cluster[item] = whole.clusters[whole.cluster[row]]
    return {item: (sum(values) / len(values), cluster[item]) for item, values in found.items()}


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
        item = np.array(rows.items, dtype=np.object_)[rows.item[first]]
        cluster = np.array(rows.clusters, dtype=np.object_)[rows.cluster[first]]
        score, stratum = sums / np.maximum(1, calls), rows.stratum[first].astype(np.object_)
        low, high = rows.low[first], rows.high[first]
        return cls(item, score, label, low, high, cluster, stratum, calls, scores.lost())

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
        lost = {key: cued.lost[key] + plain.lost[key] for key in cued.lost}
        both = replace(one, score=other.score - one.score, calls=one.calls + other.calls, lost=lost)
        return cls(**vars(both))

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
        own = np.arange(len(self)).astype(str).astype(np.object_)
        return self.cluster if self.sample.n_clusters > 1 else own
