"""Tables of the providers guide, from what providers say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.providers.http.endpoint import ROOM, TABLE
from steelyard.providers.provider import PROVIDERS, provider_info

TABLES = re.compile(r"(?P<begin><!-- table: (?P<name>\w+) -->)\n.*?(?P<end><!-- end of table -->)", re.DOTALL)

HOSTED = re.compile(r"a model served by (.+); needs ")
LOCAL = re.compile(r"a model of a local (.+) server, (\S+) unless ")


def filled(text: str) -> str:
    """A page with its tables as they should be."""
    return TABLES.sub(lambda mark: "\n".join((mark[1], "", *ROWS[mark["name"]](), "", mark["end"])), text)


def _providers() -> Iterator[str]:
    yield from ("| judge | what it is | reads from the environment |", "| :-- | :-- | :-- |")
    hosted, local = [], []
    for name in PROVIDERS.in_order():
        info = provider_info(name)
        if not info.uses_prompt or info.sequential:
            continue
        for example in info.examples:
            variables = ", ".join(f"`{variable}`" for variable in info.environment)
            if found := HOSTED.match(example.meaning):
                hosted.append(f"`{example.judge}` ({found[1]}: {variables})")
            elif found := LOCAL.match(example.meaning):
                local.append(f"`{example.judge}` ({found[1]}: `{found[2]}`)")
            else:
                yield f"| `{example.judge}` | {example.meaning} | {variables or 'nothing'} |"
    yield f"| {', '.join(hosted)} | chat-completions servers by name | the key in brackets |"
    yield f"| {', '.join(local)} | local servers, at this address unless base_url says otherwise | nothing |"


def _quirks() -> Iterator[str]:
    yield "| models | not sent, or sent otherwise | thinks by itself |"
    yield "| :-- | :-- | :-- |"
    for quirks in TABLE:
        refused = ", ".join(f"`{name}`" for name in sorted(quirks.refuses)) or "nothing"
        yield f"| {quirks.models} | {refused} | {'yes' if quirks.thinks else 'no'} |"


def _efforts() -> Iterator[str]:
    yield f"| `effort` | {' | '.join(f'`{effort}`' for effort in ROOM)} |"
    yield "| :-- |" + " --: |" * len(ROOM)
    yield f"| tokens beside `max_tokens` | {' | '.join(f'{room:,}' for room in ROOM.values())} |"


ROWS = {"providers": _providers, "quirks": _quirks, "efforts": _efforts}
"""Tables by the names of their marks."""
