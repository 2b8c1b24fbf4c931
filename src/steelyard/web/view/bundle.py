"""The viewer as files that open from a disk: the calls of a run are data, and a script makes their pages."""

from __future__ import annotations

import asyncio
import hashlib
import html
import re
import shutil
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

from steelyard.core.files import write_error
from steelyard.errors import ConfigError
from steelyard.web.pages import asset_text
from steelyard.web.view.app import ViewPages
from steelyard.web.view.bundle_data import data_scripts
from steelyard.web.view.links import StillLinks

MARK = "bundle.txt"
"""File by which a bundle is known, so that it may be written anew."""
FOLDERS = ("data", "pages")
"""Folders that are emptied first, so that nothing of an earlier bundle stays."""
ASSETS_USED = (
    *("style.css", "evidence.css", "bench.css", "view.css"),
    *("theme.js", "page.js", "view.js", "bundle.js"),
)
_LINK = re.compile(r'\b(href|src)="(/[^"]*)"')


def write_bundle(folders: Sequence[Path], out: Path, say: Callable[[str], None] = lambda _: None) -> int:
    """Write the pages and return the number of files; `say` is told what is being written."""
    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        raise ConfigError(f"{out}: is not empty and holds no bundle, expected a new folder; name another.")
    pages = ViewPages(folders, StillLinks, still=True)
    try:
        for name in FOLDERS:
            shutil.rmtree(out / name, ignore_errors=True)
            (out / name).mkdir(parents=True)
        (out / MARK).write_text("Pages of `steelyard view --bundle`; written anew by it.\n", encoding="utf-8")
        (out / "static").mkdir(exist_ok=True)
        for name in ASSETS_USED:
            (out / "static" / name).write_text(asset_text(name), encoding="utf-8")
        written = 1 + len(ASSETS_USED)
        for number, run in enumerate(pages.runs):
            say(f"{run.path.name}: calls")
            for name, text in data_scripts(run, f"run-{number}"):
                (out / "data" / f"{name}.js").write_text(text, encoding="ascii")
                written += 1
        return written + asyncio.run(_crawl(pages.app(), out, say))
    except OSError as error:
        raise write_error(out, error) from error


async def _crawl(app: ASGIApp, out: Path, say: Callable[[str], None]) -> int:
    """Write every page that the first one leads to; each is fetched once, and its links follow."""
    waiting, known = deque(["/"]), {"/"}
    written = 0
    while waiting:
        address = waiting.popleft()
        place = place_of(address)
        if place.endswith(".html"):
            say(place)
        status, body = await _fetch(app, address)
        if status != 200:
            continue
        if place.endswith(".html"):
            text = body.decode("utf-8")
            for _, found in _LINK.findall(text):
                link = html.unescape(found).partition("#")[0]
                if link not in known and not link.startswith(("/static/", "/data/")):
                    known.add(link)
                    waiting.append(link)
            body = _relinked(text, depth=place.count("/")).encode("utf-8")
        (out / place).write_bytes(body)
        written += 1
    return written


def place_of(address: str) -> str:
    """The file of an address: short names for what people look for, hashes for the rest."""
    if address.startswith(("/static/", "/data/")):
        return address[1:]
    if address in ("/", "/history"):
        return {"/": "index.html", "/history": "history.html"}[address]
    if found := re.fullmatch(r"/run/(\d+)/", address):
        return f"run-{found[1]}.html"
    if found := re.fullmatch(r"/run/(\d+)/(calls|map)", address):
        return f"run-{found[1]}-{found[2]}.html"
    if found := re.fullmatch(r"/run/(\d+)/(?:files|figures)/([\w-]+\.[a-z]+)", address):
        return f"run-{found[1]}-{found[2]}"
    if found := re.fullmatch(r"/history/(\d+)/([\w-]+\.[a-z]+)", address):
        return f"history-{found[1]}-{found[2]}"
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
