"""The thing judged, as it comes from a file or a catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.tasks.scale import Scale


@dataclass(frozen=True)
class Item:
    """A request with one response (pointwise) or two (pairwise)."""

    id: str
    """Unique in its source."""
    request: str
    """What was asked of the author of the response."""
    responses: tuple[str, ...]
    """One or two responses."""
    cluster: str
    """What the item shares with others, such as a source: items of a cluster are not independent."""
    label: str | None = None
    """Reference answer on the scale, where there is one."""
    stratum: str | None = None
    """Group for stratified sampling and reporting."""
    rubric: str | None = None
    """Rubric of this item, where it differs from the task's."""
    reference: str | None = None
    """Reference response, where there is one."""
    instruction: str | None = None
    """Instruction for this item, where it differs from the task's."""
    scale: Scale | None = None
    """Admissible answers on this item, where they differ from the task's."""
    votes: tuple[str, ...] = ()
    """Every person's answer on the scale, where several were asked; `label` is what they came to."""
    authors: tuple[str, ...] | None = None
    """Models that wrote the responses, one for each, where that is known."""
