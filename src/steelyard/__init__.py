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
    from steelyard.datasheet.datasheet import Datasheet
    from steelyard.errors import SteelyardError
    from steelyard.lab.notebook import measure
    from steelyard.metrics.estimate import Estimate, Interval
    from steelyard.probes.probe import Design, Probe, Showing
    from steelyard.providers.provider import Provider
    from steelyard.stimuli.stimulus import Stimulus
    from steelyard.trials.judge import Judge
    from steelyard.verdicts.observation import Observation
    from steelyard.verdicts.observations import Observations

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
    "Showing",
    "SteelyardError",
    "Stimulus",
    "__version__",
    "measure",
]

_HOMES = {
    "Datasheet": "steelyard.datasheet.datasheet",
    "Design": "steelyard.probes.probe",
    "Estimate": "steelyard.metrics.estimate",
    "Interval": "steelyard.metrics.estimate",
    "Judge": "steelyard.trials.judge",
    "Observation": "steelyard.verdicts.observation",
    "Observations": "steelyard.verdicts.observations",
    "Probe": "steelyard.probes.probe",
    "Provider": "steelyard.providers.provider",
    "Showing": "steelyard.probes.probe",
    "SteelyardError": "steelyard.errors",
    "Stimulus": "steelyard.stimuli.stimulus",
    "measure": "steelyard.lab.notebook",
}
"""Imported at first use, so that `import steelyard` and `steelyard --help` stay light."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
