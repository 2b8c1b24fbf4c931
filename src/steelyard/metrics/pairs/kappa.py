"""Agreement of verdicts on natural pairs with people's, beyond chance."""

from __future__ import annotations

import numpy as np

from steelyard.arrays import Floats
from steelyard.metrics.common import KAPPA
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.findings import UNDERPOWERED, Beyond
from steelyard.metrics.heading import NO_VERDICTS, Heading
from steelyard.metrics.pairs.answer import Answer, as_tie, readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import distinct_pairs, excluded
from steelyard.metrics.proportions import ONE_CLUSTER, join, limit_told
from steelyard.metrics.stats import agreement
from steelyard.metrics.stats.intervals import AGREEMENT

_ANSWERS = np.array([0.0, 1.0, 2.0])
ALL_TIES = "people call every pair a tie"
ONE_SLOT = "what people chose stood in the same slot in every call"


def kappa(heading: Heading, pairs: Pairs, lacking: str) -> Estimate:
    """Cohen's κ of slot 1, slot 2 or tie against what people chose, call by call.

    `lacking` says why there are no labels, where there are none.
    """
    read = readable(pairs.calls)
    if not read.any():
        return heading.undefined(KAPPA, NO_VERDICTS if len(pairs) else lacking, "call", excluded(pairs))
    if not np.any(pairs.better > 0):
        return heading.undefined(KAPPA, ALL_TIES, "call", excluded(pairs))
    table = _table(pairs)
    if np.count_nonzero(table.sum((0, 2))) < 2:
        return heading.undefined(KAPPA, ONE_SLOT, "call", excluded(pairs))
    beyond = Beyond(table, lambda sums: agreement.kappa(sums, _ANSWERS), AGREEMENT, int(read.sum()))
    limit = KAPPA.limit_in(heading.group, heading.probe)
    word = beyond.word(limit) if limit else None
    clusters = len(np.unique(pairs.cluster))
    return heading.estimate(
        KAPPA,
        unit="call",
        value=beyond.value,
        intervals=(Interval("jackknife_cluster", *beyond.limits(0.975)),),
        n_calls=beyond.calls,
        n_units=distinct_pairs(pairs, np.asarray(read.any(axis=1))),
        n_clusters=clusters,
        excluded=excluded(pairs),
        chance=0.0,
        finding=word,
        calls_needed=beyond.calls_needed(limit) if limit and word == UNDERPOWERED else None,
        note=join([limit_told(limit) if limit else None, ONE_CLUSTER if clusters < 2 else None]),
    )


def _table(pairs: Pairs) -> Floats:
    """Calls by what people chose and what the judge named, within each cluster; pairs where there is one."""
    row, order = np.nonzero(readable(pairs.calls))
    given = as_tie(pairs.calls[row, order])
    better, first = pairs.better[row], np.where(order == 0, 1, 2)
    wanted = np.where(better == 0, Answer.TIE, np.where(better == first, Answer.FIRST, Answer.SECOND))
    units = pairs.cluster if len(np.unique(pairs.cluster)) > 1 else pairs.pair
    unit = np.unique(units[row], return_inverse=True)[1]
    cells = (unit * 3 + wanted) * 3 + given
    table = np.bincount(cells, minlength=(int(unit.max()) + 1) * 9).reshape(-1, 3, 3)
    return table.astype(np.float64)
