"""Merit: does the judge tell good from bad at all? Decided before any other question.

Pairs that differ in quality: each call scores 1 for the better text, ½ for a tie, 0 for the worse one, and
both slots weigh the same, so that a judge whose answer depends on the slot alone has merit ½ exactly, as a
coin has. Labelled texts: Youden's J on a binary scale and rank agreement on an ordinal one, neither of which
skewed labels can turn over.

    shown      the interval lies above what the weakest useful judge has, and above every baseline's merit
    refuted    the interval lies below it
    undecided  otherwise

A call without a verdict is no grade. It is left out of the value, and a conclusion has to hold with such
calls counted as chance as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct, widen
from steelyard.metrics.basis import LARGE, LARGE_STEPS
from steelyard.metrics.common import MERIT
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, LimitTest, calls_total
from steelyard.metrics.pairs.columns import Pairs, collect, excluded, neither, readable
from steelyard.metrics.run.agent_runs import FALSE_ALARMS, MISSED_FAILURES, NONE_SUCH, Runs
from steelyard.metrics.run.agent_runs import PROBE as AGENTS
from steelyard.metrics.scores.against_labels import CONSTANT_LABELS, label_table
from steelyard.metrics.scores.best_of import beyond_chance, right_choices
from steelyard.metrics.scores.columns import Scores, collect_scores, rescaled_to_original
from steelyard.metrics.scores.shares import unlabelled
from steelyard.metrics.stats import agreement
from steelyard.metrics.stats.clusters import wilson_cluster
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile
from steelyard.metrics.stats.intervals import AGREEMENT, Span, score
from steelyard.metrics.stats.sample_size import ALPHA
from steelyard.metrics.stats.two_class import BalancedMean, youden_limits
from steelyard.stimuli.best_of import BEST_OF_PROBE
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observations

LADDER = "ladder"
CHANCE_OF_PAIRS = 0.5
USEFUL_AT_LARGE_STEPS = 0.75
ONE_SIDED = 1
"""Sides that the error is spent on of the limits at the larger steps, and of the gain over a baseline on
natural pairs: a small run has few of them."""
USEFUL_ON_LADDER = 0.70
"""Merit over the whole standard ladder of the weakest judge that is of use."""
USEFUL_ON_NATURAL_PAIRS = 0.60
SURER = 0.2
"""Share of the error that merit on natural pairs may take: no floor but chance parts a coin from a judge."""
USEFUL_GAIN = 0.05
"""Least gain over a baseline that reads nothing that is of use."""
USEFUL_AGREEMENT = 0.30
"""Least Youden's J or rank agreement of a useful judge; with balanced labels it is right in 65 of 100."""

NO_ANSWER = "no run has a known answer"
NO_BETTER = "no pair has a better text"
ONE_SLOT = "the better text stood in one slot only"
NO_VERDICT = "no call with a known answer ended in a verdict"


def merit_estimates(
    judge: str,
    observations: Observations,
    baselines: Mapping[str, Observations],
    seed: int,
    alpha: float = ALPHA,
) -> list[Estimate]:
    """Merit by each kind of evidence in the run and each protocol; nothing where there is no evidence.

    `alpha` is the error of the limits that decide, over both sides.
    """
    estimates: list[Estimate] = []
    for protocol in observations.protocols_seen:
        rows = observations.filter(protocol=protocol)
        others = {name: seen.filter(protocol="base") for name, seen in baselines.items()}
        if len(steps := rows.filter(LADDER)):
            context = EstimateContext.for_protocol(judge, LADDER, protocol, seed)
            rivals = [collect(seen.filter(LADDER)) for seen in others.values()]
            estimates += _ladder_merit(context, collect(steps), rivals, alpha)
        if len(natural := rows.filter(NATURAL_PROBE, labelled=True)):
            context = EstimateContext.for_protocol(judge, NATURAL_PROBE, protocol, seed)
            rivals = [collect(seen.filter(NATURAL_PROBE, labelled=True)) for seen in others.values()]
            estimates.append(_natural_merit(context, collect(natural), rivals, alpha))
        if len(choices := rows.filter(BEST_OF_PROBE)):
            context = EstimateContext.for_protocol(judge, BEST_OF_PROBE, protocol, seed)
            estimates.append(_best_of_merit(context, collect_scores(choices), alpha))
        if np.any(rows.shown.run[rows.stimulus]):
            # Originals are among them: one judge of agents has one merit.
            context = EstimateContext.for_protocol(judge, AGENTS, protocol, seed)
            estimates += _agent_merit(context, Runs.of(rows), alpha)
        elif len(plain := rows.filter(ORIGINAL)) and plain.pointwise:
            context = EstimateContext.for_protocol(judge, ORIGINAL, protocol, seed)
            estimates += score_merit(context, collect_scores(rescaled_to_original(plain)), alpha)
    return estimates


def _ladder_merit(
    context: EstimateContext, pairs: Pairs, baselines: list[Pairs], alpha: float
) -> Iterator[Estimate]:
    pairs = pairs.where(pairs.delta > 0)
    all_steps = _Choices.of(pairs, alpha)
    large = _Choices.of(pairs.where(pairs.delta >= LARGE), alpha)
    if not all_steps.defined:
        yield context.undefined(MERIT, all_steps.reason, "call", all_steps.excluded)
        return
    gains = [_gain(pairs, other, alpha) for other in baselines]
    word = _ladder_status(all_steps, large, gains)
    complete = _ladder_status(all_steps.without_losses, large.without_losses, gains)
    yield all_steps.estimate(context, word, missing_decides=word != complete)
    if large.defined:
        yield large.estimate(context.for_subgroup(steps=LARGE_STEPS), None)


def _ladder_status(all_steps: _Choices, large: _Choices, gains: list[Span]) -> str:
    below = all_steps.surely_below(USEFUL_ON_LADDER)
    if not large.defined:
        return CLEAR if _above_all(all_steps, gains) else FLAGGED if below else INCONCLUSIVE
    if large.surely_below(USEFUL_AT_LARGE_STEPS, sides=ONE_SIDED):
        return FLAGGED
    if all_steps.limits[0] <= CHANCE_OF_PAIRS and below:
        return FLAGGED
    useful = large.surely_above(USEFUL_AT_LARGE_STEPS, sides=ONE_SIDED)
    return CLEAR if useful and _above_all(all_steps, gains) else INCONCLUSIVE


def _natural_merit(context: EstimateContext, pairs: Pairs, baselines: list[Pairs], alpha: float) -> Estimate:
    choices = _Choices.of(pairs, alpha)
    if not choices.defined:
        return context.undefined(MERIT, choices.reason, "call", choices.excluded)
    useless = any(_gain(pairs, other, alpha)[1] < USEFUL_GAIN for other in baselines)
    better = all(_gain(pairs, other, alpha, sides=ONE_SIDED)[0] > 0 for other in baselines)
    surer = _Choices.of(pairs, alpha * SURER)

    def status(choices: _Choices, surer: _Choices) -> str:
        by_chance = choices.limits[0] <= CHANCE_OF_PAIRS and choices.surely_below(USEFUL_ON_NATURAL_PAIRS)
        if by_chance or useless:
            return FLAGGED
        return CLEAR if better and surer.surely_above(CHANCE_OF_PAIRS) else INCONCLUSIVE

    word = status(choices, surer)
    complete = status(choices.without_losses, surer.without_losses)
    estimate = choices.estimate(context, word, missing_decides=word != complete)
    return _forecast(estimate, CHANCE_OF_PAIRS)


def _agent_merit(context: EstimateContext, runs: Runs, alpha: float) -> Iterator[Estimate]:
    known = runs.where(runs.scores.labelled)
    if not len(known.scores):
        yield context.undefined(MERIT, unlabelled(runs.scores, NO_ANSWER), "call", runs.scores.lost())
    elif not np.any(known.should_fail) or not np.any(known.should_pass):
        lacking = MISSED_FAILURES if np.any(known.should_pass) else FALSE_ALARMS
        yield context.undefined(MERIT, NONE_SUCH[lacking], "call", known.scores.lost())
    else:
        yield from score_merit(context, known.scores, alpha)


def _best_of_merit(context: EstimateContext, scores: Scores, alpha: float) -> Estimate:
    """Agreement beyond chance, which is one in N whatever slot a judge may favour."""
    rows, counts = scores.where(scores.labelled), right_choices(scores)
    if counts is None:
        return _unknown(context, scores, rows)
    low, high = (beyond_chance(scores, share) for share in wilson_cluster(counts, 1 - alpha / 2))
    value = beyond_chance(scores, counts.k / counts.n)
    return _agreement(context, rows, value, (low, high), "wilson_cluster")


def score_merit(context: EstimateContext, scores: Scores, alpha: float = ALPHA) -> Iterator[Estimate]:
    """Merit on labelled single texts: Youden's J, or rank agreement; one estimate for each kind of scale."""
    for kind, figure in ((scores.binary, _binary), (~scores.binary, _ordinal)):
        if np.any(kind):
            yield figure(context, scores.where(kind), alpha)


@dataclass(frozen=True, eq=False)
class _Choices:
    """Calls on pairs that have a better text."""

    points: Floats
    """1 better, ½ neither, 0 worse, by call with a verdict."""
    better_first: Mask
    unit: Ints
    """What is independent: the cluster, or the pair where there is one cluster."""
    clusters: int
    pairs: int
    excluded: Mapping[str, int]
    alpha: float
    """Error of its limits, over both sides."""

    @classmethod
    def of(cls, pairs: Pairs, alpha: float) -> _Choices:
        rows = pairs.where(pairs.better > 0)
        seen = readable(rows.calls)
        row, order = np.nonzero(seen)
        single = len(distinct(rows.cluster)) < 2
        return cls(
            points=_points(rows)[seen],
            better_first=(rows.better[row] == 1) == (order == 0),
            unit=(rows.pair if single else rows.cluster)[row],
            clusters=len(distinct(rows.cluster[row])),
            pairs=len(distinct(rows.pair[row])),
            excluded=excluded(rows),
            alpha=alpha,
        )

    @cached_property
    def mean(self) -> BalancedMean:
        return BalancedMean.of(self.unit, self.better_first, self.points)

    @property
    def defined(self) -> bool:
        return bool(np.any(self.better_first)) and not bool(np.all(self.better_first))

    @property
    def reason(self) -> str:
        if not len(self.points):
            return NO_VERDICT if sum(self.excluded.values()) else NO_BETTER
        return ONE_SLOT

    @property
    def limits(self) -> Span:
        return self.mean.share_limits(1 - self.alpha / 2)

    @cached_property
    def by_chance(self) -> float:
        """How far the value moves where calls without a verdict count as chance."""
        return _shift(self.mean.value, CHANCE_OF_PAIRS, len(self.points), sum(self.excluded.values()))

    @property
    def without_losses(self) -> _Choices:
        """The same, as if every call had ended in a verdict."""
        return replace(self, excluded={})

    def surely_above(self, floor: float, *, sides: int = 2) -> bool:
        """The lower limit lies above, missing verdicts counted as chance or not; `surely_below` likewise."""
        return self.mean.share_limits(1 - self.alpha / sides)[0] + min(0.0, self.by_chance) > floor

    def surely_below(self, floor: float, *, sides: int = 2) -> bool:
        return self.mean.share_limits(1 - self.alpha / sides)[1] + max(0.0, self.by_chance) < floor

    def estimate(
        self, context: EstimateContext, word: str | None, *, missing_decides: bool = False
    ) -> Estimate:
        return context.estimate(
            MERIT,
            unit="call",
            value=self.mean.value,
            intervals=(Interval("wilson_cluster", *self.limits),),
            n_calls=len(self.points),
            n_units=self.pairs,
            n_clusters=self.clusters,
            excluded=dict(self.excluded),
            chance=CHANCE_OF_PAIRS,
            status=word,
            missing_decides=missing_decides,
        )


def _points(pairs: Pairs) -> Floats:
    """1 for the better text, ½ for neither, 0 for the worse, by row and order."""
    return np.where(neither(pairs.calls), 0.5, pairs.right.astype(np.float64))


def _above_all(choices: _Choices, gains: list[Span]) -> bool:
    return choices.surely_above(CHANCE_OF_PAIRS) and all(low > 0 for low, _ in gains)


def _gain(pairs: Pairs, other: Pairs, alpha: float, *, sides: int = 2) -> Span:
    """Limits of the difference in points from another judge, on the calls that both answered."""
    mine, theirs = _shared_rows(pairs, other)
    better = pairs.better[mine]
    both = readable(pairs.calls[mine]) & readable(other.calls[theirs]) & (better > 0)[:, None]
    row, order = np.nonzero(both)
    if not len(row):
        return -1.0, 1.0
    points = [_points(side)[rows][both] for side, rows in ((pairs, mine), (other, theirs))]
    unit = pairs.cluster[mine] if len(distinct(pairs.cluster[mine])) > 1 else pairs.pair[mine]
    first = (better[row] == 1) == (order == 0)
    if np.all(first) or not np.any(first):
        return -1.0, 1.0
    return BalancedMean.of(unit[row], first, points[0] - points[1]).difference_limits(1 - alpha / sides)


def _shared_rows(pairs: Pairs, other: Pairs) -> tuple[Ints, Ints]:
    """Rows of the same pair and repeat in both; of several in the other, the last."""
    numbers = {name: number for number, name in enumerate(other.names)}
    known = np.array([numbers.get(name, -1) for name in pairs.names], dtype=np.int64)[pairs.pair]
    repeats = 1 + int(max(pairs.replicate.max(initial=0), other.replicate.max(initial=0)))
    # An unknown pair has the number -1: the last places are its own, and stay without a row.
    place = np.full((len(other.names) + 1) * repeats, -1, dtype=np.int64)
    place[widen(other.pair) * repeats + other.replicate] = np.arange(len(other))
    theirs = place[known * repeats + pairs.replicate]
    mine = np.flatnonzero(theirs >= 0)
    return mine, theirs[mine]


def _binary(context: EstimateContext, scores: Scores, alpha: float) -> Estimate:
    rows = scores.where(scores.labelled)
    found = youden_limits(label_table(rows, np.array([0, 1])).table, 1 - alpha / 2)
    if found is None:
        return _unknown(context, scores, rows)
    value, low, high = found
    return _agreement(context, rows, value, (low, high), "mover_cluster")


def _ordinal(context: EstimateContext, scores: Scores, alpha: float) -> Estimate:
    """Rank agreement with the label; that of a judge that always answers the same is zero."""
    rows = scores.where(scores.labelled)
    seen = rows.where(rows.decided)
    if len(np.unique(seen.expected)) < 2:
        return _unknown(context, scores, rows)
    values = np.union1d(seen.score, seen.expected.astype(np.int64))
    sums, levels = label_table(rows, values), values.astype(np.float64)
    rank = LimitTest(sums.table, lambda table: agreement.spearman(table, levels), AGREEMENT, sums.n_calls)
    if isfinite(rank.value):
        return _agreement(context, rows, rank.value, rank.limits(1 - alpha / 2), rank.method)
    # As many calls as the data allow might have followed the label.
    clusters, sure = len(sums.table), 1 - alpha / 2
    reach = t_quantile(sure, clusters - 1) if clusters > 1 else normal_quantile(sure)
    return _agreement(context, rows, 0.0, (0.0, score(0.0, float(clusters), reach)[1]), "wilson_cluster")


def _unknown(context: EstimateContext, scores: Scores, rows: Scores) -> Estimate:
    """The figure where there is none; `rows` are the labelled calls among the scores."""
    why = unlabelled(scores) if not len(rows) else CONSTANT_LABELS if np.any(rows.decided) else NO_VERDICT
    return context.undefined(MERIT, why, "call", rows.lost())


def _agreement(context: EstimateContext, rows: Scores, value: float, limits: Span, method: str) -> Estimate:
    """The figure on a scale on which chance is zero; `rows` are all labelled calls, lost ones included."""
    scored = rows.where(rows.decided)
    shift = _shift(value, 0.0, len(scored), len(rows) - len(scored))

    def status(shift: float) -> str:
        if limits[0] + min(0.0, shift) > USEFUL_AGREEMENT:
            return CLEAR
        return FLAGGED if limits[1] + max(0.0, shift) < USEFUL_AGREEMENT else INCONCLUSIVE

    word = status(shift)
    estimate = context.estimate(
        MERIT,
        unit="call",
        value=value,
        intervals=(Interval(method, *limits),),
        n_calls=len(scored),
        n_units=scored.n_items,
        n_clusters=scored.n_clusters,
        excluded=rows.lost(),
        left_out=len(rows) - len(scored) - sum(rows.lost().values()),
        chance=0.0,
        status=word,
        missing_decides=word != status(0.0),
    )
    return _forecast(estimate, USEFUL_AGREEMENT)


def _forecast(estimate: Estimate, floor: float) -> Estimate:
    """The estimate, where it is undecided with the calls that would place it above or below the floor."""
    if estimate.status != INCONCLUSIVE:
        return estimate
    return replace(estimate, calls_needed=calls_total(replace(estimate, excluded={}), (floor, inf)))


def _shift(value: float, chance: float, calls: int, missing: int) -> float:
    return (chance - value) * missing / (calls + missing)
