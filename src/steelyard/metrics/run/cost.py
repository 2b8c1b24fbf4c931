"""What a verdict costs, and what a point of accuracy costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean

import numpy as np

from steelyard.core.arrays import Floats, distinct, numbered
from steelyard.metrics.basis import EVERY_CALL
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import NO_CALLS, NO_VERDICTS, EstimateContext
from steelyard.metrics.metric import Metric, ShownAs
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.probe import NO_TEXTS, probe_scores
from steelyard.metrics.scores.resampled import Sums, resampled
from steelyard.metrics.scores.shares import unlabelled
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.intervals import POSITIVE
from steelyard.trials.reply import Usage
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Failed

COST_PER_CALL = Metric(
    "cost_per_call",
    "cost per call",
    "Dollars per call, from counted tokens and listed prices.",
    shown_as=ShownAs.DOLLARS,
    detail=True,
    basis=EVERY_CALL,
)
COST_PER_POINT = Metric(
    "cost_per_point",
    "cost per point",
    "Dollars per percentage point of accuracy on the same trials.",
    shown_as=ShownAs.DOLLARS,
    basis=EVERY_CALL,
)
COST_TOTAL = Metric(
    "cost_total",
    "dollars",
    "Dollars of the probe's labelled calls, lost ones included.",
    shown_as=ShownAs.DOLLARS,
    estimated=False,
    basis=EVERY_CALL,
)
METRICS = (COST_PER_CALL, COST_PER_POINT, COST_TOTAL)
"""Figures of each probe."""

Dollars = Callable[[Usage], float]
"""The price of a judge's model: dollars of one call."""

NO_PRICE = "the price of this model is not known"
NO_TOKENS = "the server counted no tokens"
NEVER_RIGHT = "no call is right: no amount buys a point"
PER_PROBE = (COST_PER_CALL, COST_PER_POINT, COST_TOTAL)


@dataclass(frozen=True)
class CostRow:
    """What a judge spent on one probe or benchmark, and what it got right there."""

    name: str
    """Probe, benchmark or judge."""
    dollars: float
    """Spent on these trials."""
    accuracy: float
    """Share of the same trials that is right."""

    @property
    def per_point(self) -> float | None:
        """Dollars per percentage point of accuracy; None at accuracy 0."""
        return self.dollars / (100 * self.accuracy) if self.accuracy > 0 else None


@dataclass(frozen=True)
class OverallCost:
    """Cost per point over several rows, both ways that are in use."""

    pooled: float | None
    """All dollars over 100 times the mean accuracy."""
    mean_of_rows: float | None
    """Mean of the rows' own cost per point; None where a row has none."""


def overall_cost(rows: Sequence[CostRow]) -> OverallCost:
    """Both readings of "overall": they differ by about the number of rows."""
    points = [row.per_point for row in rows]
    known = [point for point in points if point is not None]
    accuracy = fmean(row.accuracy for row in rows) if rows else 0.0
    pooled = sum(row.dollars for row in rows) / (100 * accuracy) if accuracy > 0 else None
    return OverallCost(pooled, fmean(known) if known and len(known) == len(points) else None)


def pareto_front(rows: Iterable[CostRow]) -> tuple[CostRow, ...]:
    """Rows that no other row beats: cheapest first, each dearer one more accurate than all before it."""
    front: list[CostRow] = []
    for row in sorted(rows, key=lambda row: (row.dollars, -row.accuracy, row.name)):
        if not front or row.accuracy > front[-1].accuracy:
            front.append(row)
    return tuple(front)


def cost_estimates(
    context: EstimateContext, observations: Observations, price: Dollars | None, *, unchanged: bool = False
) -> list[Estimate]:
    """Dollars per call of a probe; per point and in all on its labelled calls, lost ones included."""
    mine = observations.filter(protocol=context.protocol)
    why = unpriced(mine, price)
    if price is None or why:
        return [context.undefined(metric, why or NO_PRICE) for metric in PER_PROBE]
    scores = probe_scores(context.probe, context.protocol, mine, unchanged=unchanged)
    if not unchanged and not len(scores):
        return [context.undefined(metric, NO_TEXTS) for metric in PER_PROBE]
    dollars = dollars_of_rows(scores, mine, price)
    edits = ~scores.original if np.any(~scores.original) else scores.original
    labelled = edits & scores.labelled
    lacking = unlabelled(scores.where(edits)) if len(scores) else NO_CALLS
    return [
        per_call(context, scores.where(edits), dollars[edits]),
        _per_point(context, scores.where(labelled), dollars[labelled], lacking),
        _total(context, scores.where(labelled), dollars[labelled], lacking),
    ]


def dollars_of_rows(scores: Scores, observations: Observations, price: Dollars) -> Floats:
    """What each row of the scores cost; all of them are of one protocol."""
    each = {number: price(observations.usages[number]) for number in distinct(observations.usage).tolist()}
    names = observations.shown.ids[observations.stimulus].tolist()
    keys = zip(names, observations.replicate.tolist(), strict=True)
    paid = {key: each[usage] for key, usage in zip(keys, observations.usage.tolist(), strict=True)}
    rows = zip((scores.stimuli[number] for number in scores.stimulus), scores.replicate.tolist(), strict=True)
    return np.array([paid[key] for key in rows])


def unpriced(observations: Observations, price: Dollars | None) -> str | None:
    """Why these calls have no cost; None where they have one."""
    return NO_PRICE if price is None else NO_TOKENS if _uncounted(observations, price) else None


def _uncounted(observations: Observations, price: Dollars) -> bool:
    """Calls of a model that costs something have verdicts and no tokens."""
    usages = distinct(observations.usage[~observations.ended(Failed)])
    used = [observations.usages[number] for number in usages]
    return bool(used) and price(Usage(1, 1)) > 0 and not any(u.input_tokens or u.output_tokens for u in used)


def per_call(context: EstimateContext, scores: Scores, dollars: Floats) -> Estimate:
    """Mean dollars of these calls."""
    sums = _sums(scores, np.column_stack([dollars, np.ones(len(scores))]))
    return resampled(context, COST_PER_CALL, sums, _mean, reason=NO_CALLS, ends=POSITIVE)


def _per_point(context: EstimateContext, scores: Scores, dollars: Floats, lacking: str) -> Estimate:
    right = scores.decided & np.equal(scores.score, scores.expected)
    sums = _sums(scores, np.column_stack([dollars, right, scores.readable]).astype(np.float64))
    reason = lacking if not len(scores) else NEVER_RIGHT if scores.readable.any() else NO_VERDICTS
    return resampled(context, COST_PER_POINT, sums, _point, reason=reason, ends=POSITIVE)


def _mean(sums: Floats) -> Floats:
    """Σ dollars / calls."""
    return ratio(sums[..., 0], sums[..., 1])


def _total(context: EstimateContext, scores: Scores, dollars: Floats, lacking: str) -> Estimate:
    """What was paid for these calls: counted, not estimated."""
    if not len(scores):
        return context.undefined(COST_TOTAL, lacking)
    return context.estimate(
        COST_TOTAL,
        unit="call",
        value=fsum(dollars.tolist()),
        n_calls=len(scores),
        n_units=scores.n_items,
        n_clusters=scores.n_clusters,
        excluded=scores.lost(),
    )


def _point(sums: Floats) -> Floats:
    """Σ dollars / (100 · right / verdicts)."""
    accuracy = ratio(sums[..., 1], sums[..., 2])
    return ratio(sums[..., 0], 100 * accuracy)


def _sums(scores: Scores, columns: Floats) -> Sums:
    units = numbered(scores.unit)[1] if len(scores) else scores.item
    table = np.zeros((int(units.max()) + 1 if len(scores) else 0, columns.shape[1]))
    np.add.at(table, units, columns)
    return Sums(table, scores, len(scores), scores.n_items)
