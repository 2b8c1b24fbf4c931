"""The quality ladder and its same-quality controls."""

from __future__ import annotations

from steelyard.core.rng import rng_for
from steelyard.stimuli.composition import compose
from steelyard.stimuli.expectation import Expectation, NoPreference, Prefers
from steelyard.stimuli.stimulus import Lineage, Stimulus
from steelyard.tasks.checklist import ELEMENTS, Checklist


def prefix_pair(checklist: Checklist, low: float, high: float, seed: int) -> Stimulus:
    """Q(high) as u against Q(low) as v: u contains all that v contains, and more."""
    composition, _ = compose(checklist, seed)
    return _pair(
        checklist,
        f"q{low:g}-q{high:g}",
        kind="prefix",
        texts=(composition.prefix(high), composition.prefix(low)),
        expectation=Prefers("u"),
        edit=f"{high:g} elements against {low:g}",
        delta=high - low,
        base_level=low,
    )


def same_subset_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    one, other = compose(checklist, seed)
    texts = [one.prefix(quality), other.prefix(quality)]
    rng_for(seed, "orient", checklist.id, "same", quality).shuffle(texts)
    return _pair(
        checklist,
        f"same-q{quality}",
        kind="same_subset",
        texts=(texts[0], texts[1]),
        expectation=NoPreference(),
        edit="other wording, other sentence order",
        base_level=quality,
    )


def different_subset_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    if not 0 < quality < ELEMENTS:
        raise ValueError(f"two different subsets of {quality} among {ELEMENTS} elements do not exist")
    composition, _ = compose(checklist, seed)
    subsets = [composition.chain[:quality], composition.chain[ELEMENTS - quality :]]
    rng_for(seed, "orient", checklist.id, "different", quality).shuffle(subsets)
    return _pair(
        checklist,
        f"different-q{quality}",
        kind="different_subset",
        texts=(composition.text(subsets[0]), composition.text(subsets[1])),
        expectation=NoPreference(),
        edit="as many elements, other ones",
        base_level=quality,
    )


def filler_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    """The same elements bare (u) and padded with filler (v); the one pair that is not length-matched."""
    composition, _ = compose(checklist, seed)
    elements = composition.chain[:quality]
    return _pair(
        checklist,
        f"filler-q{quality}",
        kind="filler",
        texts=(composition.text(elements, padded=False), composition.text(elements)),
        expectation=NoPreference(),
        edit="bare against padded with filler",
        base_level=quality,
    )


def _pair(
    checklist: Checklist,
    name: str,
    *,
    kind: str,
    texts: tuple[str, str],
    expectation: Expectation,
    edit: str,
    delta: float = 0.0,
    base_level: float,
) -> Stimulus:
    return Stimulus(
        id=f"{checklist.id}/ladder/{name}",
        probe="ladder",
        kind=kind,
        cluster=checklist.id,
        stratum=checklist.domain,
        request=checklist.request,
        texts=texts,
        expectation=expectation,
        lineage=Lineage(parent=checklist.id, edit=edit),
        delta=delta,
        base_level=base_level,
    )
