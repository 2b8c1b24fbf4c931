"""Merit: does the judge tell good from bad at all? Decided before any other question.

Pairs that differ in quality: each call scores 1 for the better text, ½ for a tie, 0 for the worse one, and
both slots weigh the same, so that a judge whose answer depends on the slot alone has merit ½ exactly, as a
coin has. Labelled texts: Youden's J on a binary scale and rank agreement on an ordinal one, neither of which
skewed labels can turn over.

    shown      the interval lies above what the weakest useful judge has, and above every baseline's merit
    refuted    the interval lies below it
    undecided  otherwise

On natural pairs merit has to be shown a second time, with the pairs on which a rule that reads nothing is
right weighed like those on which it is wrong. A judge that names the longest text has merit ½ then, however
often people prefer that one.

A call without a verdict is no grade. It is left out of the value, and a conclusion has to hold with such
calls counted as chance as well.

Each test is an estimate; its interval `decides` is compared with its `merit_limits`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import inf, isfinite

import numpy as np

from steelyard.core.arrays import distinct, weak_cache
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, calls_total
from steelyard.metrics.metric import LABELLED, LARGE, LARGE_STEPS, Limit, Metric
from steelyard.metrics.pairs.choices import (
    CHANCE_OF_PAIRS,
    NO_VERDICT,
    SURER,
    BesideLength,
    Choices,
    chance_shift,
    deciding_intervals,
    gain_over,
)
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.proportions import MERIT
from steelyard.metrics.run.agent_runs import FALSE_ALARMS, MISSED_FAILURES, NONE_SUCH, Runs, kinds_of_edits
from steelyard.metrics.run.agent_runs import PROBE as AGENTS
from steelyard.metrics.run.strata import area_estimates, outside
from steelyard.metrics.scores.against_labels import CONSTANT_LABELS, label_table
from steelyard.metrics.scores.best_of import beyond_chance, right_choices
from steelyard.metrics.scores.columns import Scores, collect_scores, rescaled_to_original
from steelyard.metrics.scores.edited_texts import EDITED_RUNS, WRITTEN, acceptance, why_unaccepted
from steelyard.metrics.scores.probe import probe_scores
from steelyard.metrics.scores.shares import unlabelled
from steelyard.metrics.stats import agreement
from steelyard.metrics.stats.clusters import wilson_cluster
from steelyard.metrics.stats.distributions import cluster_quantile
from steelyard.metrics.stats.intervals import AGREEMENT, ALPHA, Span, score
from steelyard.metrics.stats.two_class import LimitTest, youden_limits
from steelyard.stimuli.brief import RUN_FAIL, RUN_PASS
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL_PROBE, ORIGINAL
from steelyard.verdicts.observations import Observations

LADDER = "ladder"
USEFUL_AT_LARGE_STEPS = 0.75
USEFUL_ON_LADDER = 0.70
"""Merit over the whole standard ladder of the weakest judge that is of use."""
USEFUL_ON_NATURAL_PAIRS = 0.60
USEFUL_AGREEMENT = 0.30
"""Least Youden's J or rank agreement of a useful judge; with balanced labels it is right in 65 of 100."""

LEVEL_AGREEMENT = Metric(
    "level_agreement",
    "rank agreement on written levels",
    "Rank correlation of the verdicts on texts written for each level with that level.",
    plain="ranks written levels",
    signed=True,
    limit=Limit(USEFUL_AGREEMENT, "min"),
    behind="wrong",
    basis=LABELLED,
)
STEPS, OVER = "steps", "over"
"""Group keys of tests beside the whole: at the larger steps, the gain over a baseline, beside a rule."""

OTHERS = "others"
"""Group `areas` of a test of merit outside the areas that are named as reversed."""
NO_ANSWER = "no run has a known answer"
COUNTED = "counted"
"""Detail of merit on runs of agents: probes whose runs it is measured on, `original` for runs as they are."""


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
        if len(steps := rows.filter(LADDER)):
            context = EstimateContext.for_protocol(judge, LADDER, protocol, seed)
            estimates += _ladder_merit(context, collect(steps), baselines, alpha)
        if len(natural := rows.filter(NATURAL_PROBE, labelled=True)):
            context = EstimateContext.for_protocol(judge, NATURAL_PROBE, protocol, seed)
            estimates += _natural_merit(context, collect(natural), natural.shown.longer_by_name, alpha)
        if len(choices := rows.filter(BEST_OF_PROBE)):
            context = EstimateContext.for_protocol(judge, BEST_OF_PROBE, protocol, seed)
            estimates.append(_best_of_merit(context, collect_scores(choices), alpha))
        if np.any(rows.shown.run[rows.stimulus]):
            estimates += _agent_merit(judge, rows, protocol, seed, alpha)
        elif rows.pointwise:
            estimates += _text_merit(judge, rows, protocol, seed, alpha)
    return estimates


def merit_limits(test: Estimate) -> Span:
    """What a test of merit has to lie above to show it, and what it has to lie below to refute it."""
    if OVER in test.group:
        return 0.0, -inf
    if STEPS in test.group:
        return USEFUL_AT_LARGE_STEPS, USEFUL_AT_LARGE_STEPS
    if test.probe == LADDER:
        return CHANCE_OF_PAIRS, USEFUL_ON_LADDER
    if test.probe == NATURAL_PROBE:
        return CHANCE_OF_PAIRS, USEFUL_ON_NATURAL_PAIRS
    return USEFUL_AGREEMENT, USEFUL_AGREEMENT


def merit_test_status(test: Estimate) -> str:
    """`clear` where the test shows merit, `flagged` where it refutes it."""
    shown, refuted = merit_limits(test)
    low, high = (-inf, inf) if test.decides is None else (test.decides.low or 0.0, test.decides.high or 0.0)
    if low > shown:
        return CLEAR
    # Lost calls counted as chance refute nothing that the others show.
    by_chance = test.interval is None or (test.interval.low or 0.0) <= shown
    return FLAGGED if high < refuted and by_chance else INCONCLUSIVE


def _status(tests: Iterable[Estimate]) -> str:
    words = {merit_test_status(test) for test in tests}
    return next((word for word in (FLAGGED, INCONCLUSIVE) if word in words), CLEAR)


def _together(tests: list[Estimate], without_losses: list[Estimate]) -> Iterator[Estimate]:
    """The tests, of which the first has the word of all."""
    word = _status(tests)
    yield replace(tests[0], status=word, missing_decides=word != _status(without_losses))
    yield from tests[1:]


def _ladder_merit(
    context: EstimateContext, pairs: Pairs, baselines: Mapping[str, Observations], alpha: float
) -> Iterator[Estimate]:
    pairs = pairs.where(pairs.delta > 0)
    all_steps = Choices.of(pairs, alpha)
    large = Choices.of(pairs.where(pairs.delta >= LARGE), alpha)
    if not all_steps.defined:
        yield context.undefined(MERIT, all_steps.reason, "call", all_steps.excluded)
        return

    def tests(all_steps: Choices, large: Choices, **part: str) -> list[Estimate]:
        at_large = context.for_subgroup(steps=LARGE_STEPS, **part)
        # One-sided at the larger steps: a small run has few of them.
        more = [large.estimate(at_large, (alpha, alpha))] if large.defined else []
        return [all_steps.estimate(context), *more]

    own, complete = tests(all_steps, large), tests(all_steps.without_losses, large.without_losses)
    areas = area_estimates(context, pairs, alpha)
    rest = outside(pairs, areas)
    if len(rest) < len(pairs) and _status(own) == INCONCLUSIVE:
        # Where it is reversed is named: whether it tells good from bad is asked of the other areas.
        others = Choices.of(rest.where(rest.delta >= LARGE), alpha)
        own = tests(all_steps, others, areas=OTHERS)
        complete = tests(all_steps.without_losses, others.without_losses, areas=OTHERS)
    if CLEAR in (_status(own), _status(complete)):
        rivals = ((name, _ladder_pairs(seen)) for name, seen in baselines.items())
        gains = (gain_over(context, name, pairs, other, alpha) for name, other in rivals)
        # A baseline that was shown none of these pairs says nothing of them.
        known = (gain for gain in gains if gain.value is not None)
        lacking = [gain for gain in known if merit_test_status(gain) != CLEAR][:1]
        own, complete = own + lacking, complete + lacking
    yield from _together(own, complete)
    yield from areas


@weak_cache
def _ladder_pairs(baseline: Observations) -> Pairs:
    """The baseline's pairs of the ladder: every protocol and remedy of a judge is held against the same."""
    return collect(baseline.filter(LADDER, "base"))


def _natural_merit(
    context: EstimateContext, pairs: Pairs, longer: Mapping[str, int], alpha: float
) -> Iterator[Estimate]:
    choices = Choices.of(pairs, alpha)
    if not choices.defined:
        yield context.undefined(MERIT, choices.reason, "call", choices.excluded)
        return
    beside = BesideLength.of(pairs, longer, alpha)

    def tests(choices: Choices) -> list[Estimate]:
        whole = choices.estimate(context, (alpha / 2 * SURER, alpha / 2))
        known = beside is not None and beside.defined
        return [whole, *([beside.estimate(context, choices.excluded)] if beside and known else [])]

    complete = tests(choices.without_losses)
    first, *others = _together(tests(choices), complete)
    if beside is not None and not beside.defined and first.status != FLAGGED:
        yield context.undefined(MERIT, beside.reason, "call", choices.excluded)
        return
    yield from (_forecast(first, complete), *others)


def _text_merit(judge: str, rows: Observations, protocol: str, seed: int, alpha: float) -> Iterator[Estimate]:
    """Merit on unchanged texts; where these do not hold two labels, on each kind of written texts too."""
    both = False
    if len(plain := rows.filter(ORIGINAL)):
        scores = collect_scores(rescaled_to_original(plain))
        both = len(np.unique(scores.expected[scores.labelled])) > 1
        yield from score_merit(EstimateContext.for_protocol(judge, ORIGINAL, protocol, seed), scores, alpha)
    for probe in () if both else WRITTEN:
        if len(rows.filter(probe, labelled=True)):
            context = EstimateContext.for_protocol(judge, probe, protocol, seed)
            scores = probe_scores(probe, protocol, rows)
            texts = scores.where(~scores.original)
            if len(np.unique(texts.expected[texts.labelled])) < 2:
                texts = scores  # a row with one answer and its change with the other
            known = acceptance(rows.filter(probe, labelled=True).stimuli_seen)
            for merit in score_merit(context, texts, alpha):
                yield _on_written(context, replace(merit, details={**merit.details, **known}))


def _on_written(context: EstimateContext, merit: Estimate) -> Estimate:
    """The figure, unless it refutes merit by texts that too few beside their author accepted."""
    if merit.status == FLAGGED and (why := why_unaccepted(merit)):
        return replace(context.undefined(MERIT, why, "call", merit.excluded), details=merit.details)
    return merit


def _agent_merit(
    judge: str, rows: Observations, protocol: str, seed: int, alpha: float
) -> Iterator[Estimate]:
    """Merit on runs as they are; where these do not hold both answers, on each kind of edits."""
    runs, context = Runs.of(rows), EstimateContext.for_protocol(judge, AGENTS, protocol, seed)
    known = runs.where(runs.scores.labelled)
    plain = known.where(known.unchanged)
    kinds = [] if plain.both else list(kinds_of_edits(known))
    if not len(known.scores):
        yield context.undefined(MERIT, unlabelled(runs.scores, NO_ANSWER), "call", runs.scores.lost())
    elif plain.both or (known.both and not np.isin(known.edit, EDITED_RUNS).any()):
        yield from _on_runs(context, plain if plain.both else known, {}, alpha)
    elif not kinds:
        lacking = MISSED_FAILURES if np.any(known.should_pass) else FALSE_ALARMS
        yield context.undefined(MERIT, NONE_SUCH[lacking], "call", known.scores.lost())
    for kind, part in kinds:
        here = EstimateContext.for_protocol(judge, kind, protocol, seed)
        edited = (RUN_FAIL, RUN_PASS) if kind == AGENTS else (kind,)
        texts = [text for probe in edited for text in rows.filter(probe, labelled=True).stimuli_seen]
        for merit in _on_runs(here, part, acceptance(texts), alpha):
            yield _on_written(here, merit)


def _on_runs(
    context: EstimateContext, runs: Runs, details: Mapping[str, object], alpha: float
) -> Iterator[Estimate]:
    """Merit on these runs, with the probes that they come from: the calls behind it are known by them."""
    known = {**details, COUNTED: tuple(np.unique(runs.edit).tolist())}
    for merit in score_merit(context, runs.scores, alpha):
        yield replace(merit, details={**merit.details, **known})


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


def _binary(context: EstimateContext, scores: Scores, alpha: float) -> Estimate:
    rows = scores.where(scores.labelled)
    found = youden_limits(label_table(rows, np.array([0, 1])).table, 1 - alpha / 2)
    if found is None:
        return _unknown(context, scores, rows)
    value, low, high = found
    return _agreement(context, rows, value, (low, high), "mover_cluster")


def level_agreement(context: EstimateContext, scores: Scores) -> Estimate:
    return _ordinal(context, scores.where(~scores.binary), ALPHA, LEVEL_AGREEMENT)


def _ordinal(context: EstimateContext, scores: Scores, alpha: float, metric: Metric = MERIT) -> Estimate:
    """Rank agreement with the label; that of a judge that always answers the same is zero."""
    rows = scores.where(scores.labelled)
    seen = rows.where(rows.decided)
    if len(np.unique(seen.expected)) < 2:
        return _unknown(context, scores, rows, metric)
    values = np.union1d(seen.score, seen.expected.astype(np.int64))
    sums, levels = label_table(rows, values), values.astype(np.float64)
    # Texts for every level of one row are one value: how another row would do, nothing tells.
    size = 1 if len(distinct(seen.item)) == 1 else sums.n_calls
    rank = LimitTest(sums.table, lambda table: agreement.spearman(table, levels), AGREEMENT, size)
    if isfinite(rank.value):
        return _agreement(context, rows, rank.value, rank.limits(1 - alpha / 2), rank.method, metric)
    # As many calls as the data allow might have followed the label.
    clusters = len(sums.table)
    high = score(0.0, float(clusters), cluster_quantile(1 - alpha / 2, clusters))[1]
    return _agreement(context, rows, 0.0, (0.0, high), "wilson_cluster", metric)


def _unknown(context: EstimateContext, scores: Scores, rows: Scores, metric: Metric = MERIT) -> Estimate:
    """The figure where there is none; `rows` are the labelled calls among the scores."""
    why = unlabelled(scores) if not len(rows) else CONSTANT_LABELS if np.any(rows.decided) else NO_VERDICT
    return context.undefined(metric, why, "call", rows.lost())


def _agreement(
    context: EstimateContext, rows: Scores, value: float, limits: Span, method: str, metric: Metric = MERIT
) -> Estimate:
    """The figure on a scale on which chance is zero; `rows` are all labelled calls, lost ones included."""
    scored = rows.where(rows.decided)
    sample, left_out = scored.sample(rows.lost()), len(rows) - len(scored) - sum(rows.lost().values())
    figure = context.estimate(metric, sample, value=value, left_out=left_out, chance=0.0)

    def estimate(missing: int) -> Estimate:
        shift = chance_shift(value, 0.0, len(scored), missing)
        return replace(figure, intervals=deciding_intervals(method, limits, limits, shift, ALPHA))

    complete = [estimate(0)]
    (decided,) = _together([estimate(len(rows) - len(scored))], complete)
    return _forecast(decided, complete)


def _forecast(merit: Estimate, tests: Iterable[Estimate]) -> Estimate:
    """The estimate, where it is undecided with the calls that would decide the tests that leave it open.

    The tests have no calls without a verdict: where these alone leave merit open, no further calls help.
    """
    if merit.status != INCONCLUSIVE:
        return merit
    totals = []
    for test in (each for each in tests if merit_test_status(each) == INCONCLUSIVE and each.decides):
        shown, refuted = merit_limits(test)
        limit = shown if (test.value or 0.0) > shown else refuted
        totals.append(calls_total(replace(test, intervals=test.intervals[-1:], excluded={}), (limit, inf)))
    return replace(merit, calls_needed=max((total for total in totals if total is not None), default=None))
