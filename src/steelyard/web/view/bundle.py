"""The viewer as files that any web server can serve: every page is fetched once, and its links follow."""

from __future__ import annotations

import asyncio
import hashlib
import html
import re
import shutil
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

from steelyard.commands.view.call_index import same_calls
from steelyard.core.atomic_write import write_error
from steelyard.errors import ConfigError
from steelyard.web.pages import ASSETS, asset_text
from steelyard.web.view.app import ViewPages
from steelyard.web.view.links import StillLinks

PAGE_SIZE = 500
MARK = "bundle.txt"
"""File by which a bundle is known, so that it may be written anew."""
_LINK = re.compile(r'\b(href|src)="(/[^"]*)"')


def write_bundle(folders: Sequence[Path], out: Path) -> int:
    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        raise ConfigError(f"{out}: is not empty and holds no bundle, expected a new folder; name another.")
    alike: dict[int, dict[str, tuple[str, ...]]] = {}
    pages = ViewPages(
        folders, lambda number: StillLinks(number, alike.get(number, {})), PAGE_SIZE, still=True
    )
    for number, run in enumerate(pages.runs):
        alike[number] = same_calls(run.published.figures if run.published else {}, run.load().index)
    try:
        shutil.rmtree(out / "pages", ignore_errors=True)
        (out / "pages").mkdir(parents=True)
        (out / MARK).write_text("Pages of `steelyard view --bundle`; written anew by it.\n", encoding="utf-8")
        (out / "static").mkdir(exist_ok=True)
        for name in ASSETS:
            (out / "static" / name).write_text(asset_text(name), encoding="utf-8")
        return asyncio.run(_crawl(pages.app(), out))
    except OSError as error:
        raise write_error(out, error) from error


async def _crawl(app: ASGIApp, out: Path) -> int:
    waiting, known = deque(["/"]), {"/"}
    written = 0
    while waiting:
        address = waiting.popleft()
        status, body = await _fetch(app, address)
        if status != 200:
            continue
        if place_of(address).endswith(".html"):
            text = body.decode("utf-8")
            for _, found in _LINK.findall(text):
                link = html.unescape(found).partition("#")[0]
                if link not in known and not link.startswith("/static/"):
                    known.add(link)
                    waiting.append(link)
            body = _relinked(text, depth=place_of(address).count("/")).encode("utf-8")
        (out / place_of(address)).write_bytes(body)
        written += 1
    return written


def place_of(address: str) -> str:
    """The file of an address: short names for what people look for, hashes for the rest."""
    if address.startswith("/static/"):
        return address[1:]
    if address == "/":
        return "index.html"
    if found := re.fullmatch(r"/run/(\d+)/", address):
        return f"run-{found[1]}.html"
    if found := re.fullmatch(r"/run/(\d+)/files/([\w.]+)", address):
        return f"run-{found[1]}-{found[2]}"
    if found := re.fullmatch(r"/run/(\d+)/figures/([\w-]+\.svg)", address):
        return f"run-{found[1]}-{found[2]}"
    return f"pages/{hashlib.sha256(address.encode()).hexdigest()[:16]}.html"


def _relinked(text: str, depth: int) -> str:
    def relative(match: re.Match[str]) -> str:
        address, mark, anchor = html.unescape(match[2]).partition("#")
        return f'{match[1]}="{html.escape("../" * depth + place_of(address) + mark + anchor)}"'

    return _LINK.sub(relative, text)


async def _fetch(app: ASGIApp, address: str) -> tuple[int, bytes]:
    """Status and body of one request to the application itself, without a socket."""
    path, _, query = address.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"bundle")],
        "server": ("bundle", 80),
        "client": ("bundle", 0),
        "root_path": "",
    }
    status, parts, sent = 500, bytearray(), False

    async def receive() -> Message:
        """The request, and then nothing: nobody goes away before the answer is complete."""
        nonlocal sent
        if sent:
            await asyncio.Event().wait()
        sent = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            parts.extend(message.get("body", b""))

    await app(scope, receive, send)
    return status, bytes(parts)
