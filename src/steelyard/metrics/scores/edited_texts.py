"""Edited and written texts: edits that keep the label beside the unchanged item, and texts to earn another.

Only edits that keep the label ask for the same verdict as on the unchanged item, which is the judge's own.
What changes beyond the noise of asking twice is the edit's effect:

    excess flip = share of (original, edit) comparisons that differ
                − share of (original, original) comparisons that differ

Of a text that was changed or written to earn an answer one is expected because somebody says so. What is
found on texts that nobody but their author accepted refutes no judge; a text that every judge of a run misses
is suspect itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.core.text import join_notes
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Reason, Sample
from steelyard.metrics.findings import MARGIN, SURE, with_finding
from steelyard.metrics.metric import LOW, Amount, Basis, Items, Limit, Metric
from steelyard.metrics.proportions import designed_bounds, proportion, sampling_notes, with_difference_word
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.repeats import NO_REPEATS, item_noise, verdict_counts
from steelyard.metrics.scores.shares import accuracy, unit_tally
from steelyard.metrics.stats.clusters import ClusterMean, Tally, quantile, ratio
from steelyard.metrics.stats.intervals import ALPHA, DIFFERENCE, Span, clipped, score
from steelyard.stimuli.agent_edits import BREAKING
from steelyard.stimuli.brief import LABEL_FLIP, ORDINAL, RUN_FAIL, RUN_LEVEL, RUN_PASS
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observations import Observations

_beside_items = partial(Metric, behind="flip", basis=Basis(items=Items.BOTH))
INVARIANCE = _beside_items(
    "invariance",
    meaning="Scores equal to the judge's own score of the unchanged item.",
    plain="keeps its verdict",
    unit="comparison",
)
EXCESS_FLIP = _beside_items(
    "excess_flip",
    "excess flips",
    "Changed verdicts on edited items beyond those that mere repeats show: the edit's effect.",
    plain="changes beyond repeats",
    signed=True,
    direction=LOW,
    unit="item",
    amount=Amount(None),
)

NO_ORIGINALS = "the unchanged items were not judged"
NOT_BOTH = "no item has a verdict both unchanged and edited"


@dataclass(frozen=True, eq=False)
class ItemComparisons:
    """Every edited call of an item beside every call of the unchanged item; one entry per item."""

    rows: Scores
    equal: Ints
    made: Ints
    designed: Ints
    floor: Floats
    """Share of repeats of the unchanged item that differ; NaN without repeats."""
    unit: Ints


def same_verdict_expected(scores: Scores, *, keep_label: bool) -> Scores:
    """The unchanged items, and the edits that ask for the same verdict.

    These are edits without an expected verdict and, of probes that `keep_label`, those that expect the label
    of the unchanged item. An edit with a label, made from an item without one, must meet its label.
    """
    labels = np.full(len(scores.items), np.nan)
    labels[scores.item[scores.original]] = scores.expected[scores.original]
    same = keep_label & (labels[scores.item] == scores.expected)
    return scores.where(scores.original | np.isnan(scores.expected) | same)


def compare_items(scores: Scores) -> ItemComparisons:
    size = len(scores.items)
    edited = np.bincount(scores.item[~scores.original], minlength=size)
    plain = np.bincount(scores.item[scores.original], minlength=size)
    rows = scores.where(((edited > 0) & (plain > 0))[scores.item])
    counts = _item_counts(rows, ~rows.original), _item_counts(rows, rows.original)
    equal, made = (counts[0] * counts[1]).sum(-1), counts[0].sum(-1) * counts[1].sum(-1)
    floor, unit = item_noise(rows.where(rows.original)), rows.by_item(rows.unit)
    return ItemComparisons(rows, equal, made, edited * plain, floor, unit)


def invariance_estimates(
    context: EstimateContext, scores: Scores, *, keep_label: bool = True
) -> list[Estimate]:
    """`invariance` and `excess_flip` of the edits that keep the label, see `same_verdict_expected`.

    Nothing where no edit does, or where the probe compares with no unchanged item.
    """
    kept = same_verdict_expected(scores, keep_label=keep_label)
    if np.all(kept.original) or not np.any(kept.original):
        return []
    comparisons = compare_items(kept)
    excess = _excess(context, comparisons)
    return [invariance(context, comparisons, known_noise=excess.value is not None), excess]


def invariance(
    context: EstimateContext, comparisons: ItemComparisons, *, known_noise: bool = True
) -> Estimate:
    """The paired figure; it has a finding only where the noise is not known."""
    rows, made = comparisons.rows, comparisons.made
    used = rows.where((made > 0)[rows.item] & rows.readable)
    items = int(np.count_nonzero(made))
    tally = unit_tally(rows, comparisons.unit, comparisons.equal, made, len(used), items)
    designed = int(comparisons.designed.sum())
    bounds = designed_bounds(tally.k, designed - tally.n, designed)
    reason = NOT_BOTH if designed else NO_ORIGINALS
    estimate = proportion(context, INVARIANCE, tally, unit="comparison", bounds=bounds, reason=reason)
    if known_noise or estimate.value is None:
        return estimate
    # Without repeats the noise is not known: a small total still bounds the edit's share in it.
    note = join_notes([estimate.note, "no repeats: noise and edit are not told apart"])
    estimate = replace(estimate, note=note)
    return replace(with_finding(estimate, Limit(1 - MARGIN, "min")), calls_needed=None)


def _excess(context: EstimateContext, comparisons: ItemComparisons) -> Estimate:
    flips = 1 - ratio(comparisons.equal.astype(np.float64), comparisons.made.astype(np.float64))
    both = np.isfinite(flips) & np.isfinite(comparisons.floor)
    rows = comparisons.rows
    if not both.any():
        why = NO_REPEATS if comparisons.made.any() else NOT_BOTH if len(rows) else NO_ORIGINALS
        return context.undefined(EXCESS_FLIP, why, "comparison", rows.lost())
    used = rows.where(both[rows.item])
    mean = ClusterMean.of(comparisons.unit[both], (flips - comparisons.floor)[both])
    flip, floor = float(flips[both].mean()), float(comparisons.floor[both].mean())
    method = "wilson_cluster_difference" if mean.even else "t_cluster"
    means = f"edits differ in {flip:.2f}, repeats of the original in {floor:.2f}; margin {MARGIN:g}"
    # Fewer changes than mere repeats show are no fault: the test is one-sided.
    p = mean.p() / 2 if mean.mean > 0 else 1 - mean.p() / 2
    limits = _limits(mean, flip, floor, SURE)
    estimate = context.estimate(
        EXCESS_FLIP,
        Sample(int(np.count_nonzero(used.readable)), int(both.sum()), used.n_clusters, rows.lost()),
        unit="comparison",
        value=mean.mean,
        intervals=(Interval(method, *limits),),
        bounds=_excess_bounds(rows),
        chance=0.0,
        minimum_detectable=mean.detectable,
        p=p,
        notes=[means, *sampling_notes(used.n_clusters, even=mean.even)],
    )
    return with_difference_word(estimate, 2 * ALPHA)


def _limits(mean: ClusterMean, flip: float, floor: float, probability: float) -> Span:
    """Student's t over units; above it reaches as far as the share of changed items alone can.

    Changes are rare and large: a sample that happens to hold few of them has little spread as well, and t
    would rule out too much. Each item counts as one trial, for its comparisons may all be one verdict.
    """
    alike = Tally(events=0 * mean.sizes, trials=mean.sizes, n_calls=0, n_units=0)
    low, high = score(flip, mean.assumed_size, quantile(alike, probability))
    spread = mean.limits(probability)
    if spread is not None:
        low, high = spread[0] + floor, max(high, spread[1] + floor)
    return clipped((low - floor, high - floor), DIFFERENCE)


def _item_counts(scores: Scores, mask: Mask) -> Ints:
    """Verdicts per item among the rows of the mask, over verdict columns that all rows share."""
    groups = scores.item + np.where(mask, 0, len(scores.items))
    return verdict_counts(scores, groups, 2 * len(scores.items))[: len(scores.items)]


def _excess_bounds(rows: Scores) -> Span | None:
    """Bounds of the mean excess over items; None where no item has an edit and two repeats.

    A missing call may have given a verdict that nobody else gave, an abstention for one. The excess is convex
    in the missing calls of the unchanged item, so it is greatest where they agree. The lower bound takes the
    fewest flips of edits and the most of repeats, which no single way to fill in the calls may reach.
    """
    masks = ~rows.original, rows.original
    edited, plain = (_item_counts(rows, mask) for mask in masks)
    lost_edited, lost_plain = (
        np.bincount(rows.item[~rows.readable & mask], minlength=len(rows.items)) for mask in masks
    )
    edits, repeats = edited.sum(axis=1) + lost_edited, plain.sum(axis=1) + lost_plain
    asked = (edits > 0) & (repeats > 1)
    if not asked.any():
        return None
    edits, repeats = edits[asked], repeats[asked]
    # One column more, for the verdict that nobody gave.
    edited, plain = (np.pad(counts[asked], ((0, 0), (0, 1))) for counts in (edited, plain))
    flips = (edited.sum(axis=1) * plain.sum(axis=1) - (edited * plain).sum(axis=1)) / (edits * repeats)
    low = flips - 1 + _alike(plain, repeats)
    corners = []
    for verdict in range(plain.shape[1]):
        filled = plain.copy()
        filled[:, verdict] += lost_plain[asked]
        corners.append(_alike(filled, repeats) - (edited * filled).sum(axis=1) / (edits * repeats))
    return float(low.mean()), float(np.max(corners, axis=0).mean())


def _alike(counts: Ints, repeats: Ints) -> Floats:
    return np.asarray((counts * (counts - 1)).sum(axis=1) / (repeats * (repeats - 1)))


WRITTEN = (LABEL_FLIP, ORDINAL)
"""Probes whose texts are changed or written to earn an answer."""
EDITED_RUNS = (RUN_FAIL, RUN_PASS, RUN_LEVEL, *BREAKING)
"""Probes whose runs of agents are edited to earn an answer."""
LEAST_ACCEPTED = 20
"""Texts accepted by another than their author from which a judge that misses them is unfit."""
ACCEPTED, SUSPECT = "accepted", "suspect"
"""Details of a figure: texts that another accepted with all texts, and texts that every judge misses."""
UNACCEPTED = Reason(
    "unaccepted",
    f"it fails on written texts of which fewer than {LEAST_ACCEPTED} were accepted by another than their "
    "author",
)
FEW_TEXTS = Reason("few_texts", f"it fails on written texts that are fewer than {LEAST_ACCEPTED}")
BY_RULE = Reason(
    "by_rule", "it fails on runs that a rule edited, and nobody has said that the rubric fails such runs"
)
RUNS = "runs"
"""Context of figures on runs of agents, whatever was done to them."""
FAR = 2
"""Levels between score and label from which a text on a scale counts as missed; yes and no are one apart."""


def acceptance(texts: Sequence[Stimulus]) -> dict[str, tuple[int, int]]:
    """How many of these texts somebody beside their author accepted, and how many they are."""
    return {ACCEPTED: (sum(text.accepted for text in texts), len(texts))}


def accepted_texts(estimate: Estimate) -> int:
    accepted, _ = estimate.details.get(ACCEPTED, (0, 0))
    return int(accepted)


def why_unaccepted(estimate: Estimate) -> Reason | None:
    """Why a figure of written texts refutes no judge; None where enough of them were accepted."""
    accepted, texts = estimate.details[ACCEPTED]
    if accepted >= LEAST_ACCEPTED:
        return None
    return BY_RULE if estimate.probe in BREAKING else FEW_TEXTS if accepted == texts else UNACCEPTED


def rests_on_author(estimate: Estimate) -> bool:
    """True for a figure of written texts that nobody but their author accepted, or too few of them."""
    accepted, texts = estimate.details.get(ACCEPTED, (0, 0))
    return bool(accepted < texts and accepted < LEAST_ACCEPTED)


def authorship(estimate: Estimate) -> str:
    """What is said of a figure that rests on texts or runs which nobody but their maker accepted."""
    if estimate.probe in BREAKING:
        return "a rule edited the runs that this rests on, and nobody has said that the rubric fails them"
    made = "runs" if estimate.probe in (RUNS, *EDITED_RUNS) else "texts"
    return f"nobody but their author is known to have accepted the {made} that this rests on"


def accuracy_by_target(context: EstimateContext, scores: Scores) -> Iterator[Estimate]:
    """Accuracy on the texts of each level, where texts were written for several."""
    rows = scores.where(scores.labelled & ~scores.original)
    targets = np.unique(rows.expected)
    for target in targets.tolist() if len(targets) > 1 else ():
        yield accuracy(context.for_subgroup(target=int(target)), rows.where(rows.expected == target))


def suspect_texts(observations: Observations, judges: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Probe to the texts that every one of several judges misses in every call, by name."""
    found: dict[str, tuple[str, ...]] = {}
    for probe in (*WRITTEN, *EDITED_RUNS) if len(judges) > 1 else ():
        missed = [_missed(observations.of_judge(judge).filter(probe, protocol="base")) for judge in judges]
        if names := set.intersection(*missed):
            found[probe] = tuple(sorted(names))
    return found


def _missed(calls: Observations) -> set[str]:
    if not len(calls):
        return set()
    scores = collect_scores(calls)
    rows = scores.where(scores.labelled & scores.decided)
    wrong: Mask = np.abs(rows.score - rows.expected) >= np.where(rows.binary, 1, FAR)
    right = set(rows.stimulus[~wrong].tolist())
    return {rows.stimuli[number] for number in rows.stimulus[wrong].tolist() if number not in right}


def with_suspects(
    estimates: Iterable[Estimate], metrics: Sequence[str], suspects: Mapping[str, tuple[str, ...]]
) -> list[Estimate]:
    """The estimates, those of these metrics with the texts of their probe that every judge misses."""
    return [
        replace(each, details={**each.details, SUSPECT: suspects[each.probe]})
        if each.metric in metrics and each.probe in suspects
        else each
        for each in estimates
    ]
