"""Which of two judges is better, and in what: what a comparison begins with, and what to do next.

A difference counts where the corrected test shows it; which way is better, the metric says. Where none says
so, a difference is told without a winner.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.core.text import pluralize, round_up
from steelyard.datasheet.comparison.rows import (
    ALIKE,
    BETTER,
    DIFFER,
    DIFFERENT,
    UNDECIDED,
    WORSE,
    figures,
    label,
    one_of_each,
    p_value,
    state,
)
from steelyard.datasheet.questions.more_data import BUILT_IN, profile_with
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.text import fitted
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.pairs.choices import WEIGHED
from steelyard.metrics.stats.intervals import ALPHA, PAIRS

MOST_ROWS = 8
"""Figures that differ which the first screen shows; others are counted."""
ONE_LENGTH = "label more pairs drawn at random, until people prefer the longer text in some and not in all"
NOT_FEASIBLE = "take the one that costs less: no feasible number of calls would show a difference"


@dataclass(frozen=True)
class ComparisonAnswer:
    rows: tuple[Comparison, ...]
    """Figures with a difference, main figures first."""
    first: str
    second: str
    margin: float
    p: float | None = None
    """p of "the judges do not differ in any figure"."""

    def having(self, *states: str) -> list[Comparison]:
        return [row for row in self.rows if state(row) in states]

    @property
    def shown(self) -> list[Comparison]:
        """Rows of the first screen: of each metric that differs the main one, by direction."""
        return one_of_each(row for word in DIFFER for row in self.having(word))[:MOST_ROWS]

    @property
    def headline(self) -> str:
        better, worse, other = (len(self.having(word)) for word in DIFFER)
        of = pluralize(len(self.rows), "figure")
        if better and worse:
            return f"Each is better in something: {self.second} in {better} of {of}, {self.first} in {worse}."
        if better or worse:
            names = (self.second, self.first) if better else (self.first, self.second)
            return f"{names[0]} is better than {names[1]}: in {better or worse} of {of}, worse in none."
        if other:
            return f"Neither is shown to be better; they differ in {other} of {of}."
        if self.p is not None and self.p <= ALPHA:
            p = p_value(self.p)
            return f"Neither is shown to be better; they differ ({p}), no single figure says where."
        alike = self.rows and len(self.having(ALIKE)) == len(self.rows)
        return (
            f"They are alike within ±{self.margin:g} in {len(self.rows)} of {of}."
            if alike
            else "Neither is shown to be better."
        )

    def remarks(self) -> list[str]:
        """What is left out of the rows that differ, and what they do not say by themselves."""
        more = len(self.having(*DIFFER)) - len(self.shown)
        said = [f"{pluralize(more, 'more figure')} {'differs' if more == 1 else 'differ'}."] if more else []
        return said + self.reservations()

    def reservations(self) -> list[str]:
        """Why some figures only differ."""
        said = []
        few = [row for row in self.having(DIFFERENT) if row.flipped == PAIRS and not row.explained_by]
        if few:
            clusters = pluralize(max(row.n_clusters for row in few), "cluster")
            said.append(
                f"“{DIFFERENT}” of {label(few[0])}: in these {clusters} alone, which say nothing of others."
            )
        if by_length := [row for row in self.having(DIFFERENT) if row.explained_by]:
            said.append(
                f"“{DIFFERENT}” of {label(by_length[0])}: length may explain it; "
                "“tells good from bad, whatever the length” decides."
            )
        return said

    def lists(self, width: int | None = None) -> list[str]:
        """`Alike within ±0.1 (2): failed, unreadable.` and the same of what is undecided, each one line."""
        heads = {ALIKE: f"Alike within ±{self.margin:g}", UNDECIDED: "Undecided"}
        return [
            fitted(f"{head} ({len(rows)})", list(map(label, one_of_each(rows))), len(rows), width)
            for word, head in heads.items()
            if (rows := self.having(word))
        ]

    def sentences(self) -> list[str]:
        """The whole answer without a table: every state with its figures."""
        said = [self.headline]
        for word in DIFFER:
            if rows := [row for row in self.shown if state(row) == word]:
                subject = "They are" if word == DIFFERENT else f"{self.second} is"
                said.append(f"{subject} {word} in {'; '.join(_figure(row) for row in rows)}.")
        return [*said, *self.remarks(), *self.lists()]

    def next_step(self, folders: Sequence[str], judges: Sequence[str]) -> tuple[str, str]:
        """What to do, and the command where one does it."""
        better, worse, undecided = (self.having(word) for word in (BETTER, WORSE, UNDECIDED))
        if better and worse:
            view = shlex.join(("steelyard", "view", *dict.fromkeys(folders)))
            return "decide which of these counts for you, and read the calls that differ", view
        if better or worse:
            side = 1 if better else 0
            gate = ("steelyard", "gate", folders[side], "-j", judges[side], "--policy", "default")
            return f"see whether {(self.first, self.second)[side]} is good enough by itself", shlex.join(gate)
        if any(row.explained_by for row in self.rows) and not any(WEIGHED in row.group for row in self.rows):
            return ONE_LENGTH, ""
        if not undecided:
            return "take the one that costs less", ""
        row, data = next(((row, data) for row in undecided if (data := _more_data(row))), (undecided[0], ""))
        difference = numbers.decimal(row.difference or 0.0, signed=True)
        return f"{data or NOT_FEASIBLE} like that of “{label(row)}” ({difference})", ""


def _figure(row: Comparison) -> str:
    """`accuracy (0.81 → 0.97, +0.16 [+0.09, +0.27])`."""
    first, second, difference = figures(row)
    return f"{label(row)} ({first} → {second}, {difference})"


def _more_data(row: Comparison) -> str:
    """How many more units would show a difference of this size; empty where no feasible number would."""
    detectable, difference = row.minimum_detectable or 0.0, abs(row.difference or 0.0)
    if not difference or detectable <= difference:
        return ""
    times = (detectable / difference) ** 2
    more = round(row.n_clusters * (times - 1))
    if row.probe in BUILT_IN:
        profile = profile_with(row.probe, row.group, row.n_pairs * times)
        return f"measure both with --profile {profile}, which would show a difference" if profile else ""
    if not 1 <= more <= 100 * row.n_clusters:
        return ""
    unit = "more row" if row.n_pairs == row.n_clusters else "more cluster"
    return f"measure both on about {pluralize(round_up(more), unit)}, which would show a difference"
