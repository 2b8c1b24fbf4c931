"""Cues on single texts: how far a cue moves the score, and how many levels of the scale it is worth.

    worth = mean shift of the score by the cue / rise of the score per level of the label

The rise is the slope of the judge's scores on the labels of texts without a cue, within each scale. The
interval is Fieller's with a jackknife over clusters: it stays open where the rise may be zero, so that a
judge that hardly sees quality gets no small number. On yes/no rows, which have no levels, the shift is the
change in the pass rate. High is passing: where high answers fail, scores and labels are turned round first.

A score at the end of the scale can not move further. So shift and rise are read from rows whose label leaves
two levels of room, on the side to which the cue moves the scores on the whole, and more room where the worth
turns out larger. Rows are chosen by label, never by the score that is subtracted: rows whose plain score
happens to be low rise again without any cue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, distinct
from steelyard.core.text import pluralize
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Reason
from steelyard.metrics.instrument.areas import (
    AREA_WORTH,
    LEAST_UNITS,
    Areas,
    AreaTest,
    with_area_words,
    with_areas,
)
from steelyard.metrics.instrument.crossing import CUE_SHIFT, Moves, Ratings, mean_shift
from steelyard.metrics.instrument.worth_estimates import ALLOWED, BLIND, FAULT, WORTH, with_worth_word
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.proportions import sampling_notes, with_difference_word
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.shares import lost_rates
from steelyard.metrics.stats.clusters import ClusterMean, left_out
from steelyard.metrics.stats.distributions import t_probability, t_quantile
from steelyard.metrics.stats.intervals import fieller, score
from steelyard.stimuli.brief import ORDINAL
from steelyard.stimuli.cues import CUES
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observations

PASS_RATE = "pass rate"
"""Reading of a shift on yes/no rows, which is a change in the pass rate."""
LEAST_ROWS = 20
"""Labelled rows with room on the scale, with a verdict with and without the cue, for a worth to be read."""
ROOM = 2
"""Levels between a row's label and the end of its scale that leave a cue room to move the score."""
TOO_FEW_ROWS = Reason(
    "too_few_items",
    f"too little data: a worth needs {LEAST_ROWS} labelled rows of an ordinal scale with verdicts with and "
    "without the cue, and at least two labels",
)
NO_LEVELS = Reason(
    "no_levels", "no labelled row of an ordinal scale, so that there is no level to measure in"
)
TOO_FEW_BOTH = Reason(
    "too_few_items", "too little data: fewer than 2 rows have verdicts with and without the cue"
)


def single_text_estimates(
    context: EstimateContext, observations: Observations, probe: str, cues: Sequence[str]
) -> list[Estimate]:
    """Worth and shift of each cue, and calls without a verdict; each figure with Holm over the cues.

    The shift decides where no worth says the same. It leaves out labelled rows without room as well.
    """
    shown = observations.shown
    texts = np.isin(shown.probe, (ORIGINAL, ORDINAL))
    levels = Ratings.of(collect_scores(observations.filter(stimuli=texts)))
    levels = levels.where(levels.graded & ~np.isnan(levels.label))
    plain = Ratings.of(collect_scores(observations.filter(ORIGINAL)))
    worths, shifts, tests, by_area = [], [], [], []
    for cue in cues:
        here = context.for_subgroup(cue=cue)
        cued = Ratings.of(collect_scores(observations.filter(probe, kinds=(cue,))))
        both = Moves.between(plain, cued)
        graded = both.where(both.graded)
        worth = level_worth(here, levels, graded, cue)
        worths.append(worth)
        test, figures = area_worths(here, levels, graded, cue, worth)
        tests.append(test)
        by_area += figures
        mobile = both.where(~both.graded | np.isnan(both.label) | both.has_room(ROOM, up=graded.upward))
        rest = mobile if worth.value is None else mobile.where(~mobile.graded)
        decides = bool(len(rest)) or worth.value is None
        shifts.append(_shift(here, rest if decides else mobile, len(both), decides=decides))
    lost = lost_rates(context, collect_scores(observations.filter(probe)))
    worths = with_areas(adjust_estimates(worths, "cues", WORTH, ALLOWED, None), tests)
    by_area = with_area_words(worths, by_area, ALLOWED)
    return [*worths, *by_area, *adjust_estimates(shifts, "cues", CUE_SHIFT), *lost]


def _no_room(left: int, rows: int) -> Reason:
    return Reason(
        "no_room",
        f"too few rows can move: a worth needs {LEAST_ROWS} rows labelled {ROOM} levels or more from the end "
        f"of the scale, with at least two labels, found {left} of {rows}",
    )


def _shift(context: EstimateContext, both: Moves, rows: int, *, decides: bool) -> Estimate:
    """The mean shift as a share of the scale; it has a status where no worth says the same."""
    if len(both) < 2:
        why = TOO_FEW_BOTH if rows < 2 else _no_room(len(both), rows)
        return context.undefined(CUE_SHIFT, why, "item", both.lost)
    share = both.moved / (both.high - both.low)
    mean = ClusterMean.of(np.unique(both.units, return_inverse=True)[1], share)
    part = None if len(both) == rows else f"{len(both)} of {rows} rows, which have room on the scale"
    notes = [part, *sampling_notes(both.sample.n_clusters, even=mean.even)]
    shift = mean_shift(context, both.sample, mean, "item", notes)
    shift = replace(shift, reading=None if np.any(both.graded) else PASS_RATE)
    return with_difference_word(shift) if decides else replace(shift, p=None)


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


@dataclass(frozen=True, eq=False)
class _Mobile:
    """The rows that a worth is read from."""

    levels: Ratings
    both: Moves
    room: int

    @classmethod
    def of(cls, levels: Ratings, both: Moves, room: int) -> _Mobile:
        up = both.upward
        return cls(levels.where(levels.has_room(room, up=up)), both.where(both.has_room(room, up=up)), room)

    @property
    def suffices(self) -> bool:
        return min(len(self.levels), len(self.both)) >= LEAST_ROWS and len(np.unique(self.levels.label)) > 1

    @cached_property
    def ratio(self) -> LevelRatio:
        return LevelRatio.of(self.levels, self.both)

    @property
    def exceeds_room(self) -> bool:
        """The worth is larger than the room: some scores were cut off."""
        return abs(self.ratio.shift / self.ratio.rise) > self.room


def _rows_with_room(levels: Ratings, both: Moves) -> tuple[_Mobile, bool]:
    """The rows that have room for the worth that they show; and whether there are too few with so much."""
    rows = _Mobile.of(levels, both, ROOM)
    while rows.suffices and rows.ratio.rise > 0 and rows.exceeds_room:
        further = _Mobile.of(levels, both, rows.room + 1)
        # Two labels at the far end are no scale: scores are cut off there too.
        if not further.suffices or len(np.unique(further.levels.label)) < 3:
            return rows, True
        rows = further
    return rows, False


def level_worth(context: EstimateContext, levels: Ratings, both: Moves, cue: str) -> Estimate:
    """The worth of a cue in levels of the scale; of typing errors that of a text without them."""
    if not len(levels):
        return context.undefined(WORTH, NO_LEVELS, "item", both.lost)
    if min(len(levels), len(both)) < LEAST_ROWS or len(np.unique(levels.label)) < 2:
        return context.undefined(WORTH, TOO_FEW_ROWS, "item", both.lost)
    rows, cut = _rows_with_room(levels, both)
    if not rows.suffices:
        return context.undefined(WORTH, _no_room(len(rows.both), len(both)), "item", both.lost)
    ratio = _signed(rows.ratio, cue)
    low, high = ratio.limits() if ratio.rise > 0 else (None, None)
    if low is None and high is None:
        return context.undefined(WORTH, BLIND, "item", both.lost)
    if cut:
        low, high = (low, None) if ratio.shift > 0 else (None, high)
    value, censored = (ratio.shift / ratio.rise, None) if high is not None else (low, "right")
    value, censored = (value, censored) if low is not None else (high, "left")
    beyond = abs(ratio.shift / ratio.rise) > FAULT
    side = "below" if both.upward else "above"
    row = context.estimate(
        WORTH,
        rows.both.sample,
        unit="item",
        value=value,
        intervals=(Interval("fieller_cluster", low, high),),
        censored=censored,
        chance=0.0,
        p=ratio.p(float(np.copysign(FAULT, ratio.shift))) if beyond else 1.0,
        notes=[
            f"{ratio.rise:.2f} a level",
            f"{len(rows.both)} of {pluralize(len(both), 'row')}, labelled "
            f"{pluralize(rows.room, 'level')} or more {side} the end of the scale",
            "no more rows have room for so large a worth" if cut else None,
            *sampling_notes(rows.both.sample.n_clusters),
        ],
    )
    return with_worth_word(row)


def _signed(ratio: LevelRatio, cue: str) -> LevelRatio:
    """The same for a cue that harms: its worth is that of a text without it."""
    if cue not in CUES or not CUES[cue].on_better:
        return ratio
    return replace(ratio, moves=ratio.moves * np.array([1.0, -1.0]))


def area_worths(
    context: EstimateContext, levels: Ratings, both: Moves, cue: str, worth: Estimate
) -> tuple[AreaTest | None, list[Estimate]]:
    """Whether areas differ in the worth, and the worth in each; nothing where there is none on the whole."""
    if worth.value is None:
        return None, []
    rows, _ = _rows_with_room(levels, both)
    ratio = _signed(rows.ratio, cue)
    areas = _areas(rows.both, ratio, -1.0 if ratio is not rows.ratio else 1.0)
    if areas is None:
        return None, []
    figures = []
    for name in areas.names:
        mine = rows.both.where(np.asarray(rows.both.stratum.astype(str) == name))
        sample = mine.sample._replace(excluded=None)
        if sample.n_units < LEAST_UNITS or sample.n_clusters < 2:
            continue
        own = _signed(LevelRatio.of(rows.levels, mine), cue)
        interval = Interval("fieller_cluster", *own.limits())
        here = context.for_subgroup(stratum=name)
        value = own.shift / own.rise
        figures.append(here.estimate(AREA_WORTH, sample, unit="item", value=value, intervals=(interval,)))
    return areas.test(context.permutation_seed(AREA_WORTH.id)), figures


def _areas(both: Moves, ratio: LevelRatio, sign: float) -> Areas | None:
    """Curves of a normal law of the shift, one for each cluster within an area."""
    names = np.array([f"{s}\0{c}" for s, c in zip(both.stratum, both.units, strict=True)])
    _, first, piece = np.unique(names, return_index=True, return_inverse=True)
    moved = sign * both.moved
    spread = max(float(moved.var()), 1e-9)
    sums, counts = np.bincount(piece, moved), np.bincount(piece)
    reach = float(np.max(both.high - both.low))
    places = np.linspace(-reach, reach, 401)
    shift = places * ratio.rise
    curves = (np.outer(sums, shift) - np.outer(counts, shift**2) / 2) / spread
    return Areas.of(places, curves, both.stratum[first])
