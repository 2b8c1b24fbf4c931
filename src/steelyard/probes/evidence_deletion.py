"""Evidence deletion: does the verdict move when the decisive step is gone?"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from steelyard.probes.agent_edited import NOTHING, RunBreaking
from steelyard.stimuli.agent_edits.evidence_deletion import evidence_deletion
from steelyard.stimuli.agent_edits.run_edit import RunEdit
from steelyard.tasks.item import Item
from steelyard.tasks.transcripts.transcript import Transcript


class EvidenceDeletion(RunBreaking):
    """Every passing run without the call and the result on which its last words rest."""

    name = "evidence_deletion"
    title = "Evidence deleted"
    question = "Does the verdict move when the step that the agent's last words rest on is deleted?"
    edit = "the decisive step deleted"
    usual = NOTHING

    def runs(self, item: Item, transcript: Transcript, rng: Random) -> Iterator[tuple[int, RunEdit | None]]:
        """One edit of a run."""
        del item, rng
        yield 0, evidence_deletion(transcript)
