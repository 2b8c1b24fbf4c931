"""Natural pairs: does the winner survive a change of order, and do people agree (accuracy, Cohen κ)?

Quality is not controlled here, so a stable winner is no fault: the cells are named for the order
alone. In integers

    2·consistent + 2·flips to slot 1 + 2·flips to slot 2 + one-sided + conflicting = decided calls
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct
from steelyard.metrics import proportions
from steelyard.metrics.estimate import NO_VERDICTS, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import SURE, with_finding, with_word_over
from steelyard.metrics.metric import HIGH, LOW, WHOLE_PAIRS, Metric
from steelyard.metrics.multiplicity import AdjustedTest, adjust_for_multiplicity
from steelyard.metrics.pairs import columns, equals
from steelyard.metrics.pairs.columns import PairAnswer, Pairs, excluded, share_of_calls, tally
from steelyard.metrics.pairs.decomposition import (
    NO_PREFERENCE,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    STABLE_CROSS_SENSITIVITY,
    decompose,
    positional,
    stable,
    undecomposed,
)
from steelyard.metrics.pairs.equals import ORDER, POSITION, TIE_RATE
from steelyard.metrics.pairs.flips import METRICS as OF_FLIPS
from steelyard.metrics.pairs.flips import flip_estimates
from steelyard.metrics.pairs.length import LENGTH_LEAN, LONGER_CHOSEN, length_lean, longer_chosen, longer_of
from steelyard.metrics.pairs.slot import (
    DECLARED_PROTOCOL,
    NET_SLOT_PREFERENCE,
    SlotCounts,
    net_slot_preference,
    position_test,
    with_slot_imbalance,
)
from steelyard.metrics.proportions import ACCURACY, FAILED_RATE, KAPPA, UNREADABLE_RATE, proportion
from steelyard.metrics.stats import agreement
from steelyard.metrics.stats.intervals import AGREEMENT
from steelyard.metrics.stats.two_class import LimitTest

_ANSWERS = np.array([0.0, 1.0, 2.0])


def kappa(context: EstimateContext, pairs: Pairs, lacking: str) -> Estimate:
    """Cohen's κ of slot 1, slot 2 or tie against what people chose, call by call.

    `lacking` says why there are no labels, where there are none.
    """
    answers = pairs.readable
    if not answers.any():
        return context.undefined(KAPPA, NO_VERDICTS if len(pairs) else lacking, "call", excluded(pairs))
    if not np.any(pairs.better > 0):
        return context.undefined(KAPPA, "people call every pair a tie", "call", excluded(pairs))
    table = _table(pairs, columns.as_tie(pairs.calls), answers)
    if np.count_nonzero(table.sum((0, 2))) < 2:
        reason = "what people chose stood in the same slot in every call"
        return context.undefined(KAPPA, reason, "call", excluded(pairs))
    beyond = _beyond(table)
    limit = context.limit(KAPPA)
    clusters, units = pairs.n_clusters, len(distinct(pairs.pair[answers.any(axis=1)]))
    sample = Sample(beyond.calls, units, clusters, excluded(pairs))
    intervals = (Interval(beyond.method, *beyond.limits(SURE)),)
    notes = [proportions.limit_note(limit), proportions.ONE_CLUSTER if clusters < 2 else None]
    figure = context.estimate(KAPPA, sample, notes, value=beyond.value, intervals=intervals, chance=0.0)
    if limit is None:
        return figure
    seen = replace(with_finding(replace(figure, excluded={}), limit), excluded=figure.excluded)
    # The calls without a verdict, as if each had been another than people's choice, or that choice.
    first, second = np.int64(PairAnswer.FIRST), np.int64(PairAnswer.SECOND)
    other = np.where(pairs.wanted == first, second, first)
    lost = pairs.lost_calls
    given = (other, pairs.wanted) if lost.any() else ()
    cases = [_beyond(table + _table(pairs, each, lost)).limits(SURE) for each in given]
    return with_word_over(seen, limit, cases)


def _beyond(table: Floats) -> LimitTest:
    """What a table tells; units without a call in it are none."""
    units = table[table.any(axis=(1, 2))]
    return LimitTest(units, lambda sums: agreement.kappa(sums, _ANSWERS), AGREEMENT, int(table.sum()))


def _table(pairs: Pairs, given: Ints, calls: Mask) -> Floats:
    """These calls by what people chose and what was given, within each cluster; pairs where there is one."""
    units = pairs.unit
    cells = (units[:, None] * 3 + pairs.wanted) * 3 + given
    table = np.bincount(cells[calls], minlength=(int(units.max()) + 1) * 9).reshape(-1, 3, 3)
    return table.astype(np.float64)


_of_pairs = partial(Metric, unit="pair", basis=WHOLE_PAIRS)
ORDER_CONSISTENCY = _of_pairs(
    "order_consistency",
    meaning="Pairs whose winner stays the same text when the order is reversed.",
    plain="keeps its winner when swapped",
    event=stable,
    direction=HIGH,
)
FLIP_FIRST = _of_pairs(
    "flip_first",
    "flips to slot 1",
    "Pairs whose winner changes with the order, to the first slot.",
    event=lambda pairs: positional(pairs) & (pairs.u_first == PairAnswer.FIRST),
    direction=LOW,
)
FLIP_SECOND = _of_pairs(
    "flip_second",
    "flips to slot 2",
    "Pairs whose winner changes with the order, to the second slot.",
    event=lambda pairs: positional(pairs) & (pairs.u_first == PairAnswer.SECOND),
    direction=LOW,
)
ACCURACY_BOTH = _of_pairs(
    "accuracy_both",
    "accuracy in both orders",
    "Pairs whose verdict is the expected one in both orders.",
    event=lambda pairs: pairs.right.all(axis=1),
    labelled=True,
    compared=False,
)

CELLS: dict[Metric, tuple[Metric, int | None]] = {
    ORDER_CONSISTENCY: (STABLE_CROSS_SENSITIVITY, None),
    FLIP_FIRST: (POSITIONAL_FALSE_PREFERENCE, 1),
    FLIP_SECOND: (POSITIONAL_FALSE_PREFERENCE, 2),
    ONE_SIDED_COMMIT: (ONE_SIDED_COMMIT, None),
    NO_PREFERENCE: (NO_PREFERENCE, None),
}
"""Each cell of natural pairs as a cell of the decomposition, and the slot that its decided calls name."""
METRICS = (
    *(ACCURACY, ACCURACY_BOTH, KAPPA, *CELLS, NET_SLOT_PREFERENCE, LENGTH_LEAN, LONGER_CHOSEN),
    *(*OF_FLIPS, TIE_RATE, UNREADABLE_RATE, FAILED_RATE),
)

NO_GOLD = "no pair says which text is better"


def prompt_family(prompts: Mapping[str, Pairs]) -> dict[str, AdjustedTest]:
    """The position test of each prompt, adjusted for their number; empty where `base` is among them.

    Verdicts recorded elsewhere often name every prompt: then none is the study's own, and all of them
    together are the family that was declared.
    """
    if DECLARED_PROTOCOL in prompts:
        return {}
    p_values = {name: position_test(decompose(pairs)).p for name, pairs in prompts.items()}
    return adjust_for_multiplicity(p_values)


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
    family = equals.equals_tests(context, pairs, (POSITION, ORDER)) if declared else {}
    return [
        *_cells(context, pairs),
        net_slot_preference(context, pairs, among_prompts, family),
        *flip_estimates(context, pairs, family.get(ORDER)),
        equals.tie_rate(context, pairs),
        _accuracy(context, labelled),
        *(_accuracy_in_slot(context, labelled, slot) for slot in (1, 2)),
        _accuracy_both(context, labelled),
        kappa(context, labelled, NO_GOLD),
        *_length(context, pairs, labelled, longer or {}, len(family) if declared else None),
        *columns.missing_rates(context, pairs),
    ]


def stratum_estimates(context: EstimateContext, pairs: Pairs, labelled: Pairs) -> list[Estimate]:
    return [_accuracy(context, labelled), kappa(context, labelled, NO_GOLD), _cells(context, pairs)[0]]


def _cells(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    parts = decompose(pairs)
    if not parts.complete.any():
        why, missing = undecomposed(pairs, parts), excluded(pairs)
        return [context.undefined(metric, why, "pair", missing) for metric in CELLS]
    notes = equals.left_out(pairs, parts)
    return [
        equals.cell_estimate(context, metric, parts, cell, slot, cells=len(CELLS), notes=notes)
        for metric, (cell, slot) in CELLS.items()
    ]


def _length(
    context: EstimateContext, pairs: Pairs, labelled: Pairs, longer: Mapping[str, int], others: int | None
) -> list[Estimate]:
    if not longer:
        return []
    names = {labelled.names[number] for number in distinct(labelled.pair)}
    known = np.array([pairs.names[number] in names for number in pairs.pair], dtype=np.bool_)
    return [
        length_lean(context, labelled, longer_of(labelled, longer), NO_GOLD, others),
        longer_chosen(context, pairs, longer_of(pairs, longer), known),
    ]


def _accuracy(context: EstimateContext, pairs: Pairs) -> Estimate:
    reason = None if len(pairs) else NO_GOLD
    estimate = proportion(context, ACCURACY, share_of_calls(pairs, ACCURACY), reason=reason)
    return with_slot_imbalance(estimate, None, pairs, lambda part: share_of_calls(part, ACCURACY))


def _accuracy_in_slot(context: EstimateContext, pairs: Pairs, slot: int) -> Estimate:
    rows = pairs.where(pairs.better > 0)
    reason = None if len(rows) else "no pair has a better text" if len(pairs) else NO_GOLD
    counts = share_of_calls(SlotCounts(rows).parts[slot - 1], ACCURACY)
    return proportion(context.for_subgroup(slot=slot), ACCURACY, counts, reason=reason)


def _accuracy_both(context: EstimateContext, pairs: Pairs) -> Estimate:
    parts = decompose(pairs)
    if not parts.complete.any():
        why = undecomposed(pairs, parts) if len(pairs) else NO_GOLD
        return context.undefined(ACCURACY_BOTH, why, "pair", excluded(pairs))
    u, v = parts.pairs.right.T
    counts = tally(parts.pairs, u & v, parts.complete, calls_per_trial=2)
    lost_u, lost_v = ~parts.pairs.readable.T
    possible = int(np.count_nonzero(~parts.complete & (u | lost_u) & (v | lost_v)))
    bounds = proportions.designed_bounds(counts.k, possible, len(parts.pairs))
    notes = equals.left_out(pairs, parts)
    return proportion(context, ACCURACY_BOTH, counts, unit="pair", bounds=bounds, notes=notes)
