"""Natural pairs: what order does to the verdicts on texts as they are met in use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.natural import natural_estimates
from steelyard.metrics.pairs import collect
from steelyard.probes.probe import PAIRWISE, Design, Showing, select
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.recorded_observations import among, protocols_of


class Position:
    """Pairs whose quality nobody controlled, in both orders where both were shown."""

    name = "position"
    question = "Does the winner stay the same when the order is reversed, and is it the one people chose?"
    metrics = (
        "order_consistency",
        "flip_first",
        "flip_second",
        "one_sided_commit",
        "no_preference",
        "net_slot_preference",
        "repeat_flip_rate",
        "swap_flip_rate",
        "flip_excess",
        "tie_rate",
        "accuracy",
        "accuracy_both",
        "unreadable_rate",
        "failed_rate",
    )
    levels = (PAIRWISE,)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """None of its own: the built-in catalogue holds no natural pairs."""
        del design, protocols
        raise ConfigError(
            "probe 'position': the built-in catalogue holds no natural pairs; "
            "use `steelyard import` on recorded verdicts, or leave the probe out."
        )

    def estimates(self, judge: str, observations: Sequence[Observation], seed: int) -> list[Estimate]:
        """The figures of every protocol under which natural pairs were judged."""
        mine = among(observations, self.name)
        protocols = sorted(protocols_of(mine), key=lambda name: (name != "base", name))
        estimates: list[Estimate] = []
        for protocol in protocols:
            chosen = select(mine, self.name, protocol)
            labelled = among(chosen, labelled=True)
            estimates += natural_estimates(judge, protocol, collect(chosen), collect(labelled), seed)
        return estimates
