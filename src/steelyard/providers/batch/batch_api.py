"""Batch APIs: calls that are submitted together and answered later, and what the vendors have in common.

A batch is submitted under a name of ours and is known by the vendor's from then on. A result carries the
call that it answers, so whatever comes back is recognised, however often it is fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from steelyard.providers.http.dialect import Dialect
from steelyard.providers.http.http_client import HttpResponse
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply

CLOCK_SKEW = 86_400.0
"""Seconds by which a vendor's clock may differ from ours: a batch that is overlooked is paid for twice."""

ENQUEUED = re.compile(r"token_limit_exceeded|enqueued|in (the )?processing queue", re.I)
"""How vendors say that too much of an account waits already."""


@dataclass(frozen=True)
class BatchRequest:
    name: str
    """Ours, told to vendors that keep one."""
    requests: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class BatchStatus:
    ended: bool
    refused: str = ""
    over_limit: bool = False
    """Refused because too many calls or tokens of the account are enqueued; fewer may be taken later."""
    cancelled: bool = False
    whole: bool = True
    """Every call has a line of its own among the results, be it that it was not reached."""


@dataclass(frozen=True)
class BatchResult:
    id: str
    response: HttpResponse | None
    """As it would have come over the wire; None where the vendor did not get to it."""


class BatchApi(Protocol):
    max_calls: int
    """Calls that one batch may hold."""
    allows_single_calls: bool
    """Calls can be made one by one as well."""
    listing_delay: float
    """Seconds after which `find` shows every batch that was submitted: one overlooked is paid for twice."""

    async def find(self, name: str, size: int, since: float) -> list[str]:
        """Batches that may have been submitted under a name after an epoch time, by the vendor's names.

        A vendor that keeps no names gives those of the same size.
        """

    async def submit(self, request: BatchRequest) -> str:
        """Submit a batch; return the vendor's name for it."""

    async def progress(self, remote: str) -> BatchStatus:
        """How far it is."""

    def results(self, remote: str) -> AsyncIterator[BatchResult]:
        """What has come, in any order."""


@runtime_checkable
class SupportsBatch(Protocol):
    def batch_api(self, folder: Path) -> BatchApi:
        """Where they are submitted; files go into the folder."""

    def build_batch_item(self, presentation: Presentation) -> tuple[dict[str, Any], Dialect]:
        """The body of a call, and the dialect it is in."""

    def parse_batch_item(
        self, presentation: Presentation, response: HttpResponse, dialect: Dialect
    ) -> Reply | None:
        """The reply to a call in a dialect; None where it has to be sent again in another."""


def call_id(key: str) -> str:
    return key.removeprefix("sha256:")


def parse_line(line: str) -> dict[str, Any]:
    """One line of a file of results; one that is broken is nobody's result, and spoils no other."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        body = None
    return body if isinstance(body, dict) else {}


def as_response(status: Any, body: Any) -> HttpResponse:
    return HttpResponse(status if type(status) is int else 500, {}, json.dumps(body), 0.0)
