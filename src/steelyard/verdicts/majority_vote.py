"""Majority vote of a jury or of repeats: how several verdicts become one, for calls made and calls to come.

A member without a verdict is never a grade. The common verdict stands where no answer of the missing members
could change it; else there is none: it failed where a member failed, and is unreadable otherwise. Of calls on
record it is there where all the calls behind it were made; what was never asked has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.arrays import Ints, Mask, in_order, numbered, weak_cache, widen
from steelyard.verdicts.observations import Observations
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


def average_of_orders(verdicts: Sequence[Verdict], paired: bool) -> Verdict:
    """The text with more than half of the points of both orders, a tie half a point to each, else a tie.

    A text that is named in one order and tied in the other wins, where `agreement` calls a tie.
    """
    del paired
    valid, missing = _split(verdicts)
    if missing:
        return _missing(missing)  # the other order could have made a win a tie, and a tie a win
    if all(isinstance(verdict, Abstained) for verdict in valid):
        return Abstained()
    lead = valid.count(Decided("1")) - valid.count(Decided("2"))
    return Tie() if lead == 0 else Decided("1" if lead > 0 else "2")


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


def plurality_first(verdicts: Sequence[Verdict], paired: bool) -> Verdict:
    """`plurality`, where of several answers with the most votes that of the earliest member stands."""
    leaders = _equal_leaders(verdicts, paired)
    return leaders[0] if leaders else plurality(verdicts, paired)


def plurality_lowest(verdicts: Sequence[Verdict], paired: bool) -> Verdict:
    """`plurality`, where of several scores with the most votes the lowest stands: 0 of yes/no answers."""
    scores = [int(one.value) for one in _equal_leaders(verdicts, paired) if isinstance(one, Decided)]
    return Decided(str(min(scores))) if scores else plurality(verdicts, paired)


def _equal_leaders(verdicts: Sequence[Verdict], paired: bool) -> list[Verdict]:
    """The answers that share the most votes, in the order of the members; none where a vote is missing."""
    valid, missing = _split(verdicts)
    votes = Counter(Tie() if paired and isinstance(one, Abstained) else one for one in valid)
    leaders = [one for one, count in votes.items() if count == max(votes.values())]
    return leaders if len(leaders) > 1 and not missing else []


RULES: Mapping[str, Rule] = {
    "agreement": agreement,
    "average_of_orders": average_of_orders,
    "plurality": plurality,
    "plurality_first": plurality_first,
    "plurality_lowest": plurality_lowest,
    "average": average,
}


def _split(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Unreadable | Failed]]:
    """Those that count, and those that are missing."""
    missing = [verdict for verdict in verdicts if isinstance(verdict, (Unreadable, Failed))]
    return [verdict for verdict in verdicts if not isinstance(verdict, (Unreadable, Failed))], missing


def _missing(missing: Sequence[Verdict]) -> Verdict:
    """The reason of the first member that failed, which is asked again; else of the first that was unread."""
    return min(missing, key=lambda verdict: isinstance(verdict, Unreadable))


def both_orders(seen: Observations, rule: Rule = agreement) -> Observations:
    """Each pair in each order that was shown in both: the text that won twice, else a tie, or by the rule."""
    rows = _in_both_orders(seen)
    rows = np.concatenate([rows, rows[:, ::-1]])
    return _vote(seen, rows, rule, swap_later=True).in_order()


def any_both_orders(seen: Observations) -> bool:
    return len(_in_both_orders(seen)) > 0


@weak_cache
def _in_both_orders(seen: Observations) -> Ints:
    """Numbers of the rows of each pair and repeat that was shown in both orders (pairs × 2)."""
    return _group_rows([seen.judge, seen.protocol, seen.stimulus, seen.replicate], seen.order, 2)


def of_repeats(seen: Observations, size: int, rule: Rule, *, spread: bool = False) -> Observations:
    """Repeats in blocks of this size, each block one verdict; `spread` gives it to every repeat of the block.

    Blocks are repeats 0 to size − 1, size to 2·size − 1, …; one that is not complete has no verdict.
    """
    if int(seen.replicate.max(initial=0)) < size - 1:
        return seen[:0]
    block = seen.replicate // size
    rows = _group_rows([seen.judge, seen.protocol, seen.stimulus, seen.order, block], seen.replicate, size)
    if spread:
        rows = np.concatenate([np.roll(rows, -turn, axis=1) for turn in range(size)])
        return _vote(seen, rows, rule).in_order()
    voted = _vote(seen, rows, rule)
    return replace(voted, replicate=voted.replicate // size).in_order()


def of_judges(seen: Observations, members: Sequence[str], rule: Rule, name: str) -> Observations:
    """Showings that all of these judges were asked, each one verdict of a judge of this name.

    The rule sees the verdicts in the order of the members.
    """
    jury = seen.filter(calls=np.isin(seen.judge, [seen.judges.index(member) for member in members]))
    keys = [jury.protocol, jury.stimulus, jury.replicate, jury.order]
    place = np.array([members.index(name) if name in members else 0 for name in jury.judges], dtype=np.int64)
    voted = _vote(jury, _group_rows(keys, place[jury.judge], len(members)), rule)
    return replace(voted, judges=(name,), judge=np.zeros(len(voted), dtype=np.int64)).in_order()


def as_base(seen: Observations, protocol: str) -> Observations:
    chosen = seen.filter(protocol=protocol)
    if chosen.protocols == ("base",):
        return chosen
    return replace(chosen, protocols=("base",), protocol=np.zeros(len(chosen), dtype=np.int64))


def shared(first: Observations, second: Observations) -> tuple[Observations, Observations]:
    """The calls of one judge that the other has too, by stimulus, order and repeat; in the same order."""
    repeats = int(max(first.replicate.max(initial=0), second.replicate.max(initial=0))) + 1
    keys = [(widen(seen.stimulus) * repeats + seen.replicate) * 2 + seen.order for seen in (first, second)]
    return first.filter(calls=np.isin(keys[0], keys[1])), second.filter(calls=np.isin(keys[1], keys[0]))


def _group_rows(keys: Sequence[Ints], within: Ints, size: int) -> Ints:
    """Numbers of rows that share all keys, (groups × size) in the order of `within`; whole groups only."""
    order = in_order([*keys, within])
    columns = np.stack([np.asarray(key)[order] for key in keys])
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    group = np.cumsum(starts) - 1
    whole: Mask = np.bincount(group, minlength=1)[group] == size
    return np.asarray(order[whole].reshape(-1, size))


def _vote(seen: Observations, rows: Ints, rule: Rule, *, swap_later: bool = False) -> Observations:
    """One verdict for each line of row numbers, in the place of its first.

    With `swap_later` the later calls of a line showed the pair in the other order.
    """
    known = len(seen.verdicts)
    codes = seen.verdict[rows]
    if swap_later:
        codes[:, 1:] += known
    paired = seen.shown.paired[seen.stimulus[rows[:, 0]]]
    sample, number = _distinct_lines(np.column_stack([paired, codes]), 2 * known)
    lines = zip(codes[sample].tolist(), paired[sample].tolist(), strict=True)
    answers = [*seen.verdicts, *(map(swap_slots, seen.verdicts) if swap_later else ())]
    voted = [rule([answers[code] for code in line], both) for line, both in lines]
    verdicts: tuple[Verdict, ...] = tuple(dict.fromkeys(voted))
    place = np.array([verdicts.index(verdict) for verdict in voted], dtype=np.int64)
    own = np.asarray(seen.own_label[rows].any(axis=1))
    nothing = np.zeros(len(rows), dtype=np.int64)
    unknown: dict[str, Any] = dict.fromkeys(("named", "confidence"), nothing)
    unknown |= dict.fromkeys(("names", "confidences"), (None,))
    first = seen.take(rows[:, 0])
    return replace(first, verdicts=verdicts, verdict=place[number], own_label=own, **unknown)


def _distinct_lines(codes: Ints, kinds: int) -> tuple[Ints, Ints]:
    """Where each distinct line of codes stands first, and the number of every line among them.

    One number for a line is far quicker to sort than the line. It grows by a factor a column, so lines are
    numbered anew before it would leave 64 bits.
    """
    number = np.zeros(len(codes), dtype=np.int64)
    size, kinds = 1, max(kinds, 2)
    for column in codes.T:
        if size > np.iinfo(np.int64).max // kinds:
            number = np.unique(number, return_inverse=True)[1]
            size = len(codes)
        number = number * kinds + column
        size *= kinds
    known, number = numbered(number)
    sample = np.empty(len(known), dtype=np.int64)
    sample[number[::-1]] = np.arange(len(number))[::-1]
    return sample, number
