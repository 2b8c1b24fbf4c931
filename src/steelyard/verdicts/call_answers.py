"""What each call answered, in columns: of a pair the content that won, of a single text the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Mask
from steelyard.stimuli.rubric_edits import at_same_place
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

NEITHER = 0.0


@dataclass(frozen=True, eq=False)
class CallAnswers:
    """One entry per call, in the order of the observations."""

    answer: Floats
    """Pairs: 1 where content u won, 2 where v did, 0 for a tie or an abstention; single texts: the score;
    NaN without an answer."""
    wanted: Floats
    """The answer of a sound judge; NaN where nobody other than the judge has said."""
    has_reference: Mask
    """The call has a verdict that is compared with a reference."""
    same_level: Mask
    """On another range of numbers than the unchanged item: the level nearest to the answer is the label."""

    @property
    def right(self) -> Mask:
        return np.asarray(self.has_reference & ((self.answer == self.wanted) | self.same_level))

    @property
    def wrong(self) -> Mask:
        """The call gives another answer than the reference; an abstention on a single text gives none."""
        return np.asarray(self.has_reference & ~np.isnan(self.answer) & ~self.right)

    @classmethod
    def of(cls, observations: Observations) -> CallAnswers:
        """The answers of all calls, slots mapped back to contents."""
        shown, row = observations.shown, observations.stimulus
        paired = shown.paired[row]
        values = [float(v.value) if isinstance(v, Decided) else np.nan for v in observations.verdicts]
        value = np.array(values, dtype=np.float64)[observations.verdict]
        swapped = paired & (observations.order == 1) & (value > NEITHER)
        neither = paired & observations.ended(Tie, Abstained)
        answer = np.where(neither, NEITHER, np.where(swapped, 3.0 - value, value))
        known = shown.labelled[row] & ~observations.own_label
        wanted = np.where(known, np.where(paired, shown.better[row], shown.expected[row]), np.nan)
        has_reference = known & observations.ended(Decided, Tie, Abstained)
        return cls(answer, wanted, has_reference, _same_level(observations, value))


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


def _same_level(observations: Observations, value: Floats) -> Mask:
    """Scores given on another range than that of the unchanged item, which come to its label there."""
    shown, row = observations.shown, observations.stimulus
    originals = np.full(len(shown.items), -1, dtype=np.int64)
    originals[shown.item[shown.original]] = np.flatnonzero(shown.original)
    plain = originals[shown.item]
    graded = shown.ends[:, 1] - shown.ends[:, 0] > 1
    moved = (plain >= 0) & ~shown.paired & (shown.scales.codes != shown.scales.codes[plain])
    moved &= graded & graded[plain]
    calls = np.flatnonzero(moved[row] & ~np.isnan(value))
    met = np.zeros(len(row), dtype=np.bool_)
    if len(calls):
        there, here = row[calls], plain[row[calls]]
        low, high, least, most = np.hstack([shown.ends[there], shown.ends[here]]).astype(np.float64).T
        level, own = (
            at_same_place(numbers, (low, high), (least, most))
            for numbers in (value[calls], shown.expected[there])
        )
        label = shown.expected[here]
        renumbered = at_same_place(label, (least, most), (low, high))
        kept = np.isnan(own) | (shown.expected[there] == renumbered)
        met[calls] = level == np.where(kept, label, own)
    return met
