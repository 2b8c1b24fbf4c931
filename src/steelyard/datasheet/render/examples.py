"""Examples of calls grouped by finding, and as plain lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells

from steelyard.core.text import pluralize
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.examples import example
from steelyard.datasheet.examples.example import FindingExample
from steelyard.datasheet.words.text import escape_control_chars, escape_keeping_spaces

MARGIN = "  "
NAMES = 10


def render(exhibits: Sequence[FindingExample], width: int = 80) -> str:
    parts = [
        "\n".join(_exhibit(number, example.truncate(exhibit), width))
        for number, exhibit in enumerate(exhibits, start=1)
    ]
    return "\n\n".join(parts)


def _exhibit(number: int, exhibit: FindingExample, width: int) -> Iterator[str]:
    stimulus = exhibit.shown[-1]
    place = [exhibit.judge, exhibit.probe, stimulus.kind]
    place += [f"protocol {exhibit.protocol}"] if exhibit.protocol != "base" else []
    yield from _indented(f"{number}. {' · '.join(dict.fromkeys(place))}", width, "")
    yield from _indented(stimulus.id, width)
    yield from _indented(f"Why: {exhibit.why}.", width)
    for name, text in (("request", stimulus.request), *example.named_texts(exhibit.shown)):
        yield from _behind_bar(name, text, width)
    for call in exhibit.calls:
        yield from _indented(example.describe_call(call, exhibit), width)
        if call.verdict == "failed":
            yield from _behind_bar("no reply", call.message or call.reason, width)
        else:
            yield from _behind_bar("reply", call.reply, width)
        yield from _behind_bar("read as", example.describe_reply(call, exhibit), width)
    if exhibit.left_out:
        yield f"{MARGIN}and {pluralize(exhibit.left_out, 'further call')} on the same text"


def _behind_bar(name: str, text: str | None, width: int) -> Iterator[str]:
    """A text with its own line breaks, wrapped, each line behind a bar; what is invisible is spelled out."""
    lines = (example.absent(text) or text or "").splitlines()
    room = max(20, width - len(MARGIN) - NAMES - 3)
    wrapped = [part for line in lines for part in wrap(escape_keeping_spaces(line), room)]
    for place, line in enumerate(wrapped):
        yield f"{MARGIN}{name if not place else '':<{NAMES}} │ {line}".rstrip()


def _indented(line: str, width: int, indent: str = MARGIN) -> Iterator[str]:
    for place, part in enumerate(wrap(escape_control_chars(line), width - len(MARGIN) - 1)):
        yield f"{MARGIN if place else indent}{part}"


def wrap(line: str, room: int) -> list[str]:
    """Parts of at most so many terminal cells, broken at spaces where there are any; leading space stays."""
    parts = [""]
    for word in line.split(" "):
        joined = word if parts == [""] and not line.startswith(" ") else f"{parts[-1]} {word}"
        if cell_len(joined) <= room:
            parts[-1] = joined
        else:
            parts += chop_cells(word, room)
    return [part for place, part in enumerate(parts) if part or not place]


@dataclass(frozen=True)
class ExampleGroup:
    title: str
    anchor: str
    exhibits: Sequence[FindingExample]


def examples_by_judge(datasheet: Datasheet) -> list[tuple[str, list[ExampleGroup]]]:
    groups: dict[str, dict[str, list[FindingExample]]] = {}
    for exhibit in datasheet.exhibits:
        groups.setdefault(exhibit.judge, {}).setdefault(exhibit.reading, []).append(exhibit)
    return [
        (
            judge,
            [ExampleGroup(title, f"exhibit-{n}-{m}", mine) for m, (title, mine) in enumerate(found.items())],
        )
        for n, (judge, found) in enumerate(groups.items())
    ]
