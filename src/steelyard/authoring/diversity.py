"""Keeping synthetic texts apart from the originals and from each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from steelyard.authoring.desk import Desk
from steelyard.authoring.draft import Draft
from steelyard.authoring.questions import embedding_exchange
from steelyard.stimuli.authored.rejection import CALL_FAILED, TOO_SIMILAR, Rejection
from steelyard.stimuli.authored.similarity import Vector, closest, crowd, local_vector, unit
from steelyard.study.roles import Roles
from steelyard.study.study import Study
from steelyard.tasks.sources.items import draw_items

COMPARED = 1000
"""Items that were not drawn and that texts are compared with, at most."""


def originals(study: Study) -> list[str]:
    """The responses that a synthetic text must not repeat: the drawn ones, and the others of the data."""
    others = draw_items(study.undrawn, COMPARED, study.seed)
    return [item.responses[0] for item in (*study.items, *others)]


class Diversity:
    """Turns down what lies too close to a text that is there already."""

    def __init__(self, desk: Desk, roles: Roles, texts: Iterable[str]) -> None:
        """`texts` are the originals, and what was written in earlier sittings."""
        self._desk = desk
        self._limit = roles.similarity_limit
        self._embedder = roles.embedder
        self._texts = list(dict.fromkeys(texts))
        self._local: dict[str, Vector] = {}

    async def check(self, drafts: Sequence[Draft], accepted: Iterable[str]) -> None:
        """Compare in the order of the briefs, so that the result does not depend on who replied first."""
        others = [*self._texts, *accepted]
        vectors = await self._vectors([*others, *(draft.text for draft in drafts)])
        there = crowd([vectors[text] for text in others if text in vectors])
        kept: list[Vector] = []
        for draft in drafts:
            if draft.text not in vectors:
                self._missing(draft)
                continue
            vector = vectors[draft.text]
            cosine = max(closest(vector, there), closest(vector, crowd(kept)))
            if cosine > self._limit:
                detail = (
                    f"the text is too close to one that is there already "
                    f"(cosine {cosine:.2f}, at most {self._limit:g}): write something of its own"
                )
                draft.reject(Rejection(TOO_SIMILAR, detail))
            else:
                kept.append(vector)

    def _missing(self, draft: Draft) -> None:
        assert self._embedder is not None
        key = embedding_exchange(self._embedder, draft.text).key
        if key in self._desk.waiting:
            draft.waiting = self._desk.waiting[key].message
        else:
            draft.reject(Rejection(CALL_FAILED, "the text could not be compared: its embedding failed"))

    async def _vectors(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        if self._embedder is None:
            for text in texts:
                if text not in self._local:
                    self._local[text] = local_vector(text)
            return self._local
        asked = {text: embedding_exchange(self._embedder, text) for text in texts}
        replies = await self._desk.ask(asked.values())
        scores = {text: replies[e.key].scores for text, e in asked.items() if e.key in replies}
        return {text: unit(numbers) for text, numbers in scores.items() if numbers}
