"""Asking the validator: the rubric's score without a word of what is wanted, then what else must hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from steelyard.lab.authoring.answers import said_yes, score_of
from steelyard.lab.authoring.desk import Desk
from steelyard.lab.authoring.draft import Draft
from steelyard.lab.authoring.questions import (
    asks_own_score,
    original_exchange,
    questions_about,
    validator_exchange,
)
from steelyard.lab.study.role_prompts import BORDER, EXPANSION, GRADE, MEANING
from steelyard.lab.study.roles import Roles
from steelyard.stimuli.authored.brief import ORDINAL
from steelyard.stimuli.authored.rejection import (
    MEANING_CHANGED,
    NO_VERDICT,
    NOT_AT_BORDER,
    OTHER_SCORE,
    Rejection,
)
from steelyard.trials.exchange import Exchange
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply

Read = Callable[[Draft, Reply], str | None]
"""The answer in a reply; None where there is none."""
Ask = Callable[[Judge, str, Draft], Exchange]
"""The question of a protocol about a draft."""


class Validation:
    """Confirms drafts; those that fail are turned down with the reason."""

    def __init__(self, desk: Desk, roles: Roles) -> None:
        self._desk = desk
        self._roles = roles

    async def confirm(self, drafts: Sequence[Draft], attempt: int) -> None:
        """Accept what is as it was asked for."""
        kept = await self._graded(_asked(drafts, GRADE), attempt)
        for question in (MEANING, EXPANSION):
            await self._same(_asked(kept, question), question, attempt)
        await self._open(_asked(drafts, BORDER), attempt)
        for draft in kept:
            draft.accepted = draft.open and len(draft.tries) == attempt

    async def scores(self, drafts: Sequence[Draft], attempt: int) -> dict[str, tuple[str, str]]:
        """Name of a brief to the score that its text gets, and who gave it."""
        answers = await self._answers(drafts, GRADE, attempt, score_of)
        return {draft.brief.name: (score, who) for draft, score, who in answers}

    async def _graded(self, drafts: Sequence[Draft], attempt: int) -> list[Draft]:
        """Those whose score by the rubric is the one that was wanted."""
        own = await self._own_scores([draft for draft in drafts if asks_own_score(draft.brief)], attempt)
        graded = [draft for draft in drafts if draft.brief.expected or draft.brief.name in own]
        kept = []
        for draft, score, who in await self._answers(graded, GRADE, attempt, score_of):
            wanted = draft.brief.expected or own[draft.brief.name]
            if score == wanted:
                as_what = "as intended" if draft.brief.expected else "as for the item's own response"
                draft.validation = f"{who} gave {score}, {as_what}"
                kept.append(draft)
            elif self._keeps(draft, attempt):
                draft.kept_score = score
                draft.validation = f"{who} gave {score}, written for {wanted} and kept at {score}"
                kept.append(draft)
            else:
                detail = f"graded by the rubric alone, the text earns {score}, expected {wanted}"
                draft.reject(Rejection(OTHER_SCORE, detail))
        return kept

    def _keeps(self, draft: Draft, attempt: int) -> bool:
        """True where a text that missed its score is kept at the one it got: after the last try."""
        last = attempt == self._roles.attempts - 1
        return last and draft.brief.goal == ORDINAL and self._roles.off_target == "keep"

    async def _own_scores(self, drafts: Sequence[Draft], attempt: int) -> dict[str, str]:
        """What the validator gives the items' own responses, where nobody else has said what they earn."""
        answers = await self._answers(drafts, GRADE, attempt, score_of, original_exchange)
        return {draft.brief.name: score for draft, score, _ in answers}

    async def _same(self, drafts: Sequence[Draft], question: str, attempt: int) -> None:
        for draft, answer, who in await self._answers(drafts, question, attempt, _yes("same")):
            if answer == "yes":
                draft.validation += f"; {who} finds the meaning kept"
            else:
                detail = "the text does not say what the given response says: something was added or lost"
                draft.reject(Rejection(MEANING_CHANGED, detail))

    async def _open(self, drafts: Sequence[Draft], attempt: int) -> None:
        for draft, answer, who in await self._answers(drafts, BORDER, attempt, _yes("open")):
            if answer == "yes":
                draft.validation = f"{who} finds the score open, as intended"
                draft.accepted = True
            else:
                draft.reject(Rejection(NOT_AT_BORDER, "the rubric gives the text a plain score"))

    async def _answers(
        self, drafts: Sequence[Draft], protocol: str, attempt: int, read: Read, ask: Ask | None = None
    ) -> list[tuple[Draft, str, str]]:
        """Drafts with a readable answer and the model that gave it; the fallback is asked for the rest."""
        exchange = ask or validator_exchange
        answers: dict[str, tuple[Draft, str, str]] = {}
        still = list(drafts)
        for judge in (self._roles.validator, self._roles.fallback):
            if judge is None or not still:
                break
            named = replace(judge, name=f"{judge.name}: {protocol}, try {attempt + 1}")
            asked = {draft.brief.name: exchange(named, protocol, draft) for draft in still}
            replies = await self._desk.ask(asked.values())
            unread = []
            for draft in still:
                key = asked[draft.brief.name].key
                answer = read(draft, replies[key]) if key in replies else None
                if answer is not None:
                    answers[draft.brief.name] = (draft, answer, judge.address)
                elif key in self._desk.waiting:
                    draft.waiting = self._desk.waiting[key].message
                else:
                    unread.append(draft)
            still = unread
        for draft in still:
            draft.reject(Rejection(NO_VERDICT, f"no readable answer to the question about its {protocol}"))
        return [answers[draft.brief.name] for draft in drafts if draft.brief.name in answers]


def _asked(drafts: Sequence[Draft], question: str) -> list[Draft]:
    return [draft for draft in drafts if question in questions_about(draft.brief.goal)]


def _yes(key: str) -> Read:
    def read(draft: Draft, reply: Reply) -> str | None:
        del draft
        answer = said_yes(reply, key)
        return None if answer is None else "yes" if answer else "no"

    return read
