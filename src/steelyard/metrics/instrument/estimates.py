"""The instrument model on the datasheet: parameters, fit, limit of detection, and what a protocol moves.

A parameter that runs to infinity is given as a one-sided bound, and one on which the answers set no limit
is undefined. Fits cost more than counting, so they are made for judges under test and not for baselines.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from steelyard.core.text import join_notes
from steelyard.metrics.estimate import (
    NO_CALLS,
    NO_VERDICTS,
    Estimate,
    EstimateContext,
    Interval,
    Reason,
    Sample,
)
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.instrument.derived import detection, ratio_estimate
from steelyard.metrics.instrument.fit import HIGHEST, LAPSE_BOUND, LOWEST, SURFACE_BOUND
from steelyard.metrics.instrument.likelihood import (
    LAPSE_RATE,
    NAMES,
    RESOLUTION,
    SURFACE_SENSITIVITY,
    of_fit,
    rows_of,
)
from steelyard.metrics.instrument.model import FITTED_FROM, REFUSED, InstrumentFit, fit_instrument, sandwich
from steelyard.metrics.instrument.profile import SPREAD_FROM
from steelyard.metrics.metric import ShownAs
from steelyard.metrics.pairs.columns import Pairs, collect, excluded
from steelyard.metrics.proportions import ONE_CLUSTER
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.verdicts.observations import Observations

GOODNESS_OF_FIT = of_fit(
    "goodness_of_fit",
    "misfit G²",
    "Distance of the 3×3 tables from the joint fit; its p says whether chance explains it.",
    plain="distance from the model",
    estimated=False,
)
FIT_PROBABILITY = of_fit(
    "fit_probability",
    "p of the fit",
    "Share of data sets drawn from the joint fit that lie as far off; at 0.01 or less it is not read.",
    plain="such misfit by chance",
    estimated=False,
)
LIMIT_OF_DETECTION = of_fit(
    "limit_of_detection",
    meaning="Quality step at which the judge names the better text in 95 % of calls, from the joint fit.",
    plain="step seen in 95 of 100 calls",
    shown_as=ShownAs.STEPS,
)

PROBE = "ladder"
INSTRUMENT = (*NAMES, GOODNESS_OF_FIT, FIT_PROBABILITY, LIMIT_OF_DETECTION)
CLUSTERED, PROFILE = "profile_cluster", "profile"
FEW_CLUSTERS = f"pairs taken as independent: fewer than {SPREAD_FROM} clusters"
ALIKE = "replicates all alike, counted once"
RUNS_AWAY = "the likelihood has no peak on this side: a one-sided bound"
NO_LIMIT = "{} pairs set no limit on it on either side"
TOO_LITTLE = Reason(
    "too_few_pairs",
    f"too little data: the joint fit needs {FITTED_FROM} pairs with both verdicts, some of equal quality and "
    "some a known step apart",
)
DOES_NOT_FIT = f"the model does not fit these answers (p ≤ {REFUSED:g}), so it is not read"
NOT_TESTED = "fit not tested"
_AT_BOUND = {
    SURFACE_SENSITIVITY: f"surface sensitivity held at its bound {SURFACE_BOUND:g}",
    LAPSE_RATE: f"lapse rate held at its bound {LAPSE_BOUND:g}",
}

_Fit = tuple[Pairs, InstrumentFit | None]


class ProtocolFits:
    """The fits of every protocol under which one judge was shown the ladder.

    They are fitted side by side, and beside whatever else is worked out until their figures are asked for:
    numpy leaves the interpreter to others while it works on long columns.
    """

    def __init__(self, judge: str, observations: Observations, seed: int) -> None:
        self.judge, self.seed = judge, seed
        ladder = observations.filter(PROBE)
        self.protocols = ladder.protocols_seen
        """Names of the protocols, base first."""
        threads = ThreadPoolExecutor(max(1, len(self.protocols)))
        self._fits = {
            name: self._submit(name, ladder.filter(protocol=name), threads) for name in self.protocols
        }
        threads.shutdown(wait=False)

    def context(self, protocol: str) -> EstimateContext:
        return EstimateContext.for_protocol(self.judge, PROBE, protocol, self.seed)

    def estimates(self, protocol: str) -> list[Estimate]:
        return protocol_estimates(self.context(protocol), *self._fits[protocol].result())

    def ratios(self, protocol: str) -> list[Estimate]:
        if protocol == "base" or "base" not in self.protocols:
            return []
        base, other = (self._fits[name].result()[1] for name in ("base", protocol))
        return [ratio_estimate(self.context(protocol), base, other)]

    def _submit(self, protocol: str, seen: Observations, threads: ThreadPoolExecutor) -> Future[_Fit]:
        """Start a fit; what goes wrong is raised to who asks for its result."""
        try:
            pairs = collect(seen)
        except Exception as error:
            failed: Future[_Fit] = Future()
            failed.set_exception(error)
            return failed
        seed = self.context(protocol).bootstrap_seed("instrument_model")
        return threads.submit(lambda: (pairs, fit_instrument(pairs, seed)))


def protocol_estimates(context: EstimateContext, pairs: Pairs, fit: InstrumentFit | None) -> list[Estimate]:
    missing = excluded(pairs)
    if fit is None:
        reason = TOO_LITTLE if len(rows_of(pairs)) else NO_VERDICTS if len(pairs) else NO_CALLS
        return [context.undefined(name, reason, "pair", missing) for name in INSTRUMENT]
    row = context.estimate(
        RESOLUTION, Sample(*fit.patterns.size, len(fit.patterns.by_cluster), missing), unit="pair", value=None
    )
    few = len(fit.clusters) < SPREAD_FROM
    single = ONE_CLUSTER if len(fit.clusters) == 1 else FEW_CLUSTERS if few else None
    scope = [NOT_TESTED if fit.test is None else None, ALIKE if fit.alike else None, single]
    if fit.refused:
        unread = replace(row, note=join_notes([DOES_NOT_FIT, *scope]))
        parameters = [replace(unread, metric=name.id) for name in NAMES]
        limit = replace(unread, metric=LIMIT_OF_DETECTION.id)
    else:
        at_end = fit.best.theta[0] >= HIGHEST - 1e-4
        remarks = [*(words for name, words in _AT_BOUND.items() if at_end[NAMES.index(name)]), *scope]
        method = PROFILE if few else CLUSTERED
        errors = sandwich(fit)
        known = enumerate(map(float, errors))
        parameters = [_parameter(row, fit, index, error, method, remarks) for index, error in known]
        limit = _limit_of_detection(row, fit, method, remarks)
    return [*parameters, *_goodness_of_fit(row, fit), limit]


def _parameter(
    row: Estimate, fit: InstrumentFit, index: int, error: float, method: str, remarks: list[str | None]
) -> Estimate:
    """Value and profile limits; a value that runs away is a bound with no other interval."""
    reach, row = fit.reach[index], replace(row, metric=NAMES[index].id)
    if reach.idle:
        return replace(row, note=join_notes([NO_LIMIT.format(row.n_units), *remarks]))
    first = Interval(method, reach.low, reach.high)
    if (reach.grows and reach.low is not None) or (reach.falls and reach.high is not None):
        up = reach.grows and reach.low is not None
        value, censored = (reach.low, "right") if up else (reach.high, "left")
        note = join_notes([RUNS_AWAY, *remarks])
        return replace(row, value=value, intervals=(first,), censored=censored, note=note)
    value, intervals = float(fit.theta[index]), [first]
    if method == CLUSTERED:
        intervals.append(Interval(PROFILE, *reach.independent))
        if error > 0:
            width = t_quantile(0.975, len(fit.clusters) - 1) * error
            low = value - width if LOWEST[index] < 0 else max(0.0, value - width)
            intervals.append(Interval("sandwich_cluster", float(low), float(value + width)))
    return replace(row, value=value, intervals=tuple(intervals), note=join_notes(remarks))


def _goodness_of_fit(row: Estimate, fit: InstrumentFit) -> list[Estimate]:
    """G² and its p; a small p is a fault of the model for this judge, a large one proves nothing."""
    test = fit.test
    if test is None:
        names = (GOODNESS_OF_FIT, FIT_PROBABILITY)
        return [replace(row, metric=name.id, note=NOT_TESTED) for name in names]
    row = replace(row, status=FLAGGED if fit.refused else None)
    refits = f"p {test.probability:.3f} from {test.refits} refits to data drawn from the model"
    as_far = f"data sets with a G² of {test.deviance:.2f} or more, the data themselves counted in"
    p = replace(row, metric=FIT_PROBABILITY.id, value=test.probability, note=as_far)
    return [
        replace(row, metric=GOODNESS_OF_FIT.id, value=test.deviance, note=refits),
        replace(p, numerator=test.as_far, denominator=test.refits + 1),
    ]


def _limit_of_detection(
    row: Estimate, fit: InstrumentFit, method: str, remarks: list[str | None]
) -> Estimate:
    """Beyond the last step it is not read off the model; a bound where the data set no lower limit."""
    found, last = detection(fit), float(fit.patterns.deltas[-1])
    row = replace(row, metric=LIMIT_OF_DETECTION.id)
    high = None if found.high is None or found.high > last else found.high
    if found.low is None and high is None:
        return replace(row, note=NO_LIMIT.format(row.n_units))
    if found.low is None:
        intervals, note = (Interval(method, None, high),), join_notes([RUNS_AWAY, *remarks])
        return replace(row, value=high, intervals=intervals, censored="left", note=note)
    value, censored = (last, "right") if found.value > last else (found.value, None)
    intervals = (Interval(method, min(found.low, last), high),)
    note = join_notes([f"read off the model up to step {last:g}", *remarks])
    return replace(row, value=value, intervals=intervals, censored=censored, note=note)
