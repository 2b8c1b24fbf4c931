"""Steelyard: a metrology laboratory for LLM judges.

>>> import steelyard
>>> sheet = steelyard.measure("planted/coin", profile="quick")
>>> sheet.find("planted/coin", "dark_current", protocol="base").value
1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.api import compare, gate, load, measure, plan, remedied, report, trusted
    from steelyard.datasheet.datasheet import Datasheet
    from steelyard.errors import SteelyardError, Unreadable
    from steelyard.inspect_logs.export import inspect_scorer
    from steelyard.metrics.estimate import Estimate, Interval
    from steelyard.probes.probe import Design, Probe, Showing
    from steelyard.providers.provider import Provider
    from steelyard.runner.limits import RunLimits
    from steelyard.stimuli.stimulus import Stimulus
    from steelyard.trials.judge import Judge, Reply
    from steelyard.trust.trusted import Escalate
    from steelyard.verdicts.observations import Observation, Observations

__all__ = [
    "Datasheet",
    "Design",
    "Escalate",
    "Estimate",
    "Interval",
    "Judge",
    "Observation",
    "Observations",
    "Probe",
    "Provider",
    "Reply",
    "RunLimits",
    "Showing",
    "SteelyardError",
    "Stimulus",
    "Unreadable",
    "__version__",
    "compare",
    "gate",
    "inspect_scorer",
    "load",
    "measure",
    "plan",
    "remedied",
    "report",
    "trusted",
]

_HOMES = {
    "steelyard.api": ("compare", "gate", "load", "measure", "plan", "remedied", "report", "trusted"),
    "steelyard.datasheet.datasheet": ("Datasheet",),
    "steelyard.errors": ("SteelyardError", "Unreadable"),
    "steelyard.inspect_logs.export": ("inspect_scorer",),
    "steelyard.metrics.estimate": ("Estimate", "Interval"),
    "steelyard.probes.probe": ("Design", "Probe", "Showing"),
    "steelyard.providers.provider": ("Provider",),
    "steelyard.runner.limits": ("RunLimits",),
    "steelyard.stimuli.stimulus": ("Stimulus",),
    "steelyard.trials.judge": ("Judge", "Reply"),
    "steelyard.trust.trusted": ("Escalate",),
    "steelyard.verdicts.observations": ("Observation", "Observations"),
}
"""Imported at first use, so that `import steelyard` and `steelyard --help` stay light."""


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'steelyard' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, so that a notebook completes them before they are imported."""
    return __all__
