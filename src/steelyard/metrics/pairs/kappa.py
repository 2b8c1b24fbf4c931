"""Agreement of verdicts on natural pairs with people's, beyond chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct
from steelyard.metrics.common import KAPPA
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import NO_VERDICTS, EstimateContext
from steelyard.metrics.findings import INCONCLUSIVE, SURE, Beyond, by_loss, calls_needed
from steelyard.metrics.pairs.answer import Answer, as_tie, lost, readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import distinct_pairs, excluded
from steelyard.metrics.proportions import ONE_CLUSTER, join, limit_told
from steelyard.metrics.stats import agreement
from steelyard.metrics.stats.intervals import AGREEMENT

_ANSWERS = np.array([0.0, 1.0, 2.0])
ALL_TIES = "people call every pair a tie"
ONE_SLOT = "what people chose stood in the same slot in every call"


def kappa(context: EstimateContext, pairs: Pairs, lacking: str) -> Estimate:
    """Cohen's κ of slot 1, slot 2 or tie against what people chose, call by call.

    `lacking` says why there are no labels, where there are none.
    """
    answers = readable(pairs.calls)
    if not answers.any():
        return context.undefined(KAPPA, NO_VERDICTS if len(pairs) else lacking, "call", excluded(pairs))
    if not np.any(pairs.better > 0):
        return context.undefined(KAPPA, ALL_TIES, "call", excluded(pairs))
    table = _table(pairs, as_tie(pairs.calls), answers)
    if np.count_nonzero(table.sum((0, 2))) < 2:
        return context.undefined(KAPPA, ONE_SLOT, "call", excluded(pairs))
    beyond = _beyond(table)
    limit = KAPPA.limit_in(context.group, context.probe)
    seen = beyond.word(limit) if limit else None
    word = seen
    if limit and lost(pairs.calls).any():
        words = {_beyond(table + _missing(pairs, right=right)).word(limit) for right in (False, True)}
        word = seen if words == {seen} else INCONCLUSIVE
    clusters = len(distinct(pairs.cluster))
    figure = context.estimate(
        KAPPA,
        unit="call",
        value=beyond.value,
        intervals=(Interval(beyond.method, *beyond.limits(SURE)),),
        n_calls=beyond.calls,
        n_units=distinct_pairs(pairs, np.asarray(answers.any(axis=1))),
        n_clusters=clusters,
        excluded=excluded(pairs),
        chance=0.0,
        finding=word,
        missing_decides=seen != word,
        note=join(
            [
                limit_told(limit) if limit else None,
                ONE_CLUSTER if clusters < 2 else None,
                by_loss(seen, word),
            ]
        ),
    )
    if limit is None or seen != INCONCLUSIVE:
        return figure
    return replace(figure, calls_needed=calls_needed(replace(figure, excluded={}), limit.allowed))


def _beyond(table: Floats) -> Beyond:
    """What a table tells; units without a call in it are none."""
    units = table[table.any(axis=(1, 2))]
    return Beyond(units, lambda sums: agreement.kappa(sums, _ANSWERS), AGREEMENT, int(table.sum()))


def _wanted(pairs: Pairs) -> Ints:
    """What people chose, as an answer to each order."""
    first = np.stack([pairs.better == 1, pairs.better == 2], axis=1)
    named = np.where(first, np.int64(Answer.FIRST), np.int64(Answer.SECOND))
    return np.where(pairs.better[:, None] == 0, np.int64(Answer.TIE), named)


def _missing(pairs: Pairs, *, right: bool) -> Floats:
    """The calls without a verdict, as if each had been people's choice, or another."""
    wanted = _wanted(pairs)
    other = np.where(wanted == Answer.FIRST, np.int64(Answer.SECOND), np.int64(Answer.FIRST))
    return _table(pairs, wanted if right else other, lost(pairs.calls))


def _table(pairs: Pairs, given: Ints, calls: Mask) -> Floats:
    """These calls by what people chose and what was given, within each cluster; pairs where there is one."""
    units = pairs.cluster if len(distinct(pairs.cluster)) > 1 else pairs.pair
    cells = (units[:, None] * 3 + _wanted(pairs)) * 3 + given
    table = np.bincount(cells[calls], minlength=(int(units.max()) + 1) * 9).reshape(-1, 3, 3)
    return table.astype(np.float64)
