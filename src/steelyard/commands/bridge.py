"""`bridge`: the exchange rate between two judges, and an old judge's history as the new one would give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.commands.judged_items import Subject, choose_judge, independence, judged_items
from steelyard.core.arrays import Floats, Ints
from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.estimation.bridge import AnchorCounts, offset, strata_p
from steelyard.estimation.frame import CONFIDENCE, Figure
from steelyard.importing.ratings import RatingsTable
from steelyard.tasks.sources.cells import is_missing, plain_text
from steelyard.tasks.sources.read import read_table

SCHEMA = "steelyard.bridge/1"
FEWEST_ANCHORS = 30
COMPARABLE, TRANSLATABLE, NOT_COMPARABLE = "comparable", "translatable", "not comparable"
SIGNIFICANT = 0.05


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

    def channel(self, confidence: float) -> AnchorCounts:
        return AnchorCounts.of(self.old, self.new, self.cluster, confidence)

    @property
    def binary(self) -> bool:
        return bool(np.isin(np.concatenate([self.old, self.new]), (0.0, 1.0)).all())

    def of_stratum(self, name: str) -> Anchors:
        keep = np.array([each == name for each in self.strata], dtype=np.bool_)
        strata = tuple(each for each in self.strata if each == name)
        return Anchors(self.old[keep], self.new[keep], self.cluster[keep], strata, self.people[keep])


@dataclass(frozen=True)
class HistoryRow:
    period: str
    value: float
    items: int
    stratum: str = ""


@dataclass(frozen=True)
class Translation:
    row: HistoryRow
    figure: Figure


@dataclass(frozen=True)
class BridgeReport:
    name: str
    old: str
    new: str
    anchors: int
    verdict: str
    reason: str
    margin: float
    shift: Figure
    """Mean of new less old on the anchors."""
    channel: AnchorCounts | None
    strata_p: float | None
    translations: tuple[Translation, ...]
    anchors_needed: int | None
    people: tuple[int, float, float] | None
    """Labelled anchors, and the mean distance of the old and of the new judge from people."""
    confidence: float = CONFIDENCE
    independence: str = ""
    """Why anchors are taken as independent; empty where tasks say which belong together."""

    def to_json(self) -> dict[str, Any]:
        shares = None
        if self.channel is not None:
            names = ("new_passes_if_old_passed", "new_passes_if_old_failed")
            counts, limits = (self.channel.kept, self.channel.turned), self.channel.limits()
            shares = {
                name: {"numerator": k, "denominator": n, "low": ends[0], "high": ends[1]}
                for name, (k, n), ends in zip(names, counts, limits, strict=True)
            }
        return {
            "schema": SCHEMA,
            "source": self.name,
            "old": self.old,
            "new": self.new,
            "anchors": self.anchors,
            "verdict": self.verdict,
            "reason": self.reason,
            "margin": self.margin,
            "confidence": self.confidence,
            "independence": self.independence,
            "shift": vars(self.shift),
            "channel": shares,
            "strata_p": self.strata_p,
            "history": [{**vars(each.row), "translated": vars(each.figure)} for each in self.translations],
            "anchors_needed": self.anchors_needed,
            "people": self.people,
        }


def bridge(
    table: RatingsTable,
    old: str,
    new: str,
    *,
    criterion: str | None = None,
    history: Sequence[HistoryRow] = (),
    margin: float = 0.03,
    confidence: float = CONFIDENCE,
    seed: int = 7,
) -> BridgeReport:
    old, new = choose_judge(table, old), choose_judge(table, new)
    anchors = _anchors(table, old, new, criterion)
    if len(anchors.old) < FEWEST_ANCHORS:
        raise DataError(
            f"{table.name}: {pluralize(len(anchors.old), 'item')} rated by both {old!r} and {new!r} found, "
            f"expected at least {FEWEST_ANCHORS} anchors; let the new judge rate more items that the old "
            "one rated."
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
    rows = history or [HistoryRow("anchors", float(anchors.old.mean()), len(anchors.old))]
    made = tuple(
        Translation(row, _translate(table.name, anchors, row, confidence, by_stratum=apart)) for row in rows
    )
    shift = offset(anchors.old, anchors.new, anchors.cluster, confidence)
    widest = max(each.figure.half_width or 0.0 for each in made)
    verdict, reason = _verdict(shift, widest, margin, apart=apart and not history)
    needed = ceil(len(anchors.old) * (widest / margin) ** 2) if widest > margin else None
    channel = anchors.channel(confidence) if anchors.binary else None
    known = ~np.isnan(anchors.people)
    people = None
    if known.any():
        distances = [
            float(np.abs(each[known] - anchors.people[known]).mean()) for each in (anchors.old, anchors.new)
        ]
        people = int(known.sum()), distances[0], distances[1]
    return BridgeReport(
        name=table.name,
        old=old,
        new=new,
        anchors=len(anchors.old),
        verdict=verdict,
        reason=reason,
        margin=margin,
        shift=shift,
        channel=channel,
        strata_p=p,
        translations=made if history else (),
        anchors_needed=needed,
        people=people,
        confidence=confidence,
        independence=anchors.independence,
    )


def _anchors(table: RatingsTable, old: str, new: str, criterion: str | None) -> Anchors:
    first, second = (judged_items(table, Subject(judge, criterion=criterion))[0] for judge in (old, new))
    names = sorted(
        name for name in first.keys() & second.keys() if None not in (first[name].score, second[name].score)
    )
    tasks: dict[str, int] = {}
    cluster = [tasks.setdefault(first[name].task or f"\0{name}", len(tasks)) for name in names]
    labels = [first[name].label for name in names]
    return Anchors(
        np.array([first[name].score for name in names], dtype=np.float64),
        np.array([second[name].score for name in names], dtype=np.float64),
        np.array(cluster, dtype=np.int64),
        tuple(first[name].stratum for name in names),
        np.array([np.nan if label is None else label for label in labels], dtype=np.float64),
        independence((first[name].task for name in names), "anchors"),
    )


def _translate(
    where: str, anchors: Anchors, row: HistoryRow, confidence: float, *, by_stratum: bool
) -> Figure:
    if by_stratum and row.stratum:
        anchors = anchors.of_stratum(row.stratum)
    if anchors.binary and len(anchors.old):
        channel = anchors.channel(confidence)
        if not channel.is_complete:
            raise DataError(
                f"{where}: the anchors hold one verdict of the old judge alone, expected passes and fails; "
                "add anchors of the other kind."
            )
        if not 0 <= row.value <= 1:
            raise DataError(
                f"{where}: the history holds {row.value:g} for {row.period!r}, expected a share between 0 "
                "and 1; correct it."
            )
        return channel.translate(row.value, row.items)
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


def read_history(path: Path) -> list[HistoryRow]:
    """Rows with `period`, `value` (mean or pass rate by the old judge), `items`, and perhaps `stratum`."""
    table = read_table(path)
    for column in ("period", "value", "items"):
        table.require(column, "the history")
    made = []
    for record in table.records:
        cells = record.values
        try:
            value, items = float(cells["value"]), int(float(cells["items"]))
        except (TypeError, ValueError):
            items = 0
        if items < 1:
            raise DataError(
                f"{table.name}, {record.where}: value or items is no number, expected the old figure and "
                "the number of its items; correct it."
            )
        stratum = cells.get("stratum")
        named = "" if is_missing(stratum) else plain_text(stratum)
        made.append(HistoryRow(plain_text(cells["period"]), value, items, named))
    return made
