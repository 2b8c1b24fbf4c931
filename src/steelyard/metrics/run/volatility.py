"""Volatility: how far a judge's accuracy moves from probe to probe, on the same clusters.

Standard deviations have n − 1 below the line, as in the published tables.

Whatever is told over them is told from one table, clusters × shares × (events, trials), so that a cluster
brings all its shares along.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from statistics import fmean, stdev

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.core.text import pluralize
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.metric import OVER_PROBES, Metric
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.edited_texts import compare_items, same_verdict_expected
from steelyard.metrics.scores.probe import probe_scores
from steelyard.metrics.scores.shares import intervals
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.intervals import SHARE
from steelyard.verdicts.observations import Observation

ACCURACY_MEAN = Metric(
    "accuracy_mean",
    "mean accuracy",
    "Mean of the accuracies of all probes, each counted once.",
    basis=OVER_PROBES,
)


def mean_intervals(context: EstimateContext, table: Floats) -> tuple[Interval, ...]:
    return intervals(table, _mean, context.bootstrap_seed(ACCURACY_MEAN.id), SHARE)[0]


def _mean(sums: Floats) -> Floats:
    shares = ratio(sums[..., 0], sums[..., 1])
    known = np.isfinite(shares)
    return ratio(np.where(known, shares, 0.0).sum(-1), known.sum(-1).astype(np.float64))


@dataclass(frozen=True, eq=False)
class ShareColumn:
    clusters: tuple[str, ...]
    items: tuple[str, ...]
    events: Ints | Mask
    trials: Ints | Mask


def accuracy_column(scores: Scores) -> ShareColumn:
    """Right calls among labelled ones with a verdict: on the edits, or on the items where there are none."""
    edits = ~scores.original if np.any(~scores.original) else scores.original
    rows = scores.where(edits & scores.labelled & scores.readable)
    clusters = tuple(map(rows.clusters.__getitem__, rows.cluster.tolist()))
    items = tuple(map(rows.items.__getitem__, rows.item.tolist()))
    return ShareColumn(clusters, items, rows.right, rows.readable)


def invariance_column(scores: Scores) -> ShareColumn:
    """Comparisons with the unchanged item that give the same verdict, item by item."""
    compared = compare_items(same_verdict_expected(scores, keep_label=True))
    cluster = np.zeros(len(scores.items), dtype=np.int64)
    cluster[scores.item] = scores.cluster
    made = compared.made > 0
    clusters = tuple(map(scores.clusters.__getitem__, cluster[made].tolist()))
    items = tuple(name for name, known in zip(scores.items, made, strict=True) if known)
    return ShareColumn(clusters, items, compared.equal[made], compared.made[made])


def share_table(columns: Sequence[ShareColumn]) -> Floats:
    """Events and trials by cluster and column; by item where there is one cluster only."""
    one_cluster = len({name for column in columns for name in column.clusters}) < 2
    units = [column.items if one_cluster else column.clusters for column in columns]
    numbers = {name: number for number, name in enumerate(sorted({n for names in units for n in names}))}
    table = np.zeros((len(numbers), len(columns), 2))
    for number, (column, names) in enumerate(zip(columns, units, strict=True)):
        where = [numbers[name] for name in names]
        np.add.at(table, (where, number), np.column_stack([column.events, column.trials]))
    return table


def sampling_sd(table: Floats) -> float | None:
    """The standard deviation that the shares would show among themselves were all true ones equal.

    The mean of their sampling variances less the mean of their covariances over clusters: a judge that
    answers alike whatever the probe has none, however few its items are. None for a single cluster of one
    item.
    """
    units, count, _ = table.shape
    if units < 2 or count < 2:
        return None
    events, trials = table[..., 0], table[..., 1]
    total = np.maximum(trials.sum(0), 1)
    residuals = (events - events.sum(0) / total * trials) / total
    covariance = residuals.T @ residuals * units / (units - 1)
    own = float(np.trace(covariance))
    shared = float(covariance.sum()) - own
    return sqrt(max(0.0, own / count - shared / (count * (count - 1))))


_described = partial(Metric, estimated=False, basis=OVER_PROBES)
ACCURACY_SD = _described(
    "accuracy_sd",
    "volatility",
    "Standard deviation of accuracy over probes; part of it is sampling, as the note says.",
    plain="differs between probes",
)
ACCURACY_SD_SAMPLING = _described(
    "accuracy_sd_sampling",
    "of sampling alone",
    "Standard deviation that accuracies on so few items show where all true accuracies are equal.",
)
ACCURACY_MIN = _described("accuracy_min", "worst probe", "Least accuracy of any probe.")
ACCURACY_MAX = _described("accuracy_max", "best probe", "Greatest accuracy of any probe.")

PROBE = "volatility"
METRICS = (ACCURACY_MEAN, ACCURACY_SD, ACCURACY_SD_SAMPLING, ACCURACY_MIN, ACCURACY_MAX)


def spread_figures(
    values: Sequence[float], over: str, sampling: float | None
) -> list[tuple[float | None, str]]:
    """Mean, standard deviation and that of sampling alone, least and greatest of several shares; notes.

    `over` is what has a share each: a probe or a judge.
    """
    among = f"over {pluralize(len(values), over)}"
    beside, alone = "", "what sampling gives takes the calls of at least two items"
    if sampling is not None:
        beside = f"; sampling alone would give {sampling:.2f}"
        alone = f"{among}; items that {over}s share count once"
    spread = [(fmean(values), among), (stdev(values), among + beside), (sampling, alone)]
    return [*spread, (min(values), ""), (max(values), "")]


def volatility_estimates(
    judge: str, estimates: Iterable[Estimate], seed: int, observations: Sequence[Observation] = ()
) -> list[Estimate]:
    """Mean, standard deviation, least and greatest accuracy over probes; nothing for fewer than two.

    The mean has an interval, and the spread a reference, where the judge's observations are given.
    """
    figures: list[Estimate] = []
    known = [e for e in estimates if e.judge == judge and e.metric == ACCURACY.id and e.value is not None]
    mine = [e for e in known if set(e.group) == {"protocol"}]
    for protocol in sorted({str(e.group["protocol"]) for e in mine}, key=lambda name: (name != "base", name)):
        shares = [e for e in mine if e.group["protocol"] == protocol]
        if len(shares) > 1:
            context = EstimateContext.for_protocol(judge, PROBE, protocol, seed)
            figures += _over_probes(context, shares, observations)
    return figures


def _over_probes(
    context: EstimateContext, shares: list[Estimate], observations: Sequence[Observation]
) -> list[Estimate]:
    table = None
    if observations:
        # All have an accuracy: a probe without edits shows items as they are.
        rows = (probe_scores(e.probe, context.protocol, observations, unchanged=True) for e in shares)
        table = share_table([accuracy_column(scores) for scores in rows])
    sampling = None if table is None else sampling_sd(table)
    figures = spread_figures([share_of(e) for e in shares], "probe", sampling)
    mean, *others = [
        context.estimate(metric, Sample.over(shares), unit="probe", value=value, note=note)
        for metric, (value, note) in zip(METRICS, figures, strict=True)
    ]
    of_mean = () if table is None else mean_intervals(context, table)
    least, most = (
        replace(each, note=f"probe {probe}", details={"extreme_probe": probe})
        for each, pick in zip(others[-2:], (min, max), strict=True)
        for probe in [pick(shares, key=share_of).probe]
    )
    mean = replace(mean, intervals=of_mean, note=f"{mean.note}, each counted once")
    return [mean, *others[:-2], least, most]


def share_of(estimate: Estimate) -> float:
    return estimate.value or 0.0
