"""Transcripts before they are shown: what preprocessors take out, and cuts to what a judge can read.

A preprocessor gets the messages and gives back those that stay, with counts of what it removed; the messages
as they came are kept beside. Other packages add theirs under the entry-point group `steelyard.preprocessors`,
or are named by the dotted path of a function.

Every cut is stated in its place and at the head. Long tool results are shortened first, then everything else
that is long, from the middle of each text; where that does not do, whole messages are left out of the middle
of the run. The first and the last message stay.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, TypeAlias

from steelyard.core.registry import Registry, Spec
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.transcripts.transcript import (
    Block,
    Removal,
    Transcript,
    Turn,
    clip_text,
    message,
    render_transcript,
)

Turns: TypeAlias = tuple[Turn, ...]
Given: TypeAlias = str | Mapping[str, Mapping[str, Any]]


Preprocessor: TypeAlias = Callable[[Turns], tuple[Turns, dict[str, int]]]
"""Gives the messages that stay, and what was removed, to how many."""


def _drop_role(role: str) -> Preprocessor:
    def drop(turns: Turns) -> tuple[Turns, dict[str, int]]:
        kept = tuple(turn for turn in turns if turn.role != role)
        return kept, {f"{role} messages": len(turns) - len(kept)}

    return drop


def _drop_reasoning(turns: Turns) -> tuple[Turns, dict[str, int]]:
    """Leaves out what the agent thought and did not say; a message that holds nothing else goes too."""
    kept = []
    for turn in turns:
        spoken = replace(turn, blocks=tuple(block for block in turn.blocks if block.kind != "reasoning"))
        if spoken == turn or spoken.blocks or spoken.calls:
            kept.append(spoken)
    thoughts = sum(block.kind == "reasoning" for turn in turns for block in turn.blocks)
    return tuple(kept), {"reasoning blocks": thoughts, "empty messages": len(turns) - len(kept)}


def _strip_tool_outputs(turns: Turns) -> tuple[Turns, dict[str, int]]:
    filled = [turn.role == "tool" and bool(turn.blocks) for turn in turns]
    kept = tuple(
        replace(turn, blocks=(Block("text", "(output removed)"),)) if has else turn
        for turn, has in zip(turns, filled, strict=True)
    )
    return kept, {"tool outputs": sum(filled)}


def _keep_assistant_comment_lines(turns: Turns) -> tuple[Turns, dict[str, int]]:
    """Of code that the agent hands to a tool (argument `code`) keeps the lines of comment alone."""
    removed, kept = 0, []
    for turn in turns:
        calls = []
        for call in turn.calls if turn.role == "assistant" else ():
            code = call.arguments.get("code")
            lines = code.splitlines() if isinstance(code, str) else []
            comments = [line for line in lines if line.lstrip().startswith("#")]
            removed += len(lines) - len(comments)
            calls.append(
                replace(call, arguments={**call.arguments, "code": "\n".join(comments)}) if lines else call
            )
        kept.append(replace(turn, calls=tuple(calls)) if calls else turn)
    return tuple(kept), {"lines of code": removed}


def _assistant_text_only(turns: Turns) -> tuple[Turns, dict[str, int]]:
    kept = tuple(
        Turn("assistant", (Block("text", turn.text),), id=turn.id, model=turn.model)
        for turn in turns
        if turn.role == "assistant" and turn.text.strip()
    )
    calls = sum(len(turn.calls) for turn in turns)
    return kept, {"messages": len(turns) - len(kept), "tool calls": calls}


def _clip(characters: int = 2000) -> Preprocessor:
    """Cuts every text that is longer than so many characters, in its middle, and says so in its place."""
    if isinstance(characters, bool) or not isinstance(characters, int) or characters < 1:
        raise ConfigError(f"preprocessor 'clip': characters is {characters!r}, expected a number from 1 on.")

    def clip(turns: Turns) -> tuple[Turns, dict[str, int]]:
        kept = tuple(
            replace(turn, blocks=tuple(replace(b, text=clip_text(b.text, characters)) for b in turn.blocks))
            for turn in turns
        )
        before, after = ([b for turn in each for b in turn.blocks] for each in (turns, kept))
        return kept, {"texts clipped": sum(a != b for a, b in zip(before, after, strict=True))}

    return clip


PREPROCESSORS: Registry[Preprocessor] = Registry("preprocessor")

_FACTORIES: Mapping[str, Callable[..., Preprocessor]] = {
    "drop_system": lambda: _drop_role("system"),
    "drop_tool_messages": lambda: _drop_role("tool"),
    "strip_tool_outputs": lambda: _strip_tool_outputs,
    "drop_reasoning": lambda: _drop_reasoning,
    "assistant_text_only": lambda: _assistant_text_only,
    "keep_assistant_comment_lines": lambda: _keep_assistant_comment_lines,
    "clip": _clip,
}
for _name, _factory in _FACTORIES.items():
    PREPROCESSORS.register(_name, _factory)


@dataclass(frozen=True)
class Preparation:
    steps: tuple[tuple[str, Preprocessor], ...] = ()

    @classmethod
    def of(cls, given: Iterable[Given]) -> Preparation:
        return cls(tuple(map(_build, given)))

    def prepared(self, transcript: Transcript, where: str) -> Transcript:
        turns, removals = transcript.turns, []
        for name, preprocessor in self.steps:
            turns, counts = preprocessor(turns)
            removals.append(Removal(name, {what: count for what, count in counts.items() if count}))
            if not turns:
                raise DataError(
                    f"{where}: preprocessor {name!r} leaves no message, expected some to judge; leave it "
                    "out, or the sample."
                )
        if turns == transcript.turns:
            return replace(transcript, removals=tuple(removals))
        return replace(
            transcript, turns=turns, raw=transcript.raw or transcript.turns, removals=tuple(removals)
        )


def _by_path(spec: Spec) -> Preprocessor:
    """A function of an installed package by its dotted path.

    A study file of another person may name it: so it takes messages and no options, and none of Python's own
    functions is called.
    """
    module, _, name = spec.name.replace(":", ".").rpartition(".")
    if spec.args or module.partition(".")[0] in sys.stdlib_module_names:
        raise ConfigError(
            f"preprocess: {spec.name!r} is no preprocessor of a package that takes messages and no options; "
            "name another."
        )
    with working_folder_hidden():
        try:
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                f"preprocess: {spec.name!r} is no function of an installed package ({error}); install it, or "
                "correct the path."
            ) from error
    if not callable(found):
        raise ConfigError(f"preprocess: {spec.name!r} is no function, expected one that takes messages.")

    def run(turns: Turns) -> tuple[Turns, dict[str, int]]:
        """The step, with a sentence for what it gives back in another form."""
        given = found(turns)
        kept, counts = given if isinstance(given, tuple) and len(given) == 2 else (None, None)
        if not (isinstance(kept, tuple) and all(isinstance(turn, Turn) for turn in kept)):
            raise ConfigError(
                f"preprocess: {spec.name!r} gave {type(given).__name__}, expected the messages that stay, as "
                "a tuple of Turn, and a dict of what was removed."
            )
        return kept, dict(counts or {})

    return run


@contextmanager
def working_folder_hidden() -> Iterator[None]:
    """Import from installed packages alone: a study file of another person brings no code in its folder."""
    before = list(sys.path)
    sys.path[:] = [place for place in before if place and Path(place).resolve() != Path.cwd().resolve()]
    try:
        yield
    finally:
        sys.path[:] = before


def _build(given: Given) -> tuple[str, Preprocessor]:
    if not isinstance(given, str) and len(given) != 1:
        raise ConfigError(f"preprocess: expected a name or one name with its options, found {given!r}.")
    spec = Spec(given) if isinstance(given, str) else Spec(*next(iter(given.items())))
    if "." in spec.name:
        return spec.name, _by_path(spec)
    try:
        return spec.name, PREPROCESSORS.build(spec)
    except TypeError as error:
        known = ", ".join(signature(PREPROCESSORS.factory(spec.name)).parameters) or "none"
        raise ConfigError(
            f"preprocess: {spec.name!r} takes no such options {dict(spec.args)!r}; known options: {known}."
        ) from error


SHORTEST = 200
"""Characters that a text keeps before whole messages are left out."""
_HEAD = 160
"""Characters that are kept free for the sentence at the head."""
_GAP = "\n\n"


@dataclass(frozen=True)
class Fitted:
    text: str
    cut: int = 0
    messages: int = 0

    @property
    def text_after_notice(self) -> str:
        return self.text.partition(_GAP)[2] if self.cut else self.text


def fitted(transcript: Transcript, characters: int) -> Fitted | None:
    """The rendering in at most so many characters; None where not even its ends fit."""
    whole = render_transcript(transcript)
    if len(whole) <= characters:
        return Fitted(whole)
    room = characters - _HEAD
    longest = max(len(whole), SHORTEST)
    for others in (False, True):
        low, high = SHORTEST, longest
        if _length(_shortened(transcript, low, others)) > room:
            continue
        while low < high:
            middle = (low + high + 1) // 2
            fits = _length(_shortened(transcript, middle, others)) <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        return _mark_cuts(_shortened(transcript, low, others), whole, 0)
    return _without_middle(_shortened(transcript, SHORTEST, others=True), whole, room)


def _shortened(transcript: Transcript, cap: int, others: bool) -> list[str]:
    """The messages with their tool results cut to `cap`; or with these at their shortest, and others cut."""
    messages = []
    for number, turn in enumerate(transcript.turns, start=1):
        is_tool = turn.role == "tool"
        longest = SHORTEST if is_tool and others else cap if is_tool or others else None
        blocks = turn.blocks
        if longest is not None:
            blocks = tuple(replace(block, text=clip_text(block.text, longest)) for block in blocks)
        messages.append(message(number, replace(turn, blocks=blocks), arguments=cap if others else None))
    return messages


def _without_middle(messages: list[str], whole: str, room: int) -> Fitted | None:
    total = len(messages)
    head, tail = 1, 1
    if total < 2 or _length([messages[0], _left_out(2, total - 1), messages[-1]]) > room:
        return None
    while head + tail < total:
        # The end tells more of a run than its beginning, so it goes first.
        grown = (head, tail + 1) if tail <= head else (head + 1, tail)
        if _length(_ends(messages, *grown)) > room:
            break
        head, tail = grown
    return _mark_cuts(_ends(messages, head, tail), whole, total - head - tail)


def _ends(messages: list[str], head: int, tail: int) -> list[str]:
    left = [] if head + tail == len(messages) else [_left_out(head + 1, len(messages) - tail)]
    return [*messages[:head], *left, *messages[len(messages) - tail :]]


def _left_out(first: int, last: int) -> str:
    return f"[… messages {first} to {last} cut …]"


def _mark_cuts(messages: list[str], whole: str, left_out: int) -> Fitted:
    text = _GAP.join(messages)
    cut = max(1, len(whole) - len(text))
    also = f", {pluralize(left_out, 'whole message')} among them" if left_out else ""
    head = f"(This transcript is shortened: {cut:,} characters are cut{also}; every cut is marked.)"
    return Fitted(f"{head}{_GAP}{text}", cut, left_out)


def _length(messages: list[str]) -> int:
    return sum(map(len, messages)) + len(_GAP) * (len(messages) - 1)
