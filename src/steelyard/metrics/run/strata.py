"""Figures by stratum of the data, and areas of the catalogue: where is the judge worst?

The lowest of several strata is low by being chosen. Whether it is lower than the others is asked of a
permutation: strata are dealt anew to the clusters, and the lowest of each deal held against the lowest seen.
Where clusters are of two kinds, as items with one call each are, right or wrong, all deals are counted.

With five tasks to an area no interval that is corrected for their number lies below one half, so that areas
of the catalogue are dealt anew as well; one that differs is taken out, and the next is tested among the
others. An area that differs counts where its merit lies below one half: simulated, a judge that is reversed
in two areas of twelve has both named in every standard run. The test is exact and of one side: where areas
are alike, one is named in at most 1 of 40 runs, however near the floor the judge is.

The marked pieces that fall to each part follow the multivariate hypergeometric law, that of independent
binomials given their sum, whatever share of marked pieces these have:

    P(k_1, …, k_S) = Π C(n_s, k_s) / C(N, K),   Σ n_s = N, Σ k_s = K

A chance that asks each part by itself is a sum of such products, taken part by part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct, numbered
from steelyard.core.text import pluralize
from steelyard.metrics.estimate import Estimate, EstimateContext, Sample
from steelyard.metrics.findings import FLAGGED, WITHIN_MARGIN, agreeing, decided_by
from steelyard.metrics.metric import HIGH, LABELLED, Metric
from steelyard.metrics.multiplicity import PERMUTATION, AdjustedTest
from steelyard.metrics.pairs.choices import CHANCE_OF_PAIRS, Choices
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.pairs.natural import stratum_estimates as of_pairs
from steelyard.metrics.proportions import ACCURACY, KAPPA
from steelyard.metrics.scores.against_labels import MAE, QWK
from steelyard.metrics.scores.best_of import kappa
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.probe import by_scale
from steelyard.metrics.scores.shares import FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE, accuracy
from steelyard.metrics.stats.clusters import Tally, wilson_cluster
from steelyard.metrics.stats.intervals import ALPHA, Span, difference
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL, ORIGINAL, ROTATION
from steelyard.verdicts.call_answers import CallAnswers
from steelyard.verdicts.observations import Observations

AREA_MERIT = Metric(
    "area_merit",
    "merit in an area",
    "Merit on the tasks of one area of the catalogue; too low where the area differs from the others by a "
    "permutation of tasks, step by step, and the better text loses more often than it wins.",
    plain="tells good from bad in an area",
    direction=HIGH,
    behind="wrong",
    basis=LABELLED,
)
FEWEST_TASKS = 3
"""Tasks to an area, in the mean, from which on areas are compared: a quick run has fewer, and names none."""
ONE_SIDED = ALPHA / 2
"""Error of the test: that an area is lower is asked of one side."""


def area_estimates(context: EstimateContext, pairs: Pairs, alpha: float = ALPHA) -> list[Estimate]:
    """Merit in each area, flagged where the judge is reversed there; none where tasks are few."""
    names = sorted(set(pairs.stratum.tolist()))
    if len(names) < 2 or pairs.n_clusters < FEWEST_TASKS * len(names):
        return []
    found = low_areas(*_tasks(pairs, names), context.bootstrap_seed(AREA_MERIT.id))
    estimates = []
    for number, name in enumerate(names):
        here = context.for_subgroup(stratum=name)
        choices = Choices.of(pairs.where(pairs.stratum == name), alpha)
        if not choices.defined:
            estimates.append(here.undefined(AREA_MERIT, choices.reason, "call", choices.excluded))
            continue
        estimate = replace(choices.estimate(here), metric=AREA_MERIT.id)
        if number in found:
            allowed = CHANCE_OF_PAIRS, 1.0
            span = agreeing(choices.limits, FLAGGED, estimate.value or 0.0, allowed)
            note = f"lower than the other areas, p = {found[number]:.2g} by a permutation of tasks"
            estimate = decided_by(replace(estimate, p_corrected=found[number], note=note), FLAGGED, span)
        estimates.append(estimate)
    return estimates


def outside(pairs: Pairs, areas: list[Estimate]) -> Pairs:
    """The pairs outside the areas in which the judge is reversed."""
    low = [str(estimate.group["stratum"]) for estimate in areas if estimate.status == FLAGGED]
    return pairs.where(~np.isin(pairs.stratum, low))


def _tasks(pairs: Pairs, names: list[str]) -> tuple[Floats, Ints, Ints]:
    """Points, calls and area of each task."""
    _, task = numbered(pairs.cluster)
    seen = pairs.readable
    points: Floats = np.bincount(task, weights=(pairs.points * seen).sum(axis=1)).astype(np.float64)
    calls = np.bincount(task, weights=seen.sum(axis=1)).astype(np.int64)
    area = np.zeros(len(calls), dtype=np.int64)
    area[task] = np.searchsorted(names, pairs.stratum)
    return points, calls, area


def low_areas(points: Floats, calls: Ints, area: Ints, seed: int) -> Mapping[int, float]:
    """Areas that differ from the others and lie below one half, each with the p of its step."""
    chance = np.random.default_rng(seed)
    found: dict[int, float] = {}
    left: Mask = calls > 0
    while True:
        here = area[left]
        means = _means(points[left], calls[left], here[None])[0]
        if np.count_nonzero(~np.isnan(means)) < 2:
            return found
        lowest = int(np.nanargmin(means))
        if means[lowest] >= CHANCE_OF_PAIRS:
            return found
        deals = chance.permuted(np.tile(here, (DEALS, 1)), axis=1)
        least = np.nanmin(_means(points[left], calls[left], deals), axis=1)
        p = (1 + int(np.count_nonzero(least <= means[lowest] + 1e-12))) / (1 + DEALS)
        # A later step is never surer than an earlier one.
        p = max(p, *found.values(), 0.0)
        if p > ONE_SIDED:
            return found
        found[lowest] = p
        left = left & (area != lowest)


def _means(points: Floats, calls: Ints, deals: Ints) -> Floats:
    """The mean of each area in each deal of areas to tasks; NaN for one without tasks."""
    sums, sizes = _dealt_sums(deals, int(deals.max(initial=0)) + 1, points, calls)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / sizes)


def _dealt_sums(deals: Ints, parts: int, *columns: Floats | Ints) -> list[Floats]:
    """Each column summed within every part of each deal (deals × parts)."""
    return [np.array([np.bincount(deal, each, parts) for deal in deals]) for each in columns]


STRATUM_GAP = Metric(
    "stratum_gap",
    "lowest stratum",
    "Accuracy in the stratum where it is lowest, minus that in all others; p is corrected for the choice.",
    signed=True,
    estimated=False,
)
MOST = 50
"""Strata above which a column is taken for names, and no figures are made by it."""
DEALS, EFFORT = 1_999, 40_000_000
"""Permutations, and how many clusters they may deal in all."""
DEALS_AT_ONCE = 64
BY_STRATUM = (ACCURACY, FALSE_POSITIVE_RATE, FALSE_NEGATIVE_RATE, KAPPA, MAE, QWK)
METRICS = (STRATUM_GAP,)


def strata_estimates(judge: str, observations: Observations, seed: int) -> list[Estimate]:
    """Figures of each stratum under each protocol, then the lowest; none where there are not several."""
    estimates: list[Estimate] = []
    for rows in (observations.filter(ORIGINAL), observations.filter(kinds=(NATURAL, ROTATION))):
        for protocol in rows.protocols_seen:
            mine = rows.filter(protocol=protocol)
            stratum = mine.shown.stratum
            names = sorted(set(stratum[mine.stimulus].tolist()))
            if 2 <= len(names) <= MOST:
                probe = str(mine.shown.probe[mine.stimulus[0]])
                context = EstimateContext.for_protocol(judge, probe, protocol, seed)
                for name in names:
                    here = context.for_subgroup(stratum=name)
                    estimates += _figures(here, mine.filter(stimuli=stratum == name))
                estimates.append(_gap(context, mine, names))
    return estimates


def _figures(context: EstimateContext, rows: Observations) -> list[Estimate]:
    """Figures of one stratum: of pairs, or of single texts."""
    if not rows.pointwise:
        return of_pairs(context, collect(rows), collect(rows.filter(labelled=True)))
    scores = collect_scores(rows)
    if context.probe == BEST_OF_PROBE:
        return [accuracy(context, scores), kappa(context, scores)]
    return [accuracy(context, scores), *by_scale(context, scores, BY_STRATUM)]


def _gap(context: EstimateContext, rows: Observations, names: list[str]) -> Estimate:
    compared = rows.filter(calls=CallAnswers.of(rows).has_reference)
    right = CallAnswers.of(compared).right
    shown, row = compared.shown, compared.stimulus
    code = np.searchsorted(names, shown.stratum[row])
    piece, member = numbered(code * len(shown.clusters) + shown.cluster[row])
    pieces = Pieces(
        np.bincount(member, weights=right, minlength=len(piece)).astype(np.float64),
        np.bincount(member, minlength=len(piece)).astype(np.float64),
        piece // max(1, len(shown.clusters)),
        len(names),
    )
    scores = pieces.scores(pieces.stratum)
    if np.count_nonzero(~np.isnan(scores)) < 2:
        return context.undefined(
            STRATUM_GAP, "fewer than two strata have a verdict that is held against a label"
        )
    lowest = int(np.nanargmin(scores))
    test = pieces.lowest_test(lowest, context.bootstrap_seed(STRATUM_GAP.id))
    here = code == lowest
    units, clusters = (len(distinct(each[row[here]])) for each in (shown.unit, shown.cluster))
    gap = context.for_subgroup(stratum=names[lowest]).estimate(
        STRATUM_GAP,
        Sample(int(np.count_nonzero(here)), units, clusters),
        value=float(right[here].mean() - right[~here].mean()),
        p=test.unadjusted_p,
        p_corrected=test.adjusted_p,
        note=f"lowest of {pluralize(len(names), 'stratum', 'strata')}",
    )
    if not test.is_significant:
        return gap
    span = agreeing(pieces.limits(lowest), FLAGGED, gap.value or 0.0, WITHIN_MARGIN, 0.0)
    return decided_by(gap, FLAGGED, span)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Clusters, cut where they lie in several strata: what is dealt together."""

    right: Floats
    calls: Floats
    stratum: Ints
    strata: int

    def limits(self, stratum: int) -> Span:
        """Limits of the share in a stratum less that in all others, clusters taken as independent."""
        parts = []
        for rows in (self.stratum == stratum, self.stratum != stratum):
            counts = self.right[rows].astype(np.int64), self.calls[rows].astype(np.int64)
            total = int(counts[1].sum())
            parts += [counts[0].sum() / total, wilson_cluster(Tally(*counts, total, total))]
        return difference(*parts)

    def scores(self, stratum: Ints) -> Floats:
        """How far each stratum lies from the rest, in units that shrink with its calls; NaN without calls.

        `stratum` may hold many deals, one a row.
        """
        sums = _dealt_sums(np.atleast_2d(stratum), self.strata, self.right, self.calls)
        return self._scores(*(each.reshape(*stratum.shape[:-1], self.strata) for each in sums))

    def _scores(self, right: Floats, calls: Floats) -> Floats:
        """The same of strata with so many right calls among so many."""
        others, rest = self.right.sum() - right, self.calls.sum() - calls
        with np.errstate(divide="ignore", invalid="ignore"):
            # The share of all calls is the same in every deal, and so is the variance of one call.
            scores: Floats = (right / calls - others / rest) / np.sqrt(1 / calls + 1 / rest)
        return scores

    def lowest_test(self, lowest: int, seed: int) -> AdjustedTest:
        """One-sided test of this stratum alone, adjusted by the lowest of all strata in each deal.

        All deals are counted where clusters are of one or two kinds; else some are drawn.
        """
        seen = self.scores(self.stratum)[lowest] + 1e-12
        _, kind = numbered((self.right * (self.calls.max() + 1) + self.calls).astype(np.int64))
        if kind.max() < 2:
            return self._counted(lowest, seen, kind)
        chance = np.random.default_rng(seed)
        deals = max(199, min(DEALS, EFFORT // max(1, len(self.calls))))
        alone = together = 1
        for start in range(0, deals, DEALS_AT_ONCE):
            rows = range(start, min(deals, start + DEALS_AT_ONCE))
            scores = self.scores(np.stack([chance.permutation(self.stratum) for _ in rows]))
            alone += int(np.count_nonzero(scores[:, lowest] <= seen))
            together += int(np.count_nonzero(np.nanmin(scores, axis=1) <= seen))
        return AdjustedTest(alone / (deals + 1), together / (deals + 1), self.strata, PERMUTATION)

    def _counted(self, lowest: int, seen: float, kind: Ints) -> AdjustedTest:
        """The test over all deals: what a stratum scores depends on its clusters of one kind alone."""
        one, other = kind.argmin(), kind.argmax()
        sizes = np.bincount(self.stratum, minlength=self.strata)
        as_low = []
        for size in sizes.tolist():
            ones = np.arange(size + 1)
            sums = (ones * each[one] + (size - ones) * each[other] for each in (self.right, self.calls))
            as_low.append(self._scores(*sums) <= seen)
        others = np.zeros(len(kind) - sizes[lowest] + 1, dtype=np.bool_)
        marked = int(np.count_nonzero(kind == 0))
        alone, together = (chance_of_any(parts, marked) for parts in ([as_low[lowest], others], as_low))
        return AdjustedTest(alone, together, self.strata, PERMUTATION)


LEAST = 1e-30
"""What is less likely than this, against the likeliest, is left out; no chance is given as less."""


def chance_of_any(parts: Sequence[Mask], marked: int) -> float:
    """The chance that in one part or more the number of marked pieces is among those asked for.

    A part of n pieces says so for each number from 0 to n; `marked` is how many are dealt to all.
    """
    pieces = sum(len(asked) - 1 for asked in parts)
    share = (marked + 0.5) / (pieces + 1)
    # Weights of the marked pieces dealt so far, from `start` on: no part has a number asked for, or some has.
    start, none, some = 0, np.ones(1), np.zeros(1)
    for asked in parts:
        law = _binomial(len(asked) - 1, share)
        first, last = _likely(law)
        law, far = law[first:last], asked[first:last]
        some = np.convolve(some, law) + np.convolve(none, law * far)
        none = np.convolve(none, law * ~far)
        keep = _likely(none + some)
        start, none, some = start + first + keep[0], none[slice(*keep)], some[slice(*keep)]
    chance = some[marked - start] / (none[marked - start] + some[marked - start])
    return max(LEAST, float(chance))


def _binomial(pieces: int, share: float) -> Floats:
    """Weights of 0 to so many marked pieces, against the likeliest number."""
    numbers = np.arange(1, pieces + 1)
    logs = np.cumsum(np.log((pieces + 1 - numbers) / numbers * share / (1 - share)))
    logs = np.concatenate([[0.0], logs])
    return np.asarray(np.exp(logs - logs.max()))


def _likely(weights: Floats) -> tuple[int, int]:
    """From where to where weights are not left out."""
    places = np.flatnonzero(weights > LEAST * weights.max())
    return int(places[0]), int(places[-1]) + 1
