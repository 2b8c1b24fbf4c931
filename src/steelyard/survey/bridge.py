"""`bridge`: the exchange rate between two judges, and an old judge's history as the new one would give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.estimation.estimators import MOST_LEVELS
from steelyard.estimation.frame import Figure
from steelyard.estimation.raters import Channel, offset, strata_p
from steelyard.importing.ratings import RatingsTable, independence, task_numbers
from steelyard.survey.judged_items import JudgedItem, Subject, choose_judge, judged_items
from steelyard.survey.options import BridgeOptions
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import is_missing, is_number, plain_text

SCHEMA = "steelyard.bridge/1"
FEWEST_ANCHORS = 30
COMPARABLE, TRANSLATABLE, NOT_COMPARABLE = "comparable", "translatable", "not comparable"
SIGNIFICANT = 0.05
Repeats = tuple[int, int]
"""Pairs of repeats on one anchor that differ, and all of them."""


@dataclass(frozen=True, eq=False)
class Anchors:
    """Items that both judges rated."""

    old: Floats
    new: Floats
    cluster: Ints
    strata: tuple[str, ...]
    people: Floats
    """NaN where nobody labelled the item."""
    independence: str = ""
    repeats: tuple[Repeats, Repeats] = ((0, 0), (0, 0))
    """Of the old and the new judge."""

    def channel(self, confidence: float) -> Channel | None:
        """None where the judges gave too many different scores, or one alone on an unknown scale."""
        levels = np.unique(np.concatenate([self.old, self.new]))
        if len(levels) > MOST_LEVELS or (len(levels) < 2 and not self.binary):
            return None
        return Channel.of(self.old, self.new, self.cluster, confidence)

    @property
    def binary(self) -> bool:
        return bool(np.isin(np.concatenate([self.old, self.new]), (0.0, 1.0)).all())

    def of_stratum(self, name: str) -> Anchors:
        keep = np.array([each == name for each in self.strata], dtype=np.bool_)
        strata = tuple(each for each in self.strata if each == name)
        return Anchors(self.old[keep], self.new[keep], self.cluster[keep], strata, self.people[keep])


@dataclass(frozen=True)
class BridgeHistoryRow:
    period: str
    value: float
    items: int
    stratum: str = ""
    counts: tuple[tuple[float, int], ...] = ()
    """Items at each level of the old judge, where the history has them."""

    @property
    def shares(self) -> dict[float, float]:
        """Of the old levels; of a rate, those of passes and fails."""
        if not self.counts:
            return {1.0: self.value, 0.0: 1 - self.value}
        return {level: count / self.items for level, count in self.counts}


@dataclass(frozen=True)
class Translation:
    row: BridgeHistoryRow
    figure: Figure


@dataclass(frozen=True, kw_only=True)
class BridgeReport:
    """In the order of its JSON."""

    source: str
    old: str
    new: str
    anchors: int
    verdict: str
    reason: str
    margin: float
    confidence: float
    independence: str
    """Why anchors are taken as independent; empty where tasks say which belong together."""
    shift: Figure
    """Mean of new less old on the anchors."""
    channel: Channel | None
    strata_p: float | None
    history: tuple[Translation, ...]
    anchors_needed: int | None
    people: tuple[int, float, float] | None
    """Labelled anchors, and the mean distance of the old and of the new judge from people."""
    repeats_that_differ: tuple[Repeats, Repeats]
    """Of the old and the new judge."""
    binary: bool
    """Not in the JSON."""

    def to_json(self) -> dict[str, Any]:
        channel = None
        if self.channel is not None:
            limits = np.array(self.channel.share_limits())
            channel = {
                "old": self.channel.old,
                "new": self.channel.new,
                "counts": self.channel.counts.tolist(),
                "low": limits[:, :, 0].tolist(),
                "high": limits[:, :, 1].tolist(),
            }
        repeats = [{"numerator": differ, "denominator": pairs} for differ, pairs in self.repeats_that_differ]
        body = {
            "schema": SCHEMA,
            **vars(self),
            "shift": vars(self.shift),
            "channel": channel,
            "history": [{**vars(each.row), "translated": vars(each.figure)} for each in self.history],
            "repeats_that_differ": repeats,
        }
        del body["binary"]
        return body


def bridge(table: RatingsTable, options: BridgeOptions, seed: int = 7) -> BridgeReport:
    history = [] if options.history is None else read_history(options.history)
    old, new = choose_judge(table, options.old), choose_judge(table, options.new)
    margin, confidence = options.margin, options.confidence
    if old == new:
        raise ConfigError(f"--from and --to: {old!r} found twice, expected two judges; name another.")
    anchors = _anchors(table, old, new, options.reading.criterion)
    if len(anchors.old) < FEWEST_ANCHORS:
        raise DataError(
            f"{table.name}: {pluralize(len(anchors.old), 'item')} rated by both {old!r} and {new!r} found, "
            f"expected at least {FEWEST_ANCHORS} anchors; let the new judge rate more items that the old "
            "one rated."
        )
    if not history and anchors.binary and np.ptp(anchors.old) == 0:
        raise DataError(
            f"{table.name}: the anchors hold one verdict of the old judge alone, expected passes and fails; "
            "add anchors of the other kind."
        )
    names = sorted(set(anchors.strata))
    place = np.array([names.index(each) for each in anchors.strata], dtype=np.int64)
    p = strata_p(anchors.old, anchors.new, place, seed) if len(names) > 1 else None
    apart = p is not None and p < SIGNIFICANT
    if apart and any(not row.stratum for row in history):
        raise DataError(
            f"{table.name}: strata differ in the exchange rate (p {p:.3f}), expected one rate for a "
            "history without strata; give the history by stratum, in a column stratum."
        )
    rows = history or [BridgeHistoryRow("anchors", float(anchors.old.mean()), len(anchors.old))]
    made = tuple(
        Translation(row, _translate(table.name, anchors, row, confidence, by_stratum=apart)) for row in rows
    )
    shift = offset(anchors.old, anchors.new, anchors.cluster, confidence)
    widest = max(each.figure.half_width or 0.0 for each in made)
    verdict, reason = _verdict(shift, widest, margin, apart=apart and not history)
    needed = ceil(len(anchors.old) * (widest / margin) ** 2) if widest > margin else None
    known = ~np.isnan(anchors.people)
    people = None
    if known.any():
        distances = [
            float(np.abs(each[known] - anchors.people[known]).mean()) for each in (anchors.old, anchors.new)
        ]
        people = int(known.sum()), distances[0], distances[1]
    return BridgeReport(
        source=table.name,
        old=old,
        new=new,
        anchors=len(anchors.old),
        verdict=verdict,
        reason=reason,
        margin=margin,
        confidence=confidence,
        independence=anchors.independence,
        shift=shift,
        channel=anchors.channel(confidence),
        strata_p=p,
        history=made if history else (),
        anchors_needed=needed,
        people=people,
        repeats_that_differ=anchors.repeats,
        binary=anchors.binary,
    )


def _anchors(table: RatingsTable, old: str, new: str, criterion: str | None) -> Anchors:
    first, second = (judged_items(table, Subject(judge, criterion=criterion))[0] for judge in (old, new))
    names = sorted(
        name for name in first.keys() & second.keys() if None not in (first[name].score, second[name].score)
    )
    tasks = [first[name].task for name in names]
    labels = [first[name].label() for name in names]
    return Anchors(
        np.array([first[name].score for name in names], dtype=np.float64),
        np.array([second[name].score for name in names], dtype=np.float64),
        task_numbers(tasks),
        tuple(first[name].stratum for name in names),
        np.array([np.nan if label is None else label for label in labels], dtype=np.float64),
        independence(tasks, "anchors"),
        (_repeats_that_differ(first, names), _repeats_that_differ(second, names)),
    )


def _repeats_that_differ(items: Mapping[str, JudgedItem], names: Sequence[str]) -> Repeats:
    """Pairs of repeats on one anchor that differ, and all: noise of the judge, not of the exchange."""
    known = [[each for each in items[name].verdicts if each is not None] for name in names]
    pairs = [pair for verdicts in known for pair in combinations(verdicts, 2)]
    return sum(one != other for one, other in pairs), len(pairs)


def _translate(
    where: str, anchors: Anchors, row: BridgeHistoryRow, confidence: float, *, by_stratum: bool
) -> Figure:
    if by_stratum and row.stratum:
        anchors = anchors.of_stratum(row.stratum)
    if len(anchors.old) and (anchors.binary or row.counts):
        if not row.counts and not 0 <= row.value <= 1:
            raise DataError(
                f"{where}: the history holds {row.value:g} for {row.period!r}, expected a share between 0 "
                "and 1; correct it."
            )
        lacking = [level for level, share in row.shares.items() if share > 0 and level not in anchors.old]
        if lacking:
            raise DataError(
                f"{where}: the old judge gave {lacking[0]:g} to items of {row.period!r} and to no anchor, "
                "expected anchors of every level of the history; add some of this level."
            )
        channel = anchors.channel(confidence)
        if channel is not None:
            return channel.translate(row.shares, row.items)
    if len(anchors.old) < 2:
        raise DataError(
            f"{where}: no anchors of stratum {row.stratum!r} found, expected some of every stratum of the "
            "history; add them."
        )
    shift = offset(anchors.old, anchors.new, anchors.cluster, confidence)
    low, high = (row.value + (end or 0.0) for end in (shift.low, shift.high))
    return Figure(row.value + shift.value, low, high, shift.error, "offset")


def _verdict(shift: Figure, widest: float, margin: float, *, apart: bool) -> tuple[str, str]:
    if shift.low is not None and shift.high is not None and -margin <= shift.low and shift.high <= margin:
        return COMPARABLE, f"the judges differ by less than {margin:g} on average"
    if apart:
        return NOT_COMPARABLE, "strata differ in the exchange rate; translate each stratum by itself"
    if widest > margin:
        return NOT_COMPARABLE, f"translated figures are uncertain by {widest:.3f}, more than {margin:g}"
    return TRANSLATABLE, f"translated figures are certain to {widest:.3f}"


def read_history(path: Path) -> list[BridgeHistoryRow]:
    """Rows with `period`, and the old judge's `value` (mean or pass rate) and `items`, or its items by level.

    Columns with the name of a level hold the number of items at it; a column `stratum` says of which.
    """
    table = read_table(path)
    levels = {name: float(name) for name in table.columns if is_number(name)}
    for column in ("period",) if levels else ("period", "value", "items"):
        table.require(column, "the history")
    made = []
    for record in table.records:
        cells = record.values
        period = plain_text(cells["period"])
        stratum = cells.get("stratum")
        named = "" if is_missing(stratum) else plain_text(stratum)
        where = f"{table.name}, {record.where}"
        if levels:
            counts = [(level, _count(cells.get(name), where, name)) for name, level in levels.items()]
            items = sum(count for _, count in counts)
            total = sum(level * count for level, count in counts)
            if not items:
                raise DataError(f"{where}: no items at any level found, expected some; correct it.")
            made.append(BridgeHistoryRow(period, total / items, items, named, tuple(counts)))
            continue
        try:
            value, items = float(cells["value"]), int(float(cells["items"]))
        except (TypeError, ValueError, OverflowError):
            value, items = 0.0, 0
        if items < 1 or not isfinite(value):
            raise DataError(
                f"{where}: value or items is no number, expected the old figure and the number of its "
                "items; correct it."
            )
        made.append(BridgeHistoryRow(period, value, items, named))
    return made


def _count(cell: Any, where: str, column: str) -> int:
    if is_missing(cell):
        return 0
    text = plain_text(cell)
    if not (is_number(text) and float(text) >= 0 and float(text).is_integer()):
        raise DataError(
            f"{where}: column {column!r} holds {text[:60]!r}, expected the number of items at this level; "
            "correct it."
        )
    return int(float(text))
