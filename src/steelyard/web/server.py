"""A server on a port of its own, and who may talk to it: one token, one browser session, one origin.

A page of another site must neither read what is served here nor change it, whatever the browser sends along:
the Host must be one of ours (a name that somebody else's DNS points here is not), the Origin must be the
Host's, the session comes from a link that only the terminal prints, and a change carries a second secret in a
header that no foreign page can set.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import uvicorn
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from steelyard.core.files import signature
from steelyard.core.text import capital
from steelyard.errors import ConfigError, RunError

BODY_LIMIT = 8 * 1024 * 1024
"""Bytes of a request, at most."""
CSRF = "x-steelyard-csrf"
READING = ("GET", "HEAD")
LOOPBACK = ("127.0.0.1", "localhost", "::1")

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer; one that a page sets itself stays."""


def _secret() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Access:
    host: str
    port: int
    token: str = field(default_factory=_secret)
    """In the link that the terminal prints."""
    session: str = field(default_factory=_secret)
    """In the cookie of a browser that came with the token."""
    csrf: str = field(default_factory=_secret)
    """In every page, and in a header of every change."""

    @classmethod
    def lasting(cls, host: str, port: int, *about: str) -> Access:
        """The same secrets at every start for this user; drawn where the user's key can not be kept."""
        try:
            token, session, csrf = (signature([*about, name]) for name in ("token", "session", "csrf"))
        except (OSError, ConfigError):
            return cls(host, port)
        return cls(host, port, token, session, csrf)

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers share cookies between ports, so that each server has its own."""
        return f"steelyard-{self.port}"

    def url(self, path: str = "/") -> str:
        name = "127.0.0.1" if self.host in ("", "0.0.0.0") else self.host
        shown = f"[{name}]" if ":" in name else name
        return f"http://{shown}:{self.port}{path}?{urlencode({'token': self.token})}"

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server, and not a name that leads here by somebody else's DNS."""
        name, _, port = host.rpartition(":")
        bare = name.removeprefix("[").removesuffix("]").lower()
        if port != str(self.port):
            return False
        if bare in LOOPBACK or bare == self.host.lower():
            return True
        if self.host in LOOPBACK:
            return False
        try:
            ipaddress.ip_address(bare)
        except ValueError:
            return bare == socket.gethostname().lower()
        return True


class Guard:
    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = self._check_origin(request) or self._check_session(request)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        scope["csrf"] = self._access.csrf
        await self._app(scope, _limited(receive), _with_headers(send))

    def _check_origin(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if not self._access.knows(host):
            return error_page(421, "This server does not answer to that name.")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return error_page(403, "Requests of other sites are refused.")
        # A link that somebody follows from elsewhere is let in: the session cookie is not sent with it.
        follows_link = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site") and not follows_link:
            return error_page(403, "Requests of other sites are refused.")
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY_LIMIT:
            return error_page(413, f"A request may have {BODY_LIMIT:,} bytes at most.")
        return None

    def _check_session(self, request: Request) -> Response | None:
        """The session of a known browser; a token makes one and leaves the address."""
        given = request.query_params.get("token")
        if given is not None and request.method in READING:
            if not _same(given, self._access.token):
                return error_page(
                    403, "That link is of another server: open the one that the terminal printed."
                )
            query = {name: v for name, v in parse_qs(request.url.query).items() if name != "token"}
            rest = f"?{urlencode(query, doseq=True)}" if query else ""
            answer = RedirectResponse(f"/{request.url.path.lstrip('/')}{rest}", status_code=303)
            answer.set_cookie(self._access.cookie, self._access.session, httponly=True, samesite="strict")
            return answer
        if request.url.path.startswith("/static/") and request.method in READING:
            return None
        cookies = SimpleCookie(request.headers.get("cookie", ""))
        known = cookies.get(self._access.cookie)
        if known is None or not _same(known.value, self._access.session):
            return error_page(403, "Open the link that the terminal printed; then this page will open too.")
        if request.method not in READING:
            return self._check_change(request)
        return None

    def _check_change(self, request: Request) -> Response | None:
        if request.method != "POST":
            return error_page(405, "Only GET and POST are answered.")
        if request.headers.get("origin") is None or not _same(
            request.headers.get(CSRF, ""), self._access.csrf
        ):
            return error_page(403, "A change must come from a page of this server: load the page again.")
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return error_page(415, "A change must be sent as JSON.")
        return None


def _same(left: str, right: str) -> bool:
    return secrets.compare_digest(left.encode(), right.encode())


class TooLongError(Exception):
    """A body that goes on beyond the limit, whatever its header said."""


def _limited(receive: Receive) -> Receive:
    """Count what comes: a body without a length is no way around the limit."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > BODY_LIMIT:
            raise TooLongError
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in own]
            message["headers"] = [*message["headers"], *more]
        await send(message)

    return send_with_headers


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>Steelyard: {status}</title>
<link rel="stylesheet" href="/static/style.css">
<link rel="stylesheet" href="/static/bench.css"></head>
<body><main class="alone"><p class="kind">Steelyard</p><h1 class="long">{sentence}</h1>
<p><a class="button" href="">Try again</a> <a class="button" href="/">Back to the start</a></p></main>
</body></html>
"""


def error_page(status: int, sentence: str) -> Response:
    return HTMLResponse(_PAGE.format(status=status, sentence=escape(capital(sentence))), status)


def json_error(status: int, sentence: str, **more: object) -> Response:
    return JSONResponse({"refused": sentence, **more}, status)


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
