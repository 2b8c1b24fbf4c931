"""Figures of a judge that names the best of several responses, shown in every cyclic order.

A set is an item and a repeat in all its rotations. Each response stands in each slot once in a set, so a
judge that goes by content names every slot equally often, and one that goes by the slot is right once in N
calls, whatever the labels are. Labels are spread evenly over slots in the same way: Cohen's κ is
(accuracy − 1/N) / (1 − 1/N).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.arrays import Ints, Mask, distinct, numbered, widen
from steelyard.metrics import findings, proportions
from steelyard.metrics.estimate import NO_CALLS, Estimate, EstimateContext, Interval
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.metric import HIGH, ZERO, Amount, Basis, Ends, Limit, Metric
from steelyard.metrics.proportions import ACCURACY, FAILED_RATE, KAPPA, UNREADABLE_RATE, proportion
from steelyard.metrics.scores.columns import Outcome, Scores
from steelyard.metrics.scores.repeats import FLIP_RATE, SELF_AGREEMENT, stability
from steelyard.metrics.scores.shares import accuracy, lost_rates, score_tally, unit_tally, unlabelled
from steelyard.metrics.stats.clusters import Tally, effective_size, quantile, wilson_cluster
from steelyard.metrics.stats.intervals import ALPHA, DIFFERENCE, Span, clipped, score

ROTATION_CONSISTENCY = Metric(
    "rotation_consistency",
    meaning="Items for which the judge names the same response in every rotation of the order.",
    plain="keeps its choice when rotated",
    direction=HIGH,
    unit="item",
)
ROTATION_VOTE_ACCURACY = Metric(
    "rotation_vote_accuracy",
    "accuracy of the vote",
    "Items for which the response that most rotations name is the best one; a split is not right.",
    plain="right by vote of rotations",
    direction=HIGH,
)
SLOT_SHARE = Metric(
    "slot_share",
    "slot named",
    "Calls that name this slot, among items with a choice in every rotation: one in N where order does "
    "not count.",
    detail=True,
    basis=Basis(ends=Ends.CHOICE),
)
SLOT_PREFERENCE = Metric(
    "slot_preference",
    meaning="Share of calls that name the slot farthest from one in N, less one in N: above zero the slot is "
    "favoured, below it is avoided. The interval holds for all slots at once.",
    plain="goes by the slot",
    signed=True,
    direction=ZERO,
    unit="item",
    amount=Amount(None),
    basis=Basis(ends=Ends.CHOICE),
)
METRICS = (
    *(ACCURACY, KAPPA, ROTATION_VOTE_ACCURACY, ROTATION_CONSISTENCY, SLOT_PREFERENCE, SLOT_SHARE),
    *(SELF_AGREEMENT, FLIP_RATE, UNREADABLE_RATE, FAILED_RATE),
)

INCOMPLETE = "no item has a verdict in every rotation"
NO_CHOICES = "no item has a choice in every rotation"
LOST, ABSTAINED = -1, 0
SPLIT = -1


@dataclass(frozen=True, eq=False)
class RotationSets:
    """One row per item and repeat, one column per rotation."""

    scores: Scores
    slot: Ints
    """Slot that was named, from 1 on; `ABSTAINED`, or `LOST` without a verdict."""
    item: Ints
    replicate: Ints
    unit: Ints
    """What is independent: the cluster, or the item where there is one cluster."""
    best: Ints
    """Response that is the best, from 0 on; −1 where nobody has said."""

    @classmethod
    def of(cls, scores: Scores) -> RotationSets:
        responses = int(scores.high.max(initial=1))
        repeats = int(scores.replicate.max(initial=0)) + 1
        keys, row = numbered(widen(scores.item) * repeats + scores.replicate)
        turn = scores.strength.astype(np.int64)
        named = np.where(scores.outcome == Outcome.ABSTAINED, ABSTAINED, LOST)
        slot = np.full((len(keys), responses), LOST, dtype=np.int64)
        slot[row, turn] = np.where(scores.decided, scores.score, named)
        item, unit, best = (np.full(len(keys), -1, dtype=np.int64) for _ in range(3))
        item[row], unit[row] = scores.item, scores.unit
        known = scores.labelled
        wanted = np.nan_to_num(scores.expected, nan=1.0).astype(np.int64)
        best[row[known]] = ((wanted - 1 + turn) % responses)[known]
        return cls(scores, slot, item, keys % repeats, unit, best)

    @property
    def responses(self) -> int:
        return int(self.slot.shape[1])

    @property
    def content(self) -> Ints:
        """Response that was named, from 0 on; −1 without a choice."""
        turns = np.arange(self.responses)
        return np.where(self.slot > ABSTAINED, (self.slot - 1 + turns) % self.responses, -1)

    @property
    def complete(self) -> Mask:
        """Every rotation has a verdict."""
        return np.asarray((self.slot != LOST).all(axis=1))

    @property
    def chosen(self) -> Mask:
        """Every rotation has a choice."""
        return np.asarray((self.slot > ABSTAINED).all(axis=1))

    @property
    def votes(self) -> Ints:
        """Rotations that name each response (sets × responses)."""
        content = self.content
        return np.stack([(content == each).sum(axis=1) for each in range(self.responses)], axis=1)

    @property
    def winner(self) -> Ints:
        """Response that most rotations name; `SPLIT` where several have the most, or none was named."""
        votes = self.votes
        most = votes.max(axis=1)
        clear = (np.count_nonzero(votes == most[:, None], axis=1) == 1) & (most > 0)
        return np.where(clear, votes.argmax(axis=1), SPLIT)

    def tally(self, events: Ints | Mask, rows: Mask, weight: int = 1) -> Tally:
        """Events among `weight` trials of each of these rows."""
        trials = rows.astype(np.int64) * weight
        calls, units = int(rows.sum()) * self.responses, len(distinct(self.item[rows]))
        counts = unit_tally(self.scores, self.unit, np.where(rows, events, 0), trials, calls, units)
        return replace(counts, clusters=None)


def best_of_estimates(context: EstimateContext, scores: Scores) -> list[Estimate]:
    if not len(scores):
        return [context.undefined(metric, NO_CALLS) for metric in (ACCURACY, UNREADABLE_RATE, FAILED_RATE)]
    sets = RotationSets.of(scores)
    slots = range(1, sets.responses + 1)
    estimates = [accuracy(context, scores)]
    labelled = [slot for slot in slots if np.any(scores.labelled & (scores.expected == slot))]
    parts = ((context.for_subgroup(slot=slot), scores.where(scores.expected == slot)) for slot in labelled)
    estimates += [accuracy(here, rows) for here, rows in parts]
    estimates += [kappa(context, scores), _vote_accuracy(context, sets), _consistency(context, sets)]
    shares = [sets.tally((sets.slot == slot).sum(axis=1), sets.chosen, sets.responses) for slot in slots]
    estimates.append(_slot_preference(context, sets, shares))
    for slot, counts in zip(slots, shares, strict=True):
        here, bounds, even = context.for_subgroup(slot=slot), _slot_bounds(scores, slot), 1 / sets.responses
        estimates.append(proportion(here, SLOT_SHARE, counts, bounds=bounds, chance=even, reason=NO_CHOICES))
    if scores.replicate.any():
        repeated = {SELF_AGREEMENT.id, FLIP_RATE.id}
        estimates += [each for each in stability(context, scores) if each.metric in repeated]
    return [*estimates, *lost_rates(context, scores)]


def beyond_chance(scores: Scores, share: float) -> float:
    """A share of right calls as Cohen's κ: labels are spread evenly over the slots."""
    chance = 1 / int(scores.high.max())
    return (share - chance) / (1 - chance)


def right_choices(scores: Scores) -> Tally | None:
    """Right among decided labelled calls; None without one."""
    rows = scores.where(scores.labelled)
    counts = score_tally(rows, rows.right, rows.decided)
    return counts if counts.n else None


def kappa(context: EstimateContext, scores: Scores) -> Estimate:
    counts = right_choices(scores)
    limit = context.limit(KAPPA)
    if counts is None:
        reason = INCOMPLETE if np.any(scores.labelled) else unlabelled(scores)
        return context.undefined(KAPPA, reason, excluded=scores.lost())
    low, high = (beyond_chance(scores, share) for share in wilson_cluster(counts))
    chance = 1 / int(scores.high.max())
    bounds = proportions.share_bounds(counts)
    floor = None if limit is None else Limit(limit.value * (1 - chance) + chance, limit.side)
    sample = proportions.sample_of(counts)._replace(excluded=scores.lost())
    value, intervals = beyond_chance(scores, counts.k / counts.n), (Interval("wilson_cluster", low, high),)
    ends = beyond_chance(scores, bounds[0]), beyond_chance(scores, bounds[1])
    estimate = context.estimate(KAPPA, sample, value=value, intervals=intervals, bounds=ends, chance=0.0)
    if floor is None or limit is None:
        return estimate
    whole = findings.bare_share(counts)
    share = findings.with_limit_word(replace(whole, bounds=bounds), floor.allowed)
    assert share.decides is not None, "a share has an interval"
    word, (low, high) = share.status or "", (beyond_chance(scores, end) for end in share.decides.span)
    needed = findings.calls_total(whole, floor.allowed) if word == INCONCLUSIVE else None
    span = findings.agreeing((low, high), word, estimate.value or 0.0, limit.allowed)
    return replace(findings.decided_by(estimate, word, span), calls_needed=needed)


def _vote_accuracy(context: EstimateContext, sets: RotationSets) -> Estimate:
    known = sets.best >= 0
    if not known.any():
        return context.undefined(ROTATION_VOTE_ACCURACY, unlabelled(sets.scores), "item", sets.scores.lost())
    right, complete = sets.winner == sets.best, known & sets.complete
    counts = sets.tally(right, complete)
    bounds = proportions.designed_bounds(counts.k, int(known.sum()) - counts.n, int(known.sum()))
    return proportion(context, ROTATION_VOTE_ACCURACY, counts, unit="item", bounds=bounds, reason=INCOMPLETE)


def _consistency(context: EstimateContext, sets: RotationSets) -> Estimate:
    same = sets.votes.max(axis=1) == sets.responses
    counts = sets.tally(same, sets.complete)
    # A set with a lost call may still turn out the same where all that was read is.
    open_sets = ~sets.complete & (np.count_nonzero(sets.votes, axis=1) <= 1)
    open_sets &= ~(sets.slot == ABSTAINED).any(axis=1)
    bounds = proportions.designed_bounds(counts.k, int(open_sets.sum()), len(sets.slot))
    return proportion(context, ROTATION_CONSISTENCY, counts, unit="item", bounds=bounds, reason=INCOMPLETE)


def _slot_bounds(scores: Scores, slot: int) -> Span:
    """Share of all calls that name the slot where no lost call does, or every one."""
    named = int(np.count_nonzero(scores.decided & (scores.score == slot)))
    return named / len(scores), (named + sum(scores.lost().values())) / len(scores)


def _slot_preference(context: EstimateContext, sets: RotationSets, shares: Sequence[Tally]) -> Estimate:
    even = 1 / sets.responses
    if not shares[0].n:
        reason = NO_CHOICES if len(sets.slot) else NO_CALLS
        return context.undefined(SLOT_PREFERENCE, reason, excluded=sets.scores.lost())
    values = [counts.k / counts.n - even for counts in shares]
    place = max(range(len(values)), key=lambda number: abs(values[number]))
    limits = [_shifted(_simultaneous(counts, sets.responses), even) for counts in shares]
    lost = sum(sets.scores.lost().values())
    bounds = _shifted(_slot_bounds(sets.scores, place + 1), even) if lost else None
    favoured = shares[place]
    left_out = int(np.count_nonzero(sets.complete & ~sets.chosen)) * sets.responses

    def word(moved: Span) -> str:
        spans = [(low + moved[0], high + moved[1]) for low, high in limits]
        if all(low > -MARGIN and high < MARGIN for low, high in spans):
            return CLEAR
        return FLAGGED if any(low > 0 or high < 0 for low, high in spans) else INCONCLUSIVE

    estimate = context.estimate(
        SLOT_PREFERENCE,
        proportions.sample_of(favoured),
        value=values[place],
        intervals=(Interval("goodman_cluster", *clipped(limits[place], DIFFERENCE)),),
        left_out=left_out,
        bounds=bounds,
        chance=0.0,
        details={"answer": place + 1},
        calls_needed=findings.calls_total(findings.bare_share(favoured), (even - MARGIN, even + MARGIN)),
        note=f"slot {place + 1} in {favoured.k} of {favoured.n} calls; even is one in {sets.responses}",
    )
    return proportions.with_tested_word(estimate, word)


def _simultaneous(counts: Tally, slots: int) -> Span:
    """Goodman's interval of one of so many slots, on the effective size."""
    reach = quantile(counts, 1 - ALPHA / (2 * slots))
    return score(counts.k / counts.n, effective_size(counts), reach)


def _shifted(span: Span, even: float) -> Span:
    return span[0] - even, span[1] - even
