"""Values that are worked out once, even when several tasks want the same one."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Recall(Generic[V]):
    """Keeps the values asked for last, as many as there is room for and one at least."""

    def __init__(self, room: int, size: Callable[[V], int]) -> None:
        """`size` says how much of the room a value takes."""
        self._room = room
        self._size = size
        self._taken = 0
        self._values: OrderedDict[Hashable, asyncio.Task[V]] = OrderedDict()

    async def get(self, key: Hashable, work_out: Callable[[], Awaitable[V]]) -> V:
        """The value of a key: kept, being worked out for another task, or worked out for this one."""
        if key not in self._values:
            self._values[key] = asyncio.create_task(self._settle(key, work_out))
        self._values.move_to_end(key)
        # A caller that is cancelled must not take along a value that others wait for.
        return await asyncio.shield(self._values[key])

    def clear(self) -> None:
        """Forget everything, and stop what is being worked out."""
        for task in self._values.values():
            task.cancel()
        self._values.clear()
        self._taken = 0

    async def _settle(self, key: Hashable, work_out: Callable[[], Awaitable[V]]) -> V:
        try:
            value = await work_out()
        except BaseException:
            self._values.pop(key, None)
            raise
        self._taken += self._size(value)
        self._make_room()
        return value

    def _make_room(self) -> None:
        """Forget settled values, those not asked for longest first, until the rest fits."""
        settled = [key for key, task in self._values.items() if task.done()]
        for key in settled:
            if self._taken <= self._room:
                return
            self._taken -= self._size(self._values.pop(key).result())
