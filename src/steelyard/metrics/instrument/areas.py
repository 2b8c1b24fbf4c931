"""Worth of a cue by area (stratum): whether it is the same in all of them, and in which it is not.

Every cluster has a curve, its log-likelihood by worth with all else held at the joint fit. The curve of an
area is the sum of those of its clusters, and its peak the worth there. Areas are equal where one worth fits
all nearly as well as each its own. How well chance alone would fit is asked of a permutation: areas are dealt
anew to the clusters. An area is named where its own worth, against one for all others, gains more than the
best of the areas does in 19 of 20 deals, step by step. It is a fault there where that worth lies beyond the
limit, whatever the worth over all areas is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from steelyard.core.arrays import Floats, Ints, Names
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED, agreeing, decided_by
from steelyard.metrics.instrument.crossing import of_cue
from steelyard.metrics.multiplicity import adjust_for_multiplicity
from steelyard.metrics.stats.intervals import ALPHA, Span

AREA_WORTH = of_cue(
    "cue_worth_area",
    "worth in one area",
    "Steps or levels that a cue is worth on the texts of one stratum, the rest of the fit held; too high or "
    "too low where the stratum is shown to differ from the others and the worth lies beyond half a step.",
    plain="worth of a cue in an area",
    detail=True,
)
LEAST_UNITS = 4
"""Pairs or rows of an area from which it has a figure."""
MOST = 50
"""Areas above which a column is taken for names."""
DEALS = 999


@dataclass(frozen=True)
class AreaTest:
    """Whether the worth of a cue is the same in all areas."""

    p: float
    """Of equality."""
    higher: tuple[str, ...]
    """Areas in which the cue is shown to be worth more than in the others."""
    lower: tuple[str, ...]
    most: str
    """The areas with the highest and the lowest figure."""
    least: str

    @property
    def details(self) -> dict[str, object]:
        """What the sentence on the cue says of areas."""
        return {
            "areas_p": self.p,
            "areas_higher": self.higher or (() if self.lower else (self.most,)),
            "areas_lower": self.lower or (() if self.higher else (self.least,)),
            "areas_shown": bool(self.higher or self.lower),
        }


@dataclass(frozen=True, eq=False)
class Areas:
    """Curves of clusters, and the area of each."""

    places: Floats
    """Worths at which the curves are known, upward at equal distances."""
    curves: Floats
    """Clusters × places."""
    area: Ints
    """Of each cluster, an index into `names`."""
    names: tuple[str, ...]

    @classmethod
    def of(cls, places: Floats, curves: Floats, area: Names) -> Areas | None:
        """None where there are not several areas, of which two have several clusters."""
        names, number = np.unique(area.astype(str), return_inverse=True)
        several = np.count_nonzero(np.bincount(number) > 1)
        if several < 2 or len(names) > MOST:
            return None
        return cls(places, curves, number.reshape(-1), tuple(names.tolist()))

    def sums(self, area: Ints) -> Floats:
        """The curve of each area under this deal, areas × places."""
        return np.asarray((area == np.arange(len(self.names))[:, None]).astype(np.float64) @ self.curves)

    def worth(self, name: str) -> float:
        """Where the curve of an area is highest."""
        return self.peak(self.sums(self.area)[self.names.index(name)])

    def peak(self, curve: Floats) -> float:
        """Where a curve is highest, on the parabola through the best place and its neighbours."""
        at = int(np.argmax(curve))
        if not 0 < at < len(curve) - 1:
            return float(self.places[at])
        before, here, after = curve[at - 1 : at + 2]
        bend = before - 2 * here + after
        part = 0.0 if bend >= -1e-12 else 0.5 * float((before - after) / bend)
        return float(self.places[at] + part * (self.places[1] - self.places[0]))

    def limits(self, name: str, allowed: float) -> tuple[float | None, float | None]:
        """Where twice the loss of an area's curve reaches the square of this; None for an open end."""
        curve = self.sums(self.area)[self.names.index(name)]
        loss, at = np.sqrt(2 * np.maximum(curve.max() - curve, 0.0)), int(np.argmax(curve))
        above, below = (np.flatnonzero(part >= allowed) for part in (loss[at:], loss[at::-1]))
        high = None if not len(above) else self._crossing(loss, at + int(above[0]), -1, allowed)
        low = None if not len(below) else self._crossing(loss, at - int(below[0]), 1, allowed)
        return low, high

    def _crossing(self, loss: Floats, outside: int, inward: int, allowed: float) -> float:
        inside = outside + inward
        part = (allowed - loss[inside]) / (loss[outside] - loss[inside])
        return float(self.places[inside] + part * (self.places[outside] - self.places[inside]))

    def gains(self, area: Ints) -> tuple[float, Floats, Floats]:
        """Under this deal: what a worth for each area gains over one for all, what each alone gains over one
        for all others, and by how much its worth exceeds theirs."""
        sums = self.sums(area)
        whole = sums.sum(axis=0)
        rest = whole - sums
        own, others, best = sums.max(axis=1), rest.max(axis=1), whole.max()
        apart = self.places[sums.argmax(axis=1)] - self.places[rest.argmax(axis=1)]
        return float(own.sum() - best), own + others - best, np.asarray(apart)

    def test(self, seed: int) -> AreaTest:
        """Equality of all areas, and the areas that are shown to differ from the others."""
        chance = np.random.default_rng(seed)
        seen, gain, apart = self.gains(self.area)
        deals = [self.gains(chance.permutation(self.area))[:2] for _ in range(DEALS)]
        p = (1 + sum(dealt >= seen - 1e-9 for dealt, _ in deals)) / (DEALS + 1)
        alone, shown, reached = np.array([each for _, each in deals]), [], 0.0
        order = np.argsort(-gain, kind="stable")
        for rank, one in enumerate(order.tolist()):
            largest = alone[:, order[rank:]].max(axis=1)
            reached = max(reached, (1 + np.count_nonzero(largest >= gain[one] - 1e-9)) / (DEALS + 1))
            if reached > ALPHA:
                break
            shown.append(one)
        sums = self.sums(self.area)
        peaks = [self.peak(curve) for curve in sums]
        higher, lower = (tuple(self.names[one] for one in shown if apart[one] * side > 0) for side in (1, -1))
        most, least = (self.names[int(place)] for place in (np.argmax(peaks), np.argmin(peaks)))
        return AreaTest(p, higher, lower, most, least)


def with_areas(worths: Sequence[Estimate], tests: Sequence[AreaTest | None]) -> list[Estimate]:
    """The worths, with the areas in which they differ where equality is refuted after Holm over the cues."""
    p_values = {str(place): test.p for place, test in enumerate(tests) if test is not None}
    adjusted = adjust_for_multiplicity(p_values)
    made = list(worths)
    for name, test in adjusted.items():
        found = tests[int(name)]
        if found is not None and test.is_significant:
            told = {**found.details, "areas_p": test.adjusted_p}
            row = made[int(name)]
            made[int(name)] = replace(row, details={**row.details, **told})
    return made


def with_area_words(worths: Sequence[Estimate], by_area: Sequence[Estimate], allowed: Span) -> list[Estimate]:
    """The worths in areas: a fault where the area is shown to differ and its worth lies beyond the limit.

    By value: with some five tasks to an area no interval that is corrected for their number would lie there.
    """
    low, high = allowed
    named = {
        (worth.group["cue"], area)
        for worth in worths
        if worth.details.get("areas_shown")
        for area in (*worth.details["areas_higher"], *worth.details["areas_lower"])
    }
    made = []
    for each in by_area:
        value, found = each.value or 0.0, each.interval
        if (each.group["cue"], each.group["stratum"]) in named and not low <= value <= high:
            ends = (None, None) if found is None else (found.low, found.high)
            span = (-inf if ends[0] is None else ends[0], inf if ends[1] is None else ends[1])
            each = decided_by(each, FLAGGED, agreeing(span, FLAGGED, value, allowed))
        made.append(each)
    return made
