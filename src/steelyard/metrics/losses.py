"""Calls without a verdict over a judge's whole run: one figure to hold against a limit.

A lost call is a matter of transport and form more than of the task, so calls are taken as independent here;
the rates per probe stand beside it with tasks as clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, sqrt

from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.findings import ALPHA, FLAGGED, POWER, UNDERPOWERED, Limit, limit_word
from steelyard.metrics.heading import NO_CALLS
from steelyard.metrics.intervals import normal_quantile, wilson
from steelyard.metrics.loss_test import loss_test
from steelyard.metrics.power import trials_to_exclude
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.recorded_observations import extent, verdict_counts
from steelyard.verdicts.verdict import Failed, Unreadable

PROBE = "run"
LIMIT = Limit(0.02)
METRICS: dict[str, type[Unreadable | Failed]] = {"unreadable_rate": Unreadable, "failed_rate": Failed}
UNEVEN = "uneven"
"""Reading of lost calls that depend on the condition."""
NOTE = "over all probes and protocols, calls taken as independent"


def loss_estimates(judge: str, observations: Sequence[Observation], seed: int) -> list[Estimate]:
    """`unreadable_rate` and `failed_rate` among all calls that a judge was asked."""
    return [_tested(judge, metric, kind, observations, seed) for metric, kind in METRICS.items()]


def _tested(
    judge: str, metric: str, kind: type[Unreadable | Failed], observations: Sequence[Observation], seed: int
) -> Estimate:
    """The rate, flagged as well where the lost calls are not spread evenly over what is shown."""
    rate = _rate(judge, metric, kind, observations)
    test = loss_test(observations, kind, seed) if rate.numerator else None
    if test is None:
        return rate
    uneven = test.p <= ALPHA / len(METRICS)
    most = f", most in {test.worst}: {test.lost} of {test.calls}" if uneven else ""
    rate = replace(rate, note=f"{rate.note}; even over conditions: p = {test.p:.2g}{most}")
    return replace(rate, finding=FLAGGED, calls_needed=None, reading=UNEVEN) if uneven else rate


def _rate(
    judge: str, metric: str, kind: type[Unreadable | Failed], observations: Sequence[Observation]
) -> Estimate:
    calls = len(observations)
    if not calls:
        return Estimate(judge, PROBE, metric, {}, "call", None, note=NO_CALLS)
    counts = verdict_counts(observations)
    events = sum(number for (_, verdict), number in counts.items() if isinstance(verdict, kind))
    units, clusters = extent(observations)
    spread = sqrt(LIMIT.value * (1 - LIMIT.value) / calls)
    word = limit_word(wilson(events, calls, normal_quantile(1 - ALPHA)), LIMIT)
    return Estimate(
        judge=judge,
        probe=PROBE,
        metric=metric,
        group={},
        unit="call",
        value=events / calls,
        numerator=events,
        denominator=calls,
        intervals=(Interval("wilson", *wilson(events, calls)),),
        n_calls=calls,
        n_units=units,
        n_clusters=clusters,
        bounds=(events / calls, events / calls),
        finding=word,
        minimum_detectable=(normal_quantile(1 - ALPHA) + normal_quantile(POWER)) * spread,
        note=NOTE,
        calls_needed=_calls_needed(events / calls) if word == UNDERPOWERED else None,
    )


def _calls_needed(rate: float) -> int | None:
    trials = trials_to_exclude(rate, LIMIT.value, normal_quantile(1 - ALPHA))
    return None if trials is None else ceil(trials)
