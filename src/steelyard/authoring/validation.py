"""Checks of drafts: the validator confirms them, and synthetic texts must differ from each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from steelyard.authoring.author_client import (
    AuthorClient,
    OnAuthorReply,
    asks_own_score,
    embedding_exchange,
    original_exchange,
    questions_about,
    said_yes,
    score_of,
    validator_exchange,
)
from steelyard.authoring.drafts import Draft
from steelyard.stimuli.authored_checks import Rejection, Vector, closest, crowd, local_vector, unit
from steelyard.stimuli.brief import ORDINAL
from steelyard.study.roles import BORDER, EXPANSION, GRADE, MEANING, Roles
from steelyard.study.study import Study
from steelyard.tasks.sources.items import draw_items
from steelyard.trials.judge import Judge, Reply
from steelyard.trials.trial import Exchange

COMPARED = 1000
"""Items that were not drawn and that texts are compared with, at most."""


def originals(study: Study) -> list[str]:
    """The responses that a synthetic text must not repeat: the drawn ones, and the others of the data."""
    others = draw_items(study.undrawn, COMPARED, study.seed)
    return [item.responses[0] for item in (*study.items, *others)]


class Diversity:
    def __init__(self, client: AuthorClient, roles: Roles, texts: Iterable[str]) -> None:
        """`texts` are the originals, and what was written in earlier runs."""
        self._client = client
        self._limit = roles.similarity_limit
        self._embedder = roles.embedder
        self._texts = list(dict.fromkeys(texts))
        self._local: dict[str, Vector] = {}

    async def check(self, drafts: Sequence[Draft], accepted: Iterable[str]) -> None:
        """Compare in the order of the briefs, so that the result does not depend on who replied first."""
        if self._limit is None:
            return
        others = [*self._texts, *accepted]
        vectors = await self._vectors([*others, *(draft.text for draft in drafts)])
        there = crowd([vectors[text] for text in others if text in vectors])
        kept: list[Vector] = []
        for draft in drafts:
            if draft.text not in vectors:
                assert self._embedder is not None
                key = embedding_exchange(self._embedder, draft.text).key
                if key in self._client.waiting:
                    draft.waiting = self._client.waiting[key].message
                else:
                    failed = "the text could not be compared: its embedding failed"
                    draft.reject(Rejection("call failed", failed))
                continue
            vector = vectors[draft.text]
            cosine = max(closest(vector, there), closest(vector, crowd(kept)))
            if cosine > self._limit:
                detail = (
                    f"the text is too close to one that is there already "
                    f"(cosine {cosine:.2f}, at most {self._limit:g}): write something of its own"
                )
                draft.reject(Rejection("too similar", detail))
            else:
                kept.append(vector)

    async def _vectors(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        if self._embedder is None:
            for text in texts:
                if text not in self._local:
                    self._local[text] = local_vector(text)
            return self._local
        asked = {text: embedding_exchange(self._embedder, text) for text in texts}
        replies = await self._client.ask(asked.values())
        scores = {text: replies[e.key].scores for text, e in asked.items() if e.key in replies}
        return {text: unit(numbers) for text, numbers in scores.items() if numbers}


Read = Callable[[Draft, Reply], str | None]
Take = Callable[[Draft, str, str], None]
Ask = Callable[[Judge, str, Draft], Exchange]


_MEANING = Rejection(
    "meaning changed", "the text does not say what the given response says: something was added or lost"
)
_YES_QUESTIONS = {
    MEANING: ("same", "the meaning kept", _MEANING),
    EXPANSION: ("same", "the meaning kept", _MEANING),
    BORDER: (
        "open",
        "the score open, as intended",
        Rejection("not at the border", "the rubric gives the text a plain score"),
    ),
}
"""Question to the key of its answer, what a yes finds, and what a no comes to."""


class Validation:
    def __init__(self, client: AuthorClient, roles: Roles, confirmed: Callable[[Draft], None]) -> None:
        """`confirmed` is told of each draft as soon as its last question is answered."""
        self._client = client
        self._roles = roles
        self._confirmed = confirmed

    async def confirm(self, drafts: Sequence[Draft], attempt: int) -> None:
        kept = await self._graded(_with_question(drafts, GRADE), attempt)
        await self._confirm_by_yes(kept, MEANING, attempt)
        await self._confirm_by_yes(kept, EXPANSION, attempt)
        await self._confirm_by_yes(drafts, BORDER, attempt)

    async def scores(
        self, drafts: Sequence[Draft], attempt: int, ask: Ask = validator_exchange
    ) -> dict[str, tuple[str, str]]:
        scores: dict[str, tuple[str, str]] = {}

        def take(draft: Draft, score: str, who: str) -> None:
            scores[draft.brief.name] = score, who

        await self._ask(drafts, GRADE, attempt, score_of, take, ask)
        return scores

    def _passed(self, draft: Draft, question: str) -> None:
        if questions_about(draft.brief.goal)[-1] == question:
            draft.accepted = True
            self._confirmed(draft)

    async def _graded(self, drafts: Sequence[Draft], attempt: int) -> list[Draft]:
        # Where nobody has said what an item's own response earns, the validator grades it first.
        unlabelled = [draft for draft in drafts if asks_own_score(draft.brief)]
        own = await self.scores(unlabelled, attempt, original_exchange)
        graded = [draft for draft in drafts if draft.brief.expected or draft.brief.name in own]
        kept: set[str] = set()
        is_last = attempt == self._roles.own.attempts - 1

        def take(draft: Draft, score: str, who: str) -> None:
            wanted = draft.brief.expected or own[draft.brief.name][0]
            if score == wanted:
                as_what = "as intended" if draft.brief.expected else "as for the item's own response"
                draft.validation = f"{who} gave {score}, {as_what}"
            elif is_last and draft.brief.goal == ORDINAL and self._roles.own.off_target == "keep":
                draft.kept_score = score
                draft.validation = f"{who} gave {score}, written for {wanted} and kept at {score}"
            else:
                detail = f"graded by the rubric alone, the text earns {score}, expected {wanted}"
                draft.reject(Rejection("validator gave another score", detail))
                return
            kept.add(draft.brief.name)
            self._passed(draft, GRADE)

        await self._ask(graded, GRADE, attempt, score_of, take)
        return [draft for draft in graded if draft.brief.name in kept]

    async def _confirm_by_yes(self, drafts: Sequence[Draft], question: str, attempt: int) -> None:
        key, found, rejection = _YES_QUESTIONS[question]

        def read(draft: Draft, reply: Reply) -> str | None:
            del draft
            answer = said_yes(reply, key)
            return None if answer is None else "yes" if answer else "no"

        def take(draft: Draft, answer: str, who: str) -> None:
            if answer == "yes":
                draft.validation = "; ".join(filter(None, (draft.validation, f"{who} finds {found}")))
                self._passed(draft, question)
            else:
                draft.reject(rejection)

        await self._ask(_with_question(drafts, question), question, attempt, read, take)

    async def _ask(
        self,
        drafts: Sequence[Draft],
        protocol: str,
        attempt: int,
        read: Read,
        take: Take,
        ask: Ask = validator_exchange,
    ) -> None:
        """Take each readable answer as it comes in; the fallback is asked for the rest."""
        still = {draft.brief.name: draft for draft in drafts}
        for judge in (self._roles.validator, self._roles.fallback):
            if judge is None or not still:
                break
            named = replace(judge, name=f"{judge.name}: {protocol}, try {attempt + 1}")
            asked = {name: ask(named, protocol, draft) for name, draft in still.items()}
            on_reply = _on_reply(still, asked, read, take, judge.address)
            for key, reply in (await self._client.ask(asked.values(), on_reply)).items():
                on_reply(key, reply)
            for name in [name for name in still if asked[name].key in self._client.waiting]:
                still.pop(name).waiting = self._client.waiting[asked[name].key].message
        for draft in still.values():
            draft.reject(
                Rejection("no validator verdict", f"no readable answer to the question about its {protocol}")
            )


def _on_reply(
    still: dict[str, Draft], asked: Mapping[str, Exchange], read: Read, take: Take, who: str
) -> OnAuthorReply:
    """What is done with a reply: each draft that waits for it takes the answer, once."""
    names: dict[str, list[str]] = {}
    for name, exchange in asked.items():
        names.setdefault(exchange.key, []).append(name)

    def on_reply(key: str, reply: Reply) -> None:
        for name in names.get(key, ()):
            if name in still and (answer := read(still[name], reply)) is not None:
                take(still.pop(name), answer, who)

    return on_reply


def _with_question(drafts: Sequence[Draft], question: str) -> list[Draft]:
    return [draft for draft in drafts if question in questions_about(draft.brief.goal)]
