"""How planted judges answer: a column of calls and a random stream give a column of answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.surface_counts import COUNTS, Surface

FIRST, SECOND, TIE, ABSTAIN, UNREADABLE = range(5)
"""Answers to a pair."""
NO_SCORE, NO_READING = -1, -2
"""Answers to a single text beside the levels of its scale: abstained, unreadable."""


@dataclass(frozen=True, eq=False)
class PairCalls:
    """What is shown in each call on a pair."""

    gap: Floats
    """Steps by which the first text is better; natural pairs: 1 where people chose it, -1 where not."""
    empty: Mask
    """True where there is nothing to compare."""
    longer: Floats
    """Binary logarithm of the ratio of words, first to second; 0 where both have as many."""
    pair: Ints
    """Number of the pair."""
    side: Ints
    """1 where content u stands first, else -1."""
    stimuli: tuple[Stimulus, ...]
    """The pairs by their numbers."""

    def __len__(self) -> int:
        return len(self.gap)

    @cached_property
    def _surfaces(self) -> list[list[Surface]]:
        return [[Surface(one.request, text) for text in one.texts] for one in self.stimuli]

    def counted(self, name: str) -> Floats:
        """A surface count of the first text less that of the second, for each call."""
        count = COUNTS[name]
        u, v = np.array([[count(text) for text in texts] for texts in self._surfaces], float).T
        return (u - v)[self.pair] * self.side


@dataclass(frozen=True, eq=False)
class ScoreCalls:
    """What is shown in each call on a single text."""

    label: Ints
    """Level that is right, from 0."""
    item: Ints
    """Number of the item that the text was made from."""
    text: Ints
    """Number of the text."""
    words: Ints
    """Length of the text."""
    middle: Mask
    """True where an edit changed the middle third of an agent's run."""
    written: Mask
    """True where the text was changed or written to earn its answer."""
    levels: int
    """Levels of the scale."""

    def __len__(self) -> int:
        return len(self.label)


PairAnswers = Callable[[PairCalls, np.random.Generator], Ints]
"""A judge of pairs."""
ScoreAnswers = Callable[[ScoreCalls, np.random.Generator], Ints]
"""A judge of single texts."""
ZERO_TO_FIVE = np.arange(6.0)


# Judges of pairs.


def sees(steps: Sequence[float], equals: float = 0.0, wrong: float = 0.0) -> PairAnswers:
    """Right so often at one to five steps; misses are ties, or a share of them names the worse text.

    `equals` is how often it prefers one of two equal texts.
    """

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        size = np.abs(calls.gap)
        better = np.where(calls.gap > 0, FIRST, SECOND)
        right = np.interp(size, ZERO_TO_FIVE, [equals / 2, *steps])
        luck, miss = chance.random(len(calls)), chance.random(len(calls))
        unequal = np.where(luck < right, better, np.where(miss < wrong, 1 - better, TIE))
        slot = chance.integers(0, 2, len(calls))
        return np.where(size > 0, unequal, np.where(luck < equals, slot, TIE))

    return answer


def probit(
    resolution: float,
    threshold: float,
    position: float = 0.0,
    wording: float = 0.0,
    length: float = 0.0,
    pulled: float = 0.0,
) -> PairAnswers:
    """The instrument model; `pulled` is the spread of the position bias between pairs."""

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        pairs = int(calls.pair.max()) + 1
        own = np.where(calls.empty, 0.0, wording * chance.standard_normal(pairs)[calls.pair])
        slot = position + pulled * chance.standard_normal(pairs)[calls.pair]
        drive = resolution * calls.gap + calls.side * own + slot + length * calls.longer
        drive = drive + chance.standard_normal(len(calls))
        return np.where(drive > threshold, FIRST, np.where(drive < -threshold, SECOND, TIE))

    return answer


def always(answer: int) -> PairAnswers:
    """The same whatever is shown."""
    return lambda calls, _: np.full(len(calls), answer)


def tossed(answers: int = 2, *, by_pair: bool = False) -> PairAnswers:
    """A coin, or a die of three; `by_pair` tosses once for a pair and keeps to the content."""

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        if by_pair:
            content = chance.integers(0, 2, int(calls.pair.max()) + 1)[calls.pair]
            return np.where(calls.side > 0, content, 1 - content)
        return chance.integers(0, answers, len(calls))

    return answer


def longest(calls: PairCalls, chance: np.random.Generator) -> Ints:
    """The longer text."""
    del chance
    return np.where(calls.longer > 0, FIRST, np.where(calls.longer < 0, SECOND, TIE))


def counting(name: str, *, fewest: bool = False) -> PairAnswers:
    """The text with more of what can be counted, or with fewest; a tie where both have as many."""
    wanted = -1 if fewest else 1

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        del chance
        more = wanted * calls.counted(name)
        return np.where(more > 0, FIRST, np.where(more < 0, SECOND, TIE))

    return answer


def inverted(judge: PairAnswers) -> PairAnswers:
    """The other text."""

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        given = judge(calls, chance)
        return np.where(given < TIE, 1 - given, given)

    return answer


def below(steps: float, near: PairAnswers, far: PairAnswers) -> PairAnswers:
    """One judge for pairs less than so many steps apart, another for the rest."""

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        return np.where(np.abs(calls.gap) < steps, near(calls, chance), far(calls, chance))

    return answer


def where_longer(judge: PairAnswers, *, equal_only: bool) -> PairAnswers:
    """The longer text where lengths differ, of pairs of equal quality alone or of all."""

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        by_length = (calls.longer != 0) & ((calls.gap == 0) | (not equal_only)) & ~calls.empty
        return np.where(by_length, longest(calls, chance), judge(calls, chance))

    return answer


def in_areas(areas: int | Sequence[str], there: PairAnswers, judge: PairAnswers) -> PairAnswers:
    """Another judge in these areas of the catalogue, or in the first so many of the alphabet."""

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        every = np.array([one.stratum for one in calls.stimuli])
        named = sorted(set(every.tolist()))[:areas] if isinstance(areas, int) else areas
        odd = np.isin(every, named)[calls.pair] & ~calls.empty
        return np.where(odd, there(calls, chance), judge(calls, chance))

    return answer


def mixed(share: float, odd: PairAnswers, judge: PairAnswers) -> PairAnswers:
    """Another judge in a share of calls."""

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        strays = chance.random(len(calls)) < share
        return np.where(strays, odd(calls, chance), judge(calls, chance))

    return answer


def knows(share: float) -> PairAnswers:
    """Names what people chose of a share of pairs, and the other text of the rest, in both orders."""

    def answer(calls: PairCalls, chance: np.random.Generator) -> Ints:
        right = (chance.random(int(calls.pair.max()) + 1) < share)[calls.pair]
        return np.where((calls.gap > 0) == right, FIRST, SECOND)

    return answer


# Judges of single texts.


def rater(
    passes_good: float,
    fails_bad: float,
    noise: float = 0.0,
    abstains: float = 0.0,
    unreadable: float = 0.0,
    wording: float = 0.0,
) -> ScoreAnswers:
    """Yes or no: right on so many good and bad items, whichever way they are spelled.

    `noise` is the share of calls answered at random, `wording` that of spellings on which it errs.
    """

    def answer(calls: ScoreCalls, chance: np.random.Generator) -> Ints:
        luck = chance.random(int(calls.item.max()) + 1)[calls.item]
        odd = (chance.random(int(calls.text.max()) + 1) < wording)[calls.text]
        hit = (luck < np.where(calls.label == 1, passes_good, fails_bad)) ^ odd
        given = np.where(hit, calls.label, 1 - calls.label)
        return _spoilt(given, calls, chance, noise, abstains, unreadable)

    return answer


def agreeing(kappa: float, good: float) -> ScoreAnswers:
    """Knows a share of items, and draws the others at the rate of good ones: that share is its kappa."""
    return rater(kappa + (1 - kappa) * good, kappa + (1 - kappa) * (1 - good))


def guessing(rate: float, *, by_item: bool) -> ScoreAnswers:
    """Passes so many, drawn once for each item or anew for each call."""

    def answer(calls: ScoreCalls, chance: np.random.Generator) -> Ints:
        number = int(calls.item.max()) + 1 if by_item else len(calls)
        luck = chance.random(number)
        return ((luck[calls.item] if by_item else luck) < rate).astype(np.int64)

    return answer


def constant(level: int) -> ScoreAnswers:
    """The same score for everything."""
    return lambda calls, _: np.full(len(calls), level)


def grader(exact: float, near: float, noise: float = 0.0) -> ScoreAnswers:
    """Levels: right on so many items, one off on so many, any level on the others."""

    def answer(calls: ScoreCalls, chance: np.random.Generator) -> Ints:
        items, last = int(calls.item.max()) + 1, calls.levels - 1
        luck, step = chance.random(items)[calls.item], chance.choice([-1, 1], items)[calls.item]
        anything = chance.integers(0, calls.levels, items)[calls.item]
        step = np.where(calls.label == 0, 1, np.where(calls.label == last, -1, step))
        given = np.where(luck < exact, calls.label, calls.label + step)
        given = np.where(luck < exact + near, given, anything)
        return _spoilt(given, calls, chance, noise)

    return answer


def anyhow(calls: ScoreCalls, chance: np.random.Generator) -> Ints:
    """Any level, anew for each call."""
    return chance.integers(0, calls.levels, len(calls))


def turned(calls: ScoreCalls, chance: np.random.Generator) -> Ints:
    """The scale upside down."""
    del chance
    return calls.levels - 1 - calls.label


def shifted(step: int) -> ScoreAnswers:
    """So many levels above the label, within the scale."""
    return lambda calls, _: np.clip(calls.label + step, 0, calls.levels - 1)


def compressed(calls: ScoreCalls, chance: np.random.Generator) -> Ints:
    """Never an end of the scale."""
    del chance
    return np.clip(calls.label, 1, calls.levels - 2)


def on_written(written: ScoreAnswers, judge: ScoreAnswers) -> ScoreAnswers:
    """One judge for texts that were changed or written to earn an answer, another for rows as they are."""

    def answer(calls: ScoreCalls, chance: np.random.Generator) -> Ints:
        return np.where(calls.written, written(calls, chance), judge(calls, chance))

    return answer


def skips_middle(calls: ScoreCalls, chance: np.random.Generator) -> Ints:
    """Agents' runs: passes what was broken in the middle third, and is right on the rest."""
    del chance
    return np.where(calls.middle, 1, calls.label)


def _spoilt(
    given: Ints,
    calls: ScoreCalls,
    chance: np.random.Generator,
    noise: float = 0.0,
    abstains: float = 0.0,
    unreadable: float = 0.0,
) -> Ints:
    """The same answers, some calls at random, abstained or unreadable."""
    anything = chance.integers(0, calls.levels, len(calls))
    given = np.where(chance.random(len(calls)) < noise, anything, given)
    given = np.where(chance.random(len(calls)) < abstains, NO_SCORE, given)
    return np.where(chance.random(len(calls)) < unreadable, NO_READING, given)
