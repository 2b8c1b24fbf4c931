"""What the pages of a session send: JSON objects, and the name of who sends them."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from steelyard.core.text import replace_lone_surrogates
from steelyard.errors import SteelyardError
from steelyard.web.refusal import refused

REVIEWER = "steelyard-reviewer"
"""Cookie with the name that votes carry."""
NAME_LIMIT = 80
"""Signs of a name, at most."""

Handler = Callable[[Request, dict[str, Any]], Response]


def json_route(handler: Handler) -> Callable[[Request], Any]:
    """A route that takes a JSON object; what goes wrong is told in a sentence."""

    async def endpoint(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except (ValueError, UnicodeError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return refused(400, "expected a JSON object.")
        try:
            return await run_in_threadpool(handler, request, body)
        except SteelyardError as error:
            return refused(500, str(error))
        except Exception as error:
            if os.environ.get("STEELYARD_TRACEBACK"):
                traceback.print_exception(error)
            kind = type(error).__name__
            return refused(500, f"a fault in Steelyard itself ({kind}); what was saved is kept.")

    return endpoint


def reviewer_of(request: Request, otherwise: str) -> str:
    """Who looks at the page."""
    return unquote(request.cookies.get(REVIEWER, ""))[:NAME_LIMIT].strip() or otherwise


def named(request: Request, body: dict[str, Any]) -> Response:
    """Set the name that votes carry."""
    del request
    name = " ".join(str(body.get("name", "")).split())[:NAME_LIMIT]
    if not name.isprintable() or not name:
        return refused(422, "a name needs letters.")
    answer = JSONResponse({"name": name})
    answer.set_cookie(REVIEWER, quote(name), httponly=True, samesite="strict", max_age=31_536_000)
    return answer


def text_of(body: dict[str, Any], key: str) -> str | None:
    """A text of the body, as it can be kept; other kinds are none. Browsers send line breaks of their own."""
    value = body.get(key)
    return replace_lone_surrogates(value.replace("\r\n", "\n")) if isinstance(value, str) else None


def typed_text(body: dict[str, Any], key: str, held: str) -> str | None:
    """What somebody typed in the place of a text; None where the field has it as a browser shows it.

    A field changes line breaks and signs that no page can show; who accepts such a text has edited nothing.
    """
    typed = text_of(body, key)
    return None if typed is not None and typed == in_field(held) else typed


def in_field(text: str) -> str:
    """A text as the field of a browser gives it back."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return replace_lone_surrogates(lines.replace("\0", "\ufffd"))
