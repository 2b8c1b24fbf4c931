"""What each call answered, in columns: of a pair the content that won, of a single text the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.arrays import Floats, Mask
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

NEITHER = 0.0
"""Answer of a call on a pair that names neither text."""


@dataclass(frozen=True, eq=False)
class CallAnswers:
    """One entry per call, in the order of the observations."""

    answer: Floats
    """Pairs: 1 where content u won, 2 where v did, 0 for a tie or an abstention; single texts: the score;
    NaN without an answer."""
    wanted: Floats
    """The answer of a sound judge; NaN where nobody other than the judge has said."""
    held: Mask
    """The call has a verdict that is held against a reference."""

    @property
    def right(self) -> Mask:
        """The call gives the reference answer."""
        return np.asarray(self.held & (self.answer == self.wanted))

    @property
    def wrong(self) -> Mask:
        """The call gives another answer than the reference; an abstention on a single text gives none."""
        return np.asarray(self.held & ~np.isnan(self.answer) & (self.answer != self.wanted))

    @classmethod
    def of(cls, observations: Observations) -> CallAnswers:
        """The answers of all calls, slots mapped back to contents."""
        shown, row = observations.shown, observations.stimulus
        paired = shown.paired[row]
        value = _values(observations)
        swapped = paired & (observations.order == 1) & (value > NEITHER)
        neither = paired & observations.ended(Tie, Abstained)
        answer = np.where(neither, NEITHER, np.where(swapped, 3.0 - value, value))
        known = shown.labelled[row] & ~observations.own_label
        wanted = np.where(known, np.where(paired, shown.better[row], shown.expected[row]), np.nan)
        return cls(answer, wanted, known & observations.ended(Decided, Tie, Abstained))


def answer_word(verdict: Verdict) -> str:
    """The answer as files spell it: a slot or a score, `tie`, `abstain`, `unreadable` or `failed`."""
    return verdict.value if isinstance(verdict, Decided) else _WORDS[type(verdict)]


def reason_of(verdict: Verdict) -> str | None:
    """Why there is no verdict; None where there is one."""
    return verdict.reason if isinstance(verdict, (Unreadable, Failed)) else None


_WORDS: dict[type[Verdict], str] = {
    Tie: "tie",
    Abstained: "abstain",
    Unreadable: "unreadable",
    Failed: "failed",
}


def _values(observations: Observations) -> Floats:
    """The slot or score of each call; NaN where it decided nothing."""
    values = [float(v.value) if isinstance(v, Decided) else np.nan for v in observations.verdicts]
    return np.array(values, dtype=np.float64)[observations.verdict]
