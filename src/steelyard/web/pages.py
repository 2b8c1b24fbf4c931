"""What all pages share: templates, assets, JSON requests and errors; an agent's run as messages."""

from __future__ import annotations

import json
import math
import os
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import Environment
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from steelyard.commands.viewed_run import NotFoundError
from steelyard.core.text import escape_keeping_lines, replace_lone_surrogates
from steelyard.datasheet.glossary import probe_title
from steelyard.datasheet.render.html.document import template_environment
from steelyard.errors import SteelyardError
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.transcripts.transcript import Turn, TurnChange, render_block
from steelyard.version import __version__
from steelyard.web.server import BODY_LIMIT, TooLongError, error_page, json_error

LONG = 600
"""Characters above which a message stands behind a click."""


@dataclass(frozen=True)
class RunMessage:
    number: int
    """From 1, as the judge is shown it."""
    role: str
    tool: str
    parts: tuple[tuple[str, str], ...]
    """What a part is and its text; the agent's own words have no name."""
    edited: bool = False
    before: tuple[tuple[str, str], ...] = ()
    """The parts before the edit; empty where the message was added, or nobody edited it."""

    @property
    def folded(self) -> bool:
        """True where it stands behind a click: boilerplate, or long; an edited message never does."""
        length = sum(len(text) for _, text in self.parts)
        return not self.edited and (self.role in ("system", "tool") or length > LONG)


def run_messages(shown: Stimulus, *, edits: bool = True) -> tuple[RunMessage, ...]:
    """The messages of a run; none for a text. `edits` marks those that the stimulus changed."""
    if shown.transcript is None:
        return ()
    found = _edited_places(shown.changes or ()) if edits else {}
    return tuple(
        RunMessage(
            place + 1,
            turn.role,
            turn.function or "",
            _parts(turn),
            edited=place in found,
            before=_parts(old) if (old := found.get(place)) else (),
        )
        for place, turn in enumerate(shown.transcript.turns)
    )


def _parts(turn: Turn) -> tuple[tuple[str, str], ...]:
    parts = [
        (block.kind, block.text) if block.kind == "reasoning" else ("", render_block(block))
        for block in turn.blocks
    ]
    for call in turn.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False, indent=1)
        parts.append((f"calls {call.function}", arguments))
        if call.fault:
            parts.append(("arguments", call.fault))
    if turn.error is not None:
        parts.append(("error", turn.error))
    return tuple(parts)


def _edited_places(changes: Iterable[TurnChange]) -> dict[int, Turn | None]:
    """Place in the edited run to the message as it was; None for one that was added."""
    shift, found = 0, dict[int, Turn | None]()
    for change in changes:
        if change.after is None:
            shift -= 1
            continue
        found[change.place + shift] = change.before
        shift += change.before is None
    return found


_OF_SHEETS = ("style.css", "evidence.css", "theme.js", "page.js")
_OF_PAGES = (
    *("bench.css", "review.js", "send.js", "templates.js", "label.js"),
    *("words.js", "view.css", "view.js", "bundle.js"),
)
ASSETS: Mapping[str, tuple[str, str]] = {
    **{name: ("steelyard.datasheet.render.html", name) for name in _OF_SHEETS},
    **{name: ("steelyard.web", f"static/{name}") for name in _OF_PAGES},
}
"""Name in an address to package and file: nothing else is ever read for one."""


@cache
def environment() -> Environment:
    return template_environment(
        "steelyard.web",
        version=__version__,
        shown=escape_keeping_lines,
        static="/static/",
        probe_title=probe_title,
    )


def render_template(request: Request, template: str, **content: Any) -> str:
    text = environment().get_template(template).render(csrf=request.scope.get("csrf", ""), **content)
    return replace_lone_surrogates(text)


def page(request: Request, template: str, **content: Any) -> Response:
    return HTMLResponse(render_template(request, template, **content))


@cache
def asset_text(name: str) -> str:
    package, path = ASSETS[name]
    return (files(package) / path).read_text(encoding="utf-8")


async def asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        return Response("no such file", 404, media_type="text/plain")
    kind = "css" if name.endswith(".css") else "javascript"
    return Response(asset_text(name), media_type=f"text/{kind}; charset=utf-8")


ExceptionHandler = Callable[[Request, Exception], Awaitable[Response]]
Handler = Callable[[Request, dict[str, Any]], Response]


def _error_handler(status: int, sentence: str = "") -> ExceptionHandler:
    async def handle(_: Request, error: Exception) -> Response:
        return error_page(status, sentence or str(error))

    return handle


def _own_fault(error: Exception) -> str:
    if os.environ.get("STEELYARD_TRACEBACK"):
        traceback.print_exception(error)
    return f"a fault in Steelyard itself ({type(error).__name__}); what was saved is kept."


async def _internal_error(_: Request, error: Exception) -> Response:
    return error_page(500, _own_fault(error))


EXCEPTION_HANDLERS: Mapping[Any, ExceptionHandler] = {
    TooLongError: _error_handler(413, f"A request may have {BODY_LIMIT:,} bytes at most."),
    NotFoundError: _error_handler(404),
    SteelyardError: _error_handler(500),
    404: _error_handler(404, "There is no such page."),
    405: _error_handler(405, "That page takes no such request."),
    Exception: _internal_error,
}


def application(*routes: Route) -> Starlette:
    """The routes with the assets; what they raise is told in one sentence."""
    static = Route("/static/{name}", asset)
    return Starlette(routes=[*routes, static], exception_handlers=dict(EXCEPTION_HANDLERS))


REVIEWER = "steelyard-reviewer"
NAME_LIMIT = 80
"""Signs of a name, at most."""


Refusals = Mapping[type[Exception], tuple[int, str]]
"""Errors that a page tells: their status, and words in the place of their own."""


def vote_app(
    pages: Mapping[str, Callable[[Request], Any]], sent: Mapping[str, Handler], refusals: Refusals
) -> Starlette:
    """Pages on which people vote, and what they send, by path."""
    posts = {**sent, "/reviewer": set_reviewer}.items()
    return application(
        *(Route(path, handler) for path, handler in pages.items()),
        *(Route(path, _json_route(handler, refusals), methods=["POST"]) for path, handler in posts),
    )


def page_number(request: Request, rows: int, size: int) -> tuple[int, int]:
    """The page that is asked for, and the last one."""
    last = max(1, math.ceil(rows / size))
    wanted = request.query_params.get("page", "")
    whole = int(wanted) if wanted.isdecimal() and len(wanted) < 9 else 1
    return min(max(1, whole), last), last


def download(name: str, lines: Iterable[str], kind: str = "application/jsonl") -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response("".join(lines), media_type=kind, headers=headers)


def _json_route(handler: Handler, refusals: Refusals) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except (ValueError, UnicodeError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return json_error(400, "expected a JSON object.")
        try:
            return await run_in_threadpool(handler, request, body)
        except tuple(refusals) as refusal:
            status, words = refusals[type(refusal)]
            return json_error(status, words or str(refusal))
        except SteelyardError as error:
            return json_error(500, str(error))
        except Exception as error:
            return json_error(500, _own_fault(error))

    return endpoint


def reviewer_name(request: Request, otherwise: str) -> str:
    return unquote(request.cookies.get(REVIEWER, ""))[:NAME_LIMIT].strip() or otherwise


def set_reviewer(request: Request, body: dict[str, Any]) -> Response:
    del request
    name = " ".join(str(body.get("name", "")).split())[:NAME_LIMIT]
    if not name.isprintable() or not name:
        return json_error(422, "a name needs letters.")
    answer = JSONResponse({"name": name})
    answer.set_cookie(REVIEWER, quote(name), httponly=True, samesite="strict", max_age=31_536_000)
    return answer


def text_field(body: dict[str, Any], key: str) -> str | None:
    """A text of the body, as it can be kept; other kinds are none. Browsers send line breaks of their own."""
    value = body.get(key)
    return replace_lone_surrogates(value.replace("\r\n", "\n")) if isinstance(value, str) else None


def edited_text(body: dict[str, Any], key: str, held: str) -> str | None:
    """What somebody typed in the place of a text; None where the field has it as a browser shows it.

    A field changes line breaks and signs that no page can show; who accepts such a text has edited nothing.
    """
    typed = text_field(body, key)
    return None if typed is not None and typed == as_browser_text(held) else typed


def as_browser_text(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return replace_lone_surrogates(lines.replace("\0", "\ufffd"))
