"""Observations of a judge that is made of calls on record: both orders, repeats, or several judges as one.

A common verdict is there where all the calls behind it were made; what was never asked has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.arrays import Ints, Mask, in_order, numbered, weak_cache, widen
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Verdict
from steelyard.verdicts.vote import Rule, agreement, swap_slots


def both_orders(seen: Observations) -> Observations:
    """Each pair in each order that was shown in both: the text that won twice, else a tie."""
    rows = _in_both_orders(seen)
    rows = np.concatenate([rows, rows[:, ::-1]])
    return _vote(seen, rows, agreement, swap_later=True).in_order()


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
    """Showings that all of these judges were asked, each one verdict of a judge of this name."""
    jury = seen.filter(calls=np.isin(seen.judge, [seen.judges.index(member) for member in members]))
    keys = [jury.protocol, jury.stimulus, jury.replicate, jury.order]
    voted = _vote(jury, _group_rows(keys, jury.judge, len(members)), rule)
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
    return replace(seen.take(rows[:, 0]), verdicts=verdicts, verdict=place[number], own_label=own)


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
