"""Agent levels: does the judge find every level of the scale in runs of agents?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.errors import ConfigError
from steelyard.probes.probe import Design
from steelyard.probes.run_written import TargetedRuns
from steelyard.probes.sample import GivenSample
from steelyard.stimuli.authored.brief import Brief
from steelyard.tasks.scale import Ordinal


class AgentLevels(TargetedRuns):
    """Every run edited to earn each score of an ordinal scale."""

    name = "agent_levels"
    title = "Runs edited to each level"
    whole = True
    question = "Does the judge give each level of the scale to runs of agents edited for that level?"
    needs = "transcripts of agents on an ordinal scale"

    def __init__(self, targets: Sequence[int] | None = None, sample: GivenSample = None) -> None:
        """`targets` are the scores that runs are edited for; None is every score of the scale."""
        super().__init__(sample)
        listed = targets is None or (
            isinstance(targets, (list, tuple))
            and len(targets) > 0
            and all(isinstance(target, int) and not isinstance(target, bool) for target in targets)
            and len(set(targets)) == len(targets)
        )
        if not listed:
            raise ConfigError(
                f"probe {self.name!r}: targets is {targets!r}, expected a list of scores, each once."
            )
        self.targets = None if targets is None else tuple(map(str, targets))

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A version of every run for each score; a score is told by its place on the scale."""
        for item in self.runs(design):
            if not isinstance(item.scale, Ordinal):
                continue
            for target in self.targets or ():
                if target not in item.scale.answers:
                    raise ConfigError(
                        f"probe {self.name!r}: the target {target} is not on the scale "
                        f"{item.scale.low}-{item.scale.high}; correct targets."
                    )
            for number, level in enumerate(item.scale.answers):
                if self.targets is None or level in self.targets:
                    yield Brief(self.name, item, number, self.name, level)
