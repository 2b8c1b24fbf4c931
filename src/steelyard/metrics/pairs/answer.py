"""The answer of a call on a pair as a number, and the questions asked of columns of answers."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from steelyard.core.arrays import Ints, Mask
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict


class Answer(IntEnum):
    """How a call on a pair ended, in the order that the tests below rely on."""

    FIRST = 0
    """The text in slot 1 won."""
    SECOND = 1
    """The text in slot 2 won."""
    TIE = 2
    """Neither text won."""
    ABSTAINED = 3
    """A valid refusal to answer; counted as a tie."""
    UNREADABLE = 4
    """The reply held no answer; never a grade."""
    FAILED = 5
    """There was no reply; never a grade."""
    ABSENT = 6
    """The pair was never shown in this order."""

    @classmethod
    def of(cls, verdict: Verdict) -> Answer:
        """The answer of a pairwise verdict."""
        match verdict:
            case Decided(value="1"):
                return cls.FIRST
            case Decided(value="2"):
                return cls.SECOND
            case Tie():
                return cls.TIE
            case Abstained():
                return cls.ABSTAINED
            case Unreadable():
                return cls.UNREADABLE
            case Failed():
                return cls.FAILED
        raise ValueError(f"not a pairwise verdict: {verdict!r}")


def decided(answers: Ints) -> Mask:
    """The answer is a slot."""
    return np.less_equal(answers, Answer.SECOND)


def neither(answers: Ints) -> Mask:
    """A tie, or a valid abstention."""
    return np.asarray((answers == Answer.TIE) | (answers == Answer.ABSTAINED))


def readable(answers: Ints) -> Mask:
    """The call ended in a verdict that counts."""
    return np.less_equal(answers, Answer.ABSTAINED)


def lost(answers: Ints) -> Mask:
    """The call was made and ended without a verdict."""
    return np.asarray((answers == Answer.UNREADABLE) | (answers == Answer.FAILED))


def shown(answers: Ints) -> Mask:
    """The call was made."""
    return np.not_equal(answers, Answer.ABSENT)


def as_tie(answers: Ints) -> Ints:
    """Count a valid abstention as a tie."""
    return np.where(answers == Answer.ABSTAINED, np.int64(Answer.TIE), answers)
