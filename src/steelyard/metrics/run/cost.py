"""Cost: dollars per call, per point of accuracy, per probe and over the run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from statistics import fmean

import numpy as np

from steelyard.core.arrays import Floats, distinct
from steelyard.core.text import pluralize
from steelyard.metrics.estimate import NO_CALLS, NO_VERDICTS, Estimate, EstimateContext, Sample, Why
from steelyard.metrics.metric import EVERY_CALL, Basis, Ends, Items, Metric, ShownAs, labelled_items
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.probe import NO_TEXTS, probe_scores
from steelyard.metrics.scores.shares import Sums, resampled, unlabelled
from steelyard.metrics.stats.clusters import ratio, sum_rows
from steelyard.metrics.stats.intervals import POSITIVE
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Failed

_dollars = partial(Metric, shown_as=ShownAs.DOLLARS, basis=EVERY_CALL)
COST_PER_CALL = _dollars(
    "cost_per_call", meaning="Dollars per call, from counted tokens and listed prices.", detail=True
)
COST_PER_POINT = _dollars(
    "cost_per_point", meaning="Dollars per percentage point of accuracy on the same trials."
)
COST_TOTAL = _dollars(
    "cost_total", "dollars", "Dollars of the probe's labelled calls, lost ones included.", estimated=False
)
Dollars = Callable[[Usage], float]

NO_PRICE = "the price of this model is not known"
NO_TOKENS = "the server counted no tokens"
NEVER_RIGHT = "no call is right: no amount buys a point"
PER_PROBE = (COST_PER_CALL, COST_PER_POINT, COST_TOTAL)


@dataclass(frozen=True)
class CostRow:
    name: str
    dollars: float
    accuracy: float

    @property
    def per_point(self) -> float | None:
        """Dollars per percentage point of accuracy; None at accuracy 0."""
        return self.dollars / (100 * self.accuracy) if self.accuracy > 0 else None


@dataclass(frozen=True)
class OverallCost:
    pooled: float | None
    """All dollars over 100 times the mean accuracy."""
    mean_of_rows: float | None
    """Mean of the rows' own cost per point; None where a row has none."""


def overall_cost(rows: Sequence[CostRow]) -> OverallCost:
    """Both readings of "overall": they differ by about the number of rows."""
    points = [row.per_point for row in rows]
    known = [point for point in points if point is not None]
    accuracy = fmean(row.accuracy for row in rows) if rows else 0.0
    pooled = sum(row.dollars for row in rows) / (100 * accuracy) if accuracy > 0 else None
    return OverallCost(pooled, fmean(known) if known and len(known) == len(points) else None)


def pareto_front(rows: Iterable[CostRow]) -> tuple[CostRow, ...]:
    """Rows that no other row beats: cheapest first, each dearer one more accurate than all before it."""
    front: list[CostRow] = []
    for row in sorted(rows, key=lambda row: (row.dollars, -row.accuracy, row.name)):
        if not front or row.accuracy > front[-1].accuracy:
            front.append(row)
    return tuple(front)


def cost_estimates(
    context: EstimateContext, observations: Observations, price: Dollars | None, *, unchanged: bool = False
) -> list[Estimate]:
    """Dollars per call of a probe; per point and in all on its labelled calls, lost ones included."""
    mine = observations.filter(protocol=context.protocol)
    why = unpriced(mine, price)
    if price is None or why:
        return [context.undefined(metric, why or NO_PRICE) for metric in PER_PROBE]
    scores = probe_scores(context.probe, context.protocol, mine, unchanged=unchanged)
    if not unchanged and not len(scores):
        return [context.undefined(metric, NO_TEXTS) for metric in PER_PROBE]
    dollars = _dollars_of_rows(scores, mine, price)
    edits = ~scores.original if np.any(~scores.original) else scores.original
    labelled = edits & scores.labelled
    lacking = unlabelled(scores.where(edits)) if len(scores) else NO_CALLS
    known, paid = scores.where(labelled), dollars[labelled]
    total = context.undefined(COST_TOTAL, lacking)
    if len(known):
        total = context.estimate(COST_TOTAL, known.sample(known.lost()), value=fsum(paid.tolist()))
    each = per_call(context, scores.where(edits), dollars[edits])
    return [each, _per_point(context, known, paid, lacking), total]


def _dollars_of_rows(scores: Scores, observations: Observations, price: Dollars) -> Floats:
    """What each row of the scores cost; all of them are of one protocol."""
    each = {number: price(observations.usages[number]) for number in distinct(observations.usage).tolist()}
    names = observations.shown.ids[observations.stimulus].tolist()
    keys = zip(names, observations.replicate.tolist(), strict=True)
    paid = {key: each[usage] for key, usage in zip(keys, observations.usage.tolist(), strict=True)}
    rows = zip((scores.stimuli[number] for number in scores.stimulus), scores.replicate.tolist(), strict=True)
    return np.array([paid[key] for key in rows])


def unpriced(observations: Observations, price: Dollars | None) -> str | None:
    """Why these calls have no cost: no price is known, or a paid model counted no tokens; else None."""
    if price is None:
        return NO_PRICE
    usages = distinct(observations.usage[~observations.ended(Failed)])
    used = [observations.usages[number] for number in usages]
    uncounted = used and price(Usage(1, 1)) > 0 and not any(u.input_tokens or u.output_tokens for u in used)
    return NO_TOKENS if uncounted else None


def per_call(context: EstimateContext, scores: Scores, dollars: Floats) -> Estimate:
    sums = _sums(scores, np.column_stack([dollars, np.ones(len(scores))]))

    def mean(sums: Floats) -> Floats:
        return ratio(sums[..., 0], sums[..., 1])

    return resampled(context, COST_PER_CALL, sums, mean, reason=NO_CALLS, ends=POSITIVE)


def _per_point(context: EstimateContext, scores: Scores, dollars: Floats, lacking: Why) -> Estimate:
    sums = _sums(scores, np.column_stack([dollars, scores.right, scores.readable]).astype(np.float64))
    reason = lacking if not len(scores) else NEVER_RIGHT if scores.readable.any() else NO_VERDICTS

    def point(sums: Floats) -> Floats:
        """Σ dollars / (100 · right / verdicts)."""
        return ratio(sums[..., 0], 100 * ratio(sums[..., 1], sums[..., 2]))

    return resampled(context, COST_PER_POINT, sums, point, reason=reason, ends=POSITIVE)


def _sums(scores: Scores, columns: Floats) -> Sums:
    return Sums(sum_rows(scores.unit, columns), scores, len(scores), scores.n_items)


_tokens = partial(Metric, shown_as=ShownAs.TOKENS, estimated=False, basis=EVERY_CALL)
TOKENS = (
    _tokens("tokens_input", "tokens in", "Tokens of all prompts of the run, as the server counted them."),
    _tokens("tokens_output", "tokens out", "Tokens of all replies of the run, as the server counted them."),
)
_PRICED = "from counted tokens and listed prices."
DOLLARS = (
    _dollars("cost_input", "dollars in", f"Dollars of all prompts of the run, {_PRICED}", estimated=False),
    _dollars("cost_output", "dollars out", f"Dollars of all replies of the run, {_PRICED}", estimated=False),
)
_ALL_PROBES = Basis(items=Items.PROBES, ends=Ends.ANY, only=labelled_items)
COST_PER_POINT_POOLED = _dollars(
    "cost_per_point_pooled",
    "cost/point, pooled",
    "Dollars of all probes per percentage point of their mean accuracy.",
    basis=_ALL_PROBES,
)
COST_PER_POINT_MEAN = _dollars(
    "cost_per_point_mean",
    "cost/point, mean",
    "Mean over probes of their own cost per percentage point.",
    basis=_ALL_PROBES,
)

PROBE = "cost"
OVERALL = (COST_PER_POINT_POOLED, COST_PER_POINT_MEAN)
RUN_METRICS = (*TOKENS, *DOLLARS, COST_PER_CALL, *OVERALL)


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
    costs: list[Estimate] = []
    for probe in (e.probe for e in estimates if _whole_accuracy(e, judge)):
        context = EstimateContext.for_protocol(judge, probe, "base", seed)
        costs += cost_estimates(context, scored, price, unchanged=probe in unchanged)
    totals = total_estimates(judge, scored.filter(protocol="base"), price, seed)
    return [*costs, *totals, *overall_estimates(judge, [*estimates, *costs], seed)]


def total_estimates(
    judge: str, observations: Observations, price: Dollars | None, seed: int
) -> list[Estimate]:
    context = EstimateContext.for_protocol(judge, PROBE, "base", seed)
    scores = collect_scores(observations)
    used = [observations.usages[number] for number in observations.usage.tolist()]
    tokens = (sum(u.input_tokens for u in used), sum(u.output_tokens for u in used))
    token_sums = _totals(context, scores, TOKENS, tokens)
    why = unpriced(observations, price)
    if price is None or why:
        missing = [context.undefined(metric, why or NO_PRICE) for metric in (*DOLLARS, COST_PER_CALL)]
        return [*([] if why == NO_TOKENS else token_sums), *missing]
    # The prompts behind a verdict call by call: each at the price of who was asked.
    prompts = [fsum(_prompt_share(call, price) for call in usage.parts) for usage in used]
    # An answer to a long prompt may cost more: it is what the call costs beyond its prompt.
    paid = (fsum(prompts), fsum(price(u) - prompt for u, prompt in zip(used, prompts, strict=True)))
    each = per_call(context, scores, _dollars_of_rows(scores, observations, price))
    return [*token_sums, *_totals(context, scores, DOLLARS, paid), each]


def _prompt_share(call: Usage, price: Dollars) -> float:
    """Dollars for one prompt; a bill is split as the list prices would split it."""
    prompt, paid, listed = price(call.prompt), price(call), price(call.unbilled)
    if paid == listed:
        return prompt
    return paid * prompt / listed if listed else 0.0


def _totals(
    context: EstimateContext, scores: Scores, metrics: Sequence[Metric], values: Sequence[float]
) -> list[Estimate]:
    return [
        context.estimate(metric, Sample(len(scores), scores.n_items, scores.n_clusters), value=float(value))
        for metric, value in zip(metrics, values, strict=True)
    ]


def overall_estimates(judge: str, estimates: Sequence[Estimate], seed: int) -> list[Estimate]:
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
        context.estimate(metric, Sample.over(known), unit="probe", value=value, notes=[note, left_out])
        for metric, (value, note) in zip(OVERALL, figures, strict=True)
    ]


def _whole_accuracy(estimate: Estimate, judge: str) -> bool:
    return estimate.judge == judge and estimate.metric == ACCURACY.id and estimate.is_overall
