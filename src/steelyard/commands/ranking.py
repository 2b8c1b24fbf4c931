"""May this judge rank two systems: the smallest difference between them that it can show."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

from steelyard.core.text import pluralize, round_up
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.numbers import decimal, defined
from steelyard.errors import DataError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.equals import TIE_RATE
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.scores.shares import FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE
from steelyard.metrics.stats.intervals import Span
from steelyard.metrics.stats.sample_size import detectable_difference, items_total, sum_limits
from steelyard.stimuli.original import NATURAL_PROBE, ORIGINAL

POINTS = 0.02


@dataclass(frozen=True)
class RankingPower:
    judge: str
    kept: float
    """Share of a true difference that its verdicts show."""
    kept_low: float
    """Lower 95 % limit."""
    kept_high: float
    """Upper 95 % limit."""
    items: int
    """Items judged of each system, or pairs of their answers."""
    smallest: float | None
    """Smallest true difference that is shown in four comparisons of five; None where none is."""
    smallest_low: float | None
    """The same at the upper limit of what is kept."""
    smallest_high: float | None
    """The same at the lower limit; None where the judge may keep nothing."""
    perfect: float
    """The same of a judge without errors."""
    for_two_points: int | None
    """Items that show a difference of two points in four comparisons of five; None where none do."""
    lost: int = 0
    """Labelled calls that brought no verdict, of which `kept` says nothing."""
    calls: int = 0

    def sentence(self) -> str:
        left_out = f"; {self.lost:,} of {pluralize(self.calls, 'call')} without a verdict left out"
        return self._answer() + (left_out if self.lost else "")

    def _answer(self) -> str:
        shown = f"{decimal(self.kept)} [{decimal(self.kept_low)}, {decimal(self.kept_high)}]"
        opening = f"shows {shown} of a difference between two systems"
        if self.smallest is None and self.for_two_points is None:
            return f"{opening}: none can be ranked with it"
        high = "∞)" if self.smallest_high is None else f"{_points(self.smallest_high)}]"
        low = _points(self.smallest_low or 0.0)
        needed = ""
        if self.for_two_points is not None:
            needed = f"; two points take about {pluralize(round_up(self.for_two_points), 'item')} of each"
        if self.smallest is None:
            return f"{opening}; {pluralize(self.items, 'item')} of each are too few to show any{needed}"
        return (
            f"{opening}; on {pluralize(self.items, 'item')} of each the smallest that shows in four "
            f"comparisons of five is {_points(self.smallest)} points [{low}, {high} (without any error "
            f"{_points(self.perfect)}){needed}"
        )


def ranking_power(sheet: Datasheet, items: int, where: str) -> list[RankingPower]:
    rows = []
    for judge in sheet.judges:
        row = None if judge.baseline else _ranking_power(sheet, judge.name, items)
        rows += [] if row is None else [row]
    if not rows:
        raise DataError(
            f"{where}: no judge has agreement with labels on both classes, or on natural pairs; "
            "measure on labelled rows of your own."
        )
    return rows


def _ranking_power(sheet: Datasheet, judge: str, items: int) -> RankingPower | None:
    probe, figures = ORIGINAL, _from_scores(sheet, judge)
    if figures is None:
        probe, figures = NATURAL_PROBE, _from_pairs(sheet, judge)
    if figures is None:
        return None
    kept, (low, high), spread = figures
    low, high = max(-1.0, low), min(1.0, high)
    right = sheet.find(judge, ACCURACY.id, probe, protocol="base")
    lost = 0 if right is None else sum(right.excluded.values())
    return RankingPower(
        judge,
        kept,
        low,
        high,
        items,
        smallest=_finite(detectable_difference(items, kept, spread)),
        smallest_low=_finite(detectable_difference(items, high, spread)),
        smallest_high=_finite(detectable_difference(items, low, spread)),
        perfect=detectable_difference(items, 1.0, spread),
        for_two_points=items_total(POINTS, kept, spread),
        lost=lost,
        calls=0 if right is None else right.n_calls + lost,
    )


def _from_scores(sheet: Datasheet, judge: str) -> tuple[float, Span, float] | None:
    """Single texts: one less both error rates; each system passes about half, the worst case.

    An abstention moves nothing, as a call without a winner: half of it is lost on either side.
    """
    rates = [
        sheet.find(judge, metric.id, ORIGINAL, protocol="base")
        for metric in (FALSE_POSITIVE_RATE, FALSE_NEGATIVE_RATE)
    ]
    known = [(e.value, _ends(e)) for e in rates if e is not None and defined(e) and e.value is not None]
    if len(known) < 2:
        return None
    (first, first_ends), (second, second_ends) = known
    low, high = sum_limits(first, first_ends, second, second_ends)
    right = sheet.find(judge, ACCURACY.id, ORIGINAL, protocol="base")
    abstained = 0.0
    if right is not None and right.denominator:
        decided = (right.numerator or 0) + sum(e.numerator or 0 for e in rates if e is not None)
        abstained = max(0.0, 1 - decided / right.denominator)
    most = 1 - abstained
    return most - first - second, (most - high, most - low), sqrt(0.5)


def _from_pairs(sheet: Datasheet, judge: str) -> tuple[float, Span, float] | None:
    """Pairs: right less wrong among all calls; a call without a winner moves nothing."""
    right = sheet.find(judge, ACCURACY.id, NATURAL_PROBE, protocol="base")
    ties = sheet.find(judge, TIE_RATE.id, NATURAL_PROBE, protocol="base")
    if right is None or not defined(right) or right.value is None:
        return None
    tied = ties.value if ties is not None and ties.value is not None else 0.0
    low, high = _ends(right)
    return 2 * right.value + tied - 1, (2 * low + tied - 1, 2 * high + tied - 1), 1.0


def _ends(estimate: Estimate) -> Span:
    interval = estimate.interval
    low = None if interval is None else interval.low
    high = None if interval is None else interval.high
    return 0.0 if low is None else low, 1.0 if high is None else high


def _finite(value: float) -> float | None:
    """None for a difference that no two systems can have."""
    return value if isfinite(value) and value <= 1 else None


def _points(share: float) -> str:
    """`9.6`: a share in points of a hundred."""
    return f"{100 * share:.1f}"
