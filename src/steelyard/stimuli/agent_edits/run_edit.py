"""A run that was edited, and what was done to it."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.tasks.transcripts.transcript import Transcript


@dataclass(frozen=True)
class RunEdit:
    """One edited run."""

    transcript: Transcript
    """The run after the edit."""
    told: str
    """What was done, in words a person can check."""
