"""Sensitivity: how often the better candidate wins, step by step up the ladder."""

from __future__ import annotations

from functools import partial

import numpy as np

from steelyard.metrics.basis import CLIMBS, Basis, Ends, climbs
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Limit, Metric, step
from steelyard.metrics.pairs.columns import (
    Pairs,
    count_calls,
    decided,
    neither,
    share_of_calls,
    tally,
)
from steelyard.metrics.pairs.equals import tie_rate
from steelyard.metrics.pairs.slot_imbalance import Count, with_slot_imbalance
from steelyard.metrics.proportions import proportion
from steelyard.metrics.stats.clusters import Tally

TARGET_SENSITIVITY = Metric(
    "target_sensitivity",
    "target sensitivity",
    "Calls that choose the better of two texts a known number of quality steps apart; a tie is a miss.",
    plain="chooses the better text",
    limit=Limit(0.80, "min", {"delta": 1}),
    event=lambda pairs: pairs.right,
    labelled=True,
    by_step=True,
    over_steps=True,
    behind="wrong",
    basis=CLIMBS,
)
NONTIE_ACCURACY = Metric(
    "nontie_accuracy",
    "accuracy without ties",
    "Correct calls among those that name a winner.",
    basis=Basis(ends=Ends.CHOICE, only=climbs),
)
MISS_BY_TIE = Metric(
    "miss_by_tie",
    "miss by tie",
    "Calls that answer tie although one text is better.",
    plain="calls a tie wrongly",
    event=lambda pairs: neither(pairs.calls),
    by_step=True,
    compared=False,
    basis=CLIMBS,
)
WRONG_CHOICE = Metric(
    "wrong_choice",
    "wrong choice",
    "Calls that choose the worse text.",
    plain="chooses the worse text",
    event=lambda pairs: pairs.reports & ~pairs.right,
    labelled=True,
    by_step=True,
    compared=False,
    behind="wrong",
    basis=CLIMBS,
)


def on_ladder(pairs: Pairs) -> Pairs:
    return pairs.where((pairs.delta > 0) & (pairs.better > 0))


def steps(pairs: Pairs) -> list[float]:
    return [float(value) for value in np.unique(pairs.delta)]


def sensitivity_estimates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:

    def right_of_decided(rows: Pairs) -> Tally:
        return tally(rows, rows.right.sum(axis=1), count_calls(rows, decided))

    undecided = "no call of this condition was decided"
    return [
        target_sensitivity(context, pairs),
        _share(context, NONTIE_ACCURACY, pairs, right_of_decided, reason=undecided),
        proportion(context, MISS_BY_TIE, share_of_calls(pairs, MISS_BY_TIE)),
        _share(context, WRONG_CHOICE, pairs),
        tie_rate(context, pairs),
    ]


def target_sensitivity(context: EstimateContext, pairs: Pairs) -> Estimate:
    return _share(context, TARGET_SENSITIVITY, pairs)


def _share(
    context: EstimateContext,
    metric: Metric,
    pairs: Pairs,
    count: Count | None = None,
    reason: str | None = None,
) -> Estimate:
    """A share of right or wrong choices; where slots are uneven, it says what the other one could change."""
    count = count or partial(share_of_calls, metric=metric)
    estimate = proportion(context, metric, count(pairs), reason=reason)
    return with_slot_imbalance(estimate, metric.limit_in(context.group, context.probe), pairs, count)


def by_base_level(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    qualities = np.unique(pairs.base_level[~np.isnan(pairs.base_level)])
    return [
        target_sensitivity(
            context.for_subgroup(base_level=step(quality)), pairs.where(pairs.base_level == quality)
        )
        for quality in qualities
    ]
