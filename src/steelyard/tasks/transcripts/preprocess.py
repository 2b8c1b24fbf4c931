"""Preprocessors: what is taken out of transcripts before they are shown, each by its name.

A preprocessor gets the messages and gives back those that stay, with counts of what it removed; the messages
as they came are kept beside. Other packages add theirs under the entry-point group `steelyard.preprocessors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from steelyard.core.registry import Registry, Spec
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.transcripts.transcript import (
    ASSISTANT,
    REASONING,
    SYSTEM,
    TEXT,
    TOOL,
    Block,
    Removal,
    Transcript,
    Turn,
    clip_text,
)

Turns: TypeAlias = tuple[Turn, ...]
Given: TypeAlias = str | Mapping[str, Mapping[str, Any]]
"""A preprocessor as a study file has it: a name, or a name with options."""


class Preprocessor(Protocol):
    def __call__(self, turns: Turns) -> tuple[Turns, dict[str, int]]:
        """The messages that stay, and what was removed, to how many."""


class DropRole:
    def __init__(self, role: str) -> None:
        self.role = role

    def __call__(self, turns: Turns) -> tuple[Turns, dict[str, int]]:
        kept = tuple(turn for turn in turns if turn.role != self.role)
        return kept, _counts({f"{self.role} messages": len(turns) - len(kept)})


class DropReasoning:
    """Leaves out what the agent thought and did not say; a message that holds nothing else goes too."""

    def __call__(self, turns: Turns) -> tuple[Turns, dict[str, int]]:
        lighter = [_without(turn, REASONING) for turn in turns]
        kept = tuple(
            new for new, old in zip(lighter, turns, strict=True) if new == old or new.blocks or new.calls
        )
        thoughts = sum(block.kind == REASONING for turn in turns for block in turn.blocks)
        return kept, _counts({"reasoning blocks": thoughts, "empty messages": len(turns) - len(kept)})


class StripToolOutputs:
    note = "(output removed)"

    def __call__(self, turns: Turns) -> tuple[Turns, dict[str, int]]:
        filled = [turn.role == TOOL and bool(turn.blocks) for turn in turns]
        kept = tuple(
            replace(turn, blocks=(Block(TEXT, self.note),)) if has else turn
            for turn, has in zip(turns, filled, strict=True)
        )
        return kept, _counts({"tool outputs": sum(filled)})


class AssistantTextOnly:
    """Keeps nothing but what the agent says: no tools, no reasoning, nobody else."""

    def __call__(self, turns: Turns) -> tuple[Turns, dict[str, int]]:
        spoken = [turn for turn in turns if turn.role == ASSISTANT and turn.text.strip()]
        kept = tuple(
            Turn(ASSISTANT, (Block(TEXT, turn.text),), id=turn.id, model=turn.model) for turn in spoken
        )
        calls = sum(len(turn.calls) for turn in turns)
        return kept, _counts({"messages": len(turns) - len(kept), "tool calls": calls})


class Clip:
    """Cuts every text that is longer than so many characters, in its middle, and says so in its place."""

    def __init__(self, characters: int = 2000) -> None:
        if isinstance(characters, bool) or not isinstance(characters, int) or characters < 1:
            raise ConfigError(
                f"preprocessor 'clip': characters is {characters!r}, expected a number from 1 on."
            )
        self.characters = characters

    def __call__(self, turns: Turns) -> tuple[Turns, dict[str, int]]:
        kept = tuple(replace(turn, blocks=tuple(map(self._clipped, turn.blocks))) for turn in turns)
        pairs = [
            (a, b) for x, y in zip(turns, kept, strict=True) for a, b in zip(x.blocks, y.blocks, strict=True)
        ]
        return kept, _counts({"texts clipped": sum(a != b for a, b in pairs)})

    def _clipped(self, block: Block) -> Block:
        return replace(block, text=clip_text(block.text, self.characters))


PREPROCESSORS: Registry[Preprocessor] = Registry("preprocessor")

_FACTORIES: Mapping[str, Callable[..., Preprocessor]] = {
    "drop_system": lambda: DropRole(SYSTEM),
    "drop_tool_messages": lambda: DropRole(TOOL),
    "strip_tool_outputs": StripToolOutputs,
    "drop_reasoning": DropReasoning,
    "assistant_text_only": AssistantTextOnly,
    "clip": Clip,
}
for _name, _factory in _FACTORIES.items():
    PREPROCESSORS.register(_name, _factory)


@dataclass(frozen=True)
class Preparation:
    steps: tuple[tuple[str, Preprocessor], ...] = ()

    @classmethod
    def of(cls, given: Iterable[Given], where: str = "preprocess") -> Preparation:
        return cls(tuple((spec.name, _built(spec, where)) for spec in map(_spec, given)))

    def prepared(self, transcript: Transcript, where: str) -> Transcript:
        """The transcript without what they remove; the messages as they came stay beside it."""
        turns, removals = transcript.turns, []
        for name, preprocessor in self.steps:
            turns, counts = preprocessor(turns)
            removals.append(Removal(name, counts))
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


def _spec(given: Given) -> Spec:
    if isinstance(given, str):
        return Spec(given)
    if len(given) != 1:
        raise ConfigError(f"preprocess: expected a name or one name with its options, found {given!r}.")
    return Spec(*next(iter(given.items())))


def _built(spec: Spec, where: str) -> Preprocessor:
    try:
        return PREPROCESSORS.build(spec)
    except TypeError as error:
        raise ConfigError(
            f"{where}: {spec.name!r} takes no such options {dict(spec.args)!r} ({error})."
        ) from error


def _without(turn: Turn, kind: str) -> Turn:
    return replace(turn, blocks=tuple(block for block in turn.blocks if block.kind != kind))


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {what: count for what, count in counts.items() if count}
