"""Whom to believe when nobody knows the truth: Dawid and Skene's model of raters, fitted by EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.stats.clusters import ratio

SMOOTHING = 0.01
"""Votes added to each cell, so that an answer never seen is rare and not impossible."""
_STILL = 1e-8
_MOST_STEPS = 500


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """What the judges' agreement alone says about items and judges."""

    answers: Floats
    """The answers that occur, in order."""
    posterior: Floats
    """(items × answers) probability that each answer is the true one; NaN where nobody voted."""
    confusion: Floats
    """(judges × answers × answers) probability of an answer (last) given the truth."""
    prevalence: Floats
    """Share of each answer among the truths."""
    converged: bool
    """Whether the posterior stood still before the last step."""

    @property
    def verdict(self) -> Floats:
        """The most probable answer of each item; NaN where nobody voted."""
        voted = ~np.isnan(self.posterior).any(-1)
        best = self.answers[np.argmax(np.nan_to_num(self.posterior), axis=-1)]
        return np.where(voted, best, np.nan)


@dataclass(frozen=True, eq=False)
class _VoteTable:
    """Votes as numbers of answers; sums go through them and not through a table that is mostly zeros."""

    number: Ints
    """(judges × items) place of the answer; one past the last where a judge did not vote."""
    answers: int
    """Answers that occur."""

    @classmethod
    def of(cls, votes: Floats, answers: Floats) -> _VoteTable:
        """The votes (items × judges), each of these answers or NaN."""
        place = np.where(np.isnan(votes), len(answers), np.searchsorted(answers, votes))
        return cls(np.ascontiguousarray(place.T), len(answers))

    def by_truth(self, truth: Floats) -> Floats:
        """(judges × truths × answers) weight of the items with each truth that a judge gave each answer."""
        weights = np.ascontiguousarray(truth.T)
        counts = [[np.bincount(one, weight, self.answers + 1) for weight in weights] for one in self.number]
        return np.array(counts)[..., :-1]

    def summed(self, table: Floats) -> Floats:
        """(items × truths) sums of what the votes point at in a (judges × truths × answers) table."""
        none = np.zeros((len(table), 1, self.answers))
        entries = np.concatenate([table.swapaxes(1, 2), none], axis=1)
        sums = np.zeros((self.number.shape[1], self.answers))
        for one, entry in zip(self.number, entries, strict=True):
            sums += entry.take(one, axis=0)
        return sums


def dawid_skene(votes: Floats) -> DawidSkene | None:
    """Truths and confusion tables together, started at vote shares; None where nobody voted.

    Judges are taken to err independently given the truth. Where they share their errors, the model
    believes the crowd too much; look at the error correlation first.
    """
    answers = np.unique(votes[~np.isnan(votes)])
    if not len(answers):
        return None
    given = np.asarray(votes[:, :, None] == answers, dtype=np.float64)
    total = given.sum((1, 2))
    ballots = _VoteTable.of(votes, answers)
    truth = np.nan_to_num(ratio(given.sum(1), np.broadcast_to(total[:, None], (len(votes), len(answers)))))
    change = 1.0
    for _ in range(_MOST_STEPS):
        confusion, prevalence = _judges(ballots, truth)
        updated = np.where(total[:, None] > 0, _truths(ballots, confusion, prevalence), 0.0)
        change, truth = float(np.abs(updated - truth).max()), updated
        if change < _STILL:
            break
    posterior = np.where(total[:, None] > 0, truth, np.nan)
    return DawidSkene(answers, posterior, confusion, prevalence, change < _STILL)


def _judges(ballots: _VoteTable, truth: Floats) -> tuple[Floats, Floats]:
    """Each judge's confusion table and the prevalence, given the truths."""
    confusion = ballots.by_truth(truth) + SMOOTHING
    return confusion / confusion.sum(-1, keepdims=True), truth.sum(0) / truth.sum()


def _truths(ballots: _VoteTable, confusion: Floats, prevalence: Floats) -> Floats:
    """Probability of each truth, given the judges; summed as logarithms."""
    logs = np.log(prevalence + 1e-300) + ballots.summed(np.log(confusion))
    shares = np.exp(logs - logs.max(-1, keepdims=True))
    return np.asarray(shares / shares.sum(-1, keepdims=True))
