"""Missing data: calls without a verdict over a judge's whole run, and whether losses depend on what is shown.

A lost call is mostly a matter of transport and form, so calls are taken as independent until the lost ones
show otherwise: where clusters differ, they are what is independent, as they are in the rates per probe. The
correlation that those assume for clusters that do not differ is not assumed here, for no clean run could then
be told from one that loses 2 %.

Lost calls are counted by condition (probe, protocol, kind, step) and compared with an even spread by
Pearson's statistic. Its p is exact by simulation: stimuli are dealt to the conditions again, the lost calls
of one stimulus staying together, because a text that is refused once is refused again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered, widen
from steelyard.core.content_hash import seed_for
from steelyard.core.text import pluralize
from steelyard.metrics.estimate import NO_CALLS, Estimate, EstimateContext, Interval
from steelyard.metrics.findings import FLAGGED, WHOLE_RUN, with_finding
from steelyard.metrics.metric import Metric
from steelyard.metrics.multiplicity import AdjustedTest
from steelyard.metrics.proportions import CONTRADICTION_RATE, FAILED_RATE, UNREADABLE_RATE, proportion
from steelyard.metrics.stats.clusters import Tally
from steelyard.metrics.stats.intervals import Z, newcombe, wilson
from steelyard.metrics.stats.sample_size import detectable_errors
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Failed, Unreadable

DEALS = 1999
Loss = type[Unreadable | Failed]
Condition = tuple[str, ...]
"""Probe, and as far as there are any: kind, step, prompt."""


@dataclass(frozen=True)
class LossTest:
    p: float
    """Share of deals, the real one counted in, that are spread at least as unevenly."""
    worst: Condition
    """Condition that adds most to the unevenness by losing more than its share."""
    lost: int
    calls: int


@dataclass(frozen=True, eq=False)
class _Calls:
    conditions: tuple[Condition, ...]
    condition: Ints
    unit: Ints
    lost: Mask


def loss_test(observations: Iterable[Observation], kind: Loss, seed: int) -> LossTest | None:
    """The test for one kind of loss; None with one condition, or where all or none are lost."""
    calls = _calls(Observations.of(observations), kind)
    made = np.bincount(calls.condition, minlength=len(calls.conditions))
    if np.count_nonzero(made) < 2 or calls.lost.all() or not calls.lost.any():
        return None
    lost = np.bincount(calls.condition[calls.lost], minlength=len(made)).astype(np.float64)
    parts = _parts(lost, made)
    dealt = _deals(calls, len(made), seed)
    reached = np.count_nonzero(_parts(dealt, made).sum(axis=1) >= parts.sum() - 1e-9)
    worst = int(np.argmax(np.where(lost * made.sum() > made * lost.sum(), parts, -1.0)))
    p = float(1 + reached) / (1 + DEALS)
    return LossTest(p, calls.conditions[worst], int(lost[worst]), int(made[worst]))


def _parts(lost: Floats, made: Ints) -> Floats:
    """Each condition's part of Pearson's statistic; the last axis runs over conditions."""
    seen = made > 0
    even = np.where(seen, made * lost.sum(axis=-1, keepdims=True) / made.sum(), 1.0)
    parts: Floats = np.where(seen, (lost - even) ** 2 / even, 0.0)
    return parts


def _deals(calls: _Calls, conditions: int, seed: int) -> Floats:
    """Lost calls by condition (deals × conditions) when stimuli change places between conditions."""
    _, first, unit = np.unique(calls.unit, return_index=True, return_inverse=True)
    places = np.bincount(calls.condition[first], minlength=conditions)
    losses = np.bincount(unit, weights=calls.lost).astype(np.int64)
    sizes, numbers = np.unique(losses[losses > 0], return_counts=True)
    chance = np.random.default_rng(seed_for(seed, "losses"))
    dealt = np.zeros((DEALS, conditions))
    for row in dealt:
        left = places.copy()
        for size, number in zip(sizes, numbers, strict=True):
            drawn = chance.multivariate_hypergeometric(left, int(number))
            left -= drawn
            row += size * drawn
    return dealt


def _calls(rows: Observations, kind: Loss) -> _Calls:
    wide = len(rows.protocols)
    unit = widen(rows.stimulus) * wide + rows.protocol
    shown = rows.shown.conditions
    seen, back = numbered(shown.codes[rows.stimulus] * wide + rows.protocol)
    named = [_condition(shown.values[code // wide], rows.protocols[code % wide]) for code in seen.tolist()]
    conditions = tuple(sorted(set(named), key=", ".join))
    number = np.array([conditions.index(each) for each in named], dtype=np.int64)
    return _Calls(conditions, number[back], unit, rows.ended(kind))


def _condition(shown: tuple[str, str, float | None], protocol: str) -> Condition:
    probe, kind, delta = shown
    step = "" if delta is None else f"Δ{delta:g}"
    return tuple(part for part in (probe, kind, step, "" if protocol == "base" else protocol) if part)


PROBE = WHOLE_RUN
METRICS: dict[Metric, Loss] = {UNREADABLE_RATE: Unreadable, FAILED_RATE: Failed}
UNEVEN = "uneven"
INDEPENDENT = "over all probes and protocols, calls taken as independent"
CLUSTERED = "over all probes and protocols, clusters taken as independent"


def loss_estimates(judge: str, observations: Iterable[Observation], seed: int) -> list[Estimate]:
    seen = Observations.of(observations)
    return [_tested(judge, metric, kind, seen, seed) for metric, kind in METRICS.items()]


def _tested(judge: str, metric: Metric, kind: Loss, observations: Observations, seed: int) -> Estimate:
    """The rate, flagged as well where the lost calls are not spread evenly over what is shown.

    The condition that loses most has to be shown to lose more than the others.
    """
    rate = loss_rate(judge, metric, kind, observations)
    test = loss_test(observations, kind, seed) if rate.numerator else None
    if test is None:
        return rate
    others = int(observations.ended(kind).sum()) - test.lost, len(observations) - test.calls
    low, high = newcombe((test.lost, test.calls), others)
    uneven = AdjustedTest.bonferroni(test.p, len(METRICS)).is_significant and low > 0
    most = f", most in {', '.join(test.worst)}: {test.lost} of {test.calls}" if uneven else ""
    rate = replace(rate, note=f"{rate.note}; even over conditions: p = {test.p:.2g}{most}")
    if not uneven:
        return rate
    more = test.lost / test.calls - others[0] / others[1]
    details = {"worst": test.worst, "more": (more, low, high)}
    return replace(rate, status=FLAGGED, calls_needed=None, reading=UNEVEN, details=details)


def loss_rate(judge: str, metric: Metric, kind: Loss, observations: Observations) -> Estimate:
    """The rate against its limit, without the test of whether losses are even."""
    return _rate(judge, metric, observations.ended(kind), observations)


def contradiction_estimates(judge: str, observations: Observations, _: int) -> list[Estimate]:
    """How often the reason ends with another answer; nothing of a judge whose reasons end with none."""
    concluded = observations.filter(calls=observations.concluded)
    if not len(concluded):
        return []
    rate = _rate(judge, CONTRADICTION_RATE, concluded.contradicted, concluded)
    whole = f"reasons that end with an answer: {len(concluded):,} of {pluralize(len(observations), 'call')}"
    return [replace(rate, note=f"{whole}; {rate.note}")]


def _rate(judge: str, metric: Metric, counted: Mask, observations: Observations) -> Estimate:
    context = EstimateContext(judge, PROBE, {}, 0)
    if not len(observations):
        return context.undefined(metric, NO_CALLS)
    abstained = int(observations.ended(Abstained).sum())
    events, calls = observations.by_cluster(counted)
    counts = Tally(events, calls, n_calls=len(observations), n_units=observations.units, abstained=abstained)
    rate, limit = proportion(context, metric, counts), context.limit(metric)
    if not counts.share.even:
        return replace(rate, note=CLUSTERED)
    error = detectable_errors() * sqrt(limit.value * (1 - limit.value) / counts.n) if limit else None
    by_call = (Interval("wilson", *wilson(counts.k, counts.n)),)
    rate = replace(rate, intervals=by_call, minimum_detectable=error, note=INDEPENDENT)
    return with_finding(replace(rate, effective_size=float(counts.n), quantile=Z), limit)
