"""Figures by stratum of the data: items as they are and natural pairs, and where the judge is worst.

The lowest of several strata is low by being chosen. Whether it is lower than the others is asked of a
permutation: strata are dealt anew to the clusters, and the lowest of each deal held against the lowest seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Ints, distinct, numbered
from steelyard.core.text import pluralize
from steelyard.metrics.common import ACCURACY, KAPPA
from steelyard.metrics.estimate import Estimate, EstimateContext, Sample
from steelyard.metrics.findings import FLAGGED, WITHIN_MARGIN, agreeing, decided_by
from steelyard.metrics.metric import Metric
from steelyard.metrics.multiplicity import PERMUTATION, AdjustedTest
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.pairs.natural import stratum_estimates as of_pairs
from steelyard.metrics.scores.against_labels import MAE, QWK
from steelyard.metrics.scores.best_of import kappa
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.probe import by_scale
from steelyard.metrics.scores.shares import FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE, accuracy
from steelyard.metrics.stats.clusters import Tally, wilson_cluster
from steelyard.metrics.stats.intervals import Span, difference
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL, ORIGINAL, ROTATION
from steelyard.verdicts.call_answers import CallAnswers
from steelyard.verdicts.observations import Observations

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
        deals = np.atleast_2d(stratum)
        place = (deals + self.strata * np.arange(len(deals))[:, None]).ravel()
        shape = (*stratum.shape[:-1], self.strata)
        right, calls = (
            np.bincount(place, np.tile(each, len(deals)), len(deals) * self.strata).reshape(shape)
            for each in (self.right, self.calls)
        )
        others, rest = self.right.sum() - right, self.calls.sum() - calls
        with np.errstate(divide="ignore", invalid="ignore"):
            # The share of all calls is the same in every deal, and so is the variance of one call.
            scores: Floats = (right / calls - others / rest) / np.sqrt(1 / calls + 1 / rest)
        return scores

    def lowest_test(self, lowest: int, seed: int) -> AdjustedTest:
        """One-sided test of this stratum alone, adjusted by the lowest of all strata in each deal."""
        seen = self.scores(self.stratum)[lowest] + 1e-12
        chance = np.random.default_rng(seed)
        deals = max(199, min(DEALS, EFFORT // max(1, len(self.calls))))
        alone = together = 1
        for start in range(0, deals, DEALS_AT_ONCE):
            rows = range(start, min(deals, start + DEALS_AT_ONCE))
            scores = self.scores(np.stack([chance.permutation(self.stratum) for _ in rows]))
            alone += int(np.count_nonzero(scores[:, lowest] <= seen))
            together += int(np.count_nonzero(np.nanmin(scores, axis=1) <= seen))
        return AdjustedTest(alone / (deals + 1), together / (deals + 1), self.strata, PERMUTATION)
