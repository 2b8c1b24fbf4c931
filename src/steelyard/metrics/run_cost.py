"""What a judge of single texts costs over a run: per probe, and overall in both ways that are in use."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.metrics.cost import CostRow, Dollars, cost_estimates, overall_cost
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading
from steelyard.verdicts.observation import Observation

PROBE = "cost"
OVERALL = ("cost_per_point_pooled", "cost_per_point_mean")


def run_costs(
    judge: str,
    observations: Sequence[Observation],
    estimates: Sequence[Estimate],
    price: Dollars | None,
    seed: int,
) -> list[Estimate]:
    """Cost of each probe that has an accuracy, and overall; nothing for a judge of pairs."""
    scored = [o for o in observations if o.stimulus.scale is not None]
    if not scored:
        return []
    probes = [e.probe for e in estimates if _whole_accuracy(e, judge)]
    costs = [
        figure for probe in probes for figure in cost_estimates(judge, probe, "base", scored, price, seed)
    ]
    return [*costs, *overall_estimates(judge, [*estimates, *costs], seed)]


def overall_estimates(judge: str, estimates: Sequence[Estimate], seed: int) -> list[Estimate]:
    """Cost per point over all probes of a judge that have one, both ways; nothing for fewer than two."""
    points = [e for e in estimates if e.judge == judge and e.metric == "cost_per_point"]
    right = {e.probe: e for e in estimates if _whole_accuracy(e, judge)}
    rows = [row for e in points if e.probe in right and (row := cost_row(e, right[e.probe]))]
    if len(rows) < 2:
        return []
    heading = Heading(judge, PROBE, {"protocol": "base"}, seed)
    found = overall_cost(rows)
    told = (
        f"all dollars over 100 times the mean accuracy of {len(rows)} probes",
        f"mean of the costs per point of {len(rows)} probes",
    )
    return [
        heading.estimate(metric, unit="probe", value=value, n_calls=sum(e.n_calls for e in points), note=note)
        for metric, value, note in zip(OVERALL, (found.pooled, found.mean_of_rows), told, strict=True)
    ]


def cost_row(estimate: Estimate, accuracy: Estimate) -> CostRow | None:
    """A probe's row from its `cost_per_point` and `accuracy`; None where either is undefined."""
    if estimate.value is None or accuracy.value is None:
        return None
    return CostRow(estimate.probe, estimate.value * 100 * accuracy.value, accuracy.value)


def _whole_accuracy(estimate: Estimate, judge: str) -> bool:
    whole = dict(estimate.group) == {"protocol": "base"}
    return estimate.judge == judge and estimate.metric == "accuracy" and whole
