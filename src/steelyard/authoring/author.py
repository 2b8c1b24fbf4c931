"""From briefs to stimuli in rounds: write, check, confirm, retry; then what reviewers decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from shlex import quote

from steelyard.authoring.author_client import (
    KEEPS_MEANING,
    AuthorClient,
    StoppedError,
    author_exchange,
    brief_hash,
    editor_exchange,
    plan_of,
    planner_exchange,
    question_of,
    summarizer_exchange,
    summary_of,
    text_of,
    turn_edit_of,
)
from steelyard.authoring.drafts import Draft, RunDraft, alive, run_draft, text_draft
from steelyard.authoring.validation import Diversity, Validation, originals
from steelyard.core.text import plural, pluralize
from steelyard.errors import ConfigError, RunError
from steelyard.review.stimuli_file import under_review
from steelyard.review.votes import BY_MEASURE, add_arrival, start_review, write_decisions
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.costs import check_prices, stored_cost
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.runner.run_messages import require_finished
from steelyard.runner.runner import Runner, run_async
from steelyard.runner.session import Progress, RunSession
from steelyard.stimuli.authored_checks import Rejection, check_text, words
from steelyard.stimuli.brief import ORDINAL, Brief, ProbeReport
from steelyard.stimuli.original import original_of
from steelyard.stimuli.run_edits import PlanStep, find_fault, unplanned_refusal
from steelyard.stimuli.stimulus import PENDING, Stimulus
from steelyard.store.authoring import AuthoredRow, AuthoredStimulus, count_by_probe
from steelyard.study.planner import open_briefs
from steelyard.study.roles import GRADE, Roles
from steelyard.study.study import Study, reference_trials
from steelyard.study.study_copy import StudyCopy
from steelyard.trials.judge import Reply
from steelyard.trials.trial import Exchange


class RunEdits:
    """Editing runs of agents: plan, then message by message; every run takes its step at the same time."""

    def __init__(self, client: AuthorClient, roles: Roles, confirmed: Callable[[Draft], None]) -> None:
        """`confirmed` is told of each run as soon as it is what its brief wants."""
        assert roles.editing is not None
        self._client, self._confirmed = client, confirmed
        self._editing, verifier = roles.editing, roles.editing.verifier
        # The validator's fallback is asked what the verifier is.
        asked = {GRADE: verifier.protocols[GRADE]}
        fallback = None if roles.fallback is None else replace(roles.fallback, protocols=asked)
        verifying = replace(roles, validator=verifier, fallback=fallback)
        self._verification = Validation(client, verifying, confirmed)

    async def round(self, drafts: Sequence[RunDraft], attempt: int) -> None:
        """One try for each run: take it as it is where that will do, else plan, edit and verify."""
        for draft in drafts:
            draft.begin()
        await self._take_fitting([draft for draft in drafts if draft.fits_as_is], attempt)
        await self._plan(alive(drafts, attempt), attempt)
        for number in range(self._editing.steps):
            await self._step(alive(drafts, attempt), number, attempt)
        await self._verification.confirm(alive(drafts, attempt), attempt)

    async def _take_fitting(self, drafts: Sequence[RunDraft], attempt: int) -> None:
        scores = await self._verification.scores(drafts, attempt)
        for draft in drafts:
            score, who = scores.get(draft.brief.name, (None, ""))
            if score is not None and score == draft.brief.expected:
                draft.validation = f"{who} gave {score} to the run as it is"
                draft.untouched = draft.accepted = True
                self._confirmed(draft)

    async def _plan(self, drafts: Sequence[RunDraft], attempt: int) -> None:
        def take(draft: RunDraft, reply: Reply) -> None:
            plan = plan_of(reply, draft.original, self._editing.steps)
            if isinstance(plan, Rejection):
                draft.reject(plan)
            else:
                draft.plan = plan

        await self._client.ask_each(
            drafts, lambda draft: planner_exchange(self._editing, draft, attempt), take
        )

    async def _step(self, drafts: Sequence[RunDraft], number: int, attempt: int) -> None:
        steps = {
            draft.brief.name: draft.plan.steps[number]
            for draft in drafts
            if draft.plan is not None and number < len(draft.plan.steps)
        }
        busy = [draft for draft in drafts if draft.brief.name in steps]
        await self._sum_up(busy, steps, attempt)
        await self._client.ask_each(
            alive(busy, attempt),
            lambda draft: editor_exchange(self._editing, draft, steps[draft.brief.name], attempt),
            lambda draft, reply: _take_edit(draft, steps[draft.brief.name], reply),
        )

    async def _sum_up(self, drafts: Sequence[RunDraft], steps: Mapping[str, PlanStep], attempt: int) -> None:
        """Sum up what the editor will not see, in as many calls as it takes."""

        def ask(draft: RunDraft) -> Exchange:
            messages, _ = draft.to_sum_up(steps[draft.brief.name])
            return summarizer_exchange(self._editing, draft, messages, attempt)

        def take(draft: RunDraft, reply: Reply) -> None:
            text = summary_of(reply)
            if isinstance(text, Rejection):
                draft.reject(replace(text, detail=f"the summary: {text.detail}"))
                return
            draft.summed_up = draft.to_sum_up(steps[draft.brief.name])[1]
            draft.summary = " ".join(text.split()[: self._editing.summary_words])

        while still := [d for d in alive(drafts, attempt) if d.to_sum_up(steps[d.brief.name])[0]]:
            await self._client.ask_each(still, ask, take)


def _take_edit(draft: RunDraft, step: PlanStep, reply: Reply) -> None:
    edit = turn_edit_of(reply)
    turn = edit if isinstance(edit, Rejection) else edit.apply(draft.original.turns[step.place])
    if not isinstance(turn, Rejection):
        rubric = question_of(draft.brief, draft.task).rubric
        plan = "" if draft.plan is None else draft.plan.words
        fault = unplanned_refusal(turn, draft.original, plan) or find_fault(
            turn, step.place, draft.transcript, draft.original, rubric
        )
        if fault is None:
            draft.turns[step.place] = turn
            return
        turn = fault
    draft.reject(replace(turn, detail=f"message {step.number}: {turn.detail}"))


class Rounds:
    def __init__(
        self,
        study: Study,
        roles: Roles,
        runner: Runner,
        briefs: Sequence[Brief],
        before: Sequence[AuthoredStimulus],
        arrived: Callable[[AuthoredStimulus], None] = lambda _: None,
    ) -> None:
        """`arrived` is told of each text as soon as it is confirmed, for people who look already."""
        self._study, self._roles, self._runner = study, roles, runner
        self._client = AuthorClient(runner)
        self._validation = Validation(self._client, roles, self._show)
        earlier = [w.stimulus.texts[0] for w in before if not w.rejected]
        self._diversity = Diversity(self._client, roles, [*originals(study), *earlier])
        self._arrived = arrived
        self._texts = [text_draft(brief, study, roles) for brief in briefs if not brief.edits_run]
        self._runs = [run_draft(brief, study, roles) for brief in briefs if brief.edits_run]
        self._edits = RunEdits(self._client, roles, self._show) if self._runs else None
        order = {brief.name: number for number, brief in enumerate(briefs)}
        self._drafts: list[Draft] = sorted(
            [*self._texts, *self._runs], key=lambda draft: order[draft.brief.name]
        )

    async def run(self, runner: Runner) -> RunSession:
        try:
            for attempt in range(self._roles.own.attempts):
                await self._round(attempt)
                if self._waiting:
                    break  # later tries may depend on how the waiting ones end
        except StoppedError:
            return runner.session
        if not self._waiting:
            rows = [
                draft.written().row(brief_hash(self._study, self._roles, draft.brief), self._roles.hash)
                for draft in self._drafts
            ]
            await runner.store.save_authored(rows)
        return runner.session

    def _show(self, draft: Draft) -> None:
        self._arrived(draft.written())

    def require_finished(self) -> None:
        require_finished(self._runner.session, "authoring", "what was written")
        if self._waiting:
            count, reason = len(self._waiting), self._waiting[0].rstrip(".?")
            raise RunError(
                f"authoring: {count} of {pluralize(len(self._drafts), 'text')} "
                f"{plural(count, 'waits', 'wait')} for a reply ({reason}); "
                "what was written is kept, run again to continue."
            )

    @property
    def _waiting(self) -> list[str]:
        return [draft.waiting for draft in self._drafts if draft.waiting is not None]

    async def _round(self, attempt: int) -> None:
        runs = [draft for draft in self._runs if draft.open]
        texts = [draft for draft in self._texts if draft.open]
        if self._edits is not None and runs:
            await self._edits.round(runs, attempt)
        if not texts:
            return
        await self._write(texts, attempt)
        synthetic = [draft for draft in alive(texts, attempt) if draft.brief.goal == ORDINAL]
        if synthetic:
            accepted = [d.text for d in self._drafts if d.accepted and d.brief.goal == ORDINAL]
            await self._diversity.check(synthetic, accepted)
        await self._validation.confirm(alive(texts, attempt), attempt)

    async def _write(self, drafts: Sequence[Draft], attempt: int) -> None:
        """One text for each draft, or why there is none; checks that cost nothing come at once."""
        model = self._roles.author
        named = replace(model, name=f"{model.name}, try {attempt + 1}")
        await self._client.ask_each(
            drafts,
            lambda draft: author_exchange(named, draft, attempt, self._study, self._roles),
            lambda draft, reply: self._take(draft, text_of(reply)),
        )
        self._reject_repeats(alive(drafts, attempt))

    def _reject_repeats(self, drafts: Sequence[Draft]) -> None:
        """One text can not keep the meaning of two items: each that has it is rejected."""
        writers: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
        keeping = [draft for draft in self._drafts if draft.brief.goal in KEEPS_MEANING and draft.text]
        for draft in keeping:
            source = tuple(words(draft.brief.item.responses[0]))
            writers.setdefault((draft.brief.goal, *words(draft.text)), set()).add(source)
        for draft in drafts:
            if len(writers.get((draft.brief.goal, *words(draft.text)), ())) > 1:
                draft.reject(Rejection("same text again", "the same text was written for another item"))

    def _take(self, draft: Draft, text: str | Rejection) -> None:
        if isinstance(text, Rejection):
            draft.reject(text)
            return
        draft.text = text
        rubric = question_of(draft.brief, draft.task).rubric
        rejection = check_text(draft.brief, text, rubric)
        if rejection is not None:
            draft.reject(rejection)


@dataclass(frozen=True)
class GenerationResult:
    stimuli: tuple[Stimulus, ...]
    report: tuple[ProbeReport, ...]
    session: RunSession

    @property
    def pending(self) -> int:
        return sum(stimulus.lineage.review == PENDING for stimulus in self.stimuli)

    @property
    def shortfalls(self) -> tuple[str, ...]:
        return tuple(
            f"probe {report.probe!r}: none of the {pluralize(report.asked, 'text')} written for it can be "
            f"used ({report.reasons}); it is not measured."
            for report in self.report
            if report.asked and not report.usable and not report.pending
        )

    def require_review(self, folder: RunFolder) -> None:
        if self.pending:
            written = pluralize(len(self.stimuli), "written stimulus", "written stimuli")
            wait = plural(self.pending, "waits", "wait")
            raise ConfigError(
                f"{folder.stimuli}: {self.pending} of {written} {wait} for review; decide on the page of "
                f"`steelyard review {quote(str(folder.path))}` and run again, or say --accept-all."
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
    source: StudyCopy | None = None,
) -> GenerationResult:
    """`source` is the study as a file, for reviewers who want other prompts."""
    briefs = open_briefs(study)
    check_prices(roles.models, limits)
    with folder.locked(), folder.store() as store:
        held = store.authored()
        _check(held, briefs, study, roles, folder)
        record, trials = RunRecord(store), reference_trials(study)
        # What a reference has cost counts against the same budget.
        runner = Runner(record, limits, progress, stored_cost(trials, record.replies(trials)))
        parents = {brief.item.id: original_of(brief.item, study.task) for brief in briefs}
        if review:
            prompts = roles.prompts_for({brief.goal for brief in briefs})
            start_review(folder, study.task, roles.templates, prompts, source)
        fresh = [brief for brief in briefs if brief.name not in held]
        if fresh:
            before = [AuthoredStimulus.of(row) for row in held.values()]
            arrived = partial(add_arrival, folder, parents) if review else lambda _: None
            rounds = Rounds(study, roles, runner, fresh, before, arrived)
            run_async(runner, rounds.run)
            rounds.require_finished()
        written = {name: AuthoredStimulus.of(row) for name, row in store.authored().items()}
        made = tuple(written[brief.name].stimulus for brief in briefs)
        beside = () if folder.study.exists() else parents.values()  # a frozen set gains no original
        made = under_review(made) if review else made
        made = write_decisions(folder, made, held, beside, unseen=accept_all, finished_by=BY_MEASURE)
    return GenerationResult(made, count_by_probe(written.values(), made), runner.session)


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
