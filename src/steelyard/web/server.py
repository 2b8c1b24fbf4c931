"""A server on a port of its own, until it is told to stop."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from steelyard.errors import ConfigError, RunError
from steelyard.web.access import LOOPBACK, Access, Guard


class Server:
    def __init__(self, host: str, port: int, *about: str | Path) -> None:
        """A server about something has the same link at every start, while nobody else has its port."""
        usual = usual_port(*about) if about else 0
        self._socket = _bound(host, port) if port or not usual else _bound_at_best(host, usual)
        port = self._socket.getsockname()[1]
        self.access = Access.lasting(host, port, *_names(about)) if about else Access(host, port)
        self._running: uvicorn.Server | None = None

    @property
    def stopping(self) -> bool:
        """True once the server is about to end: what streams should end too."""
        return self._running is None or self._running.should_exit

    def stop(self) -> None:
        if self._running is not None:
            self._running.should_exit = True

    def serve(self, app: ASGIApp, ready: Callable[[str], None]) -> None:
        """Answer until `stop` or Ctrl-C; `ready` is told the link to open."""
        config = uvicorn.Config(
            Guard(app, self.access),
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=64 * 1024,
        )
        self._running = uvicorn.Server(config)
        ready(self.access.url())
        with suppress(KeyboardInterrupt):
            self._running.run(sockets=[self._socket])


def usual_port(*about: str | Path) -> int:
    """The same at every start: what a browser keeps for a reviewer belongs to an address with its port."""
    return 20_000 + int(hashlib.sha256("\n".join(_names(about)).encode()).hexdigest(), 16) % 10_000


def _names(about: Sequence[str | Path]) -> list[str]:
    return [str(part.resolve()) if isinstance(part, Path) else part for part in about]


def _bound_at_best(host: str, port: int) -> socket.socket:
    """At this port, or at any where somebody else listens there."""
    try:
        return _bound(host, port)
    except RunError:
        return _bound(host, 0)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        reason = error.strerror or error
        raise RunError(f"{host}:{port}: cannot be listened at ({reason}); choose another --port.") from error
    bound.listen()
    return bound


def require_loopback(host: str, *, remote: bool) -> None:
    if host not in LOOPBACK and not remote:
        raise ConfigError(
            f"--host {host}: other machines could reach the page, with your texts on it and over a line that "
            "anybody may read; add --allow-remote if that is meant, or leave --host out."
        )
