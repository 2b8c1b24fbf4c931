"""The probes of a study, each built once."""

from __future__ import annotations

from steelyard.core.content_hash import canonical_json
from steelyard.core.registry import Spec
from steelyard.probes.probe import PROBES, Probe


class ProbeKit:
    """Probes by what was asked for; a study shares its kit with every study that is made from it."""

    def __init__(self) -> None:
        self._probes: dict[str, Probe] = {}

    def build(self, spec: Spec) -> Probe:
        """The probe, ready to use."""
        key = canonical_json(spec)
        if key not in self._probes:
            self._probes[key] = PROBES.build(spec)
        return self._probes[key]
