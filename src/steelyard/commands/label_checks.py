"""Labels that do not carry an estimate are refused: how they were drawn, and how many there are."""

from __future__ import annotations

from math import sqrt

import numpy as np

from steelyard.commands.judged_items import JudgedFrame, Subject
from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.estimation.designs import LabelDesign, recorded_design
from steelyard.estimation.frame import Frame, clustered_variance
from steelyard.estimation.post_stratified import MOST_LEVELS
from steelyard.importing.ratings import RatingsTable
from steelyard.metrics.stats.distributions import normal_probability

FEWEST_LABELS = 10
UNLIKELY = 0.001
"""Below this p the labelled items are no random draw of the judged ones."""


def label_design(
    table: RatingsTable, given: LabelDesign | None, judged: JudgedFrame, subject: Subject
) -> LabelDesign:
    frame = judged.frame
    if 0 < judged.without_odds < frame.size:
        raise DataError(
            f"{table.name}: p_drawn is empty for {judged.without_odds:,} of {pluralize(frame.size, 'item')}, "
            "expected every item's chance of being drawn; fill it, or remove the column."
        )
    if frame.odds is not None:
        recorded = recorded_design(frame, judged.strata)
        if given not in (None, recorded, LabelDesign.ODDS):
            raise DataError(
                f"{table.name}: p_drawn records a draw by {recorded}, found --design {given}; remove the "
                "option, or the column."
            )
        drawn = given or recorded
    elif given is None:
        raise DataError(
            f"{table.name}: how the labels were drawn is not recorded, expected p_drawn or a design; say "
            "--design random, by-verdict, strata or elsewhere."
        )
    elif given is LabelDesign.ODDS:
        raise DataError(
            f"{table.name}: --design odds without the odds, expected a column p_drawn for every item; add "
            "it, or name another design."
        )
    else:
        drawn = given
    if drawn is LabelDesign.STRATA and not any(judged.strata):
        raise DataError(
            f"{table.name}: --design strata without strata, expected a column stratum; add it with --columns "
            "stratum=COLUMN."
        )
    if (
        subject.versus is not None
        and drawn in (LabelDesign.BY_VERDICT, LabelDesign.ELSEWHERE)
        and not table.is_pairwise
    ):
        raise DataError(
            f"{table.name}: labels drawn {drawn} found, expected a draw that does not follow the verdicts "
            "on one system; a difference of two systems needs --design random."
        )
    return drawn


def check_labels(name: str, frame: Frame, design: LabelDesign, strays: str) -> None:
    """Refuse labels that do not carry the claim."""
    if frame.labels < FEWEST_LABELS:
        raise DataError(
            f"{name}: {pluralize(frame.labels, 'item')} with both a verdict and a label found"
            f"{f', and {strays}' if strays else ''}, expected at least {FEWEST_LABELS}; "
            f"{'write the ids alike' if strays else 'label more items of those that were judged'}."
        )
    one_task = frame.is_clustered and len(np.unique(frame.label_clusters)) == 1
    if one_task and design is not LabelDesign.ELSEWHERE:
        raise DataError(
            f"{name}: every label lies in one task of {len(np.unique(frame.cluster)):,}, expected labels of "
            "several, since they say nothing of the others; label items of other tasks."
        )
    if design is LabelDesign.ELSEWHERE and frame.labels == frame.size:
        raise DataError(
            f"{name}: every judged item is labelled, expected judged items without labels for --design "
            "elsewhere; add them, or name the design by which these were drawn."
        )
    if design is LabelDesign.BY_VERDICT:
        levels = np.unique(frame.judge)
        if len(levels) > MOST_LEVELS:
            raise DataError(
                f"{name}: the judge gave {len(levels)} different scores, expected at most {MOST_LEVELS} "
                "for a draw by verdict; record p_drawn for every item."
            )
        for level in levels:
            here = frame.judge == level
            if not (here & frame.labelled).any():
                raise DataError(
                    f"{name}: no label among {pluralize(int(here.sum()), 'item')} that the judge gave "
                    f"{level:g}, expected some of every verdict for --design by-verdict; label some of them."
                )
    if design is LabelDesign.RANDOM:
        _refuse_chosen(name, frame)


def _refuse_chosen(name: str, frame: Frame) -> None:
    """Labels that were chosen for what the judge said are no random draw."""
    rest = frame.unlabelled_share
    spread = float(frame.judge.var(ddof=1))
    if rest == 0 or spread == 0:
        return
    n = frame.labels
    variance = spread / n * rest
    if frame.is_clustered:
        apart = (frame.f - frame.judge.mean()) / n
        variance = max(variance, clustered_variance(apart, frame.label_clusters)[0])
    gap = float(frame.f.mean() - frame.judge.mean())
    if 2 * normal_probability(-abs(gap) / sqrt(variance)) < UNLIKELY:
        raise DataError(
            f"{name}: the judge's mean is {frame.f.mean():.3f} on labelled items and "
            f"{frame.judge.mean():.3f} on all, expected about the same of a random draw; name the design "
            "by which they were drawn, or draw labels at random."
        )
