"""The instrument model on the datasheet: parameters, fit, limit of detection, and what a protocol moves.

A parameter that runs to infinity is given as a one-sided bound, and one on which the answers set no limit
is undefined. Fits cost more than counting, so they are made for judges under test and not for baselines.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from steelyard.metrics.basis import FITTED
from steelyard.metrics.estimate import Estimate, Interval, Reason
from steelyard.metrics.estimate_context import NO_CALLS, NO_VERDICTS, EstimateContext
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.instrument.detection import detection
from steelyard.metrics.instrument.fit import HIGHEST, LAPSE_BOUND, LOWEST, SURFACE_BOUND
from steelyard.metrics.instrument.likelihood import LAPSE_RATE, NAMES, SURFACE_SENSITIVITY
from steelyard.metrics.instrument.model import FITTED_FROM, REFUSED, InstrumentFit, fit_instrument, sandwich
from steelyard.metrics.instrument.patterns import rows_of
from steelyard.metrics.instrument.profile import SPREAD_FROM
from steelyard.metrics.instrument.resolution_ratio import ratio_estimate
from steelyard.metrics.metric import Metric, ShownAs
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.pairs.counting import excluded
from steelyard.metrics.proportions import ONE_CLUSTER, join
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.verdicts.observations import Observations

GOODNESS_OF_FIT = Metric(
    "goodness_of_fit",
    "misfit G²",
    "Distance of the 3×3 tables from the joint fit; its p says whether chance explains it.",
    plain="distance from the model",
    estimated=False,
    basis=FITTED,
)
FIT_PROBABILITY = Metric(
    "fit_probability",
    "p of the fit",
    "Share of data sets drawn from the joint fit that lie as far off; at 0.01 or less it is not read.",
    plain="such misfit by chance",
    estimated=False,
    basis=FITTED,
)
LIMIT_OF_DETECTION = Metric(
    "limit_of_detection",
    "limit of detection",
    "Quality step at which the judge names the better text in 95 % of calls, from the joint fit.",
    plain="step seen in 95 of 100 calls",
    shown_as=ShownAs.STEPS,
    basis=FITTED,
)

PROBE = "ladder"
INSTRUMENT = (*NAMES, GOODNESS_OF_FIT, FIT_PROBABILITY, LIMIT_OF_DETECTION)
"""Metrics of one protocol, in reading order."""
CLUSTERED, PROFILE, SANDWICH = "profile_cluster", "profile", "sandwich_cluster"
FEW_CLUSTERS = f"pairs taken as independent: fewer than {SPREAD_FROM} clusters"
RUNS_AWAY = "the likelihood has no peak on this side: a one-sided bound"
NO_LIMIT = "{} pairs set no limit on it on either side"
TOO_LITTLE = Reason(
    "too_few_pairs",
    f"too little data: the joint fit needs {FITTED_FROM} pairs with both verdicts, some of equal quality and "
    "some a known step apart",
)
DOES_NOT_FIT = f"the model does not fit these answers (p ≤ {REFUSED:g}), so it is not read"
NOT_TESTED = "fit not tested"
ALIKE = "replicates all alike, counted once"
_HELD = {
    SURFACE_SENSITIVITY: f"surface sensitivity held at its bound {SURFACE_BOUND:g}",
    LAPSE_RATE: f"lapse rate held at its bound {LAPSE_BOUND:g}",
}


_Fitted = tuple[Pairs, InstrumentFit | None]


class Arms:
    """Every protocol under which one judge was shown the ladder.

    They are fitted side by side, and beside whatever else is worked out until their figures are asked for:
    numpy leaves the interpreter to others while it works on long columns.
    """

    def __init__(self, judge: str, observations: Observations, seed: int) -> None:
        """The fits begin at once."""
        self.judge, self.seed = judge, seed
        self.shown = observations.filter(PROBE)
        self.protocols = self.shown.protocols_seen
        """Names of the protocols, base first."""
        threads = ThreadPoolExecutor(max(1, len(self.protocols)))
        self._fits = {name: self._begun(name, threads) for name in self.protocols}
        threads.shutdown(wait=False)

    def context(self, protocol: str) -> EstimateContext:
        """What the figures of a protocol are about."""
        return EstimateContext.for_protocol(self.judge, PROBE, protocol, self.seed)

    def estimates(self, protocol: str) -> list[Estimate]:
        """The figures of one protocol."""
        return arm_estimates(self.context(protocol), *self._fitted(protocol))

    def ratios(self, protocol: str) -> list[Estimate]:
        """The resolution under a protocol against that under base; nothing for base itself."""
        if protocol == "base" or "base" not in self.protocols:
            return []
        base, other = (self._fitted(name)[1] for name in ("base", protocol))
        return [ratio_estimate(self.context(protocol), base, other)]

    def _begun(self, protocol: str, threads: ThreadPoolExecutor) -> Future[_Fitted]:
        """The fit of a protocol, on its way; what goes wrong is raised to who asks for it."""
        try:
            pairs = collect(self.shown.filter(protocol=protocol))
        except Exception as error:
            failed: Future[_Fitted] = Future()
            failed.set_exception(error)
            return failed
        seed = self.context(protocol).bootstrap_seed("instrument_model")
        return threads.submit(lambda: (pairs, fit_instrument(pairs, seed)))

    def _fitted(self, protocol: str) -> _Fitted:
        return self._fits[protocol].result()


def arm_estimates(context: EstimateContext, pairs: Pairs, fit: InstrumentFit | None) -> list[Estimate]:
    """The figures of one protocol, or for each the reason why there is none."""
    missing = excluded(pairs)
    if fit is None:
        reason = TOO_LITTLE if len(rows_of(pairs)) else NO_VERDICTS if len(pairs) else NO_CALLS
        return [context.undefined(name, reason, "pair", missing) for name in INSTRUMENT]
    return _Arm(context, fit, missing).estimates()


class _Arm:
    """The estimates of one fit."""

    def __init__(self, context: EstimateContext, found: InstrumentFit, missing: dict[str, int]) -> None:
        self.context, self.found, self.missing = context, found, missing
        self.pairs = int(found.patterns.weights.sum())

    def estimates(self) -> list[Estimate]:
        """Parameters, then fit, then limit of detection."""
        if self.found.refused:
            names = (*NAMES, LIMIT_OF_DETECTION)
            rows = [self._row(name, value=None, note=join([DOES_NOT_FIT, *self._scope()])) for name in names]
            return [*rows[:-1], *self._fit(), rows[-1]]
        errors = sandwich(self.found)
        parameters = [self._parameter(index, float(errors[index])) for index in range(len(NAMES))]
        return [*parameters, *self._fit(), self._detection()]

    def _row(
        self,
        metric: Metric,
        value: float | None,
        note: str | None,
        *,
        intervals: tuple[Interval, ...] = (),
        censored: str | None = None,
        status: str | None = None,
        counts: tuple[int, int] | None = None,
    ) -> Estimate:
        events, trials = counts or (None, None)
        return self.context.estimate(
            metric,
            unit="pair",
            value=value,
            numerator=events,
            denominator=trials,
            intervals=intervals,
            n_calls=int(self.found.patterns.weights @ self.found.patterns.counts.sum(axis=1)),
            n_units=self.pairs,
            n_clusters=len(self.found.patterns.by_cluster),
            excluded=self.missing,
            censored=censored,
            status=status,
            note=note,
        )

    def _parameter(self, index: int, error: float) -> Estimate:
        value, censored, remark = self._value(index)
        return self._row(
            NAMES[index],
            value=value,
            intervals=() if value is None else self._intervals(index, error, censored),
            censored=censored,
            note=join([remark, *self._held(), *self._scope()]),
        )

    def _value(self, index: int) -> tuple[float | None, str | None, str | None]:
        """Value, censoring and the reason for either."""
        reach = self.found.reach[index]
        if reach.idle:
            return None, None, NO_LIMIT.format(self.pairs)
        if reach.grows and reach.low is not None:
            return reach.low, "right", RUNS_AWAY
        if reach.falls and reach.high is not None:
            return reach.high, "left", RUNS_AWAY
        return float(self.found.theta[index]), None, None

    def _intervals(self, index: int, error: float, censored: str | None) -> tuple[Interval, ...]:
        """Recommended first; a bound has no other."""
        reach = self.found.reach[index]
        first = Interval(self._method, reach.low, reach.high)
        if censored or self._method == PROFILE:
            return (first,)
        both = (first, Interval(PROFILE, *reach.independent))
        if not error > 0:
            return both
        width = t_quantile(0.975, len(self.found.clusters) - 1) * error
        value = float(self.found.theta[index])
        low = value - width if LOWEST[index] < 0 else max(0.0, value - width)
        return (*both, Interval(SANDWICH, float(low), float(value + width)))

    @property
    def _method(self) -> str:
        return PROFILE if len(self.found.clusters) < SPREAD_FROM else CLUSTERED

    def _held(self) -> list[str]:
        at_end = self.found.best.theta[0] >= HIGHEST - 1e-4
        return [words for name, words in _HELD.items() if at_end[NAMES.index(name)]]

    def _scope(self) -> list[str]:
        return [
            *([NOT_TESTED] if self.found.test is None else []),
            *([ALIKE] if self.found.alike else []),
            *([ONE_CLUSTER] if len(self.found.clusters) == 1 else []),
            *([FEW_CLUSTERS] if 1 < len(self.found.clusters) < SPREAD_FROM else []),
        ]

    def _fit(self) -> list[Estimate]:
        """G² and its p; a small p is a fault of the model for this judge, a large one proves nothing."""
        test = self.found.test
        if test is None:
            return [
                self._row(name, value=None, note=NOT_TESTED) for name in (GOODNESS_OF_FIT, FIT_PROBABILITY)
            ]
        status = FLAGGED if self.found.refused else None
        remark = f"p {test.probability:.3f} from {test.refits} refits to data drawn from the model"
        return [
            self._row(GOODNESS_OF_FIT, value=test.deviance, status=status, note=remark),
            self._row(
                FIT_PROBABILITY,
                value=test.probability,
                counts=(test.as_far, test.refits + 1),
                status=status,
                note=f"data sets with a G² of {test.deviance:.2f} or more, the data themselves counted in",
            ),
        ]

    def _detection(self) -> Estimate:
        """The limit of detection; beyond the last step it is not read off the model."""
        found, last = detection(self.found), float(self.found.patterns.deltas[-1])
        low = None if found.low is None else min(found.low, last)
        high = None if found.high is None or found.high > last else found.high
        value, censored = (last, "right") if found.value > last else (found.value, None)
        if low is None:
            return self._one_sided(high)
        return self._row(
            LIMIT_OF_DETECTION,
            value=value,
            intervals=(Interval(self._method, low, high),),
            censored=censored,
            note=join([f"read off the model up to step {last:g}", *self._held(), *self._scope()]),
        )

    def _one_sided(self, high: float | None) -> Estimate:
        """A limit of detection that the data do not bound from below."""
        if high is None:
            return self._row(LIMIT_OF_DETECTION, value=None, note=NO_LIMIT.format(self.pairs))
        intervals, note = (
            (Interval(self._method, None, high),),
            join([RUNS_AWAY, *self._held(), *self._scope()]),
        )
        return self._row(LIMIT_OF_DETECTION, value=high, intervals=intervals, censored="left", note=note)
