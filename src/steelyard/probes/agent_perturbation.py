"""Agent perturbation: does the judge fail a run that was edited so that it breaks the rubric?"""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.probes.probe import Design
from steelyard.probes.run_written import RunWritten
from steelyard.stimuli.authored.brief import Brief


class AgentPerturbation(RunWritten):
    """Every run that does not fail already, edited so that it does."""

    name = "agent_perturbation"
    title = "Runs edited to fail"
    question = "Does the judge fail a run of an agent that was edited so that it breaks the rubric?"
    needs = "transcripts of agents that do not fail already"

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A failing version of every run that passes, or that nobody labelled."""
        for item in self.runs(design):
            if item.label != item.failing:
                yield Brief(self.name, item, 0, self.name, item.failing)
