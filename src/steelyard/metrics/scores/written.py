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
from steelyard.stimuli.agent_edits import BREAKING
from steelyard.stimuli.authored.brief import LABEL_FLIP, ORDINAL, RUN_FAIL, RUN_LEVEL, RUN_PASS
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observations import Observations

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
