"""How several verdicts become one, by rules that are written once: for calls made, and for calls to come.

A member without a verdict is never a grade. The common verdict stands where no answer of the missing members
could change it; else there is none: it failed where a member failed, and is unreadable otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

Rule = Callable[[Sequence[Verdict], bool], Verdict]
"""The verdicts of all members, on the same showing, to the common one; True where two texts were compared."""

_TURNED = {"1": "2", "2": "1"}


def turned(verdict: Verdict) -> Verdict:
    """What a verdict on a pair says of the same pair in the other order: the text that won keeps winning."""
    return Decided(_TURNED[verdict.value]) if isinstance(verdict, Decided) else verdict


def agreement(verdicts: Sequence[Verdict], paired: bool) -> Verdict:
    """What all say; a tie where they differ."""
    del paired
    heard, missing = _parted(verdicts)
    if len(set(heard)) > 1 or Tie() in heard:
        return Tie()
    return _missing(missing) if missing else heard[0]


def plurality(verdicts: Sequence[Verdict], paired: bool) -> Verdict:
    """The most frequent answer; among equally frequent ones a tie of two texts, the lower of two scores.

    Of two texts an abstention counts as a tie. Of scores it is an answer of its own, which yields to a score
    that is as frequent.
    """
    heard, missing = _parted(verdicts)
    if heard and all(isinstance(verdict, Abstained) for verdict in heard):
        return _missing(missing) if missing else Abstained()
    votes = Counter(Tie() if paired and isinstance(verdict, Abstained) else verdict for verdict in heard)
    if not votes:
        return _missing(missing)
    first = min(votes, key=lambda answer: (-votes[answer], _rank(answer)))
    if paired and sum(count == votes[first] for count in votes.values()) > 1:
        first = Tie()
    return _missing(missing) if missing and not _stands(first, votes, len(missing), paired) else first


def average(verdicts: Sequence[Verdict], paired: bool) -> Verdict:
    """The mean score, rounded to the nearest answer and halves to the lower; who abstains gives no score."""
    if paired:
        raise ValueError("two texts have no score to average")
    heard, missing = _parted(verdicts)
    if missing:
        return _missing(missing)
    scores = [int(verdict.value) for verdict in heard if isinstance(verdict, Decided)]
    return Decided(str(_rounded(Fraction(sum(scores), len(scores))))) if scores else Abstained()


RULES: Mapping[str, Rule] = {"agreement": agreement, "plurality": plurality, "average": average}
"""By the name that a judge's composition has."""


def _parted(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    """Those that count, and those that are none."""
    heard: list[Verdict] = []
    missing: list[Verdict] = []
    for verdict in verdicts:
        (missing if isinstance(verdict, (Unreadable, Failed)) else heard).append(verdict)
    return heard, missing


def _missing(missing: Sequence[Verdict]) -> Verdict:
    """The reason of the first member that failed, which is asked again; else of the first that was unread."""
    return min(missing, key=lambda verdict: isinstance(verdict, Unreadable))


def _stands(first: Verdict, votes: Counter[Verdict], missing: int, paired: bool) -> bool:
    """No answer of the missing members would bring another verdict to the front."""

    def holds(other: Verdict | None, count: int) -> bool:
        """The answer does not get there, or not alone where being as frequent changes nothing."""
        yields = isinstance(first, Tie) if paired else other is not None and _rank(first) < _rank(other)
        return count + missing <= votes[first] if yields else count + missing < votes[first]

    seen = ((answer, count) for answer, count in votes.items() if answer != first)
    return all(holds(answer, count) for answer, count in (*seen, (None, 0)))


def _rank(answer: Verdict) -> tuple[int, int]:
    """Where an answer stands among equally frequent ones: scores from low to high, then the others."""
    return (0, int(answer.value)) if isinstance(answer, Decided) else (1, 0)


def _rounded(mean: Fraction) -> int:
    """Up only beyond the half."""
    whole = mean.numerator // mean.denominator
    return whole + (mean - whole > Fraction(1, 2))
