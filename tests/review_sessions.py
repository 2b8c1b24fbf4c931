"""Run folders with written stimuli, servers of pages in this process, and a client that is no browser."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from authoring_server import TASK, AuthorRequest, items, obey
from steelyard.review.stimuli_file import under_review, write_stimuli
from steelyard.review.votes import start_review
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.authored_checks import Rejection
from steelyard.stimuli.brief import Brief, flip_label
from steelyard.stimuli.original import original_of
from steelyard.store.authoring import AuthoredStimulus
from steelyard.web.server import Server

FLIP, PARAPHRASE = "label_flip", "semantic_paraphrase"


def is_released(database: Path) -> bool:
    """Whether every connection to a file of SQLite is closed: the last one takes the log beside it along."""
    return database.exists() and not database.with_name(f"{database.name}-wal").exists()


def authored(count: int, probes: tuple[str, ...] = (FLIP, PARAPHRASE)) -> list[AuthoredStimulus]:
    """Texts about the sky, as an obedient author writes them; the first took two tries."""
    made = []
    for item in items(count):
        for probe in probes:
            label = item.label or ""
            expected = flip_label(label, TASK.scale) if probe == FLIP else label
            asked = AuthorRequest(probe, item.responses[0], expected, item.request, "", 0.7)
            stimulus = Brief(probe, item, 0, probe, expected).to_stimulus(
                str(obey(asked)), TASK, "openai/writer"
            )
            tries = (
                (Rejection("validator gave another score", "the text earns 1, expected 0"),)
                if not made
                else ()
            )
            made.append(AuthoredStimulus(stimulus, tries))
    return made


def written_folder(path: Path, count: int = 3, *, texts: list[AuthoredStimulus] | None = None) -> RunFolder:
    """A folder as `generate` leaves it in a study with `review: true`."""
    folder = RunFolder(path)
    path.mkdir(parents=True, exist_ok=True)
    made = authored(count) if texts is None else texts
    rows = [text.row("brief", "roles") for text in made]
    with folder.store() as store, ThreadPoolExecutor(1) as apart:  # a test may have a loop of its own
        apart.submit(lambda: asyncio.run(store.save_authored(rows))).result()
    start_review(folder, TASK)
    originals = [original_of(item, TASK) for item in items(count)]
    write_stimuli(folder.stimuli, [*originals, *under_review(text.stimulus for text in made)])
    return folder


def lines(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """The lines of the stimuli's file by id."""
    read = (json.loads(line) for line in folder.stimuli.read_text(encoding="utf-8").splitlines())
    return {line["id"]: line for line in read}


@contextmanager
def serving(app_of: Callable[[Server], ASGIApp], *about: str | Path) -> Iterator[Server]:
    """A real server on a free port of loopback, in a thread."""
    server = Server("127.0.0.1", 0, *about)
    ready = threading.Event()
    app = app_of(server)
    thread = threading.Thread(target=server.serve, args=(app, lambda _: ready.set()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


def cut_lines(server: Server) -> None:
    """Break every connection that is open, as a laptop that is closed does."""
    assert server._running is not None
    for connection in list(server._running.server_state.connections):
        line: Any = connection
        line.loop.call_soon_threadsafe(line.transport.abort)


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


@dataclass
class Client:
    """Speaks HTTP, and sends what it is told to send."""

    port: int
    cookie: str = ""
    csrf: str = ""
    more: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, server: Server) -> Client:
        """A client that came with the token and has seen a page."""
        client = cls(server.access.port)
        link = urlsplit(server.access.url())
        client.cookie = client.get(f"{link.path}?{link.query}").headers["set-cookie"].partition(";")[0]
        client.csrf = server.access.csrf
        return client

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        own = {
            "origin": f"http://127.0.0.1:{self.port}",
            "content-type": "application/json",
            "x-steelyard-csrf": self.csrf,
        }
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, sent, {**own, **headers})

    def ask(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        """Headers are written with underscores; an empty one is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        named = {name.replace("_", "-"): value for name, value in {**self.more, **headers}.items()}
        if self.cookie:
            named.setdefault("cookie", self.cookie)
        skip = "host" in named
        connection.putrequest(method, path, skip_host=skip)
        for name, value in named.items():
            if value:
                connection.putheader(name, value)
        if isinstance(body, bytes) and "content-length" not in named and "transfer-encoding" not in named:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders()
        try:
            for part in [body] if isinstance(body, bytes) else body or ():
                connection.send(part)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all of it was sent
        answer = connection.getresponse()
        text = answer.read().decode("utf-8")
        connection.close()
        return Answer(answer.status, {n.lower(): v for n, v in answer.getheaders()}, text)
