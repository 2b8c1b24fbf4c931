"""The probe of judges that name the best of several responses: every item in every rotation."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.scores.best_of import METRICS, best_of_estimates
from steelyard.metrics.scores.columns import collect_scores
from steelyard.probes.probe import BEST_OF, Design, Showing, pointwise
from steelyard.stimuli.best_of import BEST_OF_PROBE, rotations
from steelyard.verdicts.observations import Observations


class BestOf:
    name = BEST_OF_PROBE
    title = "Best of several"
    question = "Does it name the best of several responses, whichever slot that stands in?"
    metrics = METRICS
    forms = (BEST_OF,)
    needs = "data with several responses a row"

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del protocols
        if not design.items:
            raise ConfigError(
                "probe 'best_of': nothing built in holds several responses; give data with a list of "
                "responses a row and a scale such as best-of-4."
            )
        stimuli = [stimulus for item in design.items for stimulus in rotations(item)]
        return pointwise(stimuli, "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        estimates: list[Estimate] = []
        mine = observations.filter(self.name)
        for protocol in mine.protocols_seen or ["base"]:
            context = EstimateContext.for_protocol(judge, self.name, protocol, seed)
            estimates += best_of_estimates(context, collect_scores(mine.filter(protocol=protocol)))
        return estimates
