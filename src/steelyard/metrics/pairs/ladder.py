"""Every figure of the ladder probe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.metrics.basis import Basis, Ends
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import NO_CALLS, EstimateContext
from steelyard.metrics.metric import Metric, step
from steelyard.metrics.pairs.columns import Pairs, count_calls, count_wins, decided, missing_rates, tally
from steelyard.metrics.pairs.dprime import dprime_estimates
from steelyard.metrics.pairs.equals import ORDER, direction_estimates, equals_tests
from steelyard.metrics.pairs.flips import flip_estimates
from steelyard.metrics.pairs.length import FILLER, length_lean
from steelyard.metrics.pairs.sensitivity import (
    by_base_level,
    on_ladder,
    sensitivity_estimates,
    steps,
    target_sensitivity,
)
from steelyard.metrics.pairs.slot import DECLARED_PROTOCOL, net_slot_preference
from steelyard.metrics.pairs.threshold import delta75
from steelyard.metrics.proportions import join, proportion

PADDED_PREFERENCE = Metric(
    "padded_preference",
    "padded preference",
    "Decided calls that choose the text padded with filler; a judge blind to padding shows 0.50.",
    plain="prefers padding",
    basis=Basis(ends=Ends.CHOICE),
)


def ladder_estimates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    ladder = on_ladder(pairs)
    estimates = _equals(context, pairs)
    # The first step is always reported, with a reason where it was not measured.
    for delta in steps(ladder) or [1.0]:
        rows = ladder.where(np.asarray(ladder.delta == delta))
        here = context.for_subgroup(delta=step(delta))
        estimates += sensitivity_estimates(here, rows)
        estimates += by_base_level(here, rows)
        estimates += dprime_estimates(here, rows)
    pooled = target_sensitivity(context, ladder)
    return [
        *estimates,
        replace(pooled, note=join(["all steps together", pooled.note])),
        delta75(context, pairs),
        *missing_rates(context, pairs),
    ]


def _equals(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    """Figures of the kinds whose candidates are equally good; `same_subset` is always reported."""
    equal = ~(pairs.delta > 0)
    estimates: list[Estimate] = []
    others: int | None = None
    for kind in ("same_subset", "different_subset", FILLER):
        rows = pairs.where(equal & (pairs.kind == kind))
        same = kind == "same_subset"
        if not len(rows) and not same:
            continue
        here = context.for_subgroup(delta=0, kind=kind)
        declared = same and context.group["protocol"] == DECLARED_PROTOCOL
        family = equals_tests(here, rows) if declared else {}
        estimates += direction_estimates(here, rows, family)
        if same:
            estimates.append(net_slot_preference(here, rows, family=family))
        if declared:
            others = len(family)
            estimates += flip_estimates(here, rows, family.get(ORDER))
        if kind == FILLER:
            estimates.append(padded_preference(here, rows))
            # The second content is the padded one.
            padded = np.full(len(rows), 2, dtype=np.int64)
            estimates.append(length_lean(here, rows, padded, NO_CALLS, others))
    return estimates


def padded_preference(context: EstimateContext, pairs: Pairs) -> Estimate:
    return proportion(
        context,
        PADDED_PREFERENCE,
        tally(pairs, count_wins(pairs, "v"), count_calls(pairs, decided)),
        chance=0.5,
        reason="no call of this condition was decided",
        notes=["of decided calls"],
    )
