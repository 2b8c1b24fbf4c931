"""What goes wrong while a page is made, told on the page in a sentence."""

from __future__ import annotations

import os
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from steelyard.commands.view.viewed_run import NotFoundError
from steelyard.errors import SteelyardError
from steelyard.web.access import BODY_LIMIT, TooLongError
from steelyard.web.refusal import refusal

Handler = Callable[[Request, Exception], Awaitable[Response]]


async def _told(_: Request, error: Exception) -> Response:
    """A fault of the run or of its files, in the words of the terminal."""
    return refusal(500, str(error))


async def _nowhere(_: Request, error: Exception) -> Response:
    """An address that leads to nothing, and why."""
    return refusal(404, str(error))


async def _unforeseen(_: Request, error: Exception) -> Response:
    if os.environ.get("STEELYARD_TRACEBACK"):
        traceback.print_exception(error)
    return refusal(500, f"A fault in Steelyard itself ({type(error).__name__}); what was saved is kept.")


async def _too_long(_: Request, error: Exception) -> Response:
    del error
    return refusal(413, f"A request may have {BODY_LIMIT:,} bytes at most.")


async def _absent(_: Request, error: Exception) -> Response:
    del error
    return refusal(404, "There is no such page.")


async def _other_method(_: Request, error: Exception) -> Response:
    del error
    return refusal(405, "That page takes no such request.")


FAULTS: Mapping[Any, Handler] = {
    TooLongError: _too_long,
    NotFoundError: _nowhere,
    SteelyardError: _told,
    404: _absent,
    405: _other_method,
    Exception: _unforeseen,
}
"""Kind of fault to the page that tells it."""
