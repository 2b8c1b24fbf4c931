"""What the installed probes say of themselves: titles, sections, metrics; and the metrics of no probe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from steelyard.metrics.comparison.against_baselines import METRICS as OF_GAINS
from steelyard.metrics.comparison.unit_events import MEAN_VERDICT
from steelyard.metrics.instrument.derived import RESOLUTION_RATIO
from steelyard.metrics.instrument.estimates import INSTRUMENT
from steelyard.metrics.juries import ERROR_METRICS as OF_JURY_ERRORS
from steelyard.metrics.juries import METRICS as OF_JURIES
from steelyard.metrics.metric import Metric
from steelyard.metrics.panel_metrics import ERROR_CORRELATION
from steelyard.metrics.panel_metrics import METRICS as OVER_JUDGES
from steelyard.metrics.proportions import ABSTENTION_RATE, CONTRADICTION_RATE, MERIT
from steelyard.metrics.remedies.mitigations import COST_PER_VERDICT
from steelyard.metrics.remedies.targets import HALF_TIES
from steelyard.metrics.run.agent_runs import METRICS as OF_AGENTS
from steelyard.metrics.run.confidence import METRICS as OF_CONFIDENCE
from steelyard.metrics.run.cost import PER_PROBE as OF_COST
from steelyard.metrics.run.cost import RUN_METRICS as OF_RUN_COST
from steelyard.metrics.run.losses import METRICS as OF_LOSSES
from steelyard.metrics.run.strata import AREA_MERIT
from steelyard.metrics.run.strata import METRICS as OF_STRATA
from steelyard.metrics.run.volatility import METRICS as OF_VOLATILITY
from steelyard.metrics.scores.probe import METRICS as OF_SCORES
from steelyard.metrics.scores.probe import OF_UNCHANGED
from steelyard.probes.probe import EDITS, PROBES, Probe
from steelyard.stimuli.original import ORIGINAL

NON_PROBE_METRICS: tuple[Metric, ...] = (
    *(*INSTRUMENT, RESOLUTION_RATIO),
    *(MERIT, MEAN_VERDICT, AREA_MERIT, *OF_UNCHANGED, *OF_GAINS, *OF_STRATA, *OF_AGENTS),
    *(*OF_LOSSES, ABSTENTION_RATE, CONTRADICTION_RATE, *OF_CONFIDENCE),
    *(*OF_COST, *OF_RUN_COST, COST_PER_VERDICT, HALF_TIES, *OF_VOLATILITY),
    *(*OVER_JUDGES, *OF_JURIES, *OF_JURY_ERRORS, ERROR_CORRELATION),
)


@cache
def installed_probes() -> Mapping[str, Callable[..., Probe]]:
    """Names to probes in reading order, plug-ins last; one that can not be imported is left out."""
    factories: dict[str, Callable[..., Probe]] = {}
    for name in PROBES.in_order():
        try:
            factories[name] = PROBES.factory(name)
        except Exception:
            # A broken plug-in is told where it is asked for; a report of other probes stands without it.
            continue
    return factories


def title_of(name: str) -> str:
    return getattr(installed_probes().get(name), "title", "") or name.replace("_", " ").capitalize()


def section_of(name: str) -> str:
    """The shared section of a probe's figures, `EDITS` or `REPEATS`; empty where it has its own."""
    return getattr(installed_probes().get(name), "section", "") or ""


def is_reported_whole(name: str) -> bool:
    """True for a probe in a shared section all of whose figures a short report keeps as well."""
    return bool(getattr(installed_probes().get(name), "whole", False))


def probes_in(section: str) -> tuple[str, ...]:
    return tuple(name for name in installed_probes() if section_of(name) == section)


def label_keeping_probes() -> tuple[str, ...]:
    return tuple(name for name in probes_in(EDITS) if getattr(installed_probes()[name], "keeps_label", True))


def label_changing_probes() -> tuple[str, ...]:
    return tuple(name for name in probes_in(EDITS) if name not in label_keeping_probes())


def probe_metrics() -> tuple[Metric, ...]:
    """Every metric that a probe declares, in reading order; where two share an id, the first counts."""
    metrics: dict[str, Metric] = {}
    for probe in installed_probes().values():
        for metric in getattr(probe, "metrics", ()):
            if isinstance(metric, Metric):
                metrics.setdefault(metric.id, metric)
    return tuple(metrics.values())


def metrics_of(name: str) -> Sequence[Metric]:
    """What a probe declares; items as they are have their own, probes not installed those of edits."""
    if name == ORIGINAL:
        return OF_UNCHANGED
    probe = installed_probes().get(name)
    return OF_SCORES if probe is None else getattr(probe, "metrics", ())


def reading_order() -> tuple[str, ...]:
    names = list(installed_probes())
    first = next((place for place, name in enumerate(names) if section_of(name)), len(names))
    return (*names[:first], ORIGINAL, *names[first:])
