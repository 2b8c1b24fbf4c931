"""The viewer as files that open from a disk: the calls of a run are data, and a script makes their pages."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import html
import json
import math
import re
import shutil
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from starlette.types import ASGIApp, Message

from steelyard.commands.call_index import CallIndex
from steelyard.commands.figure_calls import calls_behind, counted_calls
from steelyard.commands.viewed_run import CallDetail, LoadedRun, ViewedRun, details
from steelyard.core.arrays import Mask
from steelyard.core.files import write_error
from steelyard.core.text import capital, escape_keeping_lines, replace_lone_surrogates
from steelyard.datasheet.example_selection import ExampleSelector, explain
from steelyard.datasheet.glossary import probe_title
from steelyard.errors import ConfigError
from steelyard.stimuli.stimulus import Stimulus, reference_label
from steelyard.verdicts.call_answers import answer_word, reason_of
from steelyard.web.calls import StillLinks, figure_sentence
from steelyard.web.pages import RunMessage, asset_text, run_messages
from steelyard.web.view_app import ViewPages

PROMPTS = 1000
"""Prompts of one file: a page reads only the file that it needs."""
PART = 2000
"""Calls that are read from the run file at once."""


COLUMNS = ("judge", "protocol", "stimulus", "order", "replicate", "verdict")


class _StringTable:
    """Distinct values in the order in which they first came."""

    def __init__(self) -> None:
        self._places: dict[Hashable, int] = {}
        self.values: list[Any] = []

    def place(self, key: Hashable, make: Callable[[], Any] | None = None) -> int:
        place = self._places.setdefault(key, len(self.values))
        if place == len(self.values):
            self.values.append(key if make is None else make())
        return place


def data_scripts(run: ViewedRun, name: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the script files that hold a run; a page on a disk may load scripts, and no data."""
    loaded = run.load()
    prompts, exchanges, usages = _StringTable(), _StringTable(), _StringTable()
    columns: dict[str, list[Any]] = {key: [] for key in ("prompt", "exchange", "usage", "time", "received")}
    for start in range(0, len(loaded.index.calls), PART):
        rows = range(start, min(start + PART, len(loaded.index.calls)))
        for detail in details(run, loaded, rows, explained=False):
            columns["prompt"].append(_prompt(detail, prompts))
            columns["exchange"].append(exchanges.place(_exchange(detail)))
            columns["usage"].append(usages.place(_usage(detail)))
            reply = detail.stored.reply if detail.stored else None
            columns["time"].append(None if reply is None else round(reply.reply.latency_ms, 1))
            columns["received"].append(None if reply is None else round(reply.received))
    sentences = _StringTable()
    columns["why"] = _reasons(loaded, sentences)
    data = {
        **_index(run, loaded),
        "columns": {**{name: getattr(loaded.index.calls, name).tolist() for name in COLUMNS}, **columns},
        "exchanges": exchanges.values,
        "usages": usages.values,
        "reasons": sentences.values,
        "prompts_per_file": PROMPTS,
    }
    yield name, _script(name, data)
    for number in range(math.ceil(len(prompts.values) / PROMPTS)):
        part = f"{name}-prompts-{number}"
        yield part, _script(part, prompts.values[number * PROMPTS : (number + 1) * PROMPTS])


def _script(name: str, data: Any) -> str:
    """Compressed, and in letters that no page can mistake for its own."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).encode("ascii")
    packed = base64.b64encode(gzip.compress(text, 6, mtime=0)).decode("ascii")
    return f'steelyardData("{name}","{packed}")\n'


def _index(run: ViewedRun, loaded: LoadedRun) -> dict[str, Any]:
    index, calls = loaded.index, loaded.index.calls
    masks = _StringTable()
    return {
        "ids": list(index.ids),
        "judges": list(calls.judges),
        "baselines": [index.is_baseline(name) for name in calls.judges],
        "protocols": list(calls.protocols),
        "probes": [
            [probe, probe_title(probe), masks.place(_bits(index.run_calls.of_probe(probe, calls)))]
            for probe in index.probes
        ],
        "outcomes": {word: masks.place(_bits(index.outcomes[word])) for word in index.possible_outcomes},
        "verdicts": [[answer_word(each), reason_of(each)] for each in calls.verdicts],
        "stimuli": [_stimulus(each) for each in calls.shown.stimuli],
        "figures": _figures(run, index, masks),
        "masks": masks.values,
    }


def _reasons(loaded: LoadedRun, sentences: _StringTable) -> list[int]:
    """Why each call counts as it does: one sentence for the calls of a judge on one stimulus."""
    calls = loaded.index.calls
    reasons = [0] * len(calls)
    for number in range(len(calls.judges)):
        rows = np.flatnonzero(calls.judge == number)
        selector = ExampleSelector(calls.take(rows))
        places = [sentences.place(capital(explain(group)) + ".") for group in selector.every_group()]
        for row, group in zip(rows.tolist(), selector.groups.number.tolist(), strict=True):
            reasons[row] = places[group]
    return reasons


def _bits(mask: Mask) -> str:
    return base64.b64encode(np.packbits(mask).tobytes()).decode("ascii")


def _figures(run: ViewedRun, index: CallIndex, masks: _StringTable) -> dict[str, Sequence[Any]]:
    """Figure to its sentence, the calls behind it, and those that its numerator counts."""
    published = run.published
    figures: dict[str, Sequence[Any]] = {}
    for name, estimate in (published.figures if published else {}).items():
        behind = calls_behind(estimate, index)
        counted = counted_calls(estimate, index, behind)
        place = None if counted is None else masks.place(_bits(counted))
        figures[name] = [*figure_sentence(estimate, int(behind.sum())), masks.place(_bits(behind)), place]
    return figures


def _stimulus(stimulus: Stimulus) -> dict[str, Any]:
    lineage = stimulus.lineage
    body = {
        "id": stimulus.id,
        "hash": stimulus.shown_hash[7:19] if stimulus.texts_known else stimulus.id,
        "probe": stimulus.probe,
        "title": probe_title(stimulus.probe),
        "kind": stimulus.kind,
        "stratum": stimulus.stratum,
        "label": reference_label(stimulus.expectation),
        "texts": [_text(text) for text in stimulus.texts] if stimulus.texts_known else None,
        "paired": len(stimulus.texts) == 2,
        "turn": int(stimulus.level or 0) if len(stimulus.texts) > 2 else None,
        "edit": lineage.edit,
        "parent": lineage.parent,
        "author": lineage.author,
        "delta": stimulus.delta,
        "request": _text(stimulus.request) if stimulus.texts_known else None,
        "messages": [_message(each) for each in run_messages(stimulus)] or None,
    }
    return {key: value for key, value in body.items() if value is not None}


def _message(message: RunMessage) -> dict[str, Any]:
    parts = {"parts": message.parts, "before": message.before}
    escaped = {name: [[_text(each) for each in part] for part in shown] for name, shown in parts.items()}
    return {**vars(message), **escaped, "folded": message.folded}


def _text(text: str) -> str:
    return replace_lone_surrogates(escape_keeping_lines(text))


def _prompt(detail: CallDetail, prompts: _StringTable) -> int | None:
    if detail.stored is None:
        return None
    messages = detail.stored.messages
    settings = ", ".join(
        f"{name} {value}" for name, value in detail.stored.decoding.items() if value not in (None, {})
    )
    return prompts.place(
        (messages, settings), lambda: [[[who, _text(words)] for who, words in messages], settings]
    )


def _exchange(detail: CallDetail) -> tuple[Any, ...]:
    """What came back, without its time: reply, further facts, members, failures, reader, attempts."""
    stored = detail.stored
    reply = stored.reply if stored else None
    facts: list[str] = []
    if reply is not None and reply.reply.scores is not None:
        facts.append("Scores: " + ", ".join(map(str, reply.reply.scores)))
    if reply is not None and reply.reply.logprobs:
        likely = ", ".join(f"{token!r} {value:.3f}" for token, value in reply.reply.logprobs.items())
        facts.append(f"Log-probabilities: {likely}")
    return (
        None if reply is None else _text(reply.reply.text),
        tuple(facts),
        tuple((member.name, _text(member.reply or "no reply")) for member in detail.members),
        tuple(
            (each.reason, each.attempts, _text(each.message)) for each in (stored.failures if stored else ())
        ),
        detail.reader,
        None if reply is None else (reply.attempts, reply.reply.finish, reply.reply.served_model),
    )


def _usage(detail: CallDetail) -> tuple[Any, ...]:
    """Tokens of prompt and answer, whether in a batch, and dollars; nothing without a reply."""
    if detail.stored is None or detail.stored.reply is None:
        return (None, None, False, None)
    used = detail.stored.reply.reply.usage
    return (used.input_tokens, used.output_tokens, used.batched, detail.dollars)


MARK = "bundle.txt"
"""File by which a bundle is known, so that it may be written anew."""
FOLDERS, PAGES = ("data", "pages"), ("index.html", "history*", "run-*")
"""What is removed first, so that no run of an earlier bundle stays."""
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
        for path in (path for pattern in PAGES for path in out.glob(pattern) if path.is_file()):
            path.unlink()
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
