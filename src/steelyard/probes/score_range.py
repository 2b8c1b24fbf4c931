"""Score range: does the judge find the same level when the numbers of the scale are others?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.scores.probe import pointwise_estimates
from steelyard.probes.edited import Edited
from steelyard.probes.probe import Design
from steelyard.probes.sample import GivenSample
from steelyard.stimuli.original import ORIGINAL, perturbed
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.surface.score_range import range_table, rescale, rewrite_range
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Ordinal, parse_scale
from steelyard.verdicts.observations import Observations


class ScoreRange(Edited):
    """Every item of an ordinal scale under the same rubric with other numbers."""

    name = "score_range"
    title = "Other score range"
    question = "Does the judge give the same level when the scale has other numbers?"
    needs = "items on an ordinal scale that has no more levels than the other range"

    def __init__(self, to: str = "0-10", sample: GivenSample = None) -> None:
        """`to` is the other range; it needs at least as many levels as the scale."""
        super().__init__(sample)
        self.target = _range(to)

    def edits(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """The same response under the renumbered rubric; none where levels would fall together."""
        source, target = item.scale or design.task.scale, self.target
        if not isinstance(source, Ordinal) or source == target or range_table(source, target) is None:
            return
        instruction = item.instruction or design.task.instruction
        renumbered = rewrite_range(instruction, source, target)
        rubric, edit = _renumbered(item.rubric or design.task.rubric, source, target)
        moved = replace(item, instruction=renumbered or instruction, rubric=rubric, scale=target)
        label = None if item.label is None else rescale(item.label, source, target)
        yield perturbed(moved, design.task, self.name, 0, item.responses[0], edit, label=label)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """The figures of items that were shown unchanged too: their range is what answers are brought to."""
        items = {o.stimulus.lineage.parent for o in observations if o.stimulus.probe == ORIGINAL}
        mine = [o for o in observations if o.stimulus.lineage.parent in items]
        return pointwise_estimates(EstimateContext.for_protocol(judge, self.name, "base", seed), mine)


def _range(to: object) -> Ordinal:
    try:
        scale = parse_scale(to) if isinstance(to, str) else None
    except ConfigError:
        scale = None
    if not isinstance(scale, Ordinal):
        raise ConfigError(f"probe 'score_range': to is {to!r}, expected a range such as 0-10.")
    return scale


def _renumbered(rubric: str, source: Ordinal, target: Ordinal) -> tuple[str, str]:
    """The rubric for the other range, and what was done to it in words."""
    rewritten = rewrite_range(rubric, source, target)
    span = f"{target.low} to {target.high}"
    if rewritten is not None:
        return rewritten, f"rubric renumbered from {span}"
    table = range_table(source, target) or ""
    return f"{rubric}\n{table}".strip(), f"answers from {span}, by a table under the rubric"
