"""Juries of the judges of a run: what they get right and wrong, and what they gain over the best judge.

A jury that was chosen is reported where it was not chosen. The list of all trios says that its best looks
better than it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from steelyard.core.arrays import numbered
from steelyard.core.text import join_notes
from steelyard.metrics.estimate import NO_VERDICTS, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.metric import Metric
from steelyard.metrics.panel_metrics import (
    PANEL,
    VoteMatrix,
    error_correlations,
    members,
    panel_metrics,
    vote_matrix,
)
from steelyard.metrics.proportions import ACCURACY, proportion
from steelyard.metrics.remedies import mitigations
from steelyard.metrics.scores import shares
from steelyard.metrics.scores.columns import Outcome, Scores, collect_scores, rescaled_to_original
from steelyard.metrics.scores.probe import probe_scores
from steelyard.metrics.scores.shares import score_tally
from steelyard.metrics.stats.agreement import dawid_skene
from steelyard.metrics.stats.clusters import ClusterMean
from steelyard.metrics.stats.intervals import DIFFERENCE
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.majority_vote import plurality_first, plurality_lowest, shared
from steelyard.verdicts.observations import Observations

JURY_FALSE_POSITIVE_RATE = Metric(
    "jury_false_positive_rate",
    "jury false positives",
    "Yes/no inputs of the label 0 that the judges' common verdict calls 1.",
)
JURY_FALSE_NEGATIVE_RATE = Metric(
    "jury_false_negative_rate",
    "jury false negatives",
    "Yes/no inputs of the label 1 that the judges' common verdict calls 0.",
)
JURY_ERROR_RATE = Metric(
    "jury_error_rate",
    "jury errors",
    "Yes/no inputs on which the judges' common verdict is not the expected one, a split vote among them: 1 "
    "minus the accuracy.",
)
ERROR_METRICS = (JURY_FALSE_POSITIVE_RATE, JURY_FALSE_NEGATIVE_RATE, JURY_ERROR_RATE)

INPUT = "input"
"""What a jury's figures count: a common verdict stands for one call of each member."""


def accuracy(context: EstimateContext, metric: Metric, jury: Scores, *notes: str) -> Estimate:
    """Inputs whose verdict is the label; a split vote is not right."""
    return _as_jury(metric, shares.accuracy(context, jury), notes)


def error_rates(context: EstimateContext, jury: Scores, *notes: str) -> list[Estimate]:
    """Wrong verdicts on inputs of the label 0 and of the label 1, and inputs without the right verdict.

    A split vote has no answer: it is no false positive or negative, and no right verdict. Nothing without
    yes/no inputs.
    """
    rows = jury.where(jury.labelled & jury.binary)
    if not len(rows):
        return []
    wrong = score_tally(rows, ~rows.right, rows.readable)
    every = [*shares.false_rates(context, rows), proportion(context, JURY_ERROR_RATE, wrong)]
    return [_as_jury(metric, estimate, notes) for metric, estimate in zip(ERROR_METRICS, every, strict=True)]


def _as_jury(metric: Metric, estimate: Estimate, notes: Sequence[str]) -> Estimate:
    note = estimate.note if estimate.value is None else join_notes([*notes, estimate.note])
    return replace(estimate, metric=metric.id, unit=INPUT, status=None, calls_needed=None, note=note)


JURY_ACCURACY = Metric(
    "jury_accuracy", meaning="Labelled inputs on which the judges' common verdict is the expected one."
)
CHOSEN_JURY_APPARENT = Metric(
    "chosen_jury_apparent",
    "best trio where chosen",
    "Accuracy of the best trio on the half of the clusters that chose it: flattering.",
)
CHOSEN_JURY_ACCURACY = Metric(
    "chosen_jury_accuracy",
    "best trio elsewhere",
    "Accuracy of the best trio on the half of the clusters that did not choose it.",
)
BEST_JUDGE_ACCURACY = Metric(
    "best_judge_accuracy",
    "best judge elsewhere",
    "Accuracy of the best single judge on the half of the clusters that did not choose it.",
)
JURY_GAIN = Metric(
    "jury_gain",
    "gain of the trio",
    "Accuracy of the best trio minus that of the best judge, on the same inputs.",
    signed=True,
)
TRIO_ACCURACY = Metric(
    "trio_accuracy",
    "accuracy of a trio",
    "Labelled inputs on which the common verdict of three judges is the expected one, for every trio.",
    detail=True,
)
METRICS = (
    *(JURY_ACCURACY, TRIO_ACCURACY, CHOSEN_JURY_APPARENT, CHOSEN_JURY_ACCURACY),
    *(BEST_JUDGE_ACCURACY, JURY_GAIN),
)

SPLITS = "a split vote gives no answer"
HELD_OUT = "on the half of the clusters that did not choose it"


def jury_estimates(base: Observations, judges: Sequence[str], seed: int) -> list[Estimate]:
    """Figures of the judges' labelled inputs under the base protocol; nothing for fewer than two judges."""
    votes = vote_matrix({name: _scores(base.of_judge(name)) for name in judges})
    votes = votes.where(~np.isnan(votes.labels))
    if len(judges) < 2 or not len(votes.votes):
        return []
    context = EstimateContext.for_protocol(PANEL, "jury", "base", seed)
    by_agreement, jury = context.for_subgroup(rule="dawid_skene"), _scores(mitigations.jury_of(base, judges))
    unlabelled = "weighs judges by their agreement alone, without labels"
    return [
        *_with_error_rates(context, JURY_ACCURACY, jury, SPLITS),
        *_with_error_rates(by_agreement, JURY_ACCURACY, _weighted(votes, jury), unlabelled),
        *_with_splits_decided(context, base, judges, jury),
        *_every_trio(context, base, judges),
        *_best_trio(context, base, judges),
        *error_correlations(context, votes),
    ]


SPLIT_RULES = {"splits_to_first": plurality_first, "splits_to_lowest": plurality_lowest}
"""How the harness decides a split vote: for the answer of the first judge, or in its script for 0."""


def _with_splits_decided(
    context: EstimateContext, base: Observations, judges: Sequence[str], jury: Scores
) -> Iterator[Estimate]:
    """The same vote where a split is decided by a rule; nothing where no vote is split."""
    for name, rule in SPLIT_RULES.items():
        decided = _scores(mitigations.jury_of(base, judges, rule))
        if np.any(decided.outcome != jury.outcome):
            note = f"a split vote goes to {name.removeprefix('splits_to_')}"
            yield from _with_error_rates(context.for_subgroup(rule=name), JURY_ACCURACY, decided, note)


def jury_by_probe(
    base: Observations, judges: Sequence[str], estimates: Sequence[Estimate], seed: int
) -> Iterator[Estimate]:
    """The vote of all judges on each probe that has an accuracy of every judge, and on unchanged items."""
    right = [e for e in estimates if e.metric == ACCURACY.id and e.value is not None]
    counts = Counter(e.probe for e in right if e.is_overall and e.judge in judges and e.probe != ORIGINAL)
    jury = mitigations.jury_of(base, judges)
    for probe in (*(probe for probe, count in counts.items() if count == len(judges)), ORIGINAL):
        scores = probe_scores(probe, "base", jury, unchanged=True)
        if np.any(~scores.original):
            # A probe that shows items as they are has no edits.
            scores = scores.where(~scores.original)
        if np.any(scores.labelled):
            context = EstimateContext.for_protocol(PANEL, probe, "base", seed)
            yield from _with_error_rates(context, JURY_ACCURACY, scores, SPLITS)


def _with_error_rates(context: EstimateContext, metric: Metric, jury: Scores, note: str) -> list[Estimate]:
    return [accuracy(context, metric, jury, note), *error_rates(context, jury, note)]


def _scores(seen: Observations) -> Scores:
    return collect_scores(rescaled_to_original(seen))


def _weighted(votes: VoteMatrix, jury: Scores) -> Scores:
    """Dawid and Skene's verdicts, each scale alone: a judge may be sharp on one and dull on another."""
    verdict = np.full(len(votes.votes), np.nan)
    for scale in np.unique(votes.scale):
        mask = votes.scale == scale
        fitted = dawid_skene(votes.votes[mask])
        if fitted is not None:
            verdict[mask] = fitted.verdict
    known = dict(zip(votes.inputs, verdict.tolist(), strict=True))
    once = jury.where(jury.replicate == 0)
    given = np.array([known.get(name, np.nan) for name in once.stimuli])[once.stimulus]
    scored = np.isfinite(given)
    score = np.where(scored, given, once.low).astype(np.int64)
    outcome = np.where(scored, Outcome.SCORED, Outcome.UNREADABLE).astype(np.int64)
    return replace(once, score=score, outcome=outcome)


def _every_trio(context: EstimateContext, base: Observations, judges: Sequence[str]) -> Iterator[Estimate]:
    """Each trio of four judges or more, on all inputs; of many judges there would be too many."""
    candidates = mitigations.judges_with_verdicts(base, judges)
    if not mitigations.SIZE < len(candidates) <= mitigations.MOST_JUDGES:
        return
    trios = list(combinations(candidates, mitigations.SIZE))
    note = f"one of {len(trios)} trios on the same inputs: the best of them looks better than it is"
    for trio in trios:
        here = context.for_subgroup(**members(trio))
        yield accuracy(here, TRIO_ACCURACY, _scores(mitigations.jury_of(base, trio)), note)


def _best_trio(context: EstimateContext, base: Observations, judges: Sequence[str]) -> list[Estimate]:
    """The best trio of one half of the clusters, on that half and on the other, beside the best judge.

    Three judges make one trio, which nothing has chosen: its accuracy is that of all judges above.
    """
    if len(judges) < mitigations.SIZE:
        return []
    trio = mitigations.choose_jury_of_three(base, judges, context.seed)
    if isinstance(trio, str):
        return [context.undefined(CHOSEN_JURY_ACCURACY, trio, INPUT)]
    split = mitigations.halves(base, context.seed)
    if split is None:
        reason = "one cluster cannot be halved: a judge would be reported where it was chosen"
        return [context.undefined(JURY_GAIN, reason, INPUT)]
    choosing, held_out = map(mitigations.subject, split)
    single, here = mitigations.best_judge(choosing, judges), context.for_subgroup(**members(trio.members))
    jury, best = mitigations.jury_of(held_out, trio.members), held_out.of_judge(single)
    figures = []
    if trio.choosing is not None:
        in_sample = _scores(mitigations.jury_of(choosing, trio.members))
        note = "in-sample, on the half of the clusters that chose it: flattering"
        figures.append(accuracy(here, CHOSEN_JURY_APPARENT, in_sample, note))
        figures += _with_error_rates(here, CHOSEN_JURY_ACCURACY, _scores(jury), HELD_OUT)
    alone = context.for_subgroup(**members([single]))
    figures.append(accuracy(alone, BEST_JUDGE_ACCURACY, _scores(best), HELD_OUT))
    return [*figures, _gain(here, *map(_scores, shared(jury, best)))]


def _gain(context: EstimateContext, jury: Scores, best: Scores) -> Estimate:
    both = jury.labelled & best.labelled & jury.readable & best.readable
    if not both.any():
        return context.undefined(JURY_GAIN, NO_VERDICTS, INPUT)
    rows = jury.where(both)
    differ = rows.right.astype(np.float64) - best.where(both).right
    mean = ClusterMean.of(numbered(rows.cluster)[1], differ)
    limits = mean.limits(0.975, DIFFERENCE)
    sample = Sample(len(rows), rows.n_items, mean.units)
    notes = [HELD_OUT, None if limits else "clusters show no spread: no interval"]
    gain = context.estimate(JURY_GAIN, sample, notes, unit=INPUT, value=mean.mean)
    intervals = (Interval("t_cluster", *limits),) if limits else ()
    return replace(gain, intervals=intervals, minimum_detectable=mean.detectable)


@dataclass(frozen=True)
class JuryReference:
    """A column of the data that the common verdict is compared with beside the label."""

    column: str
    labels: Mapping[str, float]
    """By item; of several rubrics the id ends the item's name."""

    def label(self, item: str) -> float:
        return self.labels.get(item, self.labels.get(item.rpartition("/")[0], np.nan))


def jury_against(
    base: Observations, judges: Sequence[str], reference: JuryReference, seed: int
) -> list[Estimate]:
    """The vote of all judges on unchanged items against another column; nothing where that is empty."""
    jury = _scores(mitigations.jury_of(base, judges))
    rows = jury.where(jury.original)
    labels = np.array([reference.label(name) for name in rows.items], dtype=np.float64)[rows.item]
    rows = replace(rows, expected=labels, own_label=np.zeros(len(rows), dtype=np.bool_))
    if not np.any(rows.labelled):
        return []
    context = EstimateContext.for_protocol(PANEL, "jury", "base", seed)
    return _with_error_rates(context.for_subgroup(reference=reference.column), JURY_ACCURACY, rows, SPLITS)


def panel_estimates(
    seen: Observations,
    judges: Sequence[str],
    estimates: Sequence[Estimate],
    seed: int,
    reference: JuryReference | None = None,
) -> list[Estimate]:
    if len(judges) < 2:
        return []
    base = seen.filter(protocol="base")
    return [
        *panel_metrics(estimates, {name: seen.of_judge(name) for name in judges}, seed),
        *jury_estimates(base, judges, seed),
        *jury_by_probe(base, judges, estimates, seed),
        *([] if reference is None else jury_against(base, judges, reference, seed)),
    ]
