"""Editing runs of agents: plan, then message by message; every run takes its step at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from steelyard.authoring.author_client import AuthorClient, plan_of, text_of, turn_edit_of
from steelyard.authoring.drafts import Draft, RunDraft, alive
from steelyard.authoring.questions import editor_exchange, planner_exchange, question_of, summarizer_exchange
from steelyard.authoring.validation import Validation
from steelyard.stimuli.authored.checks import Rejection
from steelyard.stimuli.authored.run_edits import PlanStep, find_fault, unplanned_refusal
from steelyard.study.roles import GRADE, Editing, Roles
from steelyard.trials.exchange import Exchange
from steelyard.trials.reply import Reply


class RunEdits:
    def __init__(
        self, client: AuthorClient, roles: Roles, confirmed: Callable[[Draft], None] = lambda _: None
    ) -> None:
        """`confirmed` is told of each run as soon as it is what its brief wants."""
        assert roles.editing is not None
        self._client, self._confirmed = client, confirmed
        self._editing: Editing = roles.editing
        self._verification = Validation(client, _verifying(roles, roles.editing), confirmed)

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
            text = text_of(reply)
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


def _verifying(roles: Roles, editing: Editing) -> Roles:
    """The roles with the verifier as validator; the validator's fallback is asked what the verifier is."""
    asked = {GRADE: editing.verifier.protocols[GRADE]}
    fallback = None if roles.fallback is None else replace(roles.fallback, protocols=asked)
    return replace(roles, validator=editing.verifier, fallback=fallback)
