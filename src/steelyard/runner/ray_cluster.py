"""A Ray cluster, joined or started within a time: Ray itself waits for one without end."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from contextlib import suppress
from importlib import import_module
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
        self._starting = asyncio.Lock()
        self._fault: UnreachableError | None = None

    async def join(self) -> Any:
        """The running Ray, started or joined by the first judge that asks; none is looked for twice."""
        try:
            ray = await asyncio.to_thread(import_module, "ray")
        except ImportError as error:
            raise ConfigError(
                "engine: ray is not installed; run pip install 'steelyard[ray]', or use --engine local."
            ) from error
        async with self._starting:
            if self._fault is not None:
                raise self._fault
            if not ray.is_initialized():
                await self._join(ray, self._address or os.environ.get("RAY_ADDRESS") or None)
        return ray

    async def _join(self, ray: Any, address: str | None) -> None:
        try:
            await _look(address)
            await _start(ray, address)
        except Exception as error:  # Ray has errors of many kinds, and none of them is a cluster
            reason = " ".join(str(error).split())[:200].rstrip(".")
            self._fault = UnreachableError(
                f"engine: no Ray cluster at {address or 'this machine'} ({reason}); start one with "
                "ray start --head, correct the address, or set RAY_AUTH_MODE=token where it asks for a token"
            )
            raise self._fault from error


async def _look(address: str | None) -> None:
    """Knock where a host and a port are named; all other addresses are Ray's own words."""
    parts = urlsplit(address if address and "://" in address else f"//{address or ''}")
    if parts.hostname and parts.port:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port)
        except TimeoutError:
            raise TimeoutError(f"nobody answers within {LOOK_SECONDS:g} s") from None
        except ConnectionRefusedError:
            raise ConnectionRefusedError("nobody listens there") from None
        writer.close()


async def _start(ray: Any, address: str | None) -> None:
    """In a thread that nobody has to wait for: what listens may be no cluster, and Ray would wait on."""
    loop = asyncio.get_running_loop()
    started: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        if started.done():
            return
        if error is None:
            started.set_result(None)
        else:
            started.set_exception(error)

    def start() -> None:
        fault: Exception | None = None
        try:
            ray.init(
                address=address, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False
            )
        except Exception as error:
            fault = error
        with suppress(RuntimeError):  # the run has ended meanwhile
            loop.call_soon_threadsafe(settle, fault)

    threading.Thread(target=start, daemon=True).start()
    try:
        async with asyncio.timeout(START_SECONDS):
            await started
    except TimeoutError:
        raise TimeoutError(f"it is not ready after {START_SECONDS:g} s") from None
