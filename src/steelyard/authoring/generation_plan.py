"""From a study file's `author`, `validator` and `review` to a study whose texts are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from steelyard.errors import ConfigError
from steelyard.review.stimuli_file import all_accepted, under_review
from steelyard.review.votes import apply_review
from steelyard.run_folder.authored_stimuli import AuthoredStimulus
from steelyard.run_folder.resume import require_same_study, reread_replies
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.planner import PlanRow, make_plan
from steelyard.runner.session import Progress
from steelyard.stimuli.authored.brief import Brief
from steelyard.stimuli.stimulus import Stimulus
from steelyard.study.role_config import parse_roles
from steelyard.study.roles import Roles
from steelyard.study.study import Study
from steelyard.study.study_copy import StudyCopy
from steelyard.study.study_file import StudyConfig
from steelyard.study.study_probes import open_briefs

if TYPE_CHECKING:
    from steelyard.authoring.author import GenerationResult

TO_BE_WRITTEN = "to be written"
"""Author of a text that stands in for one that is not there yet."""


@dataclass(frozen=True)
class GenerationPlan:
    roles: Roles
    review: bool = False
    accept_all: bool = False
    source: StudyCopy | None = None
    """The study as a file that may lie anywhere; None where none was given."""

    def estimate(self, study: Study, folder: RunFolder) -> tuple[Study, list[PlanRow]]:
        """The study with the texts that lie in the folder, and what the others will take to be written.

        Items stand in for texts to be written and for those that wait, so that a plan counts their trials.
        """
        # Most studies have no author: they go without what writes and confirms.
        from steelyard.authoring.cost_estimate import writing_rows

        held: dict[str, Stimulus] = {}
        if folder.database.exists():
            with folder.store(read_only=True) as store:
                held = {name: AuthoredStimulus.of(row).stimulus for name, row in store.authored().items()}
        briefs = open_briefs(study)
        written = [held[brief.name] for brief in briefs if brief.name in held]
        reviewed, _ = apply_review(folder, under_review(written) if self.review else written, held)
        made = all_accepted(reviewed)
        missing = [brief for brief in briefs if brief.name not in held]
        rows = writing_rows(study, self.roles, missing)
        return replace(study, authored=(*made, *stand_ins(study, missing))), rows

    def generate(
        self, study: Study, folder: RunFolder, limits: RunLimits, progress: Progress | None = None
    ) -> tuple[Study, GenerationResult]:
        """The study with its texts, written now or before; what would be refused later is refused first."""
        from steelyard.authoring.author import author

        make_plan(self.estimate(study, folder)[0])
        if folder.study.exists():
            with folder.locked():
                reread_replies(folder, study)
        require_same_study(folder, study)
        made = author(
            study,
            self.roles,
            folder,
            limits,
            progress,
            review=self.review,
            accept_all=self.accept_all,
            source=self.source,
        )
        return replace(study, authored=made.stimuli), made


def generation_plan(config: StudyConfig, accept_all: bool = False) -> GenerationPlan | None:
    if config.author is None:
        for key in ("validator", "editing", "review"):
            if getattr(config, key):
                raise ConfigError(
                    f"{key}: found one without an author, who would write; add author: {{model: …}}."
                )
        if accept_all:
            raise ConfigError("--accept-all: the study names no author, so nothing waits; leave it out.")
        return None
    roles = parse_roles(config.author, config.validator, config.editing)
    return GenerationPlan(roles, config.review, accept_all)


def stand_ins(study: Study, briefs: Sequence[Brief]) -> tuple[Stimulus, ...]:
    """The items' own responses in the place of texts to be written: a plan counts the calls of judges."""
    return tuple(
        brief.to_stimulus(
            brief.item.responses[0], study.task, TO_BE_WRITTEN, transcript=brief.item.transcript
        )
        for brief in briefs
    )
