"""Debounce: many triggers while a job runs are answered by one further run of it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Debouncer:
    """Runs a job in its own thread: callers do not wait, triggers that come meanwhile share one run."""

    def __init__(self, job: Callable[[], object]) -> None:
        self._job = job
        self._changed = threading.Condition()
        self._triggered = self._busy = self._closed = False
        self._fault: Exception | None = None
        self._thread: threading.Thread | None = None

    def trigger(self) -> None:
        with self._changed:
            self._triggered = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="debouncer", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until every trigger is served; raise the error of the last run."""
        with self._changed:
            self._changed.wait_for(lambda: not self._triggered and not self._busy)
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
            self._busy, self._triggered = self._triggered, False
            return self._busy
