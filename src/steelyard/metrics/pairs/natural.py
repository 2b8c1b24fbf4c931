"""Natural pairs: does the winner survive a change of order, and is it the one people chose?

Quality is not controlled here, so a stable winner is no fault: the cells are named for the order
alone. In integers

    2·consistent + 2·flips to slot 1 + 2·flips to slot 2 + one-sided + conflicting = committed calls
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from steelyard.core.arrays import Ints, distinct
from steelyard.metrics.basis import WHOLE_PAIRS
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import HIGH, LOW, Metric
from steelyard.metrics.multiplicity import AdjustedTest, adjust_for_multiplicity
from steelyard.metrics.pairs.answer import Answer, readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import excluded, share_of_calls, tally
from steelyard.metrics.pairs.decomposition import (
    NO_PREFERENCE,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    SLOTS,
    STABLE_CROSS_SENSITIVITY,
    decompose,
    positional,
    stable,
    undecomposed,
)
from steelyard.metrics.pairs.equals import ORDER, POSITION, cell_estimate, equals_tests, left_out, tie_rate
from steelyard.metrics.pairs.flip_estimates import flip_estimates
from steelyard.metrics.pairs.kappa import kappa
from steelyard.metrics.pairs.length import length_lean, longer_chosen, longer_of
from steelyard.metrics.pairs.missing import missing_rates
from steelyard.metrics.pairs.position import position_test
from steelyard.metrics.pairs.slot import DECLARED_PROTOCOL, net_slot_preference
from steelyard.metrics.pairs.uneven_slots import over_slots
from steelyard.metrics.proportions import proportion

ORDER_CONSISTENCY = Metric(
    "order_consistency",
    "order consistency",
    "Pairs whose winner stays the same text when the order is reversed.",
    plain="keeps its winner when swapped",
    unit="pair",
    event=stable,
    direction=HIGH,
    basis=WHOLE_PAIRS,
)
FLIP_FIRST = Metric(
    "flip_first",
    "flips to slot 1",
    "Pairs whose winner changes with the order, to the first slot.",
    unit="pair",
    event=lambda pairs: positional(pairs) & (pairs.u_first == Answer.FIRST),
    direction=LOW,
    basis=WHOLE_PAIRS,
)
FLIP_SECOND = Metric(
    "flip_second",
    "flips to slot 2",
    "Pairs whose winner changes with the order, to the second slot.",
    unit="pair",
    event=lambda pairs: positional(pairs) & (pairs.u_first == Answer.SECOND),
    direction=LOW,
    basis=WHOLE_PAIRS,
)
ACCURACY_BOTH = Metric(
    "accuracy_both",
    "accuracy in both orders",
    "Pairs whose verdict is the expected one in both orders.",
    unit="pair",
    event=lambda pairs: pairs.right.all(axis=1),
    labelled=True,
    compared=False,
    basis=WHOLE_PAIRS,
)

CELLS: dict[Metric, tuple[Metric, int | None]] = {
    ORDER_CONSISTENCY: (STABLE_CROSS_SENSITIVITY, None),
    FLIP_FIRST: (POSITIONAL_FALSE_PREFERENCE, 1),
    FLIP_SECOND: (POSITIONAL_FALSE_PREFERENCE, 2),
    ONE_SIDED_COMMIT: (ONE_SIDED_COMMIT, None),
    NO_PREFERENCE: (NO_PREFERENCE, None),
}
"""Each cell of natural pairs as a cell of the decomposition, and the slot its commits went into."""

NO_GOLD = "no pair says which text is better"
NO_BETTER = "no pair has a better text"


def prompt_family(prompts: Mapping[str, Pairs]) -> dict[str, AdjustedTest]:
    """The position test of each prompt, adjusted for their number; empty where `base` is among them.

    Verdicts recorded elsewhere often name every prompt: then none is the study's own, and all of them
    together are the family that was declared.
    """
    if DECLARED_PROTOCOL in prompts:
        return {}
    return adjust_for_multiplicity(
        {name: position_test(decompose(pairs)).p for name, pairs in prompts.items()}
    )


def natural_estimates(
    context: EstimateContext,
    pairs: Pairs,
    labelled: Pairs,
    among_prompts: AdjustedTest | None = None,
    longer: Mapping[str, int] | None = None,
) -> list[Estimate]:
    """Every figure of natural pairs; `labelled` are those of which people said which text is better.

    `among_prompts` is the position test among the judge's prompts, see `prompt_family`. `longer` is the
    longer text of each pair by its name, 1 for u and 2 for v.
    """
    declared = context.protocol == DECLARED_PROTOCOL
    family = equals_tests(context, pairs, (POSITION, ORDER)) if declared else {}
    return [
        *_cells(context, pairs),
        net_slot_preference(context, pairs, among_prompts, family),
        *flip_estimates(context, pairs, family.get(ORDER)),
        tie_rate(context, pairs),
        _accuracy(context, labelled),
        *(_accuracy_in_slot(context, labelled, slot) for slot in (1, 2)),
        _accuracy_both(context, labelled),
        kappa(context, labelled, NO_GOLD),
        *_length(context, pairs, labelled, longer or {}, len(family) if declared else None),
        *missing_rates(context, pairs),
    ]


def stratum_estimates(context: EstimateContext, pairs: Pairs, labelled: Pairs) -> list[Estimate]:
    """The main figures of a part of the natural pairs."""
    kept = [cell for cell in _cells(context, pairs) if cell.metric == ORDER_CONSISTENCY.id]
    return [_accuracy(context, labelled), kappa(context, labelled, NO_GOLD), *kept]


def _cells(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    parts = decompose(pairs)
    if not parts.complete.any():
        why, missing = undecomposed(pairs, parts), excluded(pairs)
        return [context.undefined(metric, why, "pair", missing) for metric in CELLS]
    count, notes = len(CELLS), left_out(pairs, parts)
    return [
        cell_estimate(context, metric, parts, cell, slot, cells=count, notes=notes)
        for metric, (cell, slot) in CELLS.items()
    ]


def _length(
    context: EstimateContext, pairs: Pairs, labelled: Pairs, longer: Mapping[str, int], others: int | None
) -> list[Estimate]:
    """Whether length wins; nothing where no text is known."""
    if not longer:
        return []
    known = np.isin(pairs.pair, _places(pairs, labelled))
    return [
        length_lean(context, labelled, longer_of(labelled, longer), NO_GOLD, others),
        longer_chosen(context, pairs, longer_of(pairs, longer), known),
    ]


def _places(pairs: Pairs, labelled: Pairs) -> Ints:
    """The numbers that labelled pairs have among all."""
    place = {name: number for number, name in enumerate(pairs.names)}
    return np.array([place[labelled.names[number]] for number in distinct(labelled.pair)], dtype=np.int64)


def _accuracy(context: EstimateContext, pairs: Pairs) -> Estimate:
    reason = None if len(pairs) else NO_GOLD
    estimate = proportion(context, ACCURACY, share_of_calls(pairs, ACCURACY), reason=reason)
    return over_slots(estimate, None, pairs, lambda part: share_of_calls(part, ACCURACY))


def _accuracy_in_slot(context: EstimateContext, pairs: Pairs, slot: int) -> Estimate:
    """Accuracy of the calls in which the better text stood in this slot."""
    rows = pairs.where(pairs.better > 0)
    u_shown = rows.better == slot
    codes: Ints = np.where(u_shown, rows.u_first, rows.v_first)
    # One call per row: the other order is taken away, so that its missing verdicts do not count here.
    calls = replace(rows, u_first=codes, v_first=np.full(len(rows), Answer.ABSENT, dtype=np.int64))
    chosen = codes == SLOTS[slot]
    reason = None if len(rows) else NO_BETTER if len(pairs) else NO_GOLD
    counts = tally(calls, chosen, readable(codes))
    return proportion(context.for_subgroup(slot=slot), ACCURACY, counts, reason=reason)


def _accuracy_both(context: EstimateContext, pairs: Pairs) -> Estimate:
    """Pairs on which both orders agree with people."""
    parts = decompose(pairs)
    if not parts.complete.any():
        why = undecomposed(pairs, parts) if len(pairs) else NO_GOLD
        return context.undefined(ACCURACY_BOTH, why, "pair", excluded(pairs))
    u, v = parts.pairs.right.T
    counts = tally(parts.pairs, u & v, parts.complete, calls_per_trial=2)
    lost_u, lost_v = ~readable(parts.pairs.u_first), ~readable(parts.pairs.v_first)
    possible = int(np.count_nonzero(~parts.complete & (u | lost_u) & (v | lost_v)))
    designed = len(parts.pairs)
    bounds = (counts.k / designed, (counts.k + possible) / designed)
    return proportion(
        context, ACCURACY_BOTH, counts, unit="pair", bounds=bounds, notes=left_out(pairs, parts)
    )
