"""Tables of the providers guide, from what providers say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.providers.http.dialect import ROOM, TABLE
from steelyard.providers.provider import PROVIDERS, provider_info

TABLES = re.compile(r"(?P<begin><!-- table: (?P<name>\w+) -->)\n.*?(?P<end><!-- end of table -->)", re.DOTALL)


def filled(text: str) -> str:
    """A page with its tables as they should be."""
    return TABLES.sub(lambda mark: "\n".join((mark[1], "", *ROWS[mark["name"]](), "", mark["end"])), text)


def _providers() -> Iterator[str]:
    yield from ("| judge | what it is | reads from the environment |", "| :-- | :-- | :-- |")
    for name in PROVIDERS.in_order():
        info = provider_info(name)
        if not info.uses_prompt or info.sequential:
            continue
        for example in info.examples:
            variables = ", ".join(f"`{variable}`" for variable in info.environment)
            yield f"| `{example.judge}` | {example.meaning} | {variables or 'nothing'} |"


def _quirks() -> Iterator[str]:
    yield "| models | not sent, or sent otherwise | thinks by itself |"
    yield "| :-- | :-- | :-- |"
    for quirks in TABLE:
        refused = ", ".join(f"`{name}`" for name in sorted(quirks.refuses)) or "nothing"
        yield f"| {quirks.models} | {refused} | {'yes' if quirks.thinks else 'no'} |"


def _efforts() -> Iterator[str]:
    yield from ("| `effort` | tokens beside `max_tokens` |", "| :-- | --: |")
    yield from (f"| `{effort}` | {room:,} |" for effort, room in ROOM.items())


ROWS = {"providers": _providers, "quirks": _quirks, "efforts": _efforts}
"""Tables by the names of their marks."""
