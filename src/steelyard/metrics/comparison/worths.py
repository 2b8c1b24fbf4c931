"""Difference of the worths that a cue has to two judges, in steps of quality.

A worth is no mean over pairs, so no unit of it can be flipped. The limits of both worths are combined instead
(MOVER, variance recovered from the limits). That both judges were shown the same pairs is not used, so that
the interval is rather too long. Holm's method adjusts over the cues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import hypot

from steelyard.metrics.comparison.comparison import Comparison, with_word
from steelyard.metrics.comparison.rows import criterion_for
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.instrument.worth_estimates import FAULT, WORTH
from steelyard.metrics.multiplicity import bonferroni_alpha, holm
from steelyard.metrics.stats.distributions import t_probability, t_quantile
from steelyard.metrics.stats.intervals import ALPHA, CLUSTERS

OPEN = "one worth has an open end: their difference is not known"
NOT_SEEN = "not known of both: {}"


def compare_worths(first: Sequence[Estimate], second: Sequence[Estimate]) -> list[Comparison]:
    """One row for each cue that both judges were shown, B less A."""
    others = {e.group.get("cue"): e for e in second if e.metric == WORTH.id}
    mine = (e for e in first if e.metric == WORTH.id and e.group.get("cue") in others)
    both = [(e, others[e.group.get("cue")]) for e in mine]
    rows = [_compared(mine, other) for mine, other in both]
    adjusted = holm([row.p for row in rows if row.p is not None])
    sure, after = 1 - bonferroni_alpha(max(1, len(adjusted))) / 2, iter(adjusted)
    return [row if row.p is None else _with_word(row, next(after), sure) for row in rows]


def _compared(mine: Estimate, other: Estimate) -> Comparison:
    group = {key: value for key, value in mine.group.items() if key != "protocol"}
    head = Comparison.undefined(criterion_for(mine.probe, "base", WORTH, group, 0))
    head = replace(
        head,
        n_shared=min(mine.n_units, other.n_units),
        n_pairs=min(mine.n_units, other.n_units),
        n_clusters=min(mine.n_clusters, other.n_clusters),
        first=mine.value,
        second=other.value,
    )
    if mine.value is None or other.value is None:
        why = mine.note if mine.value is None else other.note
        return replace(head, note=NOT_SEEN.format(why))
    reaches = _reaches(mine), _reaches(other)
    if mine.censored or other.censored or None in reaches:
        return replace(head, note=OPEN)
    (down_a, up_a), (down_b, up_b) = (reach or (0.0, 0.0) for reach in reaches)
    difference, down, up = other.value - mine.value, hypot(down_b, up_a), hypot(up_b, down_a)
    freedom = max(1, head.n_clusters - 1)
    usual, inner = (t_quantile(sure, freedom) for sure in (1 - ALPHA / 2, 1 - ALPHA))
    toward_zero = down if difference > 0 else up
    shown = usual * abs(difference) / toward_zero if toward_zero > 0 else 0.0
    spans = ((1.0, 1 - ALPHA), (inner / usual, 1 - 2 * ALPHA))
    return replace(
        head,
        difference=difference,
        intervals=tuple(
            Interval("mover_profiles", difference - part * down, difference + part * up, confidence=level)
            for part, level in spans
        ),
        p=2 * t_probability(-shown, freedom),
        flipped=CLUSTERS,
        minimum_detectable=(down + up) / 2 * (1 + t_quantile(0.8, freedom) / usual),
        note=f"in {'levels of the scale' if mine.unit == 'item' else 'steps of quality'}, margin {FAULT:g}",
    )


def _reaches(estimate: Estimate) -> tuple[float, float] | None:
    """How far the limits lie below and above the value; None where one is open."""
    limits, value = estimate.interval, estimate.value or 0.0
    if limits is None or limits.low is None or limits.high is None:
        return None
    return value - limits.low, limits.high - value


def _with_word(row: Comparison, q: float, sure: float) -> Comparison:
    """The word, with limits that are as far from the difference as all cues at once take."""
    freedom, (low, high), value = max(1, row.n_clusters - 1), row.decides, row.difference or 0.0
    times = t_quantile(sure, freedom) / t_quantile(1 - ALPHA / 2, freedom)
    return with_word(row, q, FAULT, (value - times * (value - low), value + times * (high - value)))
