"""Volatility: how far a judge's accuracy moves from probe to probe, and a probe's from judge to judge.

Standard deviations have n − 1 below the line, as in the published tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading

PROBE = "volatility"
METRICS = ("accuracy_mean", "accuracy_sd", "accuracy_min", "accuracy_max")


@dataclass(frozen=True)
class Spread:
    """A handful of values in four numbers."""

    count: int
    """How many values."""
    mean: float
    """Their mean."""
    sd: float | None
    """Their standard deviation; None for a single value."""
    low: float
    """The least."""
    high: float
    """The greatest."""


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    sd = stdev(values) if len(values) > 1 else None
    return Spread(len(values), fmean(values), sd, min(values), max(values))


def volatility_estimates(judge: str, estimates: Iterable[Estimate], seed: int) -> list[Estimate]:
    """Mean, standard deviation, least and greatest accuracy over probes; nothing for fewer than two."""
    figures: list[Estimate] = []
    mine = [e for e in _accuracies(estimates) if e.judge == judge]
    for protocol in sorted({str(e.group["protocol"]) for e in mine}, key=lambda name: (name != "base", name)):
        arm = [e for e in mine if e.group["protocol"] == protocol]
        if len(arm) > 1:
            figures += _over_probes(Heading(judge, PROBE, {"protocol": protocol}, seed), arm)
    return figures


def over_judges(estimates: Iterable[Estimate], protocol: str = "base") -> dict[str, Spread]:
    """The spread of each probe's accuracy over judges."""
    values: dict[str, list[float]] = {}
    for estimate in _accuracies(estimates):
        if estimate.group["protocol"] == protocol and estimate.value is not None:
            values.setdefault(estimate.probe, []).append(estimate.value)
    return {probe: spread(found) for probe, found in values.items()}


def _accuracies(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Defined accuracies of whole probes."""
    return [
        e
        for e in estimates
        if e.metric == "accuracy" and set(e.group) == {"protocol"} and e.value is not None
    ]


def _over_probes(heading: Heading, arm: list[Estimate]) -> list[Estimate]:
    found = spread([e.value for e in arm if e.value is not None])
    values = (found.mean, found.sd, found.low, found.high)
    least, most = (min(arm, key=_value).probe, max(arm, key=_value).probe)
    notes = (
        f"over {found.count} probes, each counted once",
        f"over {found.count} probes; sampling alone would give up to {sqrt(_sampling(arm)):.2f}",
        f"probe {least}",
        f"probe {most}",
    )
    return [
        heading.estimate(
            metric,
            unit="probe",
            value=value,
            n_calls=sum(e.n_calls for e in arm),
            n_units=max(e.n_units for e in arm),
            n_clusters=max(e.n_clusters for e in arm),
            note=note,
        )
        for metric, value, note in zip(METRICS, values, notes, strict=True)
    ]


def _value(estimate: Estimate) -> float:
    return estimate.value or 0.0


def _sampling(arm: list[Estimate]) -> float:
    """Mean sampling variance of the accuracies; probes share items, so the true share of it is less."""
    return fmean(
        _value(e) * (1 - _value(e)) / e.denominator * (e.design_effect or 1.0) for e in arm if e.denominator
    )
