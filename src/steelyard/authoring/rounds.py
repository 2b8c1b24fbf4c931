"""The rounds of writing: everyone's first try, then everyone's second where the first was rejected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from steelyard.authoring.answers import text_of
from steelyard.authoring.desk import Desk, StoppedError
from steelyard.authoring.diversity import Diversity, originals
from steelyard.authoring.draft import Draft
from steelyard.authoring.questions import KEEPS_MEANING, author_exchange, brief_hash, question_of
from steelyard.authoring.run_draft import run_draft, text_draft
from steelyard.authoring.run_edits import RunEdits
from steelyard.authoring.validation import Validation
from steelyard.core.text import plural, pluralize
from steelyard.errors import RunError
from steelyard.run_folder.authored_stimuli import AuthoredStimulus
from steelyard.runner.run_messages import require_finished
from steelyard.runner.runner import Runner
from steelyard.runner.session import RunSession
from steelyard.stimuli.authored.brief import ORDINAL, Brief
from steelyard.stimuli.authored.checks import check_text, words
from steelyard.stimuli.authored.rejection import CALL_FAILED, REPEATED, Rejection
from steelyard.store.authoring import AuthoredRow
from steelyard.study.roles import Roles
from steelyard.study.study import Study


class Rounds:
    """Brings briefs to their ends: write, check, confirm, try again."""

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
        self._desk = Desk(runner)
        self._validation = Validation(self._desk, roles, self._show)
        earlier = [w.stimulus.texts[0] for w in before if not w.rejected]
        self._diversity = Diversity(self._desk, roles, [*originals(study), *earlier])
        self._arrived = arrived
        self._texts = [text_draft(brief, study, roles) for brief in briefs if not brief.edits_run]
        self._runs = [run_draft(brief, study, roles) for brief in briefs if brief.edits_run]
        self._edits = RunEdits(self._desk, roles, self._show) if self._runs else None
        order = {brief.name: number for number, brief in enumerate(briefs)}
        self._drafts: list[Draft] = sorted(
            [*self._texts, *self._runs], key=lambda draft: order[draft.brief.name]
        )

    async def run(self, runner: Runner) -> RunSession:
        """Bring every brief to its end, then keep all of them at once."""
        try:
            for attempt in range(self._roles.attempts):
                await self._round(attempt)
                if self._waiting:
                    break  # later tries may depend on how the waiting ones end
        except StoppedError:
            return runner.session
        if not self._waiting:
            await runner.store.save_authored([self._row(draft) for draft in self._drafts])
        return runner.session

    def _show(self, draft: Draft) -> None:
        """Tell of a text that was confirmed: nothing takes that back."""
        self._arrived(draft.written())

    def require_finished(self) -> None:
        """Raise what keeps the author from finishing; what was paid for is kept."""
        require_finished(self._runner.session, "authoring", "what was written")
        if self._waiting:
            count, reason = len(self._waiting), self._waiting[0].rstrip(".?")
            raise RunError(
                f"authoring: {count} of {pluralize(len(self._drafts), 'text')} "
                f"{plural(count, 'waits', 'wait')} for a reply ({reason}); "
                "what was written is kept, run again to go on."
            )

    @property
    def _waiting(self) -> list[str]:
        return [draft.waiting for draft in self._drafts if draft.waiting is not None]

    async def _round(self, attempt: int) -> None:
        runs = [draft for draft in self._runs if draft.open]
        texts = [draft for draft in self._texts if draft.open]
        if self._edits is not None and runs:
            await self._edits.round(runs, attempt)
        if texts:
            await self._write_texts(texts, attempt)

    async def _write_texts(self, drafts: list[Draft], attempt: int) -> None:
        await self._write(drafts, attempt)
        synthetic = [d for d in drafts if d.brief.goal == ORDINAL and _alive(d, attempt)]
        if synthetic and self._roles.compared:
            texts = [d.text for d in self._drafts if d.accepted and d.brief.goal == ORDINAL]
            await self._diversity.check(synthetic, texts)
        await self._validation.confirm([draft for draft in drafts if _alive(draft, attempt)], attempt)

    async def _write(self, drafts: Sequence[Draft], attempt: int) -> None:
        """One text for each draft, or why there is none; checks that cost nothing come at once."""
        model = self._roles.author
        named = replace(model, name=f"{model.name}, try {attempt + 1}")
        asked = {
            draft.brief.name: author_exchange(named, draft, attempt, self._study, self._roles)
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
        """One text can not keep the meaning of two items: each that has it is rejected."""
        writers: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
        keeping = [draft for draft in self._drafts if draft.brief.goal in KEEPS_MEANING and draft.text]
        for draft in keeping:
            source = tuple(words(draft.brief.item.responses[0]))
            writers.setdefault((draft.brief.goal, *words(draft.text)), set()).add(source)
        for draft in drafts:
            if len(writers.get((draft.brief.goal, *words(draft.text)), ())) > 1:
                draft.reject(Rejection(REPEATED, "the same text was written for another item"))

    def _take(self, draft: Draft, text: str | Rejection) -> None:
        if isinstance(text, Rejection):
            draft.reject(text)
            return
        draft.text = text
        rubric = question_of(draft.brief, draft.task).rubric
        rejection = check_text(draft.brief, text, rubric)
        if rejection is not None:
            draft.reject(rejection)

    def _row(self, draft: Draft) -> AuthoredRow:
        return draft.written().row(brief_hash(self._study, self._roles, draft.brief), self._roles.hash)


def _alive(draft: Draft, attempt: int) -> bool:
    """Whether this try has not been rejected yet."""
    return draft.open and len(draft.tries) == attempt
