"""Natural pairs: two texts as they were met in use, with what people said of them."""

from __future__ import annotations

from steelyard.stimuli.expectation import Expectation, NoPreference, Prefers, Unknown
from steelyard.stimuli.stimulus import Lineage, Stimulus
from steelyard.tasks.item import Item

NATURAL = "natural"
NATURAL_PROBE = "position"

_EXPECTED: dict[str | None, Expectation] = {
    "1": Prefers("u"),
    "2": Prefers("v"),
    "tie": NoPreference(),
    None: Unknown(),
}


def natural_pair(item: Item, probe: str) -> Stimulus:
    """An item of two responses as a pair; response 1 is u."""
    return Stimulus(
        id=f"{item.id}/{probe}",
        probe=probe,
        kind=NATURAL,
        cluster=item.cluster,
        stratum=item.stratum or "all",
        request=item.request,
        texts=item.responses,
        expectation=_EXPECTED[item.label],
        lineage=Lineage(parent=item.id, edit="none", author="source"),
        rubric=item.rubric,
        reference=item.reference,
        context=item.context,
        metadata=item.metadata,
        instruction=item.instruction,
        authors=item.authors,
    )
