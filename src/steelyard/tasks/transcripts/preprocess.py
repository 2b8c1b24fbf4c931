"""Preprocessors: what is taken out of transcripts before they are shown, each by its name.

A preprocessor gets the messages and gives back those that stay, with counts of what it removed; the messages
as they came are kept beside. Other packages add theirs under the entry-point group `steelyard.preprocessors`,
or are named by the dotted path of a function.
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
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.transcripts.transcript import Block, Removal, Transcript, Turn, clip_text

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
