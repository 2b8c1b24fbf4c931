"""Reads prompts on all cores, and reads what prompts share once.

A prompt comes in stages. What was read is remembered for prompts that begin with the same stages, and the
same stages give the same numbers to the last bit, whatever was asked before: a remembered stage holds
exactly what reading it again would give.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from steelyard.providers.embedded.async_cache import AsyncCache
from steelyard.providers.embedded.gguf import Array
from steelyard.providers.embedded.model import LanguageModel, Memory, Stage, length

T = TypeVar("T")

CACHED_TOKENS = 6_000
"""Tokens whose keys and values are kept, at 46 kB each."""


class InferenceEngine:
    """A model at work: each piece of work has one core to itself.

    Cores that share a piece wait for each other, and crawl when other programs want them too.
    """

    def __init__(self, model: LanguageModel, cores: int) -> None:
        from threadpoolctl import threadpool_limits

        self.context = model.shape.context
        """Longest prompt in tokens."""
        self._model = model
        self._workers = ThreadPoolExecutor(cores, thread_name_prefix="embedded")
        self._blas = threadpool_limits(1, user_api="blas")
        self._cache: AsyncCache[Memory] = AsyncCache(CACHED_TOKENS, length)

    async def next_logprobs(self, stages: Sequence[Stage]) -> Array:
        """Log-probability of every token of the vocabulary after the stages."""
        *before, last = stages
        return await self._work(self._model.next_logprobs, last, await self._memory(tuple(before)))

    async def continuation_logprob(self, stages: Sequence[Stage], continuation: Stage) -> float:
        """Log-probability, in nats, that exactly these tokens follow the stages."""
        *before, last = stages
        memory = await self._memory((*before, last[:-1]) if len(last) > 1 else tuple(before))
        return await self._work(self._model.continuation_logprob, last[-1], continuation, memory)

    def close(self) -> None:
        """Let go of threads and memory."""
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
