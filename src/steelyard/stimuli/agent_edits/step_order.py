"""Two steps that do not depend on each other, in the other order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

from steelyard.stimuli.agent_edits.evidence import UNSPACED
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.tasks.transcripts.transcript import ASSISTANT, TOOL, Transcript, Turn

_LOOKUP = re.compile(
    r"^(check|count|describe|fetch|find|get|list|look|lookup|query|read|search|show|view)(_|$)"
)
"""Tools that look something up and change nothing, by the first word of their names."""
_TOKEN = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[\w@.-]){{3,}}")
"""Names and numbers by which a step may use what another found; a sign of a script without spaces is one."""

_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
"""A sign as JSON may write it."""


@dataclass(frozen=True)
class _Step:
    """One assistant message that calls tools, with the results that follow it."""

    start: int
    stop: int
    turns: tuple[Turn, ...]

    @property
    def looks_up(self) -> bool:
        """It looks things up, says nothing beside, and every call was answered."""
        head, *results = self.turns
        answered = [turn.call for turn in results] == [call.id for call in head.calls]
        return answered and not head.text.strip() and all(_LOOKUP.match(call.function) for call in head.calls)


def step_order(transcript: Transcript, rng: Random) -> RunEdit | None:
    """The run with two neighbouring look-ups swapped, neither of which uses what the other found."""
    steps = list(_steps(transcript.turns))
    pairs = [
        (one, two)
        for one, two in pairwise(steps)
        if one.stop == two.start and one.looks_up and two.looks_up and not _uses(two, one)
    ]
    if not pairs:
        return None
    one, two = rng.choice(pairs)
    turns = (*transcript.turns[: one.start], *two.turns, *one.turns, *transcript.turns[two.stop :])
    told = f"messages {one.start + 1} to {two.stop}: two independent look-ups swapped"
    return RunEdit(replace(transcript, turns=turns), told)


def _steps(turns: tuple[Turn, ...]) -> Iterator[_Step]:
    for start, turn in enumerate(turns):
        if turn.role == ASSISTANT and turn.calls:
            stop = start + 1
            while stop < len(turns) and turns[stop].role == TOOL:
                stop += 1
            yield _Step(start, stop, turns[start:stop])


def _uses(later: _Step, earlier: _Step) -> bool:
    """Whether a step's arguments, or names and numbers in its thoughts, stand in the other's results."""
    results = " ".join(turn.text for turn in earlier.turns[1:])
    found = set(_TOKEN.findall(_ESCAPED.sub(lambda sign: chr(int(sign[1], 16)), results)))
    own, asked = (set(_TOKEN.findall(_arguments(step))) for step in (earlier, later))
    thought = {word for word in _TOKEN.findall(later.turns[0].reasoning) if any(map(str.isdigit, word))}
    return bool((asked | thought) & found - own)


def _arguments(step: _Step) -> str:
    values = [list(call.arguments.values()) for call in step.turns[0].calls]
    return json.dumps(values, ensure_ascii=False)
