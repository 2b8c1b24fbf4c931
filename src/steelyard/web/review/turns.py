"""The messages of an agent's run as a reviewer sees them: which were edited, which may be folded away."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.review.stimuli_file import before_edit, run_of
from steelyard.stimuli.stimulus import EDITED, Stimulus
from steelyard.store.review_log import Vote
from steelyard.tasks.transcripts.transcript import ASSISTANT, SYSTEM, TOOL, Turn

LONG = 600
"""Signs from which on a message that nobody edited is folded away."""


@dataclass(frozen=True)
class TurnCall:
    """A tool call with its arguments to edit."""

    id: str
    """Names the call."""
    function: str
    """The tool."""
    made: str
    """Arguments as the author left them."""
    now: str
    """Arguments as they stand on the page."""


@dataclass(frozen=True)
class ShownTurn:
    """One message on the page."""

    place: int
    """From 0."""
    role: str
    """Who speaks."""
    tool: str
    """The tool that a result is of."""
    before: str
    """The words before any edit."""
    made: str
    """The words as the author left them."""
    now: str
    """The words as they stand on the page."""
    reasoning: str
    """What the agent thought, read only."""
    error: str
    """What went wrong with a tool."""
    calls: tuple[TurnCall, ...]
    """Tools that it calls."""
    edited: bool
    """True where author or reviewer changed it."""

    @property
    def folded(self) -> bool:
        """True where it stands behind a click: boilerplate, or long and unchanged."""
        boilerplate = self.role in (SYSTEM, TOOL) or len(self.now) > LONG
        return not self.edited and boilerplate

    @property
    def own(self) -> bool:
        """True for a message of the agent's."""
        return self.role == ASSISTANT


def shown_turns(
    made: Stimulus, final_vote: Vote | None, draft: Mapping[str, str] | None
) -> tuple[ShownTurn, ...]:
    """The messages of a run as they stand; empty for a stimulus that is no run."""
    if made.transcript is None:
        return ()
    changed = final_vote is not None and final_vote.decision == EDITED and final_vote.text is not None
    run = (
        run_of(final_vote.text) if changed and final_vote is not None and final_vote.text else made.transcript
    )
    typed = json.loads(draft["turns"]) if draft and draft.get("turns") else {}
    olds = before_edit(made).turns
    aligned = len(olds) == len(made.transcript.turns)
    return tuple(
        _shown(place, olds[place] if aligned else own, own, run.turns[place], typed.get(str(place), {}))
        for place, own in enumerate(made.transcript.turns)
    )


def _shown(place: int, old: Turn, own: Turn, now: Turn, typed: Mapping[str, object]) -> ShownTurn:
    said = typed.get("text")
    given = typed.get("arguments")
    told = given if isinstance(given, dict) else {}
    calls = tuple(
        TurnCall(
            mine.id, mine.function, _json(mine.arguments), str(told.get(mine.id, _json(current.arguments)))
        )
        for mine, current in zip(own.calls, now.calls, strict=False)
    )
    words = said if isinstance(said, str) else now.text
    edited = old != own or words != own.text or any(call.made != call.now for call in calls)
    return ShownTurn(
        place=place,
        role=own.role,
        tool=own.function or "",
        before=old.text,
        made=own.text,
        now=words,
        reasoning=own.reasoning,
        error=own.error or "",
        calls=calls,
        edited=edited,
    )


def _json(arguments: Mapping[str, object]) -> str:
    return json.dumps(arguments, indent=1, ensure_ascii=False)
