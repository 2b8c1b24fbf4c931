"""Agreement of verdicts on natural pairs with people's, beyond chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.arrays import Floats, Ints, distinct, numbered
from steelyard.metrics.common import KAPPA
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.findings import UNDERPOWERED, Beyond, by_loss
from steelyard.metrics.heading import NO_VERDICTS, Heading
from steelyard.metrics.pairs.answer import Answer, as_tie, lost, readable
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
    answers = readable(pairs.calls)
    if not answers.any():
        return heading.undefined(KAPPA, NO_VERDICTS if len(pairs) else lacking, "call", excluded(pairs))
    if not np.any(pairs.better > 0):
        return heading.undefined(KAPPA, ALL_TIES, "call", excluded(pairs))
    table = _table(pairs)
    if np.count_nonzero(table.sum((0, 2))) < 2:
        return heading.undefined(KAPPA, ONE_SLOT, "call", excluded(pairs))
    beyond = _beyond(pairs)
    limit = KAPPA.limit_in(heading.group, heading.probe)
    seen = beyond.word(limit) if limit else None
    word = seen
    if limit and lost(pairs.calls).any():
        words = {_beyond(_filled(pairs, right=right)).word(limit) for right in (False, True)}
        word = seen if words == {seen} else UNDERPOWERED
    clusters = len(distinct(pairs.cluster))
    return heading.estimate(
        KAPPA,
        unit="call",
        value=beyond.value,
        intervals=(Interval(beyond.method, *beyond.limits(0.975)),),
        n_calls=beyond.calls,
        n_units=distinct_pairs(pairs, np.asarray(answers.any(axis=1))),
        n_clusters=clusters,
        excluded=excluded(pairs),
        chance=0.0,
        finding=word,
        calls_needed=beyond.calls_needed(limit) if limit and seen == UNDERPOWERED else None,
        note=join(
            [
                limit_told(limit) if limit else None,
                ONE_CLUSTER if clusters < 2 else None,
                by_loss(seen, word),
            ]
        ),
    )


def _beyond(pairs: Pairs) -> Beyond:
    calls = int(np.count_nonzero(readable(pairs.calls)))
    return Beyond(_table(pairs), lambda sums: agreement.kappa(sums, _ANSWERS), AGREEMENT, calls)


def _wanted(pairs: Pairs) -> Ints:
    """What people chose, as an answer to each order."""
    first = np.stack([pairs.better == 1, pairs.better == 2], axis=1)
    named = np.where(first, np.int64(Answer.FIRST), np.int64(Answer.SECOND))
    return np.where(pairs.better[:, None] == 0, np.int64(Answer.TIE), named)


def _filled(pairs: Pairs, *, right: bool) -> Pairs:
    """The pairs as if every missing verdict had been people's choice, or another."""
    wanted = _wanted(pairs)
    other = wanted if right else np.where(wanted == Answer.FIRST, Answer.SECOND, Answer.FIRST)
    calls = np.where(lost(pairs.calls), other, pairs.calls).astype(np.int64)
    return replace(pairs, u_first=calls[:, 0], v_first=calls[:, 1])


def _table(pairs: Pairs) -> Floats:
    """Calls by what people chose and what the judge named, within each cluster; pairs where there is one."""
    row, order = np.nonzero(readable(pairs.calls))
    given, wanted = as_tie(pairs.calls[row, order]), _wanted(pairs)[row, order]
    units = pairs.cluster if len(distinct(pairs.cluster)) > 1 else pairs.pair
    unit = numbered(units[row])[1]
    cells = (unit * 3 + wanted) * 3 + given
    table = np.bincount(cells, minlength=(int(unit.max()) + 1) * 9).reshape(-1, 3, 3)
    return table.astype(np.float64)
