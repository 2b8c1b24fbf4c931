"""A run that breaks off before its end."""

from __future__ import annotations

from dataclasses import replace

from steelyard.core.text import pluralize
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.tasks.transcripts.transcript import Transcript


def truncated_tail(transcript: Transcript, share: float) -> RunEdit | None:
    """The run without its last words and what follows, and without at least this share of its messages.

    None where nothing of the agent would be left, or it never spoke last.
    """
    final = transcript.final_place
    total = len(transcript.turns)
    if final is None:
        return None
    kept = min(final, total - round(share * total))
    if not any(place < kept for place in transcript.assistant_places):
        return None
    told = f"breaks off after message {kept}: the last {pluralize(total - kept, 'message')} removed"
    return RunEdit(replace(transcript, turns=transcript.turns[:kept]), told)
