"""Datasheets of several judges that score single texts, drawn with known accuracies."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence

from scores import call
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.run.cost import Dollars
from steelyard.metrics.scores import probe as pointwise
from steelyard.probes.probe import Design, Showing
from steelyard.verdicts.observations import Observation

JUDGES = {
    "openai/gpt-4o": (0.93, 2.5),
    "anthropic/claude-sonnet-4-5": (0.95, 3.0),
    "google/gemini-2.5-pro": (0.90, 1.25),
    "openai/gpt-4o-mini": (0.86, 0.15),
    "vllm/llama-4-maverick": (0.80, 0.0),
    "house/unlisted": (0.74, None),
}
"""Accuracy, and dollars per million tokens; None where the price is not known."""
PROBES = (
    "label_flip",
    "format_invariance_1",
    "format_invariance_2",
    "format_invariance_3",
    "semantic_paraphrase",
    "verbosity_bias_long",
    "verbosity_bias_short",
    "stochastic_stability",
)


class Scored:
    """A pointwise probe of any name."""

    question = "?"
    metrics = pointwise.METRICS
    levels = ("pointwise",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.unchanged = name == "stochastic_stability"

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """None: the observations are made by hand."""
        return ()

    def estimates(self, judge: str, observations: Sequence[Observation], seed: int) -> list[Estimate]:
        """Every pointwise figure."""
        return pointwise.pointwise_estimates(
            EstimateContext.for_protocol(judge, self.name, "base", seed),
            observations,
            unchanged=self.unchanged,
        )


def dollars(per_million: float | None) -> Dollars | None:
    """A price; output tokens cost four times as much."""
    if per_million is None:
        return None
    return lambda usage: (usage.input_tokens + 4 * usage.output_tokens) * per_million / 1e6


def observed(judge: str, accuracy: float, probes: Sequence[str], items: int) -> list[Observation]:
    """One call on every item and on every edit of it; half of the errors come from the item itself."""
    stream, shared = random.Random(judge), random.Random(5)
    hard = [shared.random() for _ in range(items)]
    rows = []
    for index in range(items):
        label = index % 2
        cluster = f"task-{index // 2:02d}"
        for probe in ("original", *(name for name in probes if name != "stochastic_stability")):
            expected = 1 - label if probe == "label_flip" else label
            right = (hard[index] + stream.random()) / 2 < accuracy - 0.15
            given = expected if right else 1 - expected
            rows.append(call(f"i{index:02d}", given, expected, probe=probe, cluster=cluster, judge=judge))
    return rows


def panel_datasheet(
    judges: Sequence[str] = tuple(JUDGES),
    *,
    probes: Sequence[str] = PROBES,
    items: int = 24,
    baselines: bool = True,
    shuffle: int | None = None,
) -> Datasheet:
    """These judges on these probes, with two baselines beside."""
    rows = [row for name in judges for row in observed(name, JUDGES[name][0], probes, items)]
    dumb = ("planted/constant", "planted/random") if baselines else ()
    rows += [row for name in dumb for row in observed(name, 0.5, probes, items)]
    if shuffle is not None:
        random.Random(shuffle).shuffle(rows)
    entries = [JudgeEntry(name, name, False, {"base": "sha256:1"}) for name in judges]
    return assemble(
        name="reliability",
        seed=7,
        profile="standard",
        stimulus_set="sha256:0123456789abcdef",
        judges=[*entries, *(JudgeEntry(name, name, True, {"base": "sha256:1"}) for name in dumb)],
        probes=[Scored(name) for name in probes],
        observations=rows,
        run={},
        prices={name: dollars(JUDGES[name][1]) for name in judges},
    )
