"""A job that is done soon, and once for all who asked for it meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Coalesced:
    """A job in a thread of its own: who asks does not wait, and many who ask are served by one doing."""

    def __init__(self, job: Callable[[], object]) -> None:
        self._job = job
        self._changed = threading.Condition()
        self._asked = self._busy = self._closed = False
        self._fault: Exception | None = None
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Have it done after this moment."""
        with self._changed:
            self._asked = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="coalesced", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def settle(self) -> None:
        """Wait until all that was asked for is done; raise what the last doing ended with."""
        with self._changed:
            self._changed.wait_for(lambda: not self._asked and not self._busy)
            fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def close(self) -> None:
        """Do what was asked for, and end."""
        try:
            self.settle()
        finally:
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            if self._thread is not None:
                self._thread.join()

    def _work(self) -> None:
        while self._awaited():
            fault = None
            try:
                self._job()
            except Exception as error:
                fault = error
            with self._changed:
                self._busy, self._fault = False, fault
                self._changed.notify_all()

    def _awaited(self) -> bool:
        """True once somebody has asked; False where nobody will again."""
        with self._changed:
            self._changed.wait_for(lambda: self._asked or self._closed)
            self._busy, self._asked = self._asked, False
            return self._busy
