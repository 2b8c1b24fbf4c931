"""What a judge of single texts costs over a run: per probe, and overall in both ways that are in use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import fsum

from steelyard.core.text import pluralize
from steelyard.metrics.basis import EVERY_CALL, Basis, Ends, Items, labelled_items
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric, ShownAs
from steelyard.metrics.proportions import join
from steelyard.metrics.run.cost import (
    COST_PER_CALL,
    COST_TOTAL,
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

TOKENS_INPUT = Metric(
    "tokens_input",
    "tokens in",
    "Tokens of all prompts of the run, as the server counted them.",
    shown_as=ShownAs.TOKENS,
    estimated=False,
    basis=EVERY_CALL,
)
TOKENS_OUTPUT = Metric(
    "tokens_output",
    "tokens out",
    "Tokens of all replies of the run, as the server counted them.",
    shown_as=ShownAs.TOKENS,
    estimated=False,
    basis=EVERY_CALL,
)
COST_INPUT = Metric(
    "cost_input",
    "dollars in",
    "Dollars of all prompts of the run, from counted tokens and listed prices.",
    shown_as=ShownAs.DOLLARS,
    estimated=False,
    basis=EVERY_CALL,
)
COST_OUTPUT = Metric(
    "cost_output",
    "dollars out",
    "Dollars of all replies of the run, from counted tokens and listed prices.",
    shown_as=ShownAs.DOLLARS,
    estimated=False,
    basis=EVERY_CALL,
)
COST_PER_POINT_POOLED = Metric(
    "cost_per_point_pooled",
    "cost/point, pooled",
    "Dollars of all probes per percentage point of their mean accuracy.",
    shown_as=ShownAs.DOLLARS,
    basis=Basis(items=Items.PROBES, ends=Ends.ANY, only=labelled_items),
)
COST_PER_POINT_MEAN = Metric(
    "cost_per_point_mean",
    "cost/point, mean",
    "Mean over probes of their own cost per percentage point.",
    shown_as=ShownAs.DOLLARS,
    basis=Basis(items=Items.PROBES, ends=Ends.ANY, only=labelled_items),
)

PROBE = "cost"
TOKENS = (TOKENS_INPUT, TOKENS_OUTPUT)
DOLLARS = (COST_INPUT, COST_OUTPUT)
OVERALL = (COST_PER_POINT_POOLED, COST_PER_POINT_MEAN)
METRICS = (*TOKENS, *DOLLARS, COST_PER_CALL, *OVERALL)
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
    scored = observations.filter(stimuli=observations.shown.scored)
    if not scored:
        return []
    probes = [e.probe for e in estimates if _whole_accuracy(e, judge)]
    costs = [
        figure
        for probe in probes
        for figure in cost_estimates(
            EstimateContext.for_protocol(judge, probe, "base", seed),
            scored,
            price,
            unchanged=probe in unchanged,
        )
    ]
    totals = total_estimates(judge, scored.filter(protocol="base"), price, seed)
    return [*costs, *totals, *overall_estimates(judge, [*estimates, *costs], seed)]


def total_estimates(
    judge: str, observations: Observations, price: Dollars | None, seed: int
) -> list[Estimate]:
    """Tokens and dollars of all calls, in and out, and dollars per call; each call is counted once."""
    context = EstimateContext.for_protocol(judge, PROBE, "base", seed)
    scores = collect_scores(observations)
    used = [observations.usages[number] for number in observations.usage.tolist()]
    tokens = (sum(u.input_tokens for u in used), sum(u.output_tokens for u in used))
    token_sums = _sums(context, scores, TOKENS, tokens)
    why = unpriced(observations, price)
    if price is None or why:
        missing = [context.undefined(metric, why or NO_PRICE) for metric in (*DOLLARS, COST_PER_CALL)]
        return [*([] if why == NO_TOKENS else token_sums), *missing]
    prompts = [_of_the_prompt(usage, price) for usage in used]
    # An answer to a long prompt may cost more: it is what the call costs beyond its prompt.
    paid = (fsum(prompts), fsum(price(u) - prompt for u, prompt in zip(used, prompts, strict=True)))
    each = per_call(context, scores, dollars_of_rows(scores, observations, price))
    return [*token_sums, *_sums(context, scores, DOLLARS, paid), each]


def _of_the_prompt(usage: Usage, price: Dollars) -> float:
    """Dollars for the prompts behind a verdict, call by call: each at the price of who was asked."""
    return fsum(_prompt_share(call, price) for call in usage.parts)


def _prompt_share(call: Usage, price: Dollars) -> float:
    """Dollars for one prompt; a bill is split as the list prices would split it."""
    prompt, paid, listed = price(call.prompt), price(call), price(call.unbilled)
    if paid == listed:
        return prompt
    return paid * prompt / listed if listed else 0.0


def _sums(
    context: EstimateContext, scores: Scores, metrics: Sequence[Metric], values: Sequence[float]
) -> list[Estimate]:
    """Sums over the calls of a run: counted, not estimated."""
    return [
        context.estimate(
            metric,
            unit="call",
            value=float(value),
            n_calls=len(scores),
            n_units=scores.n_items,
            n_clusters=scores.n_clusters,
        )
        for metric, value in zip(metrics, values, strict=True)
    ]


def overall_estimates(judge: str, estimates: Sequence[Estimate], seed: int) -> list[Estimate]:
    """Cost per point over the probes of a judge that have an accuracy, both ways; nothing for one."""
    right = {e.probe: e for e in estimates if _whole_accuracy(e, judge)}
    paid = [e for e in estimates if e.judge == judge and e.metric == COST_TOTAL.id and e.value is not None]
    known = [e for e in paid if right[e.probe].value is not None]
    rows = [CostRow(e.probe, e.value or 0.0, right[e.probe].value or 0.0) for e in known]
    if len(rows) < 2:
        return []
    context = EstimateContext.for_protocol(judge, PROBE, "base", seed)
    cost = overall_cost(rows)
    never = ", ".join(row.name for row in rows if row.per_point is None)
    unread = ", ".join(e.probe for e in paid if e not in known)
    left_out = f"left out, paid for without a verdict: {unread}" if unread else None
    pooled = f"all dollars over 100 times the mean accuracy of {pluralize(len(rows), 'probe')}"
    mean = f"mean of the costs per point of {pluralize(len(rows), 'probe')}"
    figures = (
        (cost.pooled, pooled if cost.pooled is not None else NEVER_RIGHT),
        (cost.mean_of_rows, mean if not never else f"a point has no cost where no call is right: {never}"),
    )
    return [
        context.estimate(
            metric,
            unit="probe",
            value=value,
            n_calls=sum(e.n_calls for e in known),
            n_units=max(e.n_units for e in known),
            n_clusters=max(e.n_clusters for e in known),
            note=join([note, left_out]),
        )
        for metric, (value, note) in zip(OVERALL, figures, strict=True)
    ]


def _whole_accuracy(estimate: Estimate, judge: str) -> bool:
    return estimate.judge == judge and estimate.metric == ACCURACY.id and estimate.is_overall
