"""Worth of each cue on the datasheet: from the joint fit, and beside it the crossing point without a model.

The crossing point is the step at which a text with the cue and a better one without it win alike: the
preference for the better text, a tie counted half and both orders averaged, made monotone in the step, read
where it passes one half. It has a jackknife over clusters, and nothing is read below no step or beyond the
last one. A fault is a worth beyond half a step with its whole interval, after Holm over the cues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Mask, distinct
from steelyard.metrics.basis import Basis
from steelyard.metrics.estimate import Estimate, Interval, Reason
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import INCONCLUSIVE, calls_total, estimate_word
from steelyard.metrics.instrument.likelihood import Patterns, Rows, patterns_of, rows_of
from steelyard.metrics.instrument.profile import SPREAD_FROM
from steelyard.metrics.instrument.worth import (
    CueModel,
    PositionModel,
    WorthFit,
    WorthModel,
    fit_worth,
    start_of,
)
from steelyard.metrics.metric import ZERO, Metric
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.pairs.columns import Pairs, as_tie, collect, excluded, missing_rates, neither, readable
from steelyard.metrics.pairs.sensitivity import on_ladder
from steelyard.metrics.pairs.threshold import isotonic
from steelyard.metrics.proportions import join
from steelyard.metrics.stats.cluster_mean import jackknife
from steelyard.metrics.stats.intervals import UNBOUNDED, Span
from steelyard.metrics.stats.two_class import BalancedMean
from steelyard.verdicts.observations import Observations

WORTH = Metric(
    "worth",
    "worth in steps",
    "Steps of quality that a cue is worth: how much better a text without it must be to win as often as not, "
    "from the joint fit of the ladder and the cue's pairs.",
    plain="worth of a cue",
    signed=True,
    direction=ZERO,
    unit="pair",
    basis=Basis(),
)
CROSSING = Metric(
    "worth_crossing",
    "worth without a model",
    "Step of quality at which a text with the cue and a better one without it win alike, by monotone "
    "regression.",
    signed=True,
    direction=ZERO,
    unit="pair",
    detail=True,
    basis=Basis(),
)

LADDER, TRADEOFF, POSITION = "ladder", "tradeoff", "position"
FAULT = 0.5
"""Steps beyond which the worth of a cue is a fault."""
ALLOWED: Span = (-FAULT, FAULT)
LEAST_LADDER, LEAST_CUE = 24, 12
"""Pairs with both verdicts from which a worth is fitted."""
TOO_LITTLE = Reason(
    "too_few_pairs",
    f"too little data: a worth needs {LEAST_LADDER} pairs of the ladder and {LEAST_CUE} of the cue with both "
    "verdicts, on at least two quality steps",
)
BLIND = Reason(
    "quality_not_seen", "the judge is not shown to see quality, so that there is no step to measure in"
)
DISAGREE = "the two ways to measure it disagree"


def worth_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    """Both figures of each cue, the worth of slot 1, and calls without a verdict."""
    mine = np.isin(observations.shown.probe, (LADDER, TRADEOFF))
    own = observations.filter(TRADEOFF)
    cues = [str(kind) for kind in dict.fromkeys(own.shown.kind[distinct(own.stimulus)].tolist())]
    return pair_worths(context, collect(observations.filter(stimuli=mine)), cues)


def pair_worths(context: EstimateContext, pairs: Pairs, cues: Sequence[str]) -> list[Estimate]:
    """The same from pairs in columns, whose kind names the cue."""
    with_cue = np.isin(pairs.kind, cues)
    ladder = _Ladder.of(pairs.where(~with_cue))
    worths, crossings = [], []
    for cue in cues:
        here, rows = context.for_subgroup(kind=cue), pairs.where(pairs.kind == cue)
        crossings.append(crossing_estimate(here, rows))
        worths.append(compared(worth_estimate(here, ladder, rows), crossings[-1]))
    position = _position(context.for_subgroup(kind=POSITION), ladder)
    worths = adjust_estimates(worths, "cues", WORTH)
    return [*worths, position, *crossings, *missing_rates(context, pairs.where(with_cue))]


@dataclass(frozen=True, eq=False)
class _Ladder:
    """The pairs without a cue: what a step is to this judge."""

    pairs: Pairs
    rows: Rows
    patterns: Patterns

    @classmethod
    def of(cls, pairs: Pairs) -> _Ladder:
        rows = rows_of(pairs)
        return cls(pairs, rows, patterns_of(rows))

    @cached_property
    def start(self) -> Floats:
        return start_of(self.patterns)

    @cached_property
    def obstacle(self) -> Reason | None:
        """Why no worth can be measured in steps of this ladder; None where one can."""
        if _complete(self.rows) < LEAST_LADDER:
            return TOO_LITTLE
        climb = on_ladder(self.pairs)
        row, order = np.nonzero(readable(climb.calls))
        points = np.where(neither(climb.calls), 0.5, climb.right.astype(np.float64))[row, order]
        first = (climb.better[row] == 1) == (order == 0)
        if np.all(first) or not np.any(first):
            return BLIND
        mean = BalancedMean.of(climb.cluster[row], first, points)
        return None if mean.share_limits(0.975)[0] > 0.5 else BLIND


def worth_estimate(context: EstimateContext, ladder: _Ladder, pairs: Pairs) -> Estimate:
    """The worth of the cue of these pairs, u without it and v with it."""
    rows = cue_rows(pairs)
    why = ladder.obstacle
    if _complete(rows) < LEAST_CUE or len(np.unique(rows.delta)) < 2:
        why = TOO_LITTLE
    if why is not None:
        return context.undefined(WORTH, why, "pair", excluded(pairs))
    last = float(rows.delta.max())
    row = _estimate(context, CueModel.of(ladder.rows, rows), ladder.start, last, excluded(pairs))
    word = estimate_word(row, ALLOWED)
    return replace(row, status=word, calls_needed=calls_total(row, ALLOWED) if word == INCONCLUSIVE else None)


def cue_rows(pairs: Pairs) -> Rows:
    """Content u is the better text, or at no step the one without the cue."""
    rows = Rows(pairs.delta, pairs.pair, pairs.cluster, as_tie(pairs.u_first), as_tie(pairs.v_first))
    return rows.take(np.flatnonzero(readable(rows.better_first) | readable(rows.better_second)))


def _position(context: EstimateContext, ladder: _Ladder) -> Estimate:
    """The worth of slot 1; position has a finding of its own, and no word here."""
    why = ladder.obstacle
    if why is not None:
        return context.undefined(WORTH, why, "pair", excluded(ladder.pairs))
    last = float(ladder.rows.delta.max())
    row = _estimate(context, PositionModel(ladder.patterns), ladder.start, last, excluded(ladder.pairs))
    return replace(row, p=None)


def _estimate(
    context: EstimateContext, model: WorthModel, start: Floats, last: float, lost: dict[str, int]
) -> Estimate:
    found = fit_worth(model, start)
    patterns = model.patterns
    value, censored = found.value, None
    if abs(value) > last:
        value, censored = float(np.sign(value) * last), "right" if value > 0 else "left"
    return context.estimate(
        WORTH,
        unit="pair",
        value=value,
        intervals=(Interval("profile_cluster", *_within(found, last)),),
        n_calls=int(patterns.weights @ patterns.counts.sum(axis=1)),
        n_units=int(patterns.weights.sum()),
        n_clusters=found.clusters,
        design_effect=found.inflation,
        excluded=lost,
        censored=censored,
        chance=0.0,
        p=_beyond(found),
        note=join(
            [
                f"read off the model up to step {last:g}",
                None if found.clusters >= SPREAD_FROM else "pairs taken as independent: few clusters",
            ]
        ),
    )


def _within(found: WorthFit, last: float) -> tuple[float | None, float | None]:
    """The limits as far as steps were measured; beyond the last one an end is open."""
    low = None if found.low is None or found.low < -last else min(found.low, last)
    high = None if found.high is None or found.high > last else max(found.high, -last)
    return low, high


def _beyond(found: WorthFit) -> float:
    """p of a worth of half a step, which a fault has to exceed; 1 where the value does not."""
    if abs(found.value) <= FAULT:
        return 1.0
    return found.probability(float(np.sign(found.value)) * FAULT)


def crossing_estimate(context: EstimateContext, pairs: Pairs) -> Estimate:
    """Where the order-balanced preference for the better text passes one half."""
    complete = readable(pairs.calls).all(axis=1)
    rows = pairs.where(np.asarray(complete))
    steps = np.unique(rows.delta)
    if len(rows) < LEAST_CUE or len(steps) < 2:
        return context.undefined(CROSSING, TOO_LITTLE, "pair", excluded(pairs))
    table = _preferences(rows, steps)
    value = float(crossing(steps, table.sum(axis=0)))
    limits = jackknife(table, lambda sums: crossing(steps, sums), UNBOUNDED)
    share = isotonic(*table.sum(axis=0))
    censored = "left" if share[0] > 0.5 else "right" if share[-1] < 0.5 else None
    return context.estimate(
        CROSSING,
        unit="pair",
        value=value,
        intervals=() if limits is None else (Interval("jackknife_cluster", *_measured(limits, steps)),),
        n_calls=2 * len(rows),
        n_units=len(distinct(rows.pair)),
        n_clusters=len(table),
        excluded=excluded(pairs),
        censored=censored,
        note=None if limits is not None else "no cluster moves it: no interval",
    )


def _measured(limits: Span, steps: Floats) -> tuple[float | None, float | None]:
    """Limits within the measured steps; beyond them an end is open."""
    low, high = limits
    return low if low > steps[0] else None, high if high < steps[-1] else None


def _preferences(pairs: Pairs, steps: Floats) -> Floats:
    """Preference for the better text and pairs, clusters × 2 × steps."""
    points = np.where(neither(pairs.calls), 0.5, pairs.wins("u").astype(np.float64)).mean(axis=1)
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


def compared(worth: Estimate, crossing: Estimate) -> Estimate:
    """The worth, with a note where the crossing point disagrees: neither lies in the other's interval."""
    if worth.value is None or crossing.value is None or crossing.interval is None or worth.interval is None:
        return worth
    if _holds(worth.interval, crossing) or _holds(crossing.interval, worth):
        return worth
    return replace(worth, note=join([worth.note, f"{DISAGREE}: {crossing.value:.2f} without a model"]))


def _holds(interval: Interval, other: Estimate) -> bool:
    """Whether the other value may lie in the interval; a censored one may lie anywhere beyond."""
    low = -np.inf if interval.low is None else interval.low
    high = np.inf if interval.high is None else interval.high
    value = other.value or 0.0
    return bool((low <= value or other.censored == "right") and (value <= high or other.censored == "left"))


def _complete(rows: Rows) -> int:
    """Pairs with both verdicts."""
    both = readable(rows.better_first) & readable(rows.better_second)
    return len(distinct(rows.pair[both]))
