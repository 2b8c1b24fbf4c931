"""Criterion shift: how many more ties another prompt brings, and what sensitivity pays for them."""

from __future__ import annotations

from steelyard.metrics.basis import Basis, climbs
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric, step
from steelyard.metrics.pairs.answer import neither
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import count_calls
from steelyard.metrics.pairs.sensitivity import choices, on_ladder, steps
from steelyard.metrics.pairs.shift import Rate, aligned, arm_shift

CRITERION_SHIFT = Metric(
    "criterion_shift",
    "criterion shift",
    "Tie rate under a stricter or more lenient protocol minus that under base, on the same pairs.",
    plain="more ties when told so",
    signed=True,
    basis=Basis(with_base=True),
)
SENSITIVITY_SHIFT = Metric(
    "sensitivity_shift",
    "sensitivity shift",
    "Target sensitivity under another protocol minus that under base, on the same pairs.",
    plain="better choices when told so",
    signed=True,
    basis=Basis(with_base=True, only=climbs),
)

EQUALS = "same_subset"
TIES = Rate(CRITERION_SHIFT, "tie rate", lambda pairs: count_calls(pairs, neither))
CORRECT = Rate(SENSITIVITY_SHIFT, "target sensitivity", lambda pairs: choices(pairs).correct)


def criterion_estimates(
    context: EstimateContext, base_vacuum: Pairs, strict_vacuum: Pairs, base: Pairs, strict: Pairs
) -> list[Estimate]:
    """`criterion_shift` for vacuum and for each step that either arm measured."""
    shifts = [
        criterion_shift(context.for_subgroup(kind="vacuum"), base_vacuum, strict_vacuum, context.protocol)
    ]
    strict = aligned(strict, base.names)
    for delta in sorted({0.0, *steps(on_ladder(base)), *steps(on_ladder(strict))}):
        here = context.for_subgroup(delta=step(delta))
        shifts.append(criterion_shift(here, _at(base, delta), _at(strict, delta), context.protocol))
    return shifts


def criterion_shift(
    context: EstimateContext, base: Pairs, strict: Pairs, strict_name: str = "strict"
) -> Estimate:
    """Tie rate of the strict arm less that of the base arm, on the pairs that both arms saw."""
    return arm_shift(context, TIES, base, strict, strict_name)


def sensitivity_shifts(context: EstimateContext, base: Pairs, arm: Pairs) -> list[Estimate]:
    """`sensitivity_shift` at one step, and over all steps as the design weighs them."""
    arm = aligned(arm, base.names)
    return [
        arm_shift(context.for_subgroup(delta=1), CORRECT, _at(base, 1.0), _at(arm, 1.0), context.protocol),
        arm_shift(context, CORRECT, on_ladder(base), on_ladder(arm), context.protocol),
    ]


def _at(pairs: Pairs, delta: float) -> Pairs:
    if delta == 0:
        return pairs.where((pairs.kind == EQUALS) & ~(pairs.delta > 0))
    return pairs.where((pairs.delta == delta) & (pairs.better > 0))
