"""An exhibit: what was shown to a judge, what it replied, how that was read and why it counts so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from steelyard.core.text import pluralize


@dataclass(frozen=True)
class ExampleText:
    id: str
    """Name in `stimuli.jsonl`."""
    kind: str
    edit: str
    label: str | None
    """The reference: a score, `u` or `v`, `tie`; None where nobody has said."""
    request: str | None
    """What the texts answer; None where it was not recorded."""
    texts: tuple[str, ...] | None
    """The texts u and v, or the one response; None where they were not recorded."""


@dataclass(frozen=True)
class ExampleTrial:
    id: str
    order: str | None
    """`uv` or `vu`, which content stood in slot 1; None for a single text."""
    replicate: int
    reply: str | None
    """The raw reply; None where there is none, or it was not recorded."""
    verdict: str
    """A slot or a score, `tie`, `abstain`, `unreadable` or `failed`."""
    winner: str | None
    reason: str | None
    attempts: int | None = None
    """How often a call that failed was made; None for others."""
    message: str | None = None


@dataclass(frozen=True)
class FindingExample:
    judge: str
    protocol: str
    probe: str
    outcome: str
    """One of `OUTCOMES`; empty where none was asked for."""
    why: str
    reader: str | None
    """How replies are read; None where that was not recorded."""
    shown: tuple[ExampleText, ...]
    """The stimulus, and before it the unchanged item where that is compared."""
    calls: tuple[ExampleTrial, ...]
    """The calls, those on the unchanged item first."""
    left_out: int = 0
    reading: str = ""
    """Title of the reading that it stands behind; empty where none was asked for."""


Part = TypeVar("Part", ExampleText, ExampleTrial)
TEXT, REPLY = 800, 600
"""Characters of a text and of a reply that a published datasheet shows."""


def truncate(exhibit: FindingExample) -> FindingExample:
    shown = (
        replace(
            _truncate(each, TEXT, "id", "edit", "request"),
            texts=each.texts and tuple(truncate_text(one, TEXT) for one in each.texts),
        )
        for each in exhibit.shown
    )
    calls = (_truncate(each, REPLY, "id", "reply", "message") for each in exhibit.calls)
    return replace(exhibit, shown=tuple(shown), calls=tuple(calls))


def truncate_text(text: str, limit: int) -> str:
    """Beginning and end of a long text, with the count of what is left out; lone surrogates as escapes."""
    if len(text) > limit:
        tail = limit // 4
        left_out = f"[… {len(text) - limit:,} characters …]"
        text = f"{text[: limit - tail]} {left_out} {text[len(text) - tail :]}"
    return text.encode("utf-8", "backslashreplace").decode()


def _truncate(record: Part, limit: int, *names: str) -> Part:
    texts: dict[str, Any] = {name: getattr(record, name) for name in names}
    cut: dict[str, Any] = {name: text and truncate_text(text, limit) for name, text in texts.items()}
    return replace(record, **cut)


UNKNOWN = "(not recorded)"
"""Stands for texts and replies of verdicts that were made elsewhere."""


def absent(text: str | None) -> str | None:
    """What stands in place of a text that can not be seen; None where it can."""
    if text is None:
        return UNKNOWN
    if text.strip():
        return None
    return f"({pluralize(len(text), 'blank character')})" if text else "(empty)"


def named_texts(shown: Sequence[ExampleText]) -> Iterator[tuple[str, str | None]]:
    for stimulus in shown:
        last = stimulus is shown[-1]
        alone = "response" if len(shown) == 1 else ("edited" if last else "unchanged")
        if stimulus.texts is None:
            yield ("texts" if len(shown) == 1 else alone), None
        else:
            several = [f"slot {slot}" for slot in range(1, len(stimulus.texts) + 1)]
            names = {1: [alone], 2: ["text u", "text v"]}.get(len(several), several)
            yield from zip(names, stimulus.texts, strict=True)


def describe_call(call: ExampleTrial, exhibit: FindingExample) -> str:
    parts = [] if call.order is None else [f"{call.order[0]} in slot 1, {call.order[1]} in slot 2"]
    if len(exhibit.shown) > 1:
        parts.append("edited" if call.id == exhibit.shown[-1].id else "unchanged")
    if call.replicate:
        parts.append(f"repeat {call.replicate}")
    return ": ".join(["Call", ", ".join(parts)]) if parts else "Call"


def describe_reply(call: ExampleTrial, exhibit: FindingExample) -> str:
    by = f", by reader {exhibit.reader}" if exhibit.reader and call.verdict != "failed" else ""
    if call.reason is not None:
        tries = f" after {pluralize(call.attempts, 'attempt')}" if call.attempts else ""
        return f"{call.verdict}: {call.reason}{tries if call.verdict == 'failed' else by}"
    if call.winner is not None:
        return f"slot {call.verdict}, which is text {call.winner}{by}"
    return f"{call.verdict}{by}"
