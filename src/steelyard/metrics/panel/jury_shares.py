"""What a jury gets right and wrong, with the votes that were lost bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.arrays import Floats, Mask, numbered
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading
from steelyard.metrics.metric import Metric
from steelyard.metrics.panel.jury import Ballots, majority
from steelyard.metrics.proportions import proportion
from steelyard.metrics.scores.shares import unit_sums
from steelyard.metrics.stats.tally import Tally
from steelyard.wording import plural

JURY_FALSE_POSITIVE_RATE = Metric(
    "jury_false_positive_rate",
    "jury false positives",
    "Yes/no inputs of the label 0 that the judges' common verdict calls 1.",
)
JURY_FALSE_NEGATIVE_RATE = Metric(
    "jury_false_negative_rate",
    "jury false negatives",
    "Yes/no inputs of the label 1 that the judges' common verdict calls 0.",
)
JURY_ERROR_RATE = Metric(
    "jury_error_rate",
    "jury errors",
    "Yes/no inputs on which the judges' common verdict is not the expected one.",
)
METRICS = (JURY_FALSE_POSITIVE_RATE, JURY_FALSE_NEGATIVE_RATE, JURY_ERROR_RATE)

TIE = "low"
"""A tied vote goes to the lower answer."""
ERRORS = (JURY_FALSE_POSITIVE_RATE, JURY_FALSE_NEGATIVE_RATE, JURY_ERROR_RATE)


@dataclass(frozen=True, eq=False)
class Sitting:
    """A jury's verdict on every input, and what it could have been had no vote been lost."""

    votes: Ballots
    """Inputs with their labels."""
    members: tuple[str, ...]
    """Who sits on it."""
    verdict: Floats
    """What it says; NaN where it says nothing."""
    surely: Mask
    """Right whatever the lost votes were."""
    possibly: Mask
    """Right for some lost votes, or without any."""

    def where(self, mask: Mask) -> Sitting:
        """The inputs that the mask keeps."""
        columns = self.verdict[mask], self.surely[mask], self.possibly[mask]
        return Sitting(self.votes.where(mask), self.members, *columns)


def sitting(votes: Ballots, members: Sequence[str]) -> Sitting:
    """The majority of these judges."""
    mine = votes.votes[:, [votes.judges.index(name) for name in members]]
    ends, labels = votes.ends, votes.labels[:, None]
    answers = np.unique(np.concatenate([mine[~np.isnan(mine)], votes.labels, ends[np.isfinite(ends)]]))
    filled = []
    for answer in answers:
        possible = (ends[:, :1] <= answer) & (answer <= ends[:, 1:])
        filled.append(majority(np.where(np.isnan(mine), np.where(possible, answer, labels), mine), TIE))
    right = np.stack(filled) == votes.labels
    # Lost votes that all go one way move a majority furthest.
    return Sitting(votes, tuple(members), majority(mine, TIE), right.all(0), right.any(0))


def weighed(votes: Ballots, verdict: Floats) -> Sitting:
    """All judges under another rule, whose verdicts are given; an input without one could be either."""
    right, open_ = verdict == votes.labels, np.isnan(verdict)
    return Sitting(votes, votes.judges, verdict, right, right | open_)


def accuracy(heading: Heading, metric: Metric, jury: Sitting, *notes: str) -> Estimate:
    """Inputs whose verdict is the label."""
    bounds = (float(jury.surely.mean()), float(jury.possibly.mean())) if len(jury.verdict) else None
    return _share(heading, metric, jury, jury.verdict == jury.votes.labels, bounds, notes)


def error_rates(heading: Heading, jury: Sitting, *notes: str) -> list[Estimate]:
    """Wrong verdicts on inputs of the label 0, of the label 1, and on all; nothing without yes/no inputs."""
    binary = jury.where(jury.votes.binary)
    if not len(binary.verdict):
        return []
    labels = binary.votes.labels
    subjects = (labels == 0, labels == 1, np.ones(len(labels), dtype=np.bool_))
    return [
        _errors(heading, metric, binary.where(mask), notes)
        for metric, mask in zip(ERRORS, subjects, strict=True)
    ]


def _errors(heading: Heading, metric: Metric, jury: Sitting, notes: Sequence[str]) -> Estimate:
    if not len(jury.verdict):
        return heading.undefined(metric, f"no input has the label {ERRORS.index(metric)}", "input")
    wrong = ~np.isnan(jury.verdict) & (jury.verdict != jury.votes.labels)
    bounds = (1 - float(jury.possibly.mean()), 1 - float(jury.surely.mean()))
    return _share(heading, metric, jury, wrong, bounds, notes)


def _share(
    heading: Heading,
    metric: Metric,
    jury: Sitting,
    events: Mask,
    bounds: tuple[float, float] | None,
    notes: Sequence[str],
) -> Estimate:
    """Events among the inputs with a verdict, over clusters; lost votes are told."""
    scored = ~np.isnan(jury.verdict)
    units = numbered(jury.votes.cluster)[1]
    trials = unit_sums(units, scored)
    kept, count = trials > 0, int(scored.sum())
    tally = Tally(unit_sums(units, scored & events)[kept], trials[kept], n_calls=count, n_units=count)
    columns = [jury.votes.judges.index(name) for name in jury.members]
    lost = int(np.isnan(jury.votes.votes[:, columns]).any(axis=1).sum())
    inputs = f"{lost} of {len(scored)} {plural(len(scored), 'input')}"
    remarks = [f"{inputs} {plural(lost, 'lacks', 'lack')} the vote of a member"] if lost else []
    return proportion(heading, metric, tally, unit="input", bounds=bounds, notes=[*notes, *remarks])
