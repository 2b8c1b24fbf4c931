"""A real small language model as a judge, in this process: no key, no server, no hub.

`embedded/smollm2-135m` is prompted and answers with the admissible answer that it finds most probable.
`embedded/smollm2-135m-likelihood` is not prompted: it scores each text by log P(text | request), in nats,
the probability that the model itself would give exactly this answer to the request and then stop.
"""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from steelyard.errors import PermanentError, ProviderRefusedError
from steelyard.providers.embedded_chat import Chat
from steelyard.providers.embedded_recall import Recall
from steelyard.providers.weights import ensure_weights
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Decoding, Message, Presentation, Slots
from steelyard.trials.reply import Reply, Usage

if TYPE_CHECKING:
    from steelyard.providers.embedded_model import LanguageModel

PROMPTED = "smollm2-135m"
LIKELIHOOD = "smollm2-135m-likelihood"

SERVED_MODEL = "SmolLM2-135M-Instruct.Q4_1"
"""The weights behind both judges."""

MOST_CALLS = 16
"""Calls at the same time, however many cores there are."""

SCORES_KEPT = 100_000
"""Texts whose score is not worked out again."""


@dataclass(frozen=True)
class Score:
    """How probable a text is as an answer."""

    value: float
    """Log-probability in nats."""
    tokens: int
    """Tokens read to find it."""


class Embedded:
    """One embedded judge.

    Each call has one core to itself: cores that share a call wait for each other, and crawl when
    other programs want them too.
    """

    def __init__(self, judge: Judge) -> None:
        if judge.model not in (PROMPTED, LIKELIHOOD):
            raise ProviderRefusedError(
                f"judge {judge.name!r}: there is no embedded model {judge.model!r}; "
                f"use embedded/{PROMPTED} or embedded/{LIKELIHOOD}."
            )
        self._prompted = judge.model == PROMPTED
        self.concurrency = max(1, min(os.cpu_count() or 1, MOST_CALLS))
        self._workers: ThreadPoolExecutor | None = None
        self._blas: Any = None
        self._loaded: tuple[LanguageModel, Chat] | None = None
        self._scores: Recall[Score] = Recall(SCORES_KEPT, lambda _: 1)

    async def open(self) -> None:
        """Fetch the weights unless they are there, and load them."""
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        self._workers = ThreadPoolExecutor(self.concurrency, thread_name_prefix="embedded")
        self._loaded = await asyncio.get_running_loop().run_in_executor(self._workers, _load)
        self._blas = threadpool_limits(1, user_api="blas")

    async def ask(self, presentation: Presentation) -> Reply:
        """Evaluate one presentation."""
        answer = self._answer if self._prompted else self._compare
        start = perf_counter()
        reply = await asyncio.get_running_loop().run_in_executor(self._workers, answer, presentation)
        return replace(reply, latency_ms=(perf_counter() - start) * 1000)

    async def close(self) -> None:
        """Free the model."""
        if self._workers is not None:
            self._workers.shutdown(wait=False, cancel_futures=True)
        if self._blas is not None:
            self._blas.restore_original_limits()
        self._workers = self._blas = self._loaded = None
        self._scores.clear()

    @property
    def _parts(self) -> tuple[LanguageModel, Chat]:
        if self._loaded is None:
            raise RuntimeError("the embedded judge is not open: call open() before ask()")
        return self._loaded

    def _answer(self, presentation: Presentation) -> Reply:
        """The most probable admissible answer at the beginning of the assistant's turn."""
        model, chat = self._parts
        tokens = chat.first_tokens(presentation.answers)
        stages = chat.stages(presentation.messages, presentation.slots)
        size = self._checked(sum(map(len, stages)))
        every = model.next_logprobs(stages)
        logprobs = {answer: round(float(every[token]), 6) for answer, token in tokens.items()}
        return Reply(
            text=max(presentation.answers, key=lambda answer: logprobs[answer]),
            logprobs=logprobs,
            usage=Usage(input_tokens=size, output_tokens=1),
            served_model=SERVED_MODEL,
            effective=_effective(presentation.decoding),
        )

    def _compare(self, presentation: Presentation) -> Reply:
        """A score for each text; equal texts have equal scores."""
        request = presentation.slots.request
        scored = [
            self._scores.get((request, text), partial(self._score, request, text))
            for text in presentation.slots.texts
        ]
        scores = tuple(score.value for score in scored)
        return Reply(
            text=json.dumps({"scores": scores}),
            scores=scores,
            usage=Usage(input_tokens=sum(score.tokens for score in scored)),
            served_model=SERVED_MODEL,
            effective=_effective(presentation.decoding),
        )

    def _score(self, request: str, text: str) -> Score:
        """log P(text and end of turn | request).

        The end of the turn belongs to the answer: without it the probabilities of all texts do not add up
        to one. An empty text scores the probability of ending at once.
        """
        model, chat = self._parts
        stages = chat.stages((Message("user", request),), Slots(request, ()))
        turn = chat.turn(text)
        size = self._checked(sum(map(len, stages)) + len(turn))
        return Score(round(model.continuation_logprob(stages, turn), 4), size)

    def _checked(self, size: int) -> int:
        context = self._parts[0].shape.context
        if size > context:
            raise PermanentError(
                "context_overflow",
                f"the embedded model reads {context} tokens and the prompt has {size}: shorten it.",
            )
        return size


def _load() -> tuple[LanguageModel, Chat]:
    from steelyard.providers.embedded_model import load_model

    model, tokenizer = load_model(ensure_weights())
    return model, Chat(tokenizer)


def _effective(decoding: Decoding) -> dict[str, float]:
    """The most probable answer is what temperature 0 gives, whatever was asked for."""
    return {} if decoding.temperature in (0, None) else {"temperature": 0.0}
