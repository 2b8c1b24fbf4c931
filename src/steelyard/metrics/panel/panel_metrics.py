"""A panel of judges on the same probe: mean, spread, least and greatest of a share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from steelyard.core.text import pluralize
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.run.volatility import (
    NO_REFERENCE,
    accuracy_column,
    invariance_column,
    sampling_sd,
    share_of,
    share_table,
    spread,
)
from steelyard.metrics.scores.invariance import INVARIANCE
from steelyard.metrics.scores.probe import probe_scores
from steelyard.verdicts.observations import Observations

JUDGES_MEAN = Metric(
    "judges_mean", "mean over judges", "Mean of a probe's share over the judges of the run.", estimated=False
)
JUDGES_SD = Metric(
    "judges_sd",
    "spread over judges",
    "Standard deviation of a probe's share over judges; part of it is sampling.",
    estimated=False,
)
JUDGES_SD_SAMPLING = Metric(
    "judges_sd_sampling",
    "of sampling alone",
    "Standard deviation over judges that shares on so few items show by chance.",
    estimated=False,
)
JUDGES_MIN = Metric("judges_min", "least judge", "Least share of any judge on a probe.", estimated=False)
JUDGES_MAX = Metric(
    "judges_max", "greatest judge", "Greatest share of any judge on a probe.", estimated=False
)

PANEL = "panel"
"""What stands for a judge's name where a figure is of several judges."""
METRICS = (JUDGES_MEAN, JUDGES_SD, JUDGES_SD_SAMPLING, JUDGES_MIN, JUDGES_MAX)


def panel_metrics(
    estimates: Iterable[Estimate], observations: Mapping[str, Observations], seed: int
) -> Iterator[Estimate]:
    """Five figures for each share and probe that at least two of these judges have."""
    whole = [e for e in estimates if e.is_overall and e.value is not None and e.judge in observations]
    for metric, column in ((ACCURACY, accuracy_column), (INVARIANCE, invariance_column)):
        for probe in dict.fromkeys(e.probe for e in whole if e.metric == metric.id):
            shares = [e for e in whole if (e.probe, e.metric) == (probe, metric.id)]
            if len(shares) > 1:
                context = EstimateContext(PANEL, probe, {"protocol": "base", "of": metric.id}, seed)
                rows = (probe_scores(probe, "base", observations[e.judge], unchanged=True) for e in shares)
                # What judges would differ by were their true shares equal; they saw the same items.
                sampling = sampling_sd(share_table([column(scores) for scores in rows]))
                yield from _figures(context, shares, sampling)


def _figures(context: EstimateContext, shares: list[Estimate], sampling: float | None) -> Iterator[Estimate]:
    values = spread([share_of(e) for e in shares])
    least, most = min(shares, key=share_of).judge, max(shares, key=share_of).judge
    over = f"over {pluralize(values.count, 'judge')}"
    figures: tuple[tuple[float | None, str | None, dict[str, str | float]], ...] = (
        (values.mean, over, {}),
        (values.sd, over + ("" if sampling is None else f"; sampling alone would give {sampling:.2f}"), {}),
        (sampling, NO_REFERENCE if sampling is None else f"{over}; items that judges share count once", {}),
        (values.low, None, members([least])),
        (values.high, None, members([most])),
    )
    for metric, (value, note, who) in zip(METRICS, figures, strict=True):
        yield context.for_subgroup(**who).estimate(
            metric,
            unit="judge",
            value=value,
            n_calls=sum(e.n_calls for e in shares),
            n_units=max(e.n_units for e in shares),
            n_clusters=max(e.n_clusters for e in shares),
            note=note,
        )


def members(judges: Sequence[str]) -> dict[str, str | float]:
    """Judges as the keys of a group: `judge_1`, `judge_2`, …"""
    return {f"judge_{number}": name for number, name in enumerate(judges, start=1)}
