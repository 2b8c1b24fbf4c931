"""Jury selection: the jury of three of a run, chosen once for every table that shows it.

Three judges make one trio, which nothing has chosen. Of more judges the best trio is chosen on one half of
the clusters and told on the other, since on its own half it looks better than it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard.core.arrays import distinct
from steelyard.core.rng import rng_for
from steelyard.metrics.remedies.targets import target_figures
from steelyard.metrics.scores.columns import collect_scores, rescaled_to_original
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Abstained, Decided, Tie
from steelyard.verdicts.vote import Rule, of_judges, plurality

JURY = "jury"
SIZE = 3
MOST_JUDGES = 8
"""Judges among whose trios the best is looked for."""
NEEDS = "needs three judges in one run, on the same stimuli"
NO_CHOICE = "needs labels and two or more clusters, to choose three of more judges on one half"


@dataclass(frozen=True)
class JuryOfThree:
    members: tuple[str, ...]
    calls: Observations
    choosing: Observations | None = None
    """What they were asked where the trio was chosen; None where nothing chose it."""


def jury_of(seen: Observations, members: Sequence[str], rule: Rule = plurality) -> Observations:
    """The common verdicts of these judges, as those of one judge; none where one of them was never asked."""
    if not set(members).issubset(seen.judges):
        return seen[:0]
    return of_judges(seen, members, rule, JURY)


def judges_with_verdicts(base: Observations, judges: Sequence[str]) -> list[str]:
    answered = {base.judges[n] for n in distinct(base.judge[base.ended(Decided, Tie, Abstained)])}
    return [name for name in judges if name in answered]


def choose_jury_of_three(base: Observations, judges: Sequence[str], seed: int) -> JuryOfThree | str:
    """All three judges, the best trio of many, or why there is none; calls under the base protocol."""
    if len(judges) < SIZE:
        return NEEDS
    candidates = judges_with_verdicts(base, judges)
    if len(candidates) < SIZE:
        return "fewer than three judges gave a verdict"
    if len(candidates) == SIZE:
        return JuryOfThree(tuple(candidates), base)
    if len(candidates) > MOST_JUDGES:
        return f"needs a choice among at most {MOST_JUDGES} judges; measure a jury that you name"
    split = halves(base, seed)
    if split is None:
        return NO_CHOICE
    choosing, held_out = split
    known = subject(choosing)
    best = max(combinations(candidates, SIZE), key=lambda members: _right(jury_of(known, members)))
    return JuryOfThree(best, held_out, choosing)


def best_judge(choosing: Observations, judges: Sequence[str]) -> str:
    known = subject(choosing)
    return max(judges, key=lambda name: _right(known.of_judge(name)))


def halves(base: Observations, seed: int) -> tuple[Observations, Observations] | None:
    """The calls of a random half of the clusters with labels, and of all others; None without two."""
    clusters = distinct(base.shown.cluster[subject(base).stimulus]).tolist()
    if len(clusters) < 2:
        return None
    rng_for(seed, "jury").shuffle(clusters)
    chosen = np.isin(base.shown.cluster, clusters[: len(clusters) // 2])
    return base.filter(stimuli=chosen), base.filter(stimuli=~chosen)


def subject(seen: Observations) -> Observations:
    """The showings that a choice rests on: those of which somebody has said what is right.

    Unchanged items where any has a label, else all labelled texts; of pairs those of the first such figure.
    """
    if seen.pointwise:
        plain = _labelled_by_others(seen.filter(ORIGINAL))
        return plain if len(plain) else _labelled_by_others(seen)
    aim = next((figure for figure in target_figures(seen) if figure.metric.labelled), None)
    return seen[:0] if aim is None else seen.filter(aim.probe)


def _labelled_by_others(seen: Observations) -> Observations:
    """The showings of single texts with a label that no judge among these has given."""
    own = distinct(seen.stimulus[seen.own_label])
    return seen.filter(calls=seen.shown.labelled[seen.stimulus] & ~np.isin(seen.stimulus, own))


def _right(seen: Observations) -> float:
    """Showings on which a judge is right; not the share, by which one that hardly speaks would win."""
    if seen.pointwise:
        scores = collect_scores(rescaled_to_original(seen))
        return float(np.count_nonzero(scores.labelled & scores.right))
    aim = next((figure for figure in target_figures(seen) if figure.metric.labelled), None)
    if aim is None:
        return 0.0
    calls = aim.calls(aim.columns(seen))
    return float(calls.value[calls.counts].sum())
