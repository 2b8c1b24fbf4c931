"""Texts that were changed or written to earn an answer: who accepted them, each level, texts all judges miss.

An answer is expected of such a text because somebody says so. What is found on texts that nobody but their
author accepted refutes no judge; a text that every judge of a run misses is suspect itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.arrays import Mask
from steelyard.metrics.estimate import Estimate, EstimateContext, Reason
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.shares import accuracy
from steelyard.stimuli.authored.brief import LABEL_FLIP, ORDINAL
from steelyard.verdicts.observations import Observations

WRITTEN = (LABEL_FLIP, ORDINAL)
"""Probes whose texts are changed or written to earn an answer."""
LEAST_ACCEPTED = 20
"""Texts accepted by another than their author from which a judge that misses them is unfit."""
ACCEPTED, SUSPECT = "accepted", "suspect"
"""Details of a figure: texts that another accepted with all texts, and texts that every judge misses."""
UNACCEPTED = Reason(
    "unaccepted",
    f"it fails on written texts of which fewer than {LEAST_ACCEPTED} were accepted by another than their "
    "author",
)
FAR = 2
"""Levels between score and label from which a text on a scale counts as missed; yes and no are one apart."""


def acceptance(observations: Observations, probe: str) -> dict[str, tuple[int, int]]:
    """How many of the labelled texts of a probe somebody beside their author accepted, and how many are."""
    texts = observations.filter(probe, labelled=True).stimuli_seen
    return {ACCEPTED: (sum(text.accepted for text in texts), len(texts))}


def accepted_texts(estimate: Estimate) -> int:
    accepted, _ = estimate.details.get(ACCEPTED, (0, 0))
    return int(accepted)


def rests_on_author(estimate: Estimate) -> bool:
    """True for a figure of written texts that nobody but their author accepted, or too few of them."""
    accepted, texts = estimate.details.get(ACCEPTED, (0, 0))
    return bool(accepted < texts and accepted < LEAST_ACCEPTED)


def accuracy_by_target(context: EstimateContext, scores: Scores) -> Iterator[Estimate]:
    """Accuracy on the texts of each level, where texts were written for several."""
    rows = scores.where(scores.labelled & ~scores.original)
    targets = np.unique(rows.expected)
    for target in targets.tolist() if len(targets) > 1 else ():
        yield accuracy(context.for_subgroup(target=int(target)), rows.where(rows.expected == target))


def suspect_texts(observations: Observations, judges: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Probe to the texts that every one of several judges misses in every call, by name."""
    found: dict[str, tuple[str, ...]] = {}
    for probe in WRITTEN if len(judges) > 1 else ():
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
