"""Values that are worked out once, even when several threads want the same one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Recall(Generic[V]):
    """Keeps the values asked for last, as many as there is room for."""

    def __init__(self, room: int, size: Callable[[V], int]) -> None:
        """`size` says how much of the room a value takes."""
        self._room = room
        self._size = size
        self._taken = 0
        self._lock = Lock()
        self._values: OrderedDict[Hashable, Future[V]] = OrderedDict()

    def get(self, key: Hashable, work_out: Callable[[], V]) -> V:
        """The value of a key: kept, being worked out by another thread, or worked out here."""
        with self._lock:
            known = key in self._values
            value = self._values.setdefault(key, Future())
            self._values.move_to_end(key)
        if not known:
            self._settle(key, value, work_out)
        return value.result()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()
            self._taken = 0

    def _settle(self, key: Hashable, value: Future[V], work_out: Callable[[], V]) -> None:
        try:
            value.set_result(work_out())
        except BaseException as error:
            value.set_exception(error)
            with self._lock:
                self._values.pop(key, None)
        else:
            self._make_room(self._size(value.result()))

    def _make_room(self, added: int) -> None:
        """Forget settled values, those not asked for longest first, until the rest fits."""
        with self._lock:
            self._taken += added
            settled = (key for key, value in list(self._values.items()) if value.done())
            while self._taken > self._room:
                self._taken -= self._size(self._values.pop(next(settled)).result())
