"""Debounce: many triggers in a row, or while a job runs, are answered by one run of it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Debouncer:
    """Runs a job in its own thread: callers do not wait, triggers that come meanwhile share one run.

    It begins once `quiet` seconds have passed without a trigger, or somebody waits for it.
    """

    def __init__(self, job: Callable[[], object], quiet: float = 0.0) -> None:
        self._job, self._quiet = job, quiet
        self._changed = threading.Condition()
        self._triggered = self._busy = self._closed = self._awaited = False
        self._triggers = 0
        self._fault: Exception | None = None
        self._thread: threading.Thread | None = None

    def trigger(self) -> None:
        with self._changed:
            self._triggered = True
            self._triggers += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="debouncer", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until every trigger is served; raise the error of the last run."""
        with self._changed:
            self._awaited = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._triggered and not self._busy)
            self._awaited = False
            fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def close(self) -> None:
        try:
            self.flush()
        finally:
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            if self._thread is not None:
                self._thread.join()

    def _work(self) -> None:
        while self._wait_for_trigger():
            fault = None
            try:
                self._job()
            except Exception as error:
                fault = error
            with self._changed:
                self._busy, self._fault = False, fault
                self._changed.notify_all()

    def _wait_for_trigger(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._triggered or self._closed)
            seen = -1
            while self._quiet and not self._awaited and not self._closed and seen != self._triggers:
                seen = self._triggers
                self._changed.wait_for(lambda: self._awaited or self._closed, self._quiet)
            self._busy, self._triggered = self._triggered, False
            return self._busy
