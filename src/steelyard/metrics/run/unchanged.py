"""Single texts as they are, over a whole run: every probe's unchanged items together, each call once.

Probes show the same items edited; what a judge does with the items themselves is one question, whichever
probe asked it: is it right, does it lean, does it answer twice alike, does it answer at all differently?
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from steelyard.core.arrays import Ints, distinct
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.metric import Basis, Items, Metric, on_items
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.proportions import ACCURACY, KAPPA, proportion
from steelyard.metrics.scores.against_labels import (
    BALANCED_ACCURACY,
    BIAS,
    COMPRESSION,
    F1,
    MAE,
    PRECISION,
    QWK,
    RECALL,
)
from steelyard.metrics.scores.columns import Scores, collect_scores, rescaled_to_original
from steelyard.metrics.scores.length import LENGTH_GAP, length_gap
from steelyard.metrics.scores.leniency import METRICS as OF_LENIENCY
from steelyard.metrics.scores.leniency import leniency_estimates
from steelyard.metrics.scores.probe import by_scale
from steelyard.metrics.scores.repeats import FLEISS_KAPPA, ICC, SELF_AGREEMENT, stability
from steelyard.metrics.scores.shares import (
    FALSE_NEGATIVE_RATE,
    FALSE_POSITIVE_RATE,
    WITHIN_ONE,
    accuracy,
    score_tally,
)
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.verdicts.observations import Observations

COMMONEST_ANSWER = Metric(
    "commonest_answer",
    meaning="Share of the scores of items, edited or not, that are the judge's commonest one; at 1 it always "
    "answers the same, and that an edit or a repeat changes nothing says nothing of it.",
    detail=True,
    basis=Basis(items=Items.RUN, only=on_items),
)
TOLD = (
    *(ACCURACY, KAPPA, BALANCED_ACCURACY, FALSE_POSITIVE_RATE, FALSE_NEGATIVE_RATE),
    *(PRECISION, RECALL, F1),
    *(WITHIN_ONE, MAE, BIAS, QWK, COMPRESSION, SELF_AGREEMENT, FLEISS_KAPPA, ICC),
)
METRICS = (*TOLD, *OF_LENIENCY, LENGTH_GAP, COMMONEST_ANSWER)


def unchanged_estimates(judge: str, observations: Observations, seed: int) -> list[Estimate]:
    estimates: list[Estimate] = []
    for protocol in observations.protocols_seen:
        rows = observations.filter(protocol=protocol)
        plain = rows.filter(ORIGINAL)
        if not len(plain):
            continue
        context = EstimateContext.for_protocol(judge, ORIGINAL, protocol, seed)
        scores = collect_scores(plain)
        figures = [accuracy(context, scores), *by_scale(context, scores, TOLD)]
        if np.any(np.bincount(scores.stimulus) > 1):
            figures += stability(context, scores)
        estimates += [figure for figure in figures if figure.metric in {metric.id for metric in TOLD}]
        estimates += directional_bias_estimates(context, scores, _words(scores, plain))
        shown = rows.shown
        items = rows.filter(stimuli=shown.scored & np.isin(shown.kind, (ORIGINAL, PERTURBED)))
        estimates.append(_commonest(context, collect_scores(rescaled_to_original(items))))
    return estimates


def _words(scores: Scores, plain: Observations) -> Ints:
    shown = plain.shown
    rows = distinct(plain.stimulus)
    known = dict(zip(shown.items[shown.item[rows]].tolist(), shown.words[rows].tolist(), strict=True))
    return np.array([known[item] for item in scores.items], dtype=np.int64)


def directional_bias_estimates(context: EstimateContext, plain: Scores, words: Ints) -> list[Estimate]:
    """Leniency, and length where texts are known: what errors lean to, tested as one family."""
    estimates = leniency_estimates(context, plain)
    estimates += [length_gap(context, plain, words)] if np.any(words) else []
    return adjust_estimates(estimates, "leanings")


def _commonest(context: EstimateContext, scores: Scores) -> Estimate:
    levels, counts = np.unique(scores.score[scores.decided], return_counts=True)
    answer = int(levels[np.argmax(counts)]) if len(levels) else 0
    tally = score_tally(scores, scores.decided & (scores.score == answer), scores.decided)
    if not len(levels):
        return proportion(context, COMMONEST_ANSWER, tally)
    found = proportion(context, COMMONEST_ANSWER, tally, notes=[f"answer {answer}"])
    return replace(found, details={"answer": answer})


def answer_in_words(commonest: Estimate) -> str:
    return str(commonest.details.get("answer", "one score"))


def never_varies(commonest: Estimate | None) -> TypeGuard[Estimate]:
    """True where more than one call was scored, and all alike."""
    return commonest is not None and commonest.value == 1 and (commonest.denominator or 0) > 1
