"""Majority vote of a jury or of repeats: how several verdicts become one, for calls made and calls to come.

A member without a verdict is never a grade. The common verdict stands where no answer of the missing members
could change it; else there is none: it failed where a member failed, and is unreadable otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

Rule = Callable[[Sequence[Verdict], bool], Verdict]
"""The verdicts of all members, on the same showing, to the common one; True where two texts were compared."""


def swap_slots(verdict: Verdict) -> Verdict:
    """What a verdict on a pair says of the same pair in the other order: the text that won keeps winning."""
    return Decided({"1": "2", "2": "1"}[verdict.value]) if isinstance(verdict, Decided) else verdict


def agreement(verdicts: Sequence[Verdict], paired: bool) -> Verdict:
    del paired
    valid, missing = _split(verdicts)
    if len(set(valid)) > 1 or Tie() in valid:
        return Tie()
    return _missing(missing) if missing else valid[0]


def plurality(verdicts: Sequence[Verdict], paired: bool) -> Verdict:
    """The one voting rule: for juries and repeats, in every figure, remedy, judge and table.

    The answer with the most votes. A split, where several answers have the most, decides nothing: of two
    texts it is a tie, of scores the jury abstains. An abstention is a vote for that. A member that was
    unreadable or failed has no vote, and the common verdict stands only where no vote of the missing could
    change it: two of three that agree, never one alone.
    """
    valid, missing = _split(verdicts)
    split: Verdict = Tie() if paired else Abstained()
    if paired and valid and all(isinstance(verdict, Abstained) for verdict in valid):
        return _missing(missing) if missing else Abstained()
    votes = Counter(split if isinstance(verdict, Abstained) else verdict for verdict in valid)
    first, second = ([count for _, count in votes.most_common(2)] + [0, 0])[:2]
    leader = votes.most_common(1)[0][0] if first > second else split
    # Missing votes that only draw level make a split, which changes nothing where that is the verdict.
    level = first > second and leader == split
    stands = second + len(missing) < first + level
    return _missing(missing) if missing and not stands else leader


def average(verdicts: Sequence[Verdict], paired: bool) -> Verdict:
    """The mean score, rounded to the nearest answer and halves to the lower; who abstains gives no score."""
    if paired:
        raise ValueError("two texts have no score to average")
    valid, missing = _split(verdicts)
    if missing:
        return _missing(missing)
    scores = [int(verdict.value) for verdict in valid if isinstance(verdict, Decided)]
    # ⌈mean − ½⌉ in integers: halves go down.
    return Decided(str(-((len(scores) - 2 * sum(scores)) // (2 * len(scores))))) if scores else Abstained()


RULES: Mapping[str, Rule] = {"agreement": agreement, "plurality": plurality, "average": average}


def _split(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Unreadable | Failed]]:
    """Those that count, and those that are missing."""
    missing = [verdict for verdict in verdicts if isinstance(verdict, (Unreadable, Failed))]
    return [verdict for verdict in verdicts if not isinstance(verdict, (Unreadable, Failed))], missing


def _missing(missing: Sequence[Verdict]) -> Verdict:
    """The reason of the first member that failed, which is asked again; else of the first that was unread."""
    return min(missing, key=lambda verdict: isinstance(verdict, Unreadable))
