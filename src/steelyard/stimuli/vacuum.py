"""True-vacuum pairs: nothing to prefer, because both slots hold the same text."""

from __future__ import annotations

from steelyard.stimuli.composition import compose
from steelyard.stimuli.expectation import NoPreference
from steelyard.stimuli.stimulus import Lineage, Stimulus
from steelyard.tasks.checklist import Checklist

KINDS = ("empty", "blank", "identical")
BLANKS = ("   ", "\n\n")


def vacuum_pair(checklist: Checklist, kind: str, which: int, seed: int) -> Stimulus:
    """A vacuum pair of one kind; `which` (0 or 1) picks the blank or the text, and is 0 for empty."""
    text = _text(checklist, kind, which, seed)
    return Stimulus(
        id=f"{checklist.id}/vacuum/{kind}-{which}",
        probe="vacuum",
        kind=kind,
        cluster=checklist.id,
        stratum=checklist.domain,
        request=checklist.request,
        texts=(text, text),
        expectation=NoPreference(),
        lineage=Lineage(parent=checklist.id, edit=f"both candidates {kind}"),
    )


def _text(checklist: Checklist, kind: str, which: int, seed: int) -> str:
    if kind == "empty":
        return ""
    if kind == "blank":
        return BLANKS[which]
    return compose(checklist, seed)[which].prefix((3, 5)[which])
