"""Probes of items as they are: pairs in both orders, several texts in all rotations, own family, repeats."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs import natural
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.run.self_preference import SELF_PREFERENCE, family_preference
from steelyard.metrics.scores.best_of import METRICS as BEST_OF_METRICS
from steelyard.metrics.scores.best_of import best_of_estimates
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes import probe
from steelyard.probes.probe import BEST_OF, PAIRWISE, POINTWISE, REPEATS, Design, Showing
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL, ORIGINAL, natural_pair, original_of, rotations
from steelyard.verdicts.observations import Observations

REPLICATES = 5


class Position:
    name = "position"
    title = "Natural pairs"
    question = "Does the winner stay the same when the order is reversed, and is it the one people chose?"
    metrics = natural.METRICS
    forms = (PAIRWISE,)
    needs = "data with two responses a row"

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        if not design.items:
            raise ConfigError(
                "probe 'position': the built-in catalogue holds no natural pairs; give data with two "
                "responses a row, use `steelyard import` on recorded verdicts, or leave the probe out."
            )
        pairs = [natural_pair(item, self.name) for item in design.items]
        return probe.both_orders(pairs, "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        mine = observations.filter(self.name)
        chosen = {protocol: mine.filter(protocol=protocol) for protocol in mine.protocols_seen}
        pairs = {protocol: collect(rows) for protocol, rows in chosen.items()}
        family = natural.prompt_family(pairs)
        longer = mine.shown.longer_by_name
        estimates: list[Estimate] = []
        for protocol, rows in chosen.items():
            context = EstimateContext.for_protocol(judge, "position", protocol, seed)
            labelled, test = collect(rows.filter(labelled=True)), family.get(protocol)
            estimates += natural.natural_estimates(context, pairs[protocol], labelled, test, longer)
        return estimates


class BestOfProbe:
    name = BEST_OF_PROBE
    title = "Best of several"
    question = "Does it name the best of several responses, whichever slot that stands in?"
    metrics = BEST_OF_METRICS
    forms = (BEST_OF,)
    needs = "data with several responses a row"

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        if not design.items:
            raise ConfigError(
                "probe 'best_of': nothing built in holds several responses; give data with a list of "
                "responses a row and a scale such as best-of-4."
            )
        stimuli = [stimulus for item in design.items for stimulus in rotations(item)]
        return probe.pointwise(stimuli, "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        estimates: list[Estimate] = []
        mine = observations.filter(self.name)
        for protocol in mine.protocols_seen or ["base"]:
            context = EstimateContext.for_protocol(judge, self.name, protocol, seed)
            estimates += best_of_estimates(context, collect_scores(mine.filter(protocol=protocol)))
        return estimates


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

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        items = [item for item in design.items if item.authors]
        if not items:
            raise ConfigError(
                "probe 'self_preference': no item says who wrote its text; map a column as author (for pairs "
                "author_1 and author_2), or leave the probe out."
            )
        if design.form == PAIRWISE:
            # The stimuli of the probe `position`, so that one call serves both.
            pairs = [natural_pair(item, "position") for item in items]
            return probe.both_orders(pairs, "base", design.replicates)
        return probe.pointwise([original_of(item, design.task) for item in items], "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        known = (o for o in observations if o.stimulus.authors and o.protocol == "base")
        mine = [o for o in known if o.stimulus.kind in (ORIGINAL, NATURAL)]
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return [family_preference(context, mine, self.families)]


class StochasticStability:
    name = "stochastic_stability"
    title = "Same input again"
    section = REPEATS
    whole = True
    question = "Does the judge give the same verdict when it sees the same input again?"
    metrics = METRICS
    unchanged = True
    forms = (POINTWISE,)

    def __init__(self, replicates: int = REPLICATES) -> None:
        self.replicates = check_replicates(self.name, replicates)

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        return probe.pointwise(design.originals, "base", max(self.replicates, design.replicates))

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        mine = observations.filter(ORIGINAL)
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return pointwise_estimates(context, mine, unchanged=True)


def check_replicates(probe: str, replicates: int) -> int:
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 2:
        raise ConfigError(f"probe {probe!r}: replicates is {replicates!r}, expected a number from 2 on.")
    return replicates
