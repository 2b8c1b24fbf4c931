"""An exhibit in Markdown: folded, every text in a fence that it can not close."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from steelyard.datasheet.exhibits.exhibit import Exhibit
from steelyard.datasheet.exhibits.told import absent, named_texts, reading_of, told_as
from steelyard.datasheet.words.visible import lines, visible


def exhibit_block(exhibit: Exhibit, escape: Callable[[str], str]) -> str:
    """The exhibit as `<details>`."""
    return "\n\n".join(_parts(exhibit, escape))


def _parts(exhibit: Exhibit, escape: Callable[[str], str]) -> Iterator[str]:
    stimulus = exhibit.shown[-1]
    heading = f"{exhibit.reading}: {visible(stimulus.id)}"
    yield f"<details><summary>{html.escape(heading)}</summary>"
    yield f"Why: {escape(visible(exhibit.why))}."
    yield from fenced("request", stimulus.request, escape)
    for name, text in named_texts(exhibit.shown):
        yield from fenced(name, text, escape)
    for call in exhibit.calls:
        reply = call.message or call.reason if call.verdict == "failed" else call.reply
        name = f"{told_as(call, exhibit)}, read as {visible(reading_of(call, exhibit))}"
        yield from fenced(name, reply, escape)
    yield "</details>"


def fenced(name: str, text: str | None, escape: Callable[[str], str]) -> Iterator[str]:
    """A name, and the text behind a fence that is longer than any in it."""
    if text is None or absent(text):
        yield f"{escape(name)}: {absent(text)}"
        return
    yield f"{escape(name)}:"
    yield code_block(lines(text))


def code_block(text: str, language: str = "text") -> str:
    """The text behind a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
