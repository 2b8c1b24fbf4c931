"""What a judge of single texts costs over a run: per probe, and overall in both ways that are in use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import fsum

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading
from steelyard.metrics.proportions import join
from steelyard.metrics.run.cost import (
    NEVER_RIGHT,
    NO_PRICE,
    NO_TOKENS,
    CostRow,
    Dollars,
    cost_estimates,
    dollars_of_rows,
    overall_cost,
    per_call,
    unpriced,
)
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.trials.reply import Usage
from steelyard.verdicts.observations import Observations
from steelyard.wording import counted

PROBE = "cost"
TOKENS = ("tokens_input", "tokens_output")
DOLLARS = ("cost_input", "cost_output")
OVERALL = ("cost_per_point_pooled", "cost_per_point_mean")
METRICS = (*TOKENS, *DOLLARS, "cost_per_call", *OVERALL)
"""Figures of a whole run."""


def run_costs(
    judge: str,
    observations: Observations,
    estimates: Sequence[Estimate],
    price: Dollars | None,
    seed: int,
    unchanged: Collection[str] = (),
) -> list[Estimate]:
    """Cost of each probe that reports an accuracy, and overall; nothing for a judge of pairs.

    The probes that show items as they are go by the names in `unchanged`.
    """
    scored = observations.showing(observations.shown.scored)
    if not scored:
        return []
    probes = [e.probe for e in estimates if _whole_accuracy(e, judge)]
    costs = [
        figure
        for probe in probes
        for figure in cost_estimates(judge, probe, "base", scored, price, seed, unchanged=probe in unchanged)
    ]
    totals = total_estimates(judge, scored.among(protocol="base"), price, seed)
    return [*costs, *totals, *overall_estimates(judge, [*estimates, *costs], seed)]


def total_estimates(
    judge: str, observations: Observations, price: Dollars | None, seed: int
) -> list[Estimate]:
    """Tokens and dollars of all calls, in and out, and dollars per call; each call is counted once."""
    heading = Heading(judge, PROBE, {"protocol": "base"}, seed)
    scores = collect_scores(observations)
    used = [observations.usages[number] for number in observations.usage.tolist()]
    tokens = (sum(u.input_tokens for u in used), sum(u.output_tokens for u in used))
    counted = _sums(heading, scores, TOKENS, tokens)
    why = unpriced(observations, price)
    if price is None or why:
        missing = [heading.undefined(metric, why or NO_PRICE) for metric in (*DOLLARS, "cost_per_call")]
        return [*([] if why == NO_TOKENS else counted), *missing]
    paid = (
        fsum(price(Usage(u.input_tokens, 0)) for u in used),
        # An answer to a long prompt may cost more: it is what the call costs beyond its prompt.
        fsum(price(u) - price(Usage(u.input_tokens, 0)) for u in used),
    )
    each = per_call(heading, scores, dollars_of_rows(scores, observations, price))
    return [*counted, *_sums(heading, scores, DOLLARS, paid), each]


def _sums(
    heading: Heading, scores: Scores, metrics: Sequence[str], values: Sequence[float]
) -> list[Estimate]:
    """Sums over the calls of a run: counted, not estimated."""
    behind = {"n_calls": len(scores), "n_units": scores.n_items, "n_clusters": scores.n_clusters}
    return [
        heading.estimate(metric, unit="call", value=float(value), **behind)
        for metric, value in zip(metrics, values, strict=True)
    ]


def overall_estimates(judge: str, estimates: Sequence[Estimate], seed: int) -> list[Estimate]:
    """Cost per point over the probes of a judge that have an accuracy, both ways; nothing for one."""
    right = {e.probe: e for e in estimates if _whole_accuracy(e, judge)}
    paid = [e for e in estimates if e.judge == judge and e.metric == "cost_total" and e.value is not None]
    known = [e for e in paid if right[e.probe].value is not None]
    rows = [CostRow(e.probe, e.value or 0.0, right[e.probe].value or 0.0) for e in known]
    if len(rows) < 2:
        return []
    heading = Heading(judge, PROBE, {"protocol": "base"}, seed)
    found = overall_cost(rows)
    never = ", ".join(row.name for row in rows if row.per_point is None)
    unread = ", ".join(e.probe for e in paid if e not in known)
    left_out = f"left out, paid for without a verdict: {unread}" if unread else None
    pooled = f"all dollars over 100 times the mean accuracy of {counted(len(rows), 'probe')}"
    mean = f"mean of the costs per point of {counted(len(rows), 'probe')}"
    told = (
        (found.pooled, pooled if found.pooled is not None else NEVER_RIGHT),
        (found.mean_of_rows, mean if not never else f"a point has no cost where no call is right: {never}"),
    )
    return [
        heading.estimate(metric, unit="probe", value=value, **_behind(known), note=join([note, left_out]))
        for metric, (value, note) in zip(OVERALL, told, strict=True)
    ]


def _behind(costs: Sequence[Estimate]) -> dict[str, int]:
    return {
        "n_calls": sum(e.n_calls for e in costs),
        "n_units": max(e.n_units for e in costs),
        "n_clusters": max(e.n_clusters for e in costs),
    }


def _whole_accuracy(estimate: Estimate, judge: str) -> bool:
    return estimate.judge == judge and estimate.metric == "accuracy" and estimate.whole
