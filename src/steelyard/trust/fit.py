"""`trust fit`: calibrates each judge's signal and threshold, to trust a verdict or escalate; or a refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.core.content_hash import seed_for
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.metrics.run.confidence import TELLS
from steelyard.metrics.stats.confidence import (
    STARTS,
    SURE,
    BrierParts,
    CurvePoint,
    Threshold,
    auroc,
    auroc_limits,
    brier,
    calibration_error,
    calibration_limits,
    fewest_labels,
    labels_to_show,
    one_per_cluster,
    risk_area,
    risk_curve,
    two_starts,
)
from steelyard.metrics.stats.intervals import Span
from steelyard.tasks.sources.table import is_number
from steelyard.trust.verdict_table import Signal, VerdictTable

CHOOSING = 1 / 3
"""Share of the labels on which a signal is chosen among several; the promise is tested on the others."""
PEOPLE = "people"


@dataclass(frozen=True)
class Promise:
    """Of accepted verdicts at most the share `error` is wrong, with this confidence."""

    error: float
    confidence: float
    only: str | None = None
    """Wrong is this answer alone, where people say another; None: every answer that differs from people's."""

    @property
    def failure(self) -> float:
        return 1 - self.confidence


class Missing(StrEnum):
    """What a promise that is refused lacks most."""

    LABELS = "labels"
    SIGNAL = "signal"
    JUDGE = "judge"


@dataclass(frozen=True)
class Refusal:
    missing: Missing
    labels: int | None
    """Labels, one per cluster, with which the promise may be shown; None where labels do not help."""


@dataclass(frozen=True)
class SignalQuality:
    """How well a signal tells right verdicts from wrong ones, on all labelled verdicts."""

    signal: str
    labels: int
    auroc: float | None
    auroc_limits: Span | None = None
    brier: BrierParts | None = None
    """None where the signal is no chance between 0 and 1."""
    calibration_error: float | None = None
    calibration_limits: Span | None = None
    sure_and_wrong: tuple[int, int] | None = None
    """Wrong verdicts stated as sure, of all wrong ones."""


@dataclass(frozen=True)
class Stage:
    """One judge of a cascade: what it accepts of what the former ones left."""

    judge: str
    signal: Signal
    threshold: Threshold | None
    left: int
    """Labelled units that reached it, on which the promise was tested."""
    reached: int
    """All verdicts that reached it."""
    accepted: int


@dataclass(frozen=True)
class Route:
    """Judges in a row, then people: what each is asked, and what that costs."""

    judges: tuple[str, ...]
    shares: tuple[float, ...]
    """Share of the verdicts that each judge is asked for; the last one is people's."""
    dollars: float | None

    @property
    def accepted(self) -> float:
        return 1 - self.shares[-1]


@dataclass(frozen=True, eq=False)
class TrustFit:
    promise: Promise
    stages: tuple[Stage, ...]
    table: VerdictTable
    chosen_on: int
    """Units on which signals were chosen; none of them counts for the promise."""
    testing: Ints
    """Rows that test the promise, one of each cluster."""
    routes: tuple[Route, ...]
    seed: int
    accepted: Mask = field(repr=False)
    wrong: Mask = field(repr=False)
    """Of the accepted and labelled rows, all of each cluster."""

    @property
    def share(self) -> float:
        return float(self.accepted.mean())

    @property
    def units(self) -> int:
        """Labelled clusters."""
        return self.chosen_on + len(self.testing)

    @cached_property
    def quality(self) -> dict[str, list[SignalQuality]]:
        """All signals of each judge."""
        judges = self.table.judges.items()
        return {
            name: [self._quality(name, each) for each in judge.signals.values()] for name, judge in judges
        }

    @cached_property
    def curves(self) -> dict[str, list[CurvePoint]]:
        """Of each judge alone, by the signal that was chosen."""
        made = {}
        for stage in self.stages:
            values, wrong = usable(self.table, stage.judge, stage.signal), self._wrong(stage.judge)
            made[stage.judge] = risk_curve(values[self.testing], wrong[self.testing], self.promise.failure)
        return made

    def _wrong(self, judge: str) -> Mask:
        return self.table.wrong(judge, self.promise.only)

    def _quality(self, judge: str, signal: Signal) -> SignalQuality:
        values = usable(self.table, judge, signal)
        rows = np.flatnonzero(self.table.labelled & ~np.isnan(values))
        stated, right, clusters = values[rows], ~self._wrong(judge)[rows], self.table.clusters[rows]
        area = auroc(stated, right) if len(rows) else None
        made = SignalQuality(signal.name, len(rows), area)
        if area is None:
            return made
        made = replace(made, auroc_limits=auroc_limits(stated, right, clusters))
        if not signal.is_chance:
            return made
        return replace(
            made,
            brier=brier(stated, right),
            calibration_error=calibration_error(stated, right),
            calibration_limits=calibration_limits(stated, right, clusters, self.seed),
            sure_and_wrong=(int((~right & (stated >= SURE)).sum()), int((~right).sum())),
        )

    @cached_property
    def refusal(self) -> Refusal | None:
        """What is missing, by the judge that comes nearest to the promise; None where the promise is made."""
        if self.accepted.any():
            return None
        promise, tested = self.promise, len(self.testing)
        error = promise.failure / len(self.stages)
        fewest = fewest_labels(promise.error, error)
        known = {judge: points for judge, points in self.curves.items() if points}
        if tested < fewest:
            return Refusal(Missing.LABELS, fewest)
        if not known:
            return Refusal(Missing.SIGNAL, None)
        best = min(known, key=lambda judge: min(point.value for point in known[judge]))
        sure = [point for point in known[best] if point.share <= STARTS[-1]] or known[best][:1]
        needed = labels_to_show(min(point.value for point in sure), promise.error, error)
        if needed is not None:
            return Refusal(Missing.LABELS, max(needed, tested + tested // 2))
        area = max(each.auroc or 0.5 for each in self.quality[best])
        return Refusal(Missing.SIGNAL if area < TELLS else Missing.JUDGE, None)


def fit(
    table: VerdictTable, promise: Promise, prices: Mapping[str, float] | None = None, seed: int = 7
) -> TrustFit:
    """Thresholds for the judges of the table, in their order."""
    choosing, testing = _parts(table, _labelled_units(table, seed), seed)
    stages, accepted, wrong = _cascade(table, promise, list(table.judges), choosing, testing)
    routes = [_route(table, stages, prices)]
    if len(stages) > 1:
        alone = [_cascade(table, promise, [judge], choosing, testing)[0] for judge in table.judges]
        routes += [_route(table, each, prices) for each in alone]
    return TrustFit(promise, stages, table, len(choosing), testing, tuple(routes), seed, accepted, wrong)


def _labelled_units(table: VerdictTable, seed: int) -> Ints:
    labelled = np.flatnonzero(table.labelled)
    if not len(labelled):
        raise DataError(
            f"{table.name}: no label found, expected people's answers on some rows; label some, or name "
            "their column with --people."
        )
    return np.asarray(labelled[one_per_cluster(table.clusters[labelled], seed)])


def _parts(table: VerdictTable, rows: Ints, seed: int) -> tuple[Ints, Ints]:
    """Units for choosing signals, none where there is nothing to choose, and units for the promise."""
    if all(len(judge.signals) == 1 for judge in table.judges.values()):
        return rows[:0], rows
    order = np.random.default_rng(seed_for(seed, "parts")).permutation(len(rows))
    first = round(CHOOSING * len(rows))
    return rows[np.sort(order[:first])], rows[np.sort(order[first:])]


def _cascade(
    table: VerdictTable, promise: Promise, judges: Sequence[str], choosing: Ints, testing: Ints
) -> tuple[tuple[Stage, ...], Mask, Mask]:
    """Each judge is calibrated on what the former ones left, at its share of the promise's failure."""
    error = promise.failure / len(judges)
    accepted, wrong_accepted = np.zeros((2, len(table.items)), dtype=np.bool_)
    stages = []
    for judge in judges:
        wrong, left = table.wrong(judge, promise.only), ~accepted
        signal = _chosen_signal(table, judge, choosing[left[choosing]], wrong)
        values = usable(table, judge, signal)
        units = testing[left[testing]]
        threshold = two_starts(values[units], wrong[units], promise.error, error) if len(units) else None
        here = left & (values >= threshold.value) if threshold is not None else np.zeros_like(accepted)
        stages.append(Stage(judge, signal, threshold, len(units), int(left.sum()), int(here.sum())))
        accepted |= here
        wrong_accepted |= here & wrong & table.labelled
    return tuple(stages), accepted, wrong_accepted


def usable(table: VerdictTable, judge: str, signal: Signal) -> Floats:
    """The signal where there is an answer; without one nothing can be accepted."""
    return np.where(table.judges[judge].answered, signal.values, np.nan)


def _chosen_signal(table: VerdictTable, judge: str, rows: Ints, wrong: Mask) -> Signal:
    """The signal under which wrong verdicts come last, by the area under error and share accepted."""
    signals = list(table.judges[judge].signals.values())
    if len(signals) == 1:
        return signals[0]
    areas = [risk_area(usable(table, judge, each)[rows], wrong[rows]) for each in signals]
    return signals[int(np.argmin(areas))]


def _route(table: VerdictTable, stages: Sequence[Stage], prices: Mapping[str, float] | None) -> Route:
    """A judge without a threshold accepts nothing, and need not be asked."""
    asked = [stage for stage in stages if stage.threshold is not None]
    size = len(table.items)
    shares = [stage.reached / size for stage in asked]
    people = (asked[-1].reached - asked[-1].accepted) / size if asked else 1.0
    shares.append(people)
    names = [stage.judge for stage in asked]
    cost = None
    if prices is not None and {*names, PEOPLE} <= prices.keys():
        cost = sum(prices[name] * share for name, share in zip([*names, PEOPLE], shares, strict=True))
    return Route(tuple(stage.judge for stage in stages), tuple(shares), cost)


def parse_prices(given: Sequence[str], judges: Sequence[str]) -> dict[str, float]:
    prices: dict[str, float] = {}
    for text in given:
        name, sign, number = text.rpartition("=")
        price = float(number) if is_number(number) else -1.0
        if not sign or price < 0 or name not in (*judges, PEOPLE):
            raise ConfigError(
                f"--price: found {text!r}, expected {', '.join((*judges, PEOPLE))}, an equals sign and "
                f"dollars of 1,000 verdicts, as in --price {judges[0]}=0.5; correct it."
            )
        if name in prices:
            raise ConfigError(f"--price: {name!r} is priced twice; leave one out.")
        prices[name] = price
    absent = [name for name in (*judges, PEOPLE) if name not in prices]
    if prices and absent:
        raise ConfigError(
            f"--price: none found for {', '.join(absent)}, expected one of each of "
            f"{pluralize(len(judges), 'judge')} and of people; add it, 0 where it is free."
        )
    return prices
