"""A real small language model as a judge, in this process: no key, no server, no hub.

`embedded/smollm2-135m` is prompted and answers with the admissible answer that it finds most probable.
`embedded/smollm2-135m-likelihood` is not prompted: it scores each text by log P(text | request) −
log P(text | no request), in nats: by what the request adds to the probability that the model itself would
give exactly this answer and then stop. The first term alone prefers what is commonplace; the option
`relative`, set to false, asks for it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from steelyard.core.registry import Spec
from steelyard.errors import PermanentError, ProviderRefusedError
from steelyard.providers.embedded.model import (
    Array,
    LanguageModel,
    LoadedModel,
    Memory,
    Stage,
    length,
    shared_model,
)
from steelyard.providers.embedded.weights import Chat, ensure_weights, verify_weights
from steelyard.providers.provider_info import DoctorCheck, JudgeExample, Options, ProviderInfo, Settings
from steelyard.tasks.task import Pairwise, Scale
from steelyard.trials.judge import Decoding, Judge, Presentation, Protocol, Reply, Slots, Usage
from steelyard.trials.prompt import Message

V = TypeVar("V")


class AsyncCache(Generic[V]):
    def __init__(self, capacity: int, size: Callable[[V], int]) -> None:
        self._capacity = capacity
        self._size = size
        self._taken = 0
        self._values: OrderedDict[Hashable, asyncio.Task[V]] = OrderedDict()

    async def get(self, key: Hashable, compute: Callable[[], Awaitable[V]]) -> V:
        if key not in self._values:
            self._values[key] = asyncio.create_task(self._store(key, compute))
        self._values.move_to_end(key)
        # A caller that is cancelled must not take along a value that others wait for.
        return await asyncio.shield(self._values[key])

    def clear(self) -> None:
        for task in self._values.values():
            task.cancel()
        self._values.clear()
        self._taken = 0

    async def _store(self, key: Hashable, compute: Callable[[], Awaitable[V]]) -> V:
        try:
            value = await compute()
        except BaseException:
            self._values.pop(key, None)
            raise
        self._taken += self._size(value)
        for settled in [each for each, task in self._values.items() if task.done()]:
            if self._taken > self._capacity:
                self._taken -= self._size(self._values.pop(settled).result())
        return value


T = TypeVar("T")

CACHED_TOKENS = 6_000
"""Tokens whose keys and values are kept, at 46 kB each."""


class InferenceEngine:
    """A model at work: what prompts share is read once (prefix cache); a piece of work has a core of its own.

    A prompt comes in stages. What was read is cached for prompts that begin with the same stages, and the
    same stages give the same numbers to the last bit, whatever was asked before: a cached stage holds exactly
    what reading it again would give. Cores that share a piece wait for each other, and crawl when other
    programs want them too.
    """

    def __init__(self, model: LanguageModel, cores: int) -> None:
        from threadpoolctl import threadpool_limits

        self.context = model.shape.context
        self._model = model
        self._workers = ThreadPoolExecutor(cores, thread_name_prefix="embedded")
        self._blas = threadpool_limits(1, user_api="blas")
        self._cache: AsyncCache[Memory] = AsyncCache(CACHED_TOKENS, length)

    async def next_logprobs(self, stages: Sequence[Stage]) -> Array:
        *before, last = stages
        return await self._work(self._model.next_logprobs, last, await self._memory(tuple(before)))

    async def continuation_logprob(self, stages: Sequence[Stage], continuation: Stage) -> float:
        """Log-probability, in nats, that exactly these tokens follow the stages."""
        *before, last = stages
        memory = await self._memory((*before, last[:-1]) if len(last) > 1 else tuple(before))
        return await self._work(self._model.continuation_logprob, last[-1], continuation, memory)

    def close(self) -> None:
        self._cache.clear()
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._blas.restore_original_limits()

    async def _memory(self, stages: tuple[Stage, ...]) -> Memory:
        return await self._cache.get(stages, lambda: self._read(stages)) if stages else ()

    async def _read(self, stages: tuple[Stage, ...]) -> Memory:
        before = await self._memory(stages[:-1])
        return (await self._work(self._model.read, stages[-1], before))[1]

    def _work(self, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._workers, function, *arguments)


# Prompts are short, and what trials share comes first, because reading is what costs. The protocols of a pair
# differ in their last line only: another question about a pair that was read for the base question costs few
# tokens.
_PAIR = """\
{{ instruction }} {{ rubric }}

Request: {{ request }}

Answer 1:
{{ fence }}
{{ first }}
{{ fence }}
Answer 2:
{{ fence }}
{{ second }}
{{ fence }}
"""

EMBEDDED_GRADED = {
    "lenient": _PAIR + "Which is better, if only a little? Reply 1, 2 or tie.",
    "base": _PAIR + "Which is better? Reply 1, 2 or tie.",
    "strict": _PAIR + "Which is better? Unless one is clearly better, reply tie. Reply 1, 2 or tie.",
    "strictest": _PAIR + "Which is better? Unless one is far better, reply tie. Reply 1, 2 or tie.",
}

EMBEDDED_SCORE_PROMPT = """\
{{ instruction }} {{ rubric }}

Request: {{ request }}

Response:
{{ fence }}
{{ response }}
{{ fence }}
Give the score, a whole number from {{ low }} to {{ high }}. Reply with the number only."""


PROMPTED = "smollm2-135m"
LIKELIHOOD = "smollm2-135m-likelihood"

LIKELIHOOD_MARGIN = 2.0
LIKELIHOOD_STRICT_MARGIN = 8.0
"""Margins in nats within which a likelihood judge calls a tie."""

LIKELIHOOD_TEMPLATE = "{{ request }}\n1: {{ first }}\n2: {{ second }}"
"""A likelihood judge is not prompted; this is the record of what it compared."""

Margin = Annotated[float, Field(ge=0)]
"""Nats."""


class LikelihoodOptions(Options):
    owner = "likelihood judges"

    margin: Margin | None = Field(default=None, exclude=True)
    relative: bool | None = None
    """False scores a text by its probability alone, without that of the text by itself."""


class LikelihoodSettings(Settings):
    owner = "likelihood judges"

    margin: Margin | None = None

    def applied(self, protocol: Protocol) -> Protocol:
        """The margin belongs to the reader, which sees both scores."""
        return protocol if self.margin is None else replace(protocol, reader=_reader(self.margin))


def _reader(margin: float) -> Spec:
    return Spec("likelihood", {"margin": margin})


def _margins(scale: Scale, options: LikelihoodOptions) -> Mapping[str, Protocol]:
    del scale
    base = LIKELIHOOD_MARGIN if options.margin is None else options.margin
    strict = max(LIKELIHOOD_STRICT_MARGIN, 4 * base)
    margins = {"lenient": base / 4, "base": base, "strict": strict, "strictest": 2 * strict}
    return {name: Protocol(LIKELIHOOD_TEMPLATE, reader=_reader(margin)) for name, margin in margins.items()}


def _choices(scale: Scale, options: Any) -> Mapping[str, Protocol]:
    del options
    prompts = EMBEDDED_GRADED if isinstance(scale, Pairwise) else {"base": EMBEDDED_SCORE_PROMPT}
    return {name: Protocol(text, reader=Spec("choice")) for name, text in prompts.items()}


def _weights() -> Iterator[DoctorCheck]:
    subject, state = "embedded weights", verify_weights()
    if not state.present:
        yield DoctorCheck(subject, "absent", f"fetched at first use into {state.path.parent}")
    elif not state.intact:
        yield DoctorCheck(subject, "broken", f"{state.path} has the wrong hash; delete it")
    else:
        yield DoctorCheck(subject, "ok", str(state.path))


CONTEXT = 1536
"""Tokens of a run of an agent that it is given: it could read more, and would take minutes for each."""

_ANY = ProviderInfo(
    free=True,
    can_choose=False,
    sequential=True,
    can_write=False,
    seconds_per_call=0.8,
    options=Options,
    protocols=_choices,
    checks=_weights,
)

_PROMPTED_EXAMPLE = JudgeExample(
    f"embedded/{PROMPTED}", "a real 135M-parameter model in this process, prompted for 1, 2 or tie"
)
_LIKELIHOOD_EXAMPLE = JudgeExample(
    f"embedded/{LIKELIHOOD}", "the same model, comparing log P(answer | request) of the two answers"
)

EMBEDDED = replace(
    _ANY,
    models={
        PROMPTED: replace(_ANY, context=CONTEXT, examples=(_PROMPTED_EXAMPLE,)),
        LIKELIHOOD: replace(
            _ANY,
            uses_prompt=False,
            can_score=False,
            options=LikelihoodOptions,
            settings=LikelihoodSettings,
            protocols=_margins,
            examples=(_LIKELIHOOD_EXAMPLE,),
        ),
    },
)

SERVED_MODEL = "SmolLM2-135M-Instruct.Q4_1"

NO_REQUEST = ""
"""The user message under which a relative judge takes the measure of a text by itself."""

MOST_CORES = 16

CACHED_SCORES = 100_000


@dataclass(frozen=True)
class Score:
    value: float
    """Log-probability in nats."""
    tokens: int


class Embedded:
    info = EMBEDDED

    def __init__(self, judge: Judge) -> None:
        if judge.model not in (PROMPTED, LIKELIHOOD):
            raise ProviderRefusedError(
                f"judge {judge.name!r}: there is no embedded model {judge.model!r}; "
                f"use embedded/{PROMPTED} or embedded/{LIKELIHOOD}."
            )
        self._prompted = judge.model == PROMPTED
        self._relative = bool(judge.options.get("relative", True))
        self._cores = max(1, min(os.cpu_count() or 1, MOST_CORES))
        # Trials share work, and those that wait for shared work leave their core to others.
        self.concurrency = 4 * self._cores
        self._loaded: tuple[InferenceEngine, Chat, LoadedModel] | None = None
        self._scores: AsyncCache[Score] = AsyncCache(CACHED_SCORES, lambda _: 1)

    async def open(self) -> None:
        self._loaded = await asyncio.to_thread(_load, self._cores)

    async def ask(self, presentation: Presentation) -> Reply:
        start = perf_counter()
        reply = await (self._answer(presentation) if self._prompted else self._compare(presentation))
        return replace(reply, latency_ms=(perf_counter() - start) * 1000)

    async def close(self) -> None:
        self._scores.clear()
        if self._loaded is not None:
            self._loaded[0].close()
        self._loaded = None

    @property
    def _parts(self) -> tuple[InferenceEngine, Chat]:
        if self._loaded is None:
            raise RuntimeError("the embedded judge is not open: call open() before ask()")
        return self._loaded[:2]

    async def _answer(self, presentation: Presentation) -> Reply:
        reader, chat = self._parts
        tokens = chat.first_tokens(presentation.answers)
        stages = chat.stages(presentation.messages, presentation.slots)
        size = _checked(sum(map(len, stages)), reader.context)
        every = await reader.next_logprobs(stages)
        logprobs = {answer: round(float(every[token]), 6) for answer, token in tokens.items()}
        return Reply(
            text=max(presentation.answers, key=lambda answer: logprobs[answer]),
            logprobs=logprobs,
            usage=Usage(input_tokens=size, output_tokens=1),
            served_model=SERVED_MODEL,
            effective=_effective(presentation.decoding),
        )

    async def _compare(self, presentation: Presentation) -> Reply:
        request, texts = presentation.slots.request, presentation.slots.texts
        scored = await asyncio.gather(*(self._score(request, text) for text in texts))
        scores = tuple(score.value for score in scored)
        return Reply(
            text=json.dumps({"scores": scores}),
            scores=scores,
            usage=Usage(input_tokens=sum(score.tokens for score in scored)),
            served_model=SERVED_MODEL,
            effective=_effective(presentation.decoding),
        )

    async def _score(self, request: str, text: str) -> Score:
        requests = (request, NO_REQUEST) if self._relative else (request,)
        given, *alone = await asyncio.gather(
            *(self._scores.get((each, text), partial(self._likelihood, each, text)) for each in requests)
        )
        return Score(
            round(given.value - sum(score.value for score in alone), 4),
            given.tokens + sum(score.tokens for score in alone),
        )

    async def _likelihood(self, request: str, text: str) -> Score:
        """log P(text and end of turn | request).

        The end of the turn belongs to the answer: without it the probabilities of all texts do not add up
        to one. An empty text scores the probability of ending at once.
        """
        reader, chat = self._parts
        stages = chat.stages((Message("user", request),), Slots(request, ()))
        turn = chat.turn(text)
        size = _checked(sum(map(len, stages)) + len(turn), reader.context)
        return Score(await reader.continuation_logprob(stages, turn), size)


def _load(cores: int) -> tuple[InferenceEngine, Chat, LoadedModel]:
    loaded = shared_model(ensure_weights())
    return InferenceEngine(loaded.model, cores), Chat(loaded.tokenizer), loaded


def _checked(size: int, context: int) -> int:
    if size > context:
        raise PermanentError(
            "context_overflow",
            f"the embedded model reads {context} tokens and the prompt has {size}: shorten it.",
        )
    return size


def _effective(decoding: Decoding) -> dict[str, float]:
    """The most probable answer is what temperature 0 gives, whatever was asked for."""
    return {} if decoding.temperature in (0, None) else {"temperature": 0.0}
