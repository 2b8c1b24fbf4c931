"""What happened to the open trials of a run in one sitting."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from steelyard.errors import SteelyardError


@dataclass
class Sitting:
    """Calls, losses and money from the start of the program to its end."""

    calls: int = 0
    """Trials of measured judges that got a reply; baselines are not counted."""
    failed: Counter[str] = field(default_factory=Counter)
    """Trials without a reply, by reason."""
    stopped: list[SteelyardError] = field(default_factory=list)
    """Why some trials were never tried."""
    given_up: set[str] = field(default_factory=set)
    """Judges that were left before all their trials were tried."""
    dollars: float = 0.0
    """Spent on the study, earlier sittings included."""
