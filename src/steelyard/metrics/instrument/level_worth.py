"""Cues on single texts: how far a cue moves the score, and how many levels of the scale it is worth.

    worth = mean shift of the score by the cue / rise of the score per level of the label

The rise is the slope of the judge's scores on the labels of texts without a cue, within each scale. The
interval is Fieller's with a jackknife over clusters: it stays open where the rise may be zero, so that a
judge that hardly sees quality gets no small number. On yes/no rows, which have no levels, the shift is the
change in the pass rate. High is passing: where high answers fail, scores and labels are turned round first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, Names, distinct
from steelyard.metrics.estimate import Estimate, Interval, Reason
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.instrument.worth_estimates import ALLOWED, BLIND, FAULT, WORTH, with_worth_word
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.pairs.cue_shift import CUE_SHIFT
from steelyard.metrics.proportions import join, sampling_notes, with_difference_word
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.shares import lost_rates
from steelyard.metrics.stats.cluster_mean import ClusterMean, left_out
from steelyard.metrics.stats.distributions import t_probability, t_quantile
from steelyard.metrics.stats.intervals import fieller, score
from steelyard.stimuli.authored.brief import ORDINAL
from steelyard.stimuli.cues import CUES
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observations

PASS_RATE = "pass rate"
"""Reading of a shift on yes/no rows, which is a change in the pass rate."""
LEAST_ROWS = 12
"""Rows with a verdict with and without the cue, and labelled rows, from which a worth is read."""
TOO_FEW_ROWS = Reason(
    "too_few_items",
    f"too little data: a worth needs {LEAST_ROWS} rows of an ordinal scale with verdicts with and without "
    f"the cue, and {LEAST_ROWS} labelled ones with at least two labels",
)
NO_LEVELS = Reason(
    "no_levels", "no labelled row of an ordinal scale, so that there is no level to measure in"
)
TOO_FEW_BOTH = Reason(
    "too_few_items", "too little data: fewer than 2 rows have verdicts with and without the cue"
)


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
            calls,
            scores.lost(),
        )

    def where(self, mask: Mask | Ints) -> Ratings:
        names = ("item", "score", "label", "low", "high", "cluster", "calls")
        return replace(self, **{name: getattr(self, name)[mask] for name in names})

    def __len__(self) -> int:
        return len(self.score)

    @property
    def graded(self) -> Mask:
        return _graded(self.low, self.high)

    @property
    def scale(self) -> Ints:
        return np.unique(np.column_stack([self.low, self.high]), axis=0, return_inverse=True)[1].reshape(-1)


def single_text_estimates(
    context: EstimateContext, observations: Observations, probe: str, cues: Sequence[str]
) -> list[Estimate]:
    """Worth and shift of each cue, and calls without a verdict; each figure with Holm over the cues."""
    shown = observations.shown
    levels = Ratings.of(
        collect_scores(observations.filter(stimuli=np.isin(shown.probe, (ORIGINAL, ORDINAL))))
    )
    levels = levels.where(levels.graded & ~np.isnan(levels.label))
    plain = Ratings.of(collect_scores(observations.filter(ORIGINAL)))
    worths, shifts = [], []
    for cue in cues:
        here = context.for_subgroup(cue=cue)
        cued = Ratings.of(collect_scores(observations.filter(probe, kinds=(cue,))))
        both = Moves.of(plain, cued)
        worth = level_worth(here, levels, both.where(both.graded), cue)
        worths.append(worth)
        rest = both if worth.value is None else both.where(~both.graded)
        decides = bool(len(rest)) or worth.value is None
        shifts.append(_shift(here, rest if decides else both, decides=decides))
    lost = lost_rates(context, collect_scores(observations.filter(probe)))
    return [
        *adjust_estimates(worths, "cues", WORTH, ALLOWED, None),
        *adjust_estimates(shifts, "cues", CUE_SHIFT),
        *lost,
    ]


@dataclass(frozen=True, eq=False)
class Moves:
    """Items with a score as they are and with the cue: how far the cue moves it, in levels."""

    moved: Floats
    low: Ints
    high: Ints
    cluster: Names
    calls: Ints
    lost: dict[str, int]

    @classmethod
    def of(cls, plain: Ratings, cued: Ratings) -> Moves:
        _, before, after = np.intersect1d(plain.item.astype(str), cued.item.astype(str), return_indices=True)
        one, other = plain.where(before), cued.where(after)
        return cls(
            other.score - one.score,
            one.low,
            one.high,
            one.cluster,
            one.calls + other.calls,
            {key: cued.lost[key] + plain.lost[key] for key in cued.lost},
        )

    def where(self, mask: Mask) -> Moves:
        names = ("moved", "low", "high", "cluster", "calls")
        return replace(self, **{name: getattr(self, name)[mask] for name in names})

    def __len__(self) -> int:
        return len(self.moved)

    @property
    def graded(self) -> Mask:
        return _graded(self.low, self.high)

    @property
    def units(self) -> Names:
        """What is independent: the cluster, or the item where there is one cluster."""
        several = len(set(self.cluster.tolist())) > 1
        return self.cluster if several else np.arange(len(self)).astype(str).astype(np.object_)


def _graded(low: Ints, high: Ints) -> Mask:
    """Rows on an ordinal scale: yes and no are no levels."""
    return np.asarray((low != 0) | (high != 1))


def _shift(context: EstimateContext, both: Moves, *, decides: bool) -> Estimate:
    """The mean shift as a share of the scale; it has a status where no worth says the same."""
    if len(both) < 2:
        return context.undefined(CUE_SHIFT, TOO_FEW_BOTH, "item", both.lost)
    share = both.moved / (both.high - both.low)
    mean = ClusterMean.of(np.unique(both.units, return_inverse=True)[1], share)
    limits, p = mean.difference_limits(0.975), mean.p()
    clusters = len(set(both.cluster.tolist()))
    shift = context.estimate(
        CUE_SHIFT,
        unit="item",
        value=mean.mean,
        intervals=(Interval("t_cluster", *limits),),
        n_calls=int(both.calls.sum()),
        n_units=len(both),
        n_clusters=clusters,
        excluded=both.lost,
        chance=0.0,
        minimum_detectable=mean.detectable,
        p=p if decides else None,
        reading=None if np.any(both.graded) else PASS_RATE,
        note=join(sampling_notes(clusters, even=mean.even)),
    )
    return with_difference_word(shift) if decides else shift


@dataclass(frozen=True, eq=False)
class LevelRatio:
    """Mean shift and rise per level, with their covariance over clusters."""

    sums: Floats
    """Units × scales × 5 sums of labelled texts: one, label, score, label², label · score."""
    moves: Floats
    """Units × 2: items, and what they were moved by."""
    least_shift: float
    """A standard error of the shift where units do not differ in it."""

    @classmethod
    def of(cls, levels: Ratings, both: Moves) -> LevelRatio:
        alone = len(set(both.cluster.tolist())) < 2
        names = np.concatenate([levels.item if alone else levels.cluster, both.units]).astype(str)
        unit = np.unique(names, return_inverse=True)[1]
        of_levels, of_moves, count = unit[: len(levels)], unit[len(levels) :], int(unit.max()) + 1
        scale = levels.scale
        x, y = levels.label, levels.score
        sums = np.zeros((count, int(scale.max()) + 1, 5))
        np.add.at(sums, (of_levels, scale), np.column_stack([np.ones(len(x)), x, y, x * x, x * y]))
        moves = np.zeros((count, 2))
        np.add.at(moves, of_moves, np.column_stack([np.ones(len(both)), both.moved]))
        mean = ClusterMean.of(of_moves, both.moved)
        shifted = len(distinct(of_moves))
        reach = t_quantile(0.975, max(1, shifted - 1))
        span = float(np.mean(both.high - both.low))
        least = span * score(0.0, mean.assumed_size, reach)[1] / reach if mean.even else 0.0
        return cls(sums, moves, least)

    @cached_property
    def units(self) -> int:
        """Those that tell of the shift."""
        return int(np.count_nonzero(self.moves[:, 0]))

    @cached_property
    def shift(self) -> float:
        return float(_mean(self.moves.sum(axis=0)))

    @cached_property
    def rise(self) -> float:
        return float(_slope(self.sums.sum(axis=0)))

    @cached_property
    def covariance(self) -> tuple[float, float, float]:
        """Of shift and rise: variance, covariance, variance; from leaving out each unit."""
        without = np.stack([left_out(self.moves, _mean), left_out(self.sums, _slope)])
        without = np.where(np.isfinite(without), without, np.array([[self.shift], [self.rise]]))
        count = without.shape[1]
        apart = without - without.mean(axis=1, keepdims=True)
        table = (count - 1) / count * (apart @ apart.T)
        return max(float(table[0, 0]), self.least_shift**2), float(table[0, 1]), float(table[1, 1])

    @property
    def reach(self) -> float:
        return t_quantile(0.975, max(1, self.units - 1))

    def limits(self) -> tuple[float | None, float | None]:
        return fieller(self.shift, self.rise, self.covariance, self.reach)

    def p(self, worth: float) -> float:
        """Two-sided p of this worth."""
        shift, both, rise = self.covariance
        variance = shift - 2 * worth * both + worth * worth * rise
        apart = abs(self.shift - worth * self.rise)
        if variance <= 0:
            return 1.0 if apart < 1e-12 else 0.0
        return 2 * t_probability(-apart / sqrt(variance), max(1, self.units - 1))


def _mean(sums: Floats) -> Floats:
    count, total = np.moveaxis(sums, -1, 0)
    return np.asarray(np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0))


def _slope(sums: Floats) -> Floats:
    """Slope of the score on the label within scales, from sums (… × scales × 5)."""
    count, x, y, xx, xy = np.moveaxis(sums, -1, 0)
    many = np.maximum(count, 1.0)
    spread, both = (xx - x * x / many).sum(axis=-1), (xy - x * y / many).sum(axis=-1)
    return np.asarray(np.divide(both, spread, out=np.full(np.shape(both), np.nan), where=spread > 1e-9))


def level_worth(context: EstimateContext, levels: Ratings, both: Moves, cue: str) -> Estimate:
    """The worth of a cue in levels of the scale; of typing errors that of a text without them."""
    if not len(levels):
        return context.undefined(WORTH, NO_LEVELS, "item", both.lost)
    if min(len(levels), len(both)) < LEAST_ROWS or len(np.unique(levels.label)) < 2:
        return context.undefined(WORTH, TOO_FEW_ROWS, "item", both.lost)
    if cue in CUES and CUES[cue].on_better:
        both = replace(both, moved=-both.moved)
    ratio = LevelRatio.of(levels, both)
    low, high = ratio.limits() if ratio.rise > 0 else (None, None)
    if low is None and high is None:
        return context.undefined(WORTH, BLIND, "item", both.lost)
    value, censored = (ratio.shift / ratio.rise, None) if high is not None else (low, "right")
    value, censored = (value, censored) if low is not None else (high, "left")
    beyond = abs(ratio.shift / ratio.rise) > FAULT
    clusters = len(set(both.cluster.tolist()))
    row = context.estimate(
        WORTH,
        unit="item",
        value=value,
        intervals=(Interval("fieller_cluster", low, high),),
        n_calls=int(both.calls.sum()),
        n_units=len(both),
        n_clusters=clusters,
        excluded=both.lost,
        censored=censored,
        chance=0.0,
        p=ratio.p(float(np.copysign(FAULT, ratio.shift))) if beyond else 1.0,
        note=join([f"{ratio.rise:.2f} a level", *sampling_notes(clusters)]),
    )
    return with_worth_word(row)
