"""Replies of earlier sittings: known from columns, and read one by one for who asks for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Digests, Mask
from steelyard.core.content_hash import digests_of, hash_of
from steelyard.runner.answers import Answers
from steelyard.runner.spending import Costs, paid
from steelyard.store.replies import StoredReply
from steelyard.store.run_store import RunStore
from steelyard.trials.exchange import Call
from steelyard.trials.trials import Trials

NOTHING: Mapping[str, StoredReply] = {}


class Stored(Mapping[str, StoredReply]):
    """By the keys of their calls."""

    def __init__(
        self, store: RunStore, answers: Answers | None, exchanges: Mapping[str, StoredReply] = NOTHING
    ) -> None:
        """`answers` to trials, or `exchanges` with whoever writes or checks stimuli."""
        self._store = store
        self._answers = answers
        self._exchanges = exchanges

    def __getitem__(self, key: str) -> StoredReply:
        if key in self._exchanges:
            return self._exchanges[key]
        if key not in self:
            raise KeyError(key)
        return self._store.replies([key])[key]

    def __contains__(self, key: object) -> bool:
        return key in self._exchanges or key in self._heard

    def __iter__(self) -> Iterator[str]:
        yield from self._exchanges
        yield from self._heard

    def __len__(self) -> int:
        return len(self._exchanges) + len(self._heard)

    @cached_property
    def _heard(self) -> set[str]:
        """Keys of the trials that have a reply, for who asks for single ones."""
        if self._answers is None:
            return set()
        return set(map(hash_of, self._answers.calls.key[self._answers.answered].tolist()))

    def of(self, calls: Sequence[Call]) -> Mask:
        """Which of these calls have a reply."""
        if self._answers is None:
            return np.array([call.key in self for call in calls], dtype=np.bool_)
        if not self._answers.answered.any():
            return np.zeros(len(calls), dtype=np.bool_)
        rows = self._answers.calls.lookup(keys_of(calls))
        heard: Mask = (rows >= 0) & self._answers.answered[rows]
        return heard

    def paid(self, calls: Sequence[Call]) -> float:
        """Dollars for those calls of one judge that have a reply."""
        if self._answers is None:
            return paid(calls, self)
        heard = self.of(calls)
        if not heard.any():
            return 0.0
        rows = self._answers.calls.lookup(keys_of(calls))
        return float(sum(Costs.of(self._answers, rows[heard]).dollars.tolist()))


def keys_of(calls: Sequence[Call]) -> Digests:
    """Identities of calls, in their order."""
    return calls.key if isinstance(calls, Trials) else digests_of([call.key for call in calls])
