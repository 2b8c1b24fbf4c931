"""What a judge of agents lets pass, what it fails for nothing, and where it does not look."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, unanswered
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.words.glossary import metric_named, probe_label
from steelyard.datasheet.words.numbers import defined, figure, times
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.run.agent_runs import FALSE_ALARMS, MISSED_FAILURES, PROBE, THIRDS
from steelyard.stimuli.original import ORIGINAL

WORST = 3
"""Edits that a sentence names."""


def runs(figures: Figures) -> Answer | None:
    """Whether it fails runs that should fail and passes those that should pass; nothing without runs."""
    missed, alarms = (
        figures.of_probe(PROBE, metric.id, protocol="base") for metric in (MISSED_FAILURES, FALSE_ALARMS)
    )
    asked = [rate for rate in (missed, alarms) if defined(rate)]
    if not asked:
        return unanswered(missed)
    words = [rate.finding or INCONCLUSIVE for rate in asked]
    parts = [*_rates(missed, alarms), *_edits(figures), *_places(figures)]
    return min(words, key=(FLAGGED, INCONCLUSIVE, CLEAR).index), "; ".join(parts)


def _rates(missed: Estimate | None, alarms: Estimate | None) -> Iterator[str]:
    if defined(missed):
        yield f"passes {times(missed, 'call')} on runs that should fail, {_held(missed)}"
    if defined(alarms):
        yield f"fails {times(alarms, 'call')} on runs that should pass, {_held(alarms)}"


def _held(rate: Estimate) -> str:
    """A rate with its limit, and how much more data would decide it."""
    limit = metric_named(rate.metric).limit
    return f"{figure(rate)}{f', limit {limit.value:g}' if limit else ''}{more_calls(rate)}"


def _edits(figures: Figures) -> Iterator[str]:
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


def _places(figures: Figures) -> Iterator[str]:
    """Missed failures by where the run was edited, where they are known of more than one place."""
    by_place = {
        name: figures.of_probe(PROBE, MISSED_FAILURES.id, protocol="base", place=name) for name in THIRDS
    }
    known = {name: estimate for name, estimate in by_place.items() if defined(estimate)}
    if len(known) > 1:
        told = (f"{name} {e.numerator} of {e.denominator}" for name, e in known.items())
        yield f"passed by place of the edit: {', '.join(told)}"
