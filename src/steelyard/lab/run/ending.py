"""How a sitting ended: what it took, what it lost, and the exit code that says so."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.errors import SteelyardError, exit_code
from steelyard.lab.run.sitting import Sitting


@dataclass(frozen=True)
class Ending:
    """What every sitting ends with, whatever it was for."""

    sitting: Sitting
    """What happened."""
    errors: tuple[SteelyardError, ...]
    """Why the work is not finished; empty when it is."""
    warnings: tuple[str, ...]
    """Single failures, in sentences; none where no call was answered, which is an error."""

    @property
    def exit_code(self) -> int:
        """0 or 1, as the contract says; what would be 2 is raised."""
        return exit_code(self.errors)
