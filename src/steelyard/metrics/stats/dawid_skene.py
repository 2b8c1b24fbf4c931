"""Whom to believe when nobody knows the truth: Dawid and Skene's model of raters, fitted by EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Ints

SMOOTHING = 0.01
"""Votes added to each cell, so that an answer never seen is rare and not impossible."""
_STILL = 1e-8
_MOST_STEPS = 500


@dataclass(frozen=True, eq=False)
class DawidSkene:
    answers: Floats
    posterior: Floats
    """(items × answers) probability that each answer is the true one; NaN where nobody voted."""
    confusion: Floats
    """(judges × answers × answers) probability of an answer (last) given the truth."""
    prevalence: Floats

    @property
    def verdict(self) -> Floats:
        """The most probable answer of each item; NaN where nobody voted."""
        voted = ~np.isnan(self.posterior).any(-1)
        best = self.answers[np.argmax(np.nan_to_num(self.posterior), axis=-1)]
        return np.where(voted, best, np.nan)


def dawid_skene(votes: Floats) -> DawidSkene | None:
    """Truths and confusion tables together, started at vote shares; None where nobody voted.

    Judges are taken to err independently given the truth. Where they share their errors, the model
    believes the crowd too much; look at the error correlation first.
    """
    answers = np.unique(votes[~np.isnan(votes)])
    if not len(answers):
        return None
    given = np.asarray(votes[:, :, None] == answers, dtype=np.float64)
    voted = given.sum((1, 2))[:, None] > 0
    truth = given.sum(1) / np.where(voted, given.sum((1, 2))[:, None], 1.0)
    # (judges × items) place of the answer, one past the last where a judge did not vote: sums go through
    # places and not through a table that is mostly zeros.
    places = np.where(np.isnan(votes), len(answers), np.searchsorted(answers, votes))
    places = np.ascontiguousarray(places.T)
    for _ in range(_MOST_STEPS):
        confusion, prevalence = _judges(places, truth), truth.sum(0) / truth.sum()
        updated = np.where(voted, _truths(places, confusion, prevalence), 0.0)
        change, truth = float(np.abs(updated - truth).max()), updated
        if change < _STILL:
            break
    return DawidSkene(answers, np.where(voted, truth, np.nan), confusion, prevalence)


def _judges(places: Ints, truth: Floats) -> Floats:
    """(judges × truths × answers) confusion tables, given the truths (items × answers)."""
    weights = np.ascontiguousarray(truth.T)
    answers = len(weights)
    counts = [[np.bincount(place, weight, answers + 1) for weight in weights] for place in places]
    confusion = np.array(counts)[..., :-1] + SMOOTHING
    return np.asarray(confusion / confusion.sum(-1, keepdims=True))


def _truths(places: Ints, confusion: Floats, prevalence: Floats) -> Floats:
    """(items × answers) probability of each truth, given the judges; summed as logarithms."""
    judges, answers = confusion.shape[:2]
    no_vote = np.zeros((judges, 1, answers))
    entries = np.concatenate([np.log(confusion).swapaxes(1, 2), no_vote], axis=1)
    sums = np.zeros((places.shape[1], answers))
    for place, entry in zip(places, entries, strict=True):
        sums += entry.take(place, axis=0)
    logs = np.log(prevalence + 1e-300) + sums
    shares = np.exp(logs - logs.max(-1, keepdims=True))
    return np.asarray(shares / shares.sum(-1, keepdims=True))
