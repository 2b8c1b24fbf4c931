"""From briefs to stimuli: write, check, confirm, try again; then what a person decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from steelyard.authoring.questions import brief_hash
from steelyard.authoring.rounds import Rounds
from steelyard.core.text import plural, pluralize
from steelyard.errors import ConfigError
from steelyard.review.keeping import BY_MEASURE, expect_people, keep_decided, show_arrival
from steelyard.review.stimuli_file import under_review
from steelyard.run_folder.authored_stimuli import AuthoredStimulus, count_by_probe
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.budget import check_prices
from steelyard.runner.costs import stored_cost
from steelyard.runner.limits import RunLimits
from steelyard.runner.progress import Progress
from steelyard.runner.record import RunRecord
from steelyard.runner.runner import Runner, run_async
from steelyard.runner.session import RunSession
from steelyard.stimuli.authored.brief import Brief
from steelyard.stimuli.authored.report import ProbeReport
from steelyard.stimuli.original import original_of
from steelyard.stimuli.stimulus import PENDING, Stimulus
from steelyard.store.authoring import AuthoredRow
from steelyard.store.run_store import RunStore
from steelyard.study.reference import reference_trials
from steelyard.study.roles import Roles
from steelyard.study.study import Study
from steelyard.study.study_probes import open_briefs


@dataclass(frozen=True)
class Authored:
    """What a study's author has made."""

    stimuli: tuple[Stimulus, ...]
    """Every text, rejected and waiting ones included; hand them to the study as `authored`."""
    report: tuple[ProbeReport, ...]
    """What was asked, made and rejected, by probe."""
    session: RunSession
    """What this sitting took."""

    @property
    def pending(self) -> int:
        """Texts that wait for a person."""
        return sum(stimulus.lineage.review == PENDING for stimulus in self.stimuli)

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """Probes for which nothing usable was written, in sentences."""
        return tuple(
            f"probe {report.probe!r}: none of the {pluralize(report.asked, 'text')} written for it can be "
            f"used ({report.reasons}); it is not measured."
            for report in self.report
            if report.asked and not report.usable and not report.pending
        )

    def require_review(self, folder: RunFolder) -> None:
        """Refuse to judge while a text waits for a person."""
        if self.pending:
            written = pluralize(len(self.stimuli), "written stimulus", "written stimuli")
            wait = plural(self.pending, "waits", "wait")
            raise ConfigError(
                f"{folder.stimuli}: {self.pending} of {written} {wait} for review; decide on the page of "
                f"`steelyard review {folder.path}` and run again, or say --accept-all."
            )


def author(
    study: Study,
    roles: Roles,
    folder: RunFolder,
    limits: RunLimits,
    progress: Progress | None = None,
    *,
    review: bool = False,
    accept_all: bool = False,
) -> Authored:
    """Write what the study's probes ask for, or take it from the folder where it was written before."""
    briefs = open_briefs(study)
    check_prices(roles.models, limits)
    with folder.locked(), folder.store() as store:
        held = store.authored()
        _check(held, briefs, study, roles, folder)
        runner = _runner(store, study, limits, progress)
        parents = {brief.item.id: original_of(brief.item, study.task) for brief in briefs}
        if review:
            expect_people(folder, study.task, roles.templates)
        fresh = [brief for brief in briefs if brief.name not in held]
        if fresh:
            before = [AuthoredStimulus.of(row) for row in held.values()]
            arrived = partial(show_arrival, folder, parents) if review else lambda _: None
            rounds = Rounds(study, roles, runner, fresh, before, arrived)
            run_async(runner, rounds.run)
            rounds.require_finished()
        written = {name: AuthoredStimulus.of(row) for name, row in store.authored().items()}
        made = tuple(written[brief.name].stimulus for brief in briefs)
        beside = () if folder.study.exists() else parents.values()  # a frozen set gains no original
        made = under_review(made) if review else made
        made = keep_decided(folder, made, held, beside, unseen=accept_all, finished_by=BY_MEASURE)
    return Authored(made, count_by_probe(written.values(), made), runner.session)


def _runner(store: RunStore, study: Study, limits: RunLimits, progress: Progress | None) -> Runner:
    """What a reference has cost counts against the same budget."""
    record, trials = RunRecord(store), reference_trials(study)
    return Runner(record, limits, progress, stored_cost(trials, record.replies(trials)))


def _check(
    held: Mapping[str, AuthoredRow], briefs: Sequence[Brief], study: Study, roles: Roles, folder: RunFolder
) -> None:
    """Stimuli are frozen once made: another author, or another item of the same name, is another study."""
    if any(row.roles != roles.hash for row in held.values()):
        raise ConfigError(
            f"{folder.path}: holds stimuli that were written with other settings of author and validator; "
            "restore the settings, or choose another --out."
        )
    for brief in briefs:
        if brief.name in held and held[brief.name].brief != brief_hash(study, roles, brief):
            raise ConfigError(
                f"{folder.path}: item {brief.item.id!r}, its task or the items shown as examples have "
                f"changed since {brief.name!r} was written; restore them, or choose another --out."
            )
