"""Self-preference: does the judge favour texts that a model of its own family wrote?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.run.self_preference import (
    NO_FAMILY,
    SELF_PREFERENCE,
    pair_treatments,
    score_treatments,
    self_preference,
    vendor_of,
)
from steelyard.metrics.scores.shares import OWN_LABELS
from steelyard.probes.probe import PAIRWISE, POINTWISE, Design, Showing, both_orders, pointwise
from steelyard.stimuli.natural import NATURAL, natural_pair
from steelyard.stimuli.original import ORIGINAL, original_of
from steelyard.verdicts.observations import Observations


class SelfPreference:
    """Items whose author models are known, as they are; what other probes ask of them is not asked again."""

    name = "self_preference"
    title = "Self-preference"
    question = "Does the judge favour texts of its own model family over others that people valued alike?"
    metrics = (SELF_PREFERENCE,)
    forms = (PAIRWISE, POINTWISE)

    def __init__(self, families: Mapping[str, str] | None = None) -> None:
        """`families` maps names of judges and authors to families, where their names do not tell."""
        known = families or {}
        if not isinstance(known, Mapping) or not all(isinstance(family, str) for family in known.values()):
            raise ConfigError(
                f"probe 'self_preference': families is {families!r}, expected names with their families, "
                "such as {my-judge: openai}."
            )
        self.families = dict(known)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del protocols
        items = [item for item in design.items if item.authors]
        if not items:
            raise ConfigError(
                "probe 'self_preference': no item says who wrote its text; map a column as author (for pairs "
                "author_1 and author_2), or leave the probe out."
            )
        if design.form == PAIRWISE:
            # The stimuli of the probe `position`, so that one call serves both.
            pairs = [natural_pair(item, "position") for item in items]
            return both_orders(pairs, "base", design.replicates)
        return pointwise([original_of(item, design.task) for item in items], "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        mine = [
            o
            for o in observations
            if o.stimulus.authors and o.protocol == "base" and o.stimulus.kind in (ORIGINAL, NATURAL)
        ]
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        family = vendor_of(judge, self.families)
        if family is None:
            return [context.undefined(SELF_PREFERENCE, NO_FAMILY)]
        if any(o.own_label for o in mine):
            return [context.undefined(SELF_PREFERENCE, OWN_LABELS)]
        authors = {author for o in mine for author in o.stimulus.authors or ()}
        own = frozenset(author for author in authors if vendor_of(author, self.families) == family)
        treatments = [*score_treatments(mine, own), *pair_treatments(mine, own)]
        return [self_preference(context, treatments, mine)]
