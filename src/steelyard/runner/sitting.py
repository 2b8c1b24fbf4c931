"""One sitting: what happened to the open trials of a run, and how it ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from steelyard.errors import SteelyardError, exit_code


@dataclass
class Sitting:
    """Calls, losses and money from the start of the program to its end."""

    calls: int = 0
    """Trials of measured judges that got a reply; baselines are not counted."""
    failed: Counter[str] = field(default_factory=Counter)
    """Trials without a reply, by reason."""
    stopped: list[SteelyardError] = field(default_factory=list)
    """Why some trials were never tried."""
    given_up: dict[str, SteelyardError] = field(default_factory=dict)
    """Judges that were left before all their trials were tried, and why."""
    dollars: float = 0.0
    """Spent on the study, earlier sittings included."""


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
