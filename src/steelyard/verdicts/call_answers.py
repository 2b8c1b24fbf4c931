"""What each call answered, in columns, and what a judge answered on each item, and how far its calls agree.

Of a pair the answer is the content that won, of a single text the score.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from steelyard.core.arrays import Floats, Mask
from steelyard.stimuli.original import NATURAL, ORIGINAL
from steelyard.stimuli.rubric_edits import at_same_place
from steelyard.stimuli.stimulus import reference_label
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.readers import TOKEN, in_percent
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


_WORDS = {Tie: "tie", Abstained: "abstain", Unreadable: "unreadable", Failed: "failed"}


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


AS_THEY_ARE = (ORIGINAL, NATURAL)
"""Kinds of stimuli that people bring: single texts and pairs."""


class CallAnswer(NamedTuple):
    answer: str | None
    order: str = ""
    """Of a pair `uv` or `vu`."""
    confidence: float | None = None


@dataclass(frozen=True)
class ItemAnswer:
    calls: Sequence[CallAnswer]
    task: str
    label: str | None = None
    """What people say; None where nobody did, or the judge itself."""

    @cached_property
    def _most_frequent(self) -> tuple[str | None, float]:
        return most_frequent(call.answer for call in self.calls)

    @property
    def answer(self) -> str | None:
        return self._most_frequent[0]

    @property
    def repeats(self) -> float:
        return self._most_frequent[1]

    @property
    def orders(self) -> float | None:
        return same_winner(self.calls)

    @property
    def confidence(self) -> float | None:
        """The mean over its calls."""
        known = [call.confidence for call in self.calls if call.confidence is not None]
        return float(np.mean(known)) if known else None

    def jury(self, others: Iterable[ItemAnswer | None]) -> float | None:
        """The share of judges, this one included, that give its answer."""
        answer, votes = self.answer, [None if other is None else other.answer for other in others]
        return None if answer is None else (1 + votes.count(answer)) / (1 + len(votes))


def most_frequent(answers: Iterable[str | None]) -> tuple[str | None, float]:
    """The most frequent answer and its share of all calls; none where two are as frequent, or none is."""
    every = list(answers)
    ranked = Counter(answer for answer in every if answer is not None).most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None, 0.0
    return ranked[0][0], ranked[0][1] / len(every)


def same_winner(calls: Sequence[CallAnswer]) -> float | None:
    """Share of orders that give the common answer: 1 or a half; none where an order is missing."""
    winners = [most_frequent(call.answer for call in calls if call.order == order)[0] for order in ORDERS]
    return None if None in winners else 1.0 if winners[0] == winners[1] else 0.5


@dataclass(frozen=True)
class ItemAnswers:
    items: Mapping[str, ItemAnswer]
    confidence: str | None = None
    """Kind of the confidence that its calls hold; None where they hold none."""
    percent: bool = False
    """Whether the judge states it in percent."""

    @property
    def most_calls(self) -> int:
        return max((len(item.calls) for item in self.items.values()), default=0)

    @property
    def has_orders(self) -> bool:
        return any({*ORDERS} <= {call.order for call in item.calls} for item in self.items.values())

    @property
    def has_repeats(self) -> bool:
        return self.most_calls > (2 if self.has_orders else 1)


REPEATS, ORDERS_AGREE, JURY = "repeats", "orders", "jury"
"""Signals that calls give by agreeing with each other."""


def agreement_signals(
    judge: str, panel: Mapping[str, ItemAnswers], items: Iterable[str]
) -> dict[str, list[float | None]]:
    """What the calls of a judge and of the others of a panel tell of its answer on each item."""
    # Who was shown none of the items as they are is no juror; a juror's missing vote agrees with nobody.
    mine, others = panel[judge], [each.items for name, each in panel.items() if name != judge and each.items]
    found = [(name, mine.items.get(name)) for name in items]
    signals: dict[str, list[float | None]] = {}
    if mine.has_repeats:
        most = mine.most_calls
        # An item that was asked less often has other shares: one call always agrees with itself.
        signals[REPEATS] = [
            None if item is None or len(item.calls) < most else item.repeats for _, item in found
        ]
    if mine.has_orders:
        signals[ORDERS_AGREE] = [None if item is None else item.orders for _, item in found]
    if others:
        votes = [[each.get(name) for each in others] for name, _ in found]
        signals[JURY] = [
            None if item is None else item.jury(vote) for (_, item), vote in zip(found, votes, strict=True)
        ]
    return signals


def as_they_are(calls: Observations) -> Observations:
    """The calls under the base protocol on items that nobody edited."""
    return calls.filter(protocol="base", kinds=AS_THEY_ARE)


def call_confidence(calls: Observations) -> tuple[Floats, str | None, bool]:
    """How sure each call was, as a share; the kind, and whether the judge states percent."""
    known = [each for each in calls.confidences if each is not None]
    used = {calls.confidences[code] for code in np.unique(calls.confidence)} - {None}
    kinds = sorted({each.kind for each in known if each in used})
    percent = in_percent(each.value for each in known if each in used and each.kind != TOKEN)
    values = [np.nan if each is None else each.value / (100 if percent else 1) for each in calls.confidences]
    shares = np.array(values, dtype=np.float64)[calls.confidence]
    return shares, kinds[0] if kinds else None, percent


def answer_words(calls: Observations) -> list[str | None]:
    """The answer of each call: of a pair the content that won, so that both orders are compared."""
    answers = CallAnswers.of(calls).answer
    paired = calls.shown.paired[calls.stimulus]
    words = ("tie", "u", "v")
    return [
        None if np.isnan(answer) else words[int(answer)] if pair else f"{answer:g}"
        for answer, pair in zip(answers.tolist(), paired.tolist(), strict=True)
    ]


def item_answers(calls: Observations) -> ItemAnswers:
    """Of one judge."""
    rows = as_they_are(calls)
    shares, kind, percent = call_confidence(rows)
    shown = rows.shown
    paired: Mask = shown.paired[rows.stimulus]
    made: defaultdict[int, list[CallAnswer]] = defaultdict(list)
    own: set[int] = set()
    columns = (rows.stimulus, rows.order, paired, shares, rows.own_label)
    cells = zip(*(column.tolist() for column in columns), answer_words(rows), strict=True)
    for stimulus, order, pair, share, mine, answer in cells:
        sure = None if np.isnan(share) else share
        made[stimulus].append(CallAnswer(answer, ORDERS[order] if pair else "", sure))
        if mine:
            own.add(stimulus)
    items = {}
    for number, given in made.items():
        stimulus = shown.stimuli[number]
        label = None if number in own else reference_label(stimulus.expectation)
        items[str(stimulus.lineage.parent)] = ItemAnswer(given, stimulus.cluster, label)
    return ItemAnswers(items, kind, percent)
