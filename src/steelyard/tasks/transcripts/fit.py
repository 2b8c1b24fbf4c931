"""A transcript shortened to what a judge can read, every cut stated in its place and at the head.

Long tool results are shortened first, then everything else that is long, from the middle of each text; where
that does not do, whole messages are left out of the middle of the run. The first and the last message stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from steelyard.core.text import pluralize
from steelyard.tasks.transcripts.transcript import Transcript, clip_text, message, render_transcript

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
