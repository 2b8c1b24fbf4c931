"""Volatility: how far a judge's accuracy moves from probe to probe.

Standard deviations have n − 1 below the line, as in the published tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from steelyard.core.arrays import Floats
from steelyard.core.text import pluralize
from steelyard.metrics.basis import OVER_PROBES
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.run.mean_accuracy import ACCURACY_MEAN, mean_intervals
from steelyard.metrics.run.share_table import accuracy_column, sampling_sd, share_table
from steelyard.metrics.scores.probe import probe_scores
from steelyard.verdicts.observations import Observation

ACCURACY_SD = Metric(
    "accuracy_sd",
    "volatility",
    "Standard deviation of accuracy over probes; part of it is sampling, as the note says.",
    plain="differs between probes",
    estimated=False,
    basis=OVER_PROBES,
)
ACCURACY_SD_SAMPLING = Metric(
    "accuracy_sd_sampling",
    "of sampling alone",
    "Standard deviation that accuracies on so few items show where all true accuracies are equal.",
    estimated=False,
    basis=OVER_PROBES,
)
ACCURACY_MIN = Metric(
    "accuracy_min",
    "worst probe",
    "Least accuracy of any probe.",
    estimated=False,
    basis=OVER_PROBES,
)
ACCURACY_MAX = Metric(
    "accuracy_max",
    "best probe",
    "Greatest accuracy of any probe.",
    estimated=False,
    basis=OVER_PROBES,
)

PROBE = "volatility"
METRICS = (ACCURACY_MEAN, ACCURACY_SD, ACCURACY_SD_SAMPLING, ACCURACY_MIN, ACCURACY_MAX)
NO_REFERENCE = "what sampling gives takes the calls of at least two items"


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


def volatility_estimates(
    judge: str, estimates: Iterable[Estimate], seed: int, observations: Sequence[Observation] = ()
) -> list[Estimate]:
    """Mean, standard deviation, least and greatest accuracy over probes; nothing for fewer than two.

    The mean has an interval, and the spread a reference, where the judge's observations are given.
    """
    figures: list[Estimate] = []
    mine = [e for e in _accuracies(estimates) if e.judge == judge]
    for protocol in sorted({str(e.group["protocol"]) for e in mine}, key=lambda name: (name != "base", name)):
        arm = [e for e in mine if e.group["protocol"] == protocol]
        if len(arm) > 1:
            context = EstimateContext.for_protocol(judge, PROBE, protocol, seed)
            figures += _over_probes(context, arm, observations)
    return figures


def _accuracies(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Defined accuracies of whole probes."""
    return [
        e
        for e in estimates
        if e.metric == ACCURACY.id and set(e.group) == {"protocol"} and e.value is not None
    ]


def _over_probes(
    context: EstimateContext, arm: list[Estimate], observations: Sequence[Observation]
) -> list[Estimate]:
    deviation = spread([share_of(e) for e in arm])
    least, most = (min(arm, key=share_of).probe, max(arm, key=share_of).probe)
    over = f"over {pluralize(deviation.count, 'probe')}"
    table = _table(arm, str(context.group["protocol"]), observations)
    sampling = None if table is None else sampling_sd(table)
    beside = "" if sampling is None else f"; sampling alone would give {sampling:.2f}"
    figures = (
        (deviation.mean, f"{over}, each counted once"),
        (deviation.sd, over + beside),
        (sampling, NO_REFERENCE if sampling is None else f"{over}; items that probes share count once"),
        (deviation.low, f"probe {least}"),
        (deviation.high, f"probe {most}"),
    )
    of_mean = () if table is None else mean_intervals(context, table)
    return [
        context.estimate(
            metric,
            unit="probe",
            value=value,
            intervals=of_mean if metric == ACCURACY_MEAN else (),
            n_calls=sum(e.n_calls for e in arm),
            n_units=max(e.n_units for e in arm),
            n_clusters=max(e.n_clusters for e in arm),
            note=note,
            extreme_probe={ACCURACY_MIN.id: least, ACCURACY_MAX.id: most}.get(metric.id),
        )
        for metric, (value, note) in zip(METRICS, figures, strict=True)
    ]


def _table(arm: Sequence[Estimate], protocol: str, observations: Sequence[Observation]) -> Floats | None:
    """Right calls by cluster and probe. All have an accuracy: one without edits shows items as they are."""
    if not observations:
        return None
    columns = (probe_scores(e.probe, protocol, observations, unchanged=True) for e in arm)
    return share_table([accuracy_column(scores) for scores in columns])


def share_of(estimate: Estimate) -> float:
    """The value of an estimate that has one."""
    return estimate.value or 0.0
