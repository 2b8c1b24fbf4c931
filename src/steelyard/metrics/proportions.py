"""From integer counts to a full estimate of a proportion; metrics that two texts and one have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from steelyard.core.text import join_notes
from steelyard.metrics import findings
from steelyard.metrics.estimate import NO_CALLS, NO_VERDICTS, Estimate, EstimateContext, Interval, Sample, Why
from steelyard.metrics.findings import difference_word
from steelyard.metrics.metric import CONCLUDED, EVERY_CALL, HIGH, KNOWN_ANSWER, LOW, Limit, Metric
from steelyard.metrics.stats import clusters
from steelyard.metrics.stats.clusters import (
    ASSUMED_CORRELATION,
    Tally,
    effective_size,
    quantile,
    wilson_cluster,
)
from steelyard.metrics.stats.intervals import ALPHA, Span, goodman, wilson
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL_PROBE, ORIGINAL

DARK_CURRENT = Metric(
    "dark_current",
    meaning="Calls that name a winner between two equal texts, or give a response without content more than "
    "the lowest score.",
    plain="reacts to nothing",
    limit=Limit(0.10),
    event=lambda columns: columns.reports,
    behind="wrong",
)
ACCURACY = Metric(
    "accuracy",
    meaning="Verdicts equal to the expected one; with a slot: where the better text stood.",
    event=lambda columns: columns.right,
    labelled=True,
    direction=HIGH,
    behind="wrong",
)
AGREEMENT_FLOOR = Limit(0.40, "min", probes=(ORIGINAL, NATURAL_PROBE, BEST_OF_PROBE))
"""Least agreement with labels beyond chance: below it a judge tells little of what they tell."""
WEIGHTED_FLOOR = Limit(0.60, "min", probes=(ORIGINAL,))
"""The same where near misses count little: at .50, four scores in ten may be drawn at random."""
KAPPA = Metric(
    "kappa",
    "Cohen κ",
    "Agreement with the label beyond chance.",
    plain="agrees beyond chance",
    signed=True,
    limit=AGREEMENT_FLOOR,
)
MERIT = Metric(
    "merit",
    meaning="Whether the judge tells good from bad. On pairs: the better text chosen, a tie counted half, "
    "both slots weighed alike; one half is chance. On labelled texts and runs: Youden's J, or rank agreement "
    "on an ordinal scale; on the best of several: agreement beyond chance; zero is chance.",
    plain="tells good from bad",
    direction=HIGH,
    behind="wrong",
    basis=KNOWN_ANSWER,
)
TOLERATED_LOSSES = Limit(0.02, probes=("run",))
_lost = partial(Metric, detail=True, direction=LOW, limit=TOLERATED_LOSSES, basis=EVERY_CALL)
UNREADABLE_RATE = _lost(
    "unreadable_rate",
    "unreadable",
    "Calls whose reply could not be read as a verdict; never counted as a score.",
    behind="unreadable",
)
ABSTENTION_RATE = Metric(
    "abstention_rate",
    "abstained",
    "Calls that ended in a valid refusal to answer; reported where two judges are compared.",
    detail=True,
    basis=EVERY_CALL,
)
FAILED_RATE = _lost(
    "failed_rate",
    "failed",
    "Calls that returned no reply after retries; never counted as a score.",
    behind="failed",
)
CONTRADICTION_RATE = Metric(
    "contradiction_rate",
    "contradicts its reason",
    "Of the calls whose reason names an answer in its last sentence: those that give another answer.",
    limit=Limit(0.05, probes=("run",)),
    behind="contradiction",
    basis=CONCLUDED,
)

ONE_CLUSTER = "this cluster only"
NO_SPREAD = f"no spread between clusters: an intra-cluster correlation of {ASSUMED_CORRELATION} is assumed"


def proportion(
    context: EstimateContext,
    metric: Metric,
    tally: Tally,
    *,
    unit: str = "call",
    cells: int | None = None,
    bounds: Span | None = None,
    chance: float | None = None,
    reason: Why | None = None,
    notes: Iterable[str] = (),
) -> Estimate:
    """The estimate of events / trials; `cells` asks for the intervals of a decomposition cell."""
    sample = sample_of(tally)
    if not tally.n:
        why = reason or (NO_VERDICTS if tally.missing else NO_CALLS)
        return context.undefined(metric, why, unit, sample.excluded)
    limit = context.limit(metric)
    intervals = [*(_cell_intervals(context, metric, tally, cells) if cells else ()), *_intervals(tally)]
    size = effective_size(tally)
    spread = ONE_CLUSTER if tally.n_clusters < 2 else NO_SPREAD if tally.share.even else None
    abstained = f"{tally.abstained} abstained, counted as ties" if tally.abstained else None
    estimate = context.estimate(
        metric,
        sample,
        unit=unit,
        value=tally.k / tally.n,
        numerator=tally.k,
        denominator=tally.n,
        intervals=tuple(intervals),
        design_effect=clusters.design_effect(tally),
        effective_size=min(size, float(tally.n_units)) if cells else size,
        quantile=quantile(tally, 1 - ALPHA / 2 / (cells or 1)),
        abstained=tally.abstained,
        bounds=bounds or share_bounds(tally),
        chance=chance,
        minimum_detectable=findings.detectable_beyond(tally, limit) if limit else None,
        notes=[*notes, spread, abstained, limit_note(limit)],
    )
    found = findings.with_finding(estimate, limit)
    if tally.clusters is None or tally.n_clusters < 2:
        return found
    note = join_notes([found.note, ONE_CLUSTER, "items stand for clusters"])
    return replace(found, n_clusters=tally.clusters, note=note)


def sample_of(tally: Tally) -> Sample:
    excluded = {"unreadable": tally.unreadable, "failed": tally.failed}
    return Sample(tally.n_calls, tally.n_units, tally.n_clusters, excluded)


def share_bounds(tally: Tally) -> Span:
    """Every missing call a non-event, or every one an event.

    The same formula bounds a share of decided calls: a missing call may be decided either way.
    """
    total = tally.n + tally.missing
    return tally.k / total, (tally.k + tally.missing) / total


def designed_bounds(events: int, unknown: int, designed: int) -> Span | None:
    """The share of all that the design asked for, every unknown one a non-event, or every one an event."""
    return (events / designed, (events + unknown) / designed) if designed else None


def sampling_notes(clusters: int, *, even: bool = False) -> tuple[str | None, str | None]:
    """Remarks on units that do not differ, where `even`, and on a single cluster."""
    return NO_SPREAD if even else None, ONE_CLUSTER if clusters < 2 else None


def with_difference_word(estimate: Estimate, alpha: float = ALPHA, p: float | None = None) -> Estimate:
    """The ending of a difference from none: its word by the margin and the p of its test.

    `alpha` is the error of the test within its family, `p` stands in for the estimate's own.
    """
    if estimate.interval is None:
        return estimate
    limits = estimate.interval.span
    found = next(each for each in (p, estimate.p_corrected, estimate.p) if each is not None)
    return with_tested_word(estimate, lambda moved: difference_word(limits, found, moved=moved), alpha)


def with_tested_word(estimate: Estimate, word: Callable[[Span], str], alpha: float = ALPHA) -> Estimate:
    """The one ending of a tested figure: its word holds however the missing verdicts had come out.

    `word` takes how far those could move the figure, down and up. `calls_needed` stays where the verdicts at
    hand alone do not decide.
    """
    seen, safe = word((0.0, 0.0)), word(findings.missingness_shift(estimate.value or 0.0, estimate.bounds))
    needed = estimate.calls_needed if seen == findings.INCONCLUSIVE else None
    decided = findings.with_tested_interval(replace(estimate, calls_needed=needed), safe, alpha)
    return findings.with_missingness(decided, seen)


def _intervals(tally: Tally) -> list[Interval]:
    by_call = Interval("wilson", *wilson(tally.k, tally.n))
    if tally.n_clusters < 2:
        # Repeats of a unit may all agree, so they make nothing surer about other units.
        repeated = tally.n_units < tally.n
        return [*([Interval("wilson_units", *wilson_cluster(tally))] if repeated else []), by_call]
    strict = [Interval("wilson_tasks", *clusters.wilson_strict(tally))] if tally.share.even else []
    return [Interval("wilson_cluster", *wilson_cluster(tally)), *strict, by_call]


def _cell_intervals(context: EstimateContext, metric: Metric, tally: Tally, cells: int) -> list[Interval]:
    # Replicates of a pair may all agree, so the simultaneous interval counts distinct pairs only.
    share = tally.k / tally.n
    intervals = [Interval("goodman", *goodman(share * tally.n_units, tally.n_units, cells))]
    if tally.n_clusters > 1:
        intervals.insert(0, Interval("goodman_cluster", *clusters.goodman_cluster(tally, cells)))
    # Without an event, and with nothing else, every draw would give the share of all.
    varies = tally.n_clusters > 1 and tally.k not in (0, tally.n)
    resampled = tally.share.bootstrap(context.bootstrap_seed(metric.id)) if varies else None
    return [*intervals, *([Interval("bootstrap_cluster", *resampled)] if resampled else [])]


def limit_note(limit: Limit | None) -> str | None:
    if limit is None:
        return None
    return f"read against {'at most' if limit.side == 'max' else 'at least'} {limit.value:g}"
