"""A Ray cluster, joined or started within a time: Ray itself waits for one without end."""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

from steelyard.errors import ConfigError, UnreachableError

START_SECONDS = 180.0
"""Time for joining or starting a cluster."""
LOOK_SECONDS = 10.0
"""Time for the first sign that somebody listens at an address."""


class Cluster:
    """The cluster of a run, at an address or where Ray itself looks for one."""

    def __init__(self, address: str | None) -> None:
        """Nothing is started yet."""
        self._address = address
        self._starting = threading.Lock()
        self._fault: UnreachableError | None = None

    def join(self) -> Any:
        """The running Ray, started or joined by the first judge that asks; none is looked for twice."""
        try:
            import ray
        except ImportError as error:
            raise ConfigError(
                "engine: ray is not installed; run pip install 'steelyard[ray]', or use --engine local."
            ) from error
        with self._starting:
            if self._fault is not None:
                raise self._fault
            if not ray.is_initialized():
                self._join(ray, self._address or os.environ.get("RAY_ADDRESS") or None)
        return ray

    def _join(self, ray: Any, address: str | None) -> None:
        try:
            _look(address)
            _start(ray, address)
        except (OSError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            self._fault = UnreachableError(
                f"engine: no Ray cluster at {address or 'this machine'} ({reason}); start one with "
                "ray start --head, correct the address, or set RAY_AUTH_MODE=token where it asks for a token"
            )
            raise self._fault from error


def _look(address: str | None) -> None:
    """Knock where a host and a port are named; all other addresses are Ray's own words."""
    parts = urlsplit(address if address and "://" in address else f"//{address or ''}")
    if parts.hostname and parts.port:
        try:
            socket.create_connection((parts.hostname, parts.port), LOOK_SECONDS).close()
        except TimeoutError:
            raise TimeoutError(f"nobody answers within {LOOK_SECONDS:g} s") from None


def _start(ray: Any, address: str | None) -> None:
    """In a thread that nobody has to wait for: what listens may be no cluster, and Ray would wait on."""
    faults: list[Exception] = []

    def start() -> None:
        try:
            ray.init(
                address=address, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False
            )
        except Exception as error:
            faults.append(error)

    thread = threading.Thread(target=start, daemon=True)
    thread.start()
    thread.join(START_SECONDS)
    if thread.is_alive():
        raise TimeoutError(f"it is not ready after {START_SECONDS:g} s")
    if faults:
        raise faults[0]
