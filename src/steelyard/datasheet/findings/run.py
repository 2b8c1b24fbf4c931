"""Findings over a whole run: volatility, cost, failures, and runs of agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steelyard.core.text import pluralize
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.answer import Answer, constant_answer, undefined_answer, worst
from steelyard.datasheet.findings.more_data import more_calls
from steelyard.datasheet.words.glossary import metric_named, probe_label, probe_title
from steelyard.datasheet.words.numbers import abstentions, defined, figure, times, value
from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.run.agent_runs import FALSE_ALARMS, MISSED_FAILURES, PROBE, THIRDS
from steelyard.metrics.run.cost import COST_PER_CALL, COST_PER_POINT_MEAN, COST_PER_POINT_POOLED
from steelyard.metrics.run.losses import UNEVEN
from steelyard.metrics.scores.probe import ACCURACY_CHANGE
from steelyard.probes.probe import EDITS
from steelyard.probes.probe_metadata import probes_in
from steelyard.stimuli.original import ORIGINAL


def volatility(figures: JudgeEstimates) -> Answer | None:
    """Accuracy from probe to probe, and how much of its spread sampling explains; nothing for one probe."""
    estimates = [
        figures.of_probe("volatility", f"accuracy_{name}", protocol="base")
        for name in ("mean", "min", "max", "sd", "sd_sampling")
    ]
    known = [estimate for estimate in estimates if defined(estimate)]
    if len(known) < len(estimates):
        return None
    if nothing := constant_answer(figures, "so its accuracy follows the labels of each probe"):
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


def cost(figures: JudgeEstimates) -> Answer | None:
    """Dollars per call and per point; nothing for a judge that costs nothing."""
    call = figures.of_probe("cost", COST_PER_CALL.id, protocol="base")
    if call is None or call.value == 0:
        return None
    if not defined(call):
        return undefined_answer(call)
    mean = figures.of_probe("cost", COST_PER_POINT_MEAN.id, protocol="base")
    pooled = figures.of_probe("cost", COST_PER_POINT_POOLED.id, protocol="base")
    per_point = ""
    if defined(mean):
        per_point = f", {value(mean)} per point of accuracy in the mean over probes"
    elif defined(pooled):
        per_point = f", {value(pooled)} for all probes per point of their mean accuracy"
    return "measured", f"{value(call)} per call{per_point}"


def failures(figures: JudgeEstimates) -> Answer | None:
    """Calls without a verdict; where there is none, however few were made, nothing is missing."""
    rates = [figures.find(metric) for metric in (UNREADABLE_RATE.id, FAILED_RATE.id)]
    known = [rate for rate in rates if rate is not None and rate.value is not None]
    if not known:
        return None
    if not any(rate.numerator for rate in known):
        sentence = f"each of {pluralize(known[0].n_calls, 'call')} ended in a verdict"
        return CLEAR, f"{sentence}{abstentions(known[0])}"
    word = worst(*(rate.status or CLEAR for rate in known))
    parts = lost_calls(known)
    declines = abstentions(known[0])
    needed = max(known, key=lambda rate: (rate.status == INCONCLUSIVE, rate.calls_needed or 0))
    uneven = " and ".join(rate.metric.removesuffix("_rate") for rate in known if rate.reading == UNEVEN)
    depends = f"; {uneven} calls depend on what is shown, so the rest may mislead" if uneven else ""
    # Where one rate is flagged already, more calls are no remedy for it.
    more = more_calls(needed) if word == INCONCLUSIVE else ""
    return word, f"{', '.join(parts)}; such a call is never a score{declines}{depends}{more}"


def lost_calls(rates: Iterable[Estimate | None]) -> list[str]:
    words = {UNREADABLE_RATE.id: "no readable reply", FAILED_RATE.id: "no reply at all"}
    return [f"{words[rate.metric]} in {times(rate, 'call')}" for rate in rates if rate and rate.numerator]


def _probe(estimate: Estimate) -> str:
    return probe_title(estimate.extreme_probe or "one probe").lower()


WORST = 3


def runs(figures: JudgeEstimates) -> Answer | None:
    """Whether it fails runs that should fail and passes those that should pass; nothing without runs."""
    missed, alarms = (
        figures.of_probe(PROBE, metric.id, protocol="base") for metric in (MISSED_FAILURES, FALSE_ALARMS)
    )
    asked = [rate for rate in (missed, alarms) if defined(rate)]
    if not asked:
        return undefined_answer(missed)
    words = [rate.status or INCONCLUSIVE for rate in asked]
    parts = [*_rates(missed, alarms), *_edits(figures), *_places(figures)]
    return min(words, key=(FLAGGED, INCONCLUSIVE, CLEAR).index), "; ".join(parts)


def _rates(missed: Estimate | None, alarms: Estimate | None) -> Iterator[str]:
    if defined(missed):
        yield f"passes {times(missed, 'call')} on runs that should fail, {_rate_and_limit(missed)}"
    if defined(alarms):
        yield f"fails {times(alarms, 'call')} on runs that should pass, {_rate_and_limit(alarms)}"


def _rate_and_limit(rate: Estimate) -> str:
    limit = metric_named(rate.metric).limit
    return f"{figure(rate)}{f', limit {limit.value:g}' if limit else ''}{more_calls(rate)}"


def _edits(figures: JudgeEstimates) -> Iterator[str]:
    """Edits after which most calls pass a run that should fail."""
    by_edit = [
        estimate
        for estimate in figures.every.of(figures.judge, MISSED_FAILURES.id)
        if estimate.group.get("edit", ORIGINAL) != ORIGINAL and defined(estimate) and estimate.numerator
    ]
    worst = sorted(by_edit, key=lambda e: (-(e.value or 0.0), str(e.group["edit"])))[:WORST]
    if worst:
        named = (f"{probe_label(str(e.group['edit']))} ({e.numerator} of {e.denominator})" for e in worst)
        yield f"most often passed after: {', '.join(named)}"


def _places(figures: JudgeEstimates) -> Iterator[str]:
    """Missed failures by where the run was edited, where they are known of more than one place."""
    by_place = {
        name: figures.of_probe(PROBE, MISSED_FAILURES.id, protocol="base", place=name) for name in THIRDS
    }
    known = {name: estimate for name, estimate in by_place.items() if defined(estimate)}
    if len(known) > 1:
        told = (f"{name} {e.numerator} of {e.denominator}" for name, e in known.items())
        yield f"passed by place of the edit: {', '.join(told)}"
