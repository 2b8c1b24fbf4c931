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
    from steelyard.api import compare, gate, load, measure, plan, report
    from steelyard.datasheet.datasheet import Datasheet
    from steelyard.errors import SteelyardError
    from steelyard.inspect_logs.scorer import inspect_scorer
    from steelyard.metrics.estimate import Estimate, Interval
    from steelyard.probes.probe import Design, Probe, Showing
    from steelyard.providers.provider import Provider
    from steelyard.runner.limits import RunLimits
    from steelyard.stimuli.stimulus import Stimulus
    from steelyard.trials.judge import Judge
    from steelyard.trials.reply import Reply
    from steelyard.verdicts.observations import Observation, Observations

__all__ = [
    "Datasheet",
    "Design",
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
    "__version__",
    "compare",
    "gate",
    "inspect_scorer",
    "load",
    "measure",
    "plan",
    "report",
]

_HOMES = {
    "Datasheet": "steelyard.datasheet.datasheet",
    "Design": "steelyard.probes.probe",
    "Estimate": "steelyard.metrics.estimate",
    "Interval": "steelyard.metrics.estimate",
    "Judge": "steelyard.trials.judge",
    "Observation": "steelyard.verdicts.observations",
    "Observations": "steelyard.verdicts.observations",
    "Probe": "steelyard.probes.probe",
    "Provider": "steelyard.providers.provider",
    "Showing": "steelyard.probes.probe",
    "SteelyardError": "steelyard.errors",
    "Stimulus": "steelyard.stimuli.stimulus",
    "Reply": "steelyard.trials.reply",
    "RunLimits": "steelyard.runner.limits",
    "compare": "steelyard.api",
    "gate": "steelyard.api",
    "inspect_scorer": "steelyard.inspect_logs.scorer",
    "load": "steelyard.api",
    "measure": "steelyard.api",
    "plan": "steelyard.api",
    "report": "steelyard.api",
}
"""Imported at first use, so that `import steelyard` and `steelyard --help` stay light."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, so that a notebook completes them before they are imported."""
    return __all__
