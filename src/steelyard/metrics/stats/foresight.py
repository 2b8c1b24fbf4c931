"""What so many labelled rows, or so many judged items, will be able to tell.

A share p on n independent rows has Wilson's half-width

    z · √(p(1 − p)/n + z²/4n²) / (1 + z²/n).

Cohen's κ of balanced labels is (a − ½)/½ with a the agreement, so its half-width is twice that of a. Two
judges on the same rows that disagree on a share d of them differ detectably, in four studies of five, by
about (1.96 + .84) · √(d/n).

A judge that passes a share FPR of what should fail and fails FNR of what should pass shows a difference D
between the pass rates of two systems as (1 − FPR − FNR) · D. With n items of each system the smallest D that
is shown in four comparisons of five is therefore

    (1.96 + .84) · √(2 q(1 − q)/n) / (1 − FPR − FNR)

where q is the share that the judge passes. A judge of pairs that is right in a share a of the calls in which
it names a winner shows a lead L (wins less losses) as (2a − 1) · L.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, sqrt

from steelyard.metrics.stats.intervals import Span, score
from steelyard.metrics.stats.normal_law import normal_quantile
from steelyard.metrics.stats.power import ALPHA, POWER

REACH = normal_quantile(1 - ALPHA / 2) + normal_quantile(POWER)
"""Standard errors that a difference must measure to be shown in four studies of five."""


@dataclass(frozen=True)
class LabelRow:
    """What a number of labelled rows tells."""

    rows: int
    """Labelled rows, each standing for itself."""
    accuracy: float
    """Half-width of the 95 % interval of accuracy."""
    kappa: float
    """The same of Cohen's κ, of balanced labels."""
    error_rate: float
    """The same of a false positive rate, where half of the rows should fail."""
    between_judges: float
    """Smallest difference in accuracy of two judges on these rows that is shown in four studies of five."""


def label_row(rows: int, accuracy: float, error_rate: float, disagreement: float) -> LabelRow:
    """What `rows` labelled rows tell, given what is expected of the judge."""
    return LabelRow(
        rows,
        half_width(accuracy, rows),
        2 * half_width(accuracy, rows),
        half_width(error_rate, rows // 2),
        min(1.0, REACH * sqrt(disagreement / rows)),
    )


def half_width(share: float, trials: int) -> float:
    """Half the width of Wilson's 95 % interval."""
    if trials < 1:
        return 0.5
    low, high = score(share, trials, normal_quantile(1 - ALPHA / 2))
    return (high - low) / 2


def smallest_difference(items: int, kept: float, spread: float) -> float:
    """The least true difference that is shown in four comparisons of five.

    `kept` is the share of a difference that the judge leaves of it, `spread` the standard deviation of what
    it says of one item. Infinite where the judge leaves nothing.
    """
    return inf if kept <= 0 else REACH * spread / (sqrt(items) * kept)


def items_for(difference: float, kept: float, spread: float) -> int | None:
    """Items that show a true difference in four comparisons of five; None where none do."""
    return None if kept <= 0 or difference <= 0 else ceil((REACH * spread / (difference * kept)) ** 2)


def sum_limits(first: float, first_ends: Span, second: float, second_ends: Span) -> Span:
    """Span of a sum of two independent shares from the limits of each (Newcombe's square-and-add)."""
    together = first + second
    low = sqrt((first - first_ends[0]) ** 2 + (second - second_ends[0]) ** 2)
    high = sqrt((first_ends[1] - first) ** 2 + (second_ends[1] - second) ** 2)
    return together - low, together + high
