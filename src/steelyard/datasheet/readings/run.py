"""Sentences over all probes of a judge: how far its accuracy moves, and what it costs."""

from __future__ import annotations

from steelyard.core.text import pluralize
from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, unanswered, worst
from steelyard.datasheet.readings.constant import says_nothing
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.words.glossary import probe_label, probe_title
from steelyard.datasheet.words.numbers import abstentions, defined, figure, times, value
from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, INCONCLUSIVE
from steelyard.metrics.run.cost import COST_PER_CALL
from steelyard.metrics.run.losses import UNEVEN
from steelyard.metrics.run.run_cost import COST_PER_POINT_MEAN, COST_PER_POINT_POOLED
from steelyard.metrics.scores.change import ACCURACY_CHANGE
from steelyard.probes.probe import EDITS
from steelyard.probes.probe_metadata import probes_in


def volatility(figures: Figures) -> Answer | None:
    """Accuracy from probe to probe, and how much of its spread sampling explains; nothing for one probe."""
    estimates = [
        figures.of_probe("volatility", f"accuracy_{name}", protocol="base")
        for name in ("mean", "min", "max", "sd", "sd_sampling")
    ]
    known = [estimate for estimate in estimates if defined(estimate)]
    if len(known) < len(estimates):
        return None
    if nothing := says_nothing(figures, "so its accuracy follows the labels of each probe"):
        return nothing
    mean, least, most, spread, sampling = known
    right = f"right in {figure(mean)} of calls in the mean over probes"
    changes = [figures.of_probe(probe, ACCURACY_CHANGE.id, protocol="base") for probe in probes_in(EDITS)]
    defined_changes = sorted(
        (change for change in changes if defined(change)), key=lambda change: change.value or 0.0
    )
    if defined_changes:
        ends = [
            f"{figure(change)} ({probe_label(change.probe)})"
            for change in (defined_changes[0], *defined_changes[1:][-1:])
        ]
        moved = f"against the same items unchanged accuracy changes by {' to '.join(ends)}"
        return "measured", f"{right}; {moved}"
    return "measured", (
        f"{right}, from {value(least)} ({_probe(least)}) to {value(most)} ({_probe(most)}); "
        f"spread {value(spread)}, where sampling alone would give {value(sampling)}"
    )


def cost(figures: Figures) -> Answer | None:
    """Dollars per call and per point; nothing for a judge that costs nothing."""
    call = figures.of_probe("cost", COST_PER_CALL.id, protocol="base")
    if call is None or call.value == 0:
        return None
    if not defined(call):
        return unanswered(call)
    mean = figures.of_probe("cost", COST_PER_POINT_MEAN.id, protocol="base")
    pooled = figures.of_probe("cost", COST_PER_POINT_POOLED.id, protocol="base")
    per_point = ""
    if defined(mean):
        per_point = f", {value(mean)} per point of accuracy in the mean over probes"
    elif defined(pooled):
        per_point = f", {value(pooled)} for all probes per point of their mean accuracy"
    return "measured", f"{value(call)} per call{per_point}"


def failures(figures: Figures) -> Answer | None:
    """Calls without a verdict; where there is none, however few were made, nothing is missing."""
    rates = [figures.find(metric) for metric in (UNREADABLE_RATE.id, FAILED_RATE.id)]
    known = [rate for rate in rates if rate is not None and rate.value is not None]
    if not known:
        return None
    if not any(rate.numerator for rate in known):
        sentence = f"each of {pluralize(known[0].n_calls, 'call')} ended in a verdict"
        return CLEAR, f"{sentence}{abstentions(known[0])}"
    word = worst(*(rate.finding or CLEAR for rate in known))
    parts = [f"{rate.metric.removesuffix('_rate')} {times(rate, 'call')}" for rate in known]
    declines = abstentions(known[0])
    needed = max(known, key=lambda rate: (rate.finding == INCONCLUSIVE, rate.calls_needed or 0))
    uneven = " and ".join(rate.metric.removesuffix("_rate") for rate in known if rate.reading == UNEVEN)
    depends = f"; {uneven} calls depend on what is shown, so the rest may mislead" if uneven else ""
    # Where one rate is flagged already, more calls are no remedy for it.
    more = more_calls(needed) if word == INCONCLUSIVE else ""
    return word, f"{', '.join(parts)}; none of them counts as a score{declines}{depends}{more}"


def _probe(estimate: Estimate) -> str:
    return probe_title(estimate.extreme_probe or "one probe").lower()
