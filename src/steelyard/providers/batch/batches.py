"""Calls that are handed in together and answered later: what a vendor's batches have in common.

A batch is handed in under a name of ours and is known by the vendor's from then on. A result carries the
call that it answers, so whatever comes back is recognised, however often it is fetched.
"""

from __future__ import annotations

import json
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


@dataclass(frozen=True)
class Handed:
    """Calls that are handed in together."""

    name: str
    """Ours, told to vendors that keep one."""
    requests: Mapping[str, Mapping[str, Any]]
    """Bodies of the calls by their ids."""


@dataclass(frozen=True)
class Progress:
    """How far a vendor is with a batch."""

    ended: bool
    """Whatever will come has come."""
    refused: str = ""
    """Why the batch as a whole was turned down, where it was."""
    cancelled: bool = False
    """Somebody stopped it at the vendor's."""
    whole: bool = True
    """Every call has a line of its own among the results, be it that it was not reached."""


@dataclass(frozen=True)
class Result:
    """What came of one call."""

    id: str
    """Of the call."""
    answer: HttpResponse | None
    """As it would have come over the wire; None where the vendor did not get to it."""


class Batches(Protocol):
    """The batches of one judge at its vendor."""

    largest: int
    """Calls that one batch may hold."""
    single: bool
    """Calls can be made one by one as well."""
    listed_after: float
    """Seconds after which `find` shows every batch that was handed in: one overlooked is paid for twice."""

    async def find(self, name: str, size: int, since: float) -> list[str]:
        """Batches that may have been handed in under a name after an epoch time, by the vendor's names.

        A vendor that keeps no names gives those of the same size.
        """

    async def submit(self, handed: Handed) -> str:
        """Hand a batch in; return the vendor's name for it."""

    async def progress(self, remote: str) -> Progress:
        """How far it is."""

    def results(self, remote: str) -> AsyncIterator[Result]:
        """What has come, in any order."""


@runtime_checkable
class Batching(Protocol):
    """A provider whose calls can be handed in together."""

    def batches(self, folder: Path) -> Batches:
        """Where they are handed in; files go into the folder."""

    def build_batch_item(self, presentation: Presentation) -> tuple[dict[str, Any], Dialect]:
        """The body of a call, and the dialect it is in."""

    def parse_batch_item(
        self, presentation: Presentation, answer: HttpResponse, dialect: Dialect
    ) -> Reply | None:
        """What came of a call in a dialect; None where it has to be put otherwise."""


def call_id(key: str) -> str:
    """The id of a call in a batch: opaque, and of signs that every vendor takes."""
    return key.removeprefix("sha256:")


def call_key(call: str) -> str:
    """The key of a call with this id."""
    return f"sha256:{call}"


def parsed_line(line: str) -> dict[str, Any]:
    """One line of a file of results; one that is broken is nobody's result, and spoils no other."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        body = None
    return body if isinstance(body, dict) else {}


def answered(status: Any, body: Any) -> HttpResponse:
    """A result as the answer to a call of its own."""
    return HttpResponse(status if type(status) is int else 500, {}, json.dumps(body), 0.0)
