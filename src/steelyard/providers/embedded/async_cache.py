"""A least-recently-used cache of values that are computed once, even when several tasks want the same one."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class AsyncCache(Generic[V]):
    """Caches the values used last, up to a total size, and one at least."""

    def __init__(self, capacity: int, size: Callable[[V], int]) -> None:
        """`size` says how much of the capacity a value takes."""
        self._capacity = capacity
        self._size = size
        self._taken = 0
        self._values: OrderedDict[Hashable, asyncio.Task[V]] = OrderedDict()

    async def get(self, key: Hashable, compute: Callable[[], Awaitable[V]]) -> V:
        """The value of a key: cached, being computed for another task, or computed for this one."""
        if key not in self._values:
            self._values[key] = asyncio.create_task(self._store(key, compute))
        self._values.move_to_end(key)
        # A caller that is cancelled must not take along a value that others wait for.
        return await asyncio.shield(self._values[key])

    def clear(self) -> None:
        """Forget everything, and cancel what is being computed."""
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
        """Forget settled values, those not asked for longest first, until the rest fits."""
        settled = [key for key, task in self._values.items() if task.done()]
        for key in settled:
            if self._taken <= self._capacity:
                return
            self._taken -= self._size(self._values.pop(key).result())
