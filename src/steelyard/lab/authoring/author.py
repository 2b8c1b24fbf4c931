"""From briefs to stimuli: write, check, confirm, try again; then what a person decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.errors import BudgetError, ConfigError, RunError
from steelyard.lab.authoring.answers import text_of
from steelyard.lab.authoring.briefs import open_briefs
from steelyard.lab.authoring.desk import Desk, StoppedError
from steelyard.lab.authoring.diversity import Diversity, originals
from steelyard.lab.authoring.draft import Draft, brief_hash
from steelyard.lab.authoring.questions import KEEPS_MEANING, author_exchange, exemplars, question_of
from steelyard.lab.authoring.review import all_accepted, reviewed, under_review, write_stimuli
from steelyard.lab.authoring.validation import Validation
from steelyard.lab.folder.authored_stimuli import AuthoredStimulus, tally
from steelyard.lab.folder.run_folder import RunFolder
from steelyard.lab.run.budget import check_prices
from steelyard.lab.run.conduct import conduct
from steelyard.lab.run.limits import Limits
from steelyard.lab.run.progress import Progress
from steelyard.lab.run.runner import Runner
from steelyard.lab.run.shortfalls import cause
from steelyard.lab.run.sitting import Sitting
from steelyard.lab.run.spending import reference_cost
from steelyard.lab.study.roles import Roles
from steelyard.lab.study.study import Study
from steelyard.stimuli.authored.brief import ORDINAL, Brief
from steelyard.stimuli.authored.checks import mechanical, words
from steelyard.stimuli.authored.rejection import CALL_FAILED, REPEATED, Rejection
from steelyard.stimuli.authored.report import ProbeReport
from steelyard.stimuli.original import original_of
from steelyard.stimuli.stimulus import PENDING, Stimulus
from steelyard.store.authoring import AuthoredRow
from steelyard.wording import counted, plural


@dataclass(frozen=True)
class Authored:
    """What a study's author has made."""

    stimuli: tuple[Stimulus, ...]
    """Every text, rejected and waiting ones included; hand them to the study as `authored`."""
    report: tuple[ProbeReport, ...]
    """What was asked, made and rejected, by probe."""
    sitting: Sitting
    """What this sitting took."""

    @property
    def pending(self) -> int:
        """Texts that wait for a person."""
        return sum(stimulus.lineage.review == PENDING for stimulus in self.stimuli)

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """Probes for which nothing usable was written, in sentences."""
        return tuple(
            f"probe {report.probe!r}: none of the {counted(report.asked, 'text')} written for it can be used "
            f"({report.reasons}); it is not measured."
            for report in self.report
            if report.asked and not report.usable and not report.pending
        )

    def require_review(self, folder: RunFolder) -> None:
        """Refuse to judge while a text waits for a person."""
        if self.pending:
            written = counted(len(self.stimuli), "written stimulus", "written stimuli")
            wait = plural(self.pending, "waits", "wait")
            raise RunError(
                f"{folder.stimuli}: {self.pending} of {written} {wait} for review; "
                'set "review" under "lineage" to "accepted", "edited" or "rejected" and run again, or say '
                "--accept-all."
            )


def author(
    study: Study,
    roles: Roles,
    folder: RunFolder,
    limits: Limits,
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
        runner = Runner(store, limits, progress, reference_cost(study, store))
        fresh = [brief for brief in briefs if brief.name not in held]
        if fresh:
            work = _Work(study, roles, runner, fresh, [AuthoredStimulus.of(row) for row in held.values()])
            conduct(runner, work.run)
            work.require_end()
        written = {name: AuthoredStimulus.of(row) for name, row in store.authored().items()}
        made = tuple(written[brief.name].stimulus for brief in briefs)
        made = reviewed(under_review(made) if review else made, folder.stimuli, held)
        made = all_accepted(made) if accept_all else made
        parents = {brief.item.id: original_of(brief.item, study.task) for brief in briefs}
        beside = () if folder.study.exists() else parents.values()  # a frozen set gains no original
        write_stimuli(folder.stimuli, [*beside, *made])
    return Authored(made, tally(written.values(), made), runner.sitting)


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
        if brief.name in held and held[brief.name].brief != _hash(brief, study, roles):
            raise ConfigError(
                f"{folder.path}: item {brief.item.id!r}, its task or the items shown as examples have "
                f"changed since {brief.name!r} was written; restore them, or choose another --out."
            )


def _hash(brief: Brief, study: Study, roles: Roles) -> str:
    return brief_hash(brief, study.task, exemplars(brief, study, roles.exemplars))


class _Work:
    """The rounds: everyone's first try, then everyone's second where the first was turned down."""

    def __init__(
        self,
        study: Study,
        roles: Roles,
        runner: Runner,
        briefs: Sequence[Brief],
        before: Sequence[AuthoredStimulus],
    ) -> None:
        self._study, self._roles, self._runner = study, roles, runner
        self._desk = Desk(runner)
        self._validation = Validation(self._desk, roles)
        earlier = [w.stimulus.texts[0] for w in before if not w.rejected]
        self._diversity = Diversity(self._desk, roles, [*originals(study), *earlier])
        self._drafts = [Draft(brief, study.task, roles.author.address) for brief in briefs]

    async def run(self, runner: Runner) -> Sitting:
        """Bring every brief to its end, then keep all of them at once."""
        try:
            for attempt in range(self._roles.attempts):
                await self._round([draft for draft in self._drafts if draft.open], attempt)
                if self._waiting:
                    break  # later tries may depend on how the waiting ones end
        except StoppedError:
            return runner.sitting
        if not self._waiting:
            await runner.store.save_authored([self._row(draft) for draft in self._drafts])
        return runner.sitting

    def require_end(self) -> None:
        """Raise what keeps the author from finishing; what was paid for is kept."""
        if self._runner.sitting.stopped:
            error = self._runner.sitting.stopped[0]
            again = "raise --budget and run again" if isinstance(error, BudgetError) else "run again"
            told = cause(error, self._runner.sitting)
            raise type(error)(f"authoring: {told}; what was written is kept, {again} to go on.")
        if self._waiting:
            count, told = len(self._waiting), self._waiting[0].rstrip(".?")
            raise RunError(
                f"authoring: {count} of {counted(len(self._drafts), 'text')} "
                f"{plural(count, 'waits', 'wait')} for a reply ({told}); "
                "what was written is kept, run again to go on."
            )

    @property
    def _waiting(self) -> list[str]:
        return [draft.waiting for draft in self._drafts if draft.waiting is not None]

    async def _round(self, drafts: list[Draft], attempt: int) -> None:
        if not drafts:
            return
        await self._write(drafts, attempt)
        synthetic = [d for d in drafts if d.brief.goal == ORDINAL and _alive(d, attempt)]
        if synthetic and self._roles.compared:
            done = [d.text for d in self._drafts if d.accepted and d.brief.goal == ORDINAL]
            await self._diversity.check(synthetic, done)
        await self._validation.confirm([draft for draft in drafts if _alive(draft, attempt)], attempt)

    async def _write(self, drafts: Sequence[Draft], attempt: int) -> None:
        """One text for each draft, or why there is none; checks that cost nothing come at once."""
        model = self._roles.author
        named = replace(model, name=f"{model.name}, try {attempt + 1}")
        asked = {
            draft.brief.name: author_exchange(named, draft, attempt, self._roles, self._study)
            for draft in drafts
        }
        replies = await self._desk.ask(asked.values())
        for draft in drafts:
            key = asked[draft.brief.name].key
            if key in self._desk.waiting:
                draft.waiting = self._desk.waiting[key].message
            elif key not in replies:
                draft.reject(Rejection(CALL_FAILED, "the author's call failed for good"))
            else:
                self._take(draft, text_of(replies[key]))
        self._turn_down_repeats([draft for draft in drafts if _alive(draft, attempt)])

    def _turn_down_repeats(self, drafts: Sequence[Draft]) -> None:
        """One text can not keep the meaning of two items: each that has it is turned down."""
        writers: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
        keeping = [draft for draft in self._drafts if draft.brief.goal in KEEPS_MEANING and draft.text]
        for draft in keeping:
            source = tuple(words(draft.brief.item.responses[0]))
            writers.setdefault((draft.brief.goal, *words(draft.text)), set()).add(source)
        for draft in drafts:
            if len(writers.get((draft.brief.goal, *words(draft.text)), ())) > 1:
                draft.reject(Rejection(REPEATED, "the same text was written for another item"))

    def _take(self, draft: Draft, found: str | Rejection) -> None:
        if isinstance(found, Rejection):
            draft.reject(found)
            return
        draft.text = found
        rubric = question_of(draft.brief, draft.task).rubric
        rejection = mechanical(draft.brief, found, rubric)
        if rejection is not None:
            draft.reject(rejection)

    def _row(self, draft: Draft) -> AuthoredRow:
        return draft.written().row(_hash(draft.brief, self._study, self._roles), self._roles.hash)


def _alive(draft: Draft, attempt: int) -> bool:
    """Whether this try has not been turned down yet."""
    return draft.open and len(draft.tries) == attempt
