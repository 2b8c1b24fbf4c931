"""Calls without a verdict over a judge's whole run: one figure to hold against a limit.

A lost call is mostly a matter of transport and form, so calls are taken as independent until the lost ones
show otherwise: where clusters differ, they are what is independent, as they are in the rates per probe. The
correlation that those assume for clusters that do not differ is not assumed here, for no clean run could then
be told from one that loses 2 %.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import sqrt

from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import NO_CALLS
from steelyard.metrics.findings import FLAGGED, WHOLE_RUN, detectable_beyond, judged
from steelyard.metrics.metric import Limit, Metric
from steelyard.metrics.multiplicity import AdjustedTest
from steelyard.metrics.run.loss_dependence import loss_test
from steelyard.metrics.stats.clusters import Tally, design_effect, wilson_cluster
from steelyard.metrics.stats.intervals import wilson
from steelyard.metrics.stats.sample_size import detectable_errors
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Failed, Unreadable

PROBE = WHOLE_RUN
METRICS: dict[Metric, type[Unreadable | Failed]] = {UNREADABLE_RATE: Unreadable, FAILED_RATE: Failed}
UNEVEN = "uneven"
"""Reading of lost calls that depend on the condition."""
INDEPENDENT = "over all probes and protocols, calls taken as independent"
CLUSTERED = "over all probes and protocols, clusters taken as independent"


def loss_estimates(judge: str, observations: Iterable[Observation], seed: int) -> list[Estimate]:
    """`unreadable_rate` and `failed_rate` among all calls that a judge was asked."""
    seen = Observations.of(observations)
    return [_tested(judge, metric, kind, seen, seed) for metric, kind in METRICS.items()]


def _tested(
    judge: str, metric: Metric, kind: type[Unreadable | Failed], observations: Observations, seed: int
) -> Estimate:
    """The rate, flagged as well where the lost calls are not spread evenly over what is shown."""
    rate = loss_rate(judge, metric, kind, observations)
    test = loss_test(observations, kind, seed) if rate.numerator else None
    if test is None:
        return rate
    uneven = AdjustedTest.bonferroni(test.p, len(METRICS)).is_significant
    most = f", most in {test.worst}: {test.lost} of {test.calls}" if uneven else ""
    rate = replace(rate, note=f"{rate.note}; even over conditions: p = {test.p:.2g}{most}")
    return replace(rate, finding=FLAGGED, calls_needed=None, reading=UNEVEN) if uneven else rate


def loss_rate(
    judge: str, metric: Metric, kind: type[Unreadable | Failed], observations: Observations
) -> Estimate:
    """The rate against its limit, without the test of whether losses are even."""
    if not len(observations):
        return Estimate(judge, PROBE, metric.id, {}, "call", None, note=NO_CALLS)
    counts = _tally(observations, kind)
    clustered = [Interval("wilson_cluster", *wilson_cluster(counts))] if _spread(counts) else []
    limit = metric.limit_in({}, PROBE)
    rate = Estimate(
        judge=judge,
        probe=PROBE,
        metric=metric.id,
        group={},
        unit="call",
        value=counts.k / counts.n,
        numerator=counts.k,
        denominator=counts.n,
        intervals=(*clustered, Interval("wilson", *wilson(counts.k, counts.n))),
        n_calls=counts.n,
        n_units=counts.n_units,
        n_clusters=counts.n_clusters,
        design_effect=design_effect(counts),
        abstained=counts.abstained,
        bounds=(counts.k / counts.n, counts.k / counts.n),
        minimum_detectable=_detectable(counts, limit) if limit else None,
        note=CLUSTERED if clustered else INDEPENDENT,
    )
    return judged(rate, limit)


def _tally(observations: Observations, kind: type[Unreadable | Failed]) -> Tally:
    events, calls = observations.by_cluster(observations.ended(kind))
    return Tally(
        events,
        calls,
        n_calls=len(observations),
        n_units=observations.units,
        abstained=int(observations.ended(Abstained).sum()),
    )


def _spread(counts: Tally) -> bool:
    """Clusters lose calls at different rates."""
    return not counts.share.even


def _detectable(counts: Tally, limit: Limit) -> float:
    """Distance from the limit that a 95 % interval on these data shows with 80 % power."""
    if _spread(counts):
        return detectable_beyond(counts, limit)
    return detectable_errors() * sqrt(limit.value * (1 - limit.value) / counts.n)
