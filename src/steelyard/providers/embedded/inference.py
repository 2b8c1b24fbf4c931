"""The inference engine of the embedded model: it reads what prompts share once (prefix cache).

A prompt comes in stages. What was read is cached for prompts that begin with the same stages, and the same
stages give the same numbers to the last bit, whatever was asked before: a cached stage holds exactly what
reading it again would give.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from steelyard.providers.embedded.model import Array, LanguageModel, Memory, Stage, length

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
        self._evict()
        return value

    def _evict(self) -> None:
        settled = [key for key, task in self._values.items() if task.done()]
        for key in settled:
            if self._taken <= self._capacity:
                return
            self._taken -= self._size(self._values.pop(key).result())


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
