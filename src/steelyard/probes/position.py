"""Natural pairs: what order does to the verdicts on texts as they are met in use."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from steelyard.errors import ConfigError
from steelyard.metrics.common import ACCURACY, FAILED_RATE, KAPPA, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.pairs.decomposition import NO_PREFERENCE, ONE_SIDED_COMMIT
from steelyard.metrics.pairs.equals import TIE_RATE
from steelyard.metrics.pairs.flips import FLIP_EXCESS, REPEAT_FLIP_RATE, SWAP_FLIP_RATE
from steelyard.metrics.pairs.length import LENGTH_LEAN, LONGER_CHOSEN
from steelyard.metrics.pairs.natural import (
    ACCURACY_BOTH,
    FLIP_FIRST,
    FLIP_SECOND,
    ORDER_CONSISTENCY,
    natural_estimates,
    prompt_family,
)
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.probes.probe import PAIRWISE, Design, Showing, both_orders
from steelyard.stimuli.natural import natural_pair
from steelyard.verdicts.observations import Observations


class Position:
    name = "position"
    title = "Natural pairs"
    question = "Does the winner stay the same when the order is reversed, and is it the one people chose?"
    metrics = (
        ACCURACY,
        ACCURACY_BOTH,
        KAPPA,
        ORDER_CONSISTENCY,
        FLIP_FIRST,
        FLIP_SECOND,
        ONE_SIDED_COMMIT,
        NO_PREFERENCE,
        NET_SLOT_PREFERENCE,
        LENGTH_LEAN,
        LONGER_CHOSEN,
        REPEAT_FLIP_RATE,
        SWAP_FLIP_RATE,
        FLIP_EXCESS,
        TIE_RATE,
        UNREADABLE_RATE,
        FAILED_RATE,
    )
    forms = (PAIRWISE,)
    needs = "data with two responses a row"

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del protocols
        if not design.items:
            raise ConfigError(
                "probe 'position': the built-in catalogue holds no natural pairs; give data with two "
                "responses a row, use `steelyard import` on recorded verdicts, or leave the probe out."
            )
        pairs = [natural_pair(item, self.name) for item in design.items]
        return both_orders(pairs, "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        mine = observations.filter(self.name)
        chosen = {protocol: mine.filter(protocol=protocol) for protocol in mine.protocols_seen}
        pairs = {protocol: collect(rows) for protocol, rows in chosen.items()}
        family = prompt_family(pairs)
        longer = mine.shown.longer_by_name
        estimates: list[Estimate] = []
        for protocol, rows in chosen.items():
            labelled = collect(rows.filter(labelled=True))
            test = family.get(protocol)
            estimates += natural_estimates(
                EstimateContext.for_protocol(judge, "position", protocol, seed),
                pairs[protocol],
                labelled,
                test,
                longer,
            )
        return estimates
