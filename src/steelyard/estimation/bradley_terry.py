"""Bradley–Terry strengths: how strong a system is, whoever it happened to meet.

P(m beats m′) = 1/(1 + exp(β_m′ − β_m)), Σ β = 0, and a tie is half a win of each. The errors are the sandwich
from what each comparison adds, so that ties and comparisons of one task are allowed for. Strengths are on
Elo's scale: 400 points are odds of ten to one, and the systems have 1,000 on average.

Strengths exist where a chain of wins or ties leads from each system to each other (Ford 1957). A system that
never lost has none, nor have groups of systems that never met.
"""

from __future__ import annotations

from functools import cached_property
from math import log

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.estimation.ranking import SystemScores

POINTS = 400 / log(10)
AVERAGE = 1000.0
_STEPS = 100
_EXACT = 1e-10


class Comparisons(SystemScores):
    """Rows of two systems each; their figures are strengths instead of win rates."""

    @cached_property
    def sides(self) -> tuple[Ints, Ints]:
        """The two systems of each row."""
        present = ~np.isnan(self.values)
        return present.argmax(axis=1), present.shape[1] - 1 - present[:, ::-1].argmax(axis=1)

    @cached_property
    def won(self) -> Floats:
        """Share of the win of the first side."""
        return np.asarray(self.values[np.arange(self.rows), self.sides[0]])

    @cached_property
    def wins(self) -> Floats:
        """Wins of the system of a row over that of a column."""
        one, other = self.sides
        made = np.zeros((self.values.shape[1],) * 2)
        np.add.at(made, (one, other), self.won)
        np.add.at(made, (other, one), 1 - self.won)
        return made

    @property
    def ends(self) -> None:
        return None

    @cached_property
    def _fit(self) -> tuple[Floats, Floats]:
        """Strengths in log odds, and the inverse of their information, by Newton's method."""
        games = self.wins + self.wins.T
        strength = np.zeros(len(games))
        for _ in range(_STEPS):
            chance = _chances(strength)
            weight = games * chance * (1 - chance)
            even = np.full_like(weight, 1 / len(weight))  # fixes the sum, which the data leave open
            inverse = np.linalg.inv(np.diag(weight.sum(axis=1)) - weight + even) - even
            step = inverse @ (self.wins - games * chance).sum(axis=1)
            strength = strength + step * min(1.0, 1 / max(np.abs(step).max(), _EXACT))
            if np.abs(step).max() < _EXACT:
                break
        return strength - strength.mean(), inverse

    def figures(self) -> Floats:
        return np.asarray(AVERAGE + POINTS * self._fit[0])

    def influence(self) -> Floats:
        strength, inverse = self._fit
        one, other = self.sides
        apart = self.won - _chances(strength)[one, other]
        return np.asarray(POINTS * self.rows * apart[:, None] * (inverse[one] - inverse[other]))

    def without_spread(self) -> Floats:
        """By the model itself, where no comparison differs from it: all are ties."""
        return np.asarray(POINTS**2 * np.diag(self._fit[1]))


def _chances(strength: Floats) -> Floats:
    """P(the system of a row beats that of a column)."""
    return np.asarray(1 / (1 + np.exp(strength[None, :] - strength[:, None])))


def unbeaten_group(wins: Floats) -> tuple[Mask, bool] | None:
    """A group of systems that never lost to the others, and whether it met them; None where there is none."""
    reach = (wins > 0) | np.eye(len(wins), dtype=np.bool_)
    for _ in range(len(wins).bit_length()):
        reach = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
        if reach.all():
            return None
    # Nobody outside reaches the smallest such group: it holds all systems that reach one of its own.
    reached_by = reach.sum(axis=0)
    group = reach[:, int(reached_by.argmin())]
    met = bool(((wins + wins.T)[group][:, ~group] > 0).any())
    return group, met
