"""Debounce: many triggers in a row, or while a job runs, are answered by one run of it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Debouncer:
    """Runs a job in a thread of its own: callers do not wait, triggers that come meanwhile share one run.

    It begins once `quiet` seconds have passed without a trigger, or somebody waits for it.
    """

    def __init__(self, job: Callable[[], object], quiet: float = 0.0) -> None:
        self._job, self._quiet = job, quiet
        self._lock, self._running = threading.Lock(), threading.Lock()
        self._triggered = False
        self._timer: threading.Timer | None = None
        self._fault: Exception | None = None

    def trigger(self) -> None:
        with self._lock:
            self._triggered = True
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._quiet, self._run)
            self._timer.daemon = True
            self._timer.start()

    def flush(self) -> None:
        """Serve every trigger before it returns; raise the error of the last run."""
        self._run()
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def close(self) -> None:
        try:
            self.flush()
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer.join()

    def _run(self) -> None:
        with self._running:
            with self._lock:
                triggered, self._triggered = self._triggered, False
            if triggered:
                self._fault = None
                try:
                    self._job()
                except Exception as error:
                    self._fault = error
