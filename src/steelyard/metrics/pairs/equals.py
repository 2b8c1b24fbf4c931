"""Pairs of equal quality: false preferences, their decomposition and tests, and the vacuum.

The tests are one family, declared before the data. Each of them holds its error of .05, and a judge without
any preference would be flagged by one of three in a sheet of eight. Holm's correction over the family keeps
that to one sheet in twenty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.text import join_notes, plural, pluralize
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.findings import BY_CHANCE, FLAGGED, with_limit_word
from steelyard.metrics.metric import LOW, WHOLE_PAIRS, Metric
from steelyard.metrics.multiplicity import AdjustedTest, adjust_for_multiplicity
from steelyard.metrics.pairs import columns
from steelyard.metrics.pairs.columns import Pairs, excluded, share_of_calls, tally
from steelyard.metrics.pairs.decomposition import (
    CELLS,
    NO_PREFERENCE,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    SAME_QUALITY,
    SLOTS,
    STABLE_CROSS_SENSITIVITY,
    Decomposition,
    chance_lines,
    decompose,
    undecomposed,
)
from steelyard.metrics.pairs.flips import order_test
from steelyard.metrics.pairs.slot import position_test, two_sided_counts
from steelyard.metrics.proportions import DARK_CURRENT, designed_bounds, proportion

RAW_FALSE_PREFERENCE = Metric(
    "raw_false_preference",
    meaning="Calls that name a winner between texts of the same quality; a mixture that its parts explain.",
    plain="prefers between equals",
    event=lambda pairs: pairs.reports,
    kinds=SAME_QUALITY,
    direction=LOW,
    behind="wrong",
)
OTHER_CONFLICT = Metric(
    "other_conflict",
    "other conflict",
    "Preferences in pairs whose other order gave no verdict, as a share of all calls; zero in clean runs.",
    plain="decides beside a lost call",
    basis=WHOLE_PAIRS,
)
TIE_RATE = Metric(
    "tie_rate",
    meaning="Calls answered with a tie or a valid abstention.",
    event=lambda pairs: pairs.neither,
    by_step=True,
    over_kinds=True,
)
METRICS = (
    *(RAW_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY, POSITIONAL_FALSE_PREFERENCE, ONE_SIDED_COMMIT),
    *(OTHER_CONFLICT, NO_PREFERENCE),
)

POSITION, STABLE, ORDER = "position", "stable", "order"
SPLIT = (POSITIONAL_FALSE_PREFERENCE, ONE_SIDED_COMMIT)
"""Cells whose commits went into one slot, which is recorded."""
ONE_VERDICT = "both orders have one verdict by construction"
"""Reading of stable preferences of a judge that is asked in both orders for each verdict."""


def direction_estimates(
    context: EstimateContext, pairs: Pairs, family: Mapping[str, AdjustedTest] | None = None
) -> list[Estimate]:
    """Raw false preference, tie rate, and the decomposition, pooled and by slot.

    `family` are the tests between equals, see `equals_tests`.
    """
    raw = proportion(context, RAW_FALSE_PREFERENCE, share_of_calls(pairs, RAW_FALSE_PREFERENCE))
    calls = [raw, tie_rate(context, pairs)]
    parts = decompose(pairs)
    in_slots = [(context.for_subgroup(slot=slot), metric, slot) for metric in SPLIT for slot in SLOTS]
    if not parts.complete.any():
        why, missing = undecomposed(pairs, parts), excluded(pairs)
        places = [*((context, metric) for metric in CELLS), *((here, metric) for here, metric, _ in in_slots)]
        cells = [here.undefined(metric, why, "pair", missing) for here, metric in places]
        return [*calls, *cells, context.undefined(OTHER_CONFLICT, why, "call", missing)]
    notes = left_out(pairs, parts)
    cells = [cell_estimate(context, metric, parts, metric, cells=len(CELLS), notes=notes) for metric in CELLS]
    by_slot = [cell_estimate(here, metric, parts, metric, slot) for here, metric, slot in in_slots]
    # Decided calls in pairs that lack the other verdict, among the two calls of every pair.
    lonely = np.where(parts.complete, 0, parts.commits)
    counts = tally(parts.pairs, lonely, np.full(len(lonely), 2, dtype=np.int64), missing=False)
    conflict = proportion(context, OTHER_CONFLICT, counts)
    return [*calls, *_with_tests(cells, parts, family or {}), *by_slot, conflict]


def tie_rate(context: EstimateContext, pairs: Pairs) -> Estimate:
    return proportion(context, TIE_RATE, share_of_calls(pairs, TIE_RATE))


def _with_tests(
    cells: list[Estimate], parts: Decomposition, family: Mapping[str, AdjustedTest]
) -> list[Estimate]:
    """A coin fills these cells too: beyond the limit, a cell is flagged only where its test agrees."""
    if parts.pairs.mirrored:
        # Both orders have one verdict by construction, so that a stable winner shows no preference.
        stable, *others = cells
        unread = replace(stable, status=None, chance=None, calls_needed=None, reading=ONE_VERDICT)
        return [replace(unread, note=join_notes([stable.note, ONE_VERDICT])), *others]
    found = position_test(parts)
    tests = {
        STABLE_CROSS_SENSITIVITY.id: (STABLE_CROSS_SENSITIVITY, "stable excess", STABLE, found.stable_p),
        POSITIONAL_FALSE_PREFERENCE.id: (POSITIONAL_FALSE_PREFERENCE, "position test", POSITION, found.p),
    }
    return [_with_test(cell, family, *tests[cell.metric]) if cell.metric in tests else cell for cell in cells]


def _with_test(
    cell: Estimate, family: Mapping[str, AdjustedTest], metric: Metric, words: str, name: str, p: float
) -> Estimate:
    test, limit = family.get(name, AdjustedTest.single(p)), metric.limit_in(cell.group, cell.probe)
    if limit is None or cell.status is None:
        return cell
    cell = replace(cell, p=test.unadjusted_p, p_corrected=test.adjusted_p)
    if cell.status != FLAGGED or test.is_significant:
        return cell
    by_chance = f"beyond the limit, as independent calls would be: {words} {test.format()}"
    note = join_notes([cell.note, by_chance])
    return with_limit_word(replace(cell, reading=BY_CHANCE, note=note), limit.allowed)


def left_out(pairs: Pairs, parts: Decomposition) -> list[str]:
    dropped = len(pairs) - len(parts.pairs)
    note = f"{pluralize(dropped, 'pair')} shown in one order only {plural(dropped, 'is', 'are')} left out"
    return [note] if dropped else []


def cell_estimate(
    context: EstimateContext,
    metric: Metric,
    parts: Decomposition,
    cell: Metric,
    slot: int | None = None,
    *,
    cells: int | None = None,
    notes: Iterable[str] = (),
) -> Estimate:
    """The share of pairs in a cell, or in the part of it whose commits went into one slot.

    `cells` is the number of cells for which the interval holds at once.
    """
    if parts.pairs.mirrored and cell in SPLIT:
        return columns.by_construction(context, metric, parts.pairs, "pair")
    rows = parts.cell(cell) if slot is None else parts.in_slot(cell, slot)
    counts = tally(parts.pairs, rows, parts.complete, calls_per_trial=2)
    bounds = designed_bounds(counts.k, parts.possible(cell, slot), len(parts.pairs))
    chance = chance_lines(parts).get((cell, slot))
    return proportion(
        context, metric, counts, unit="pair", cells=cells, bounds=bounds, chance=chance, notes=notes
    )


def equals_tests(
    context: EstimateContext, pairs: Pairs, members: Sequence[str] = (POSITION, STABLE, ORDER)
) -> Mapping[str, AdjustedTest]:
    """The position test, the test for stable preferences, and with replicates order against noise.

    A test that has nothing to count is none: stable preferences need a pair that was decided in both orders.
    """
    parts = decompose(pairs)
    if not parts.complete.any() or pairs.mirrored:
        return {}
    position = position_test(parts)
    stable = position.stable_p if any(two_sided_counts(parts.whole)) else None
    chances = {POSITION: position.p, STABLE: stable, ORDER: order_test(context, pairs)}
    return adjust_for_multiplicity({name: p for name in members if (p := chances[name]) is not None})


def vacuum_estimates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    """Dark current pooled and per kind (a pooled 2/3 can be three constants); calls without a verdict."""
    parts = [(context, pairs)]
    for kind in np.unique(pairs.kind).tolist():
        parts.append((context.for_subgroup(kind=kind), pairs.where(pairs.kind == kind)))
    dark = [proportion(here, DARK_CURRENT, share_of_calls(rows, DARK_CURRENT)) for here, rows in parts]
    return [*dark, *columns.missing_rates(context, pairs)]
