"""Agent positives: does the judge pass a run that keeps the rubric?"""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.probes.probe import Design
from steelyard.probes.run_written import TargetedRuns
from steelyard.stimuli.authored.brief import Brief


class AgentPositives(TargetedRuns):
    """Every run as it is where it passes and the verifier agrees, else edited so that it does."""

    name = "agent_positives"
    title = "Runs that pass"
    question = "Does the judge pass a run of an agent that keeps the rubric?"

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A passing version of every run."""
        for item in self.runs(design):
            yield Brief(self.name, item, 0, self.name, item.passing)
