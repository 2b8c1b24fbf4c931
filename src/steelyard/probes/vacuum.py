"""Zero point: does the judge see something where there is nothing?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from steelyard.core.text import plural, pluralize
from steelyard.metrics.common import DARK_CURRENT, FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.pairs.equals import vacuum_estimates
from steelyard.metrics.scores.probe import MEAN_SCORE, score_vacuum_estimates
from steelyard.probes.probe import (
    PAIRWISE,
    POINTWISE,
    Design,
    Showing,
    both_orders,
    pointwise,
    with_checklist_task,
)
from steelyard.stimuli.allocation import Kind
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.vacuum import TEXTS, vacuum_pair, vacuum_response
from steelyard.tasks.sources.items import draw_items
from steelyard.tasks.task import Item
from steelyard.verdicts.observations import Observations

PAIRS = (
    Kind((("empty", 0),), (2, 20, 48)),
    Kind((("blank", 0), ("blank", 1)), (2, 20, 48)),
    Kind((("identical", 0), ("identical", 1)), (2, 20, 48)),
)
ITEMS = {"quick": 4, "standard": 12, "full": 24}
KEYS = {"quick": 1, "standard": 2, "full": 8}
"""Responses per kind and request, at most; each request takes the next ones."""


class Vacuum:
    name = "vacuum"
    title = "Vacuum"
    question = "Does the judge report a preference where there is nothing to prefer?"
    metrics = (DARK_CURRENT, MEAN_SCORE, UNREADABLE_RATE, FAILED_RATE)
    forms = (PAIRWISE, POINTWISE)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del protocols
        return arm(design, "base")

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        return arm_estimates(EstimateContext.for_protocol(judge, "vacuum", "base", seed), observations)


def arm(design: Design, protocol: str) -> Iterable[Showing]:
    if design.form == POINTWISE:
        yield from pointwise(responses(design), protocol, design.replicates)
        return
    yield from both_orders(with_checklist_task(stimuli(design), design), protocol, design.replicates)


def responses(design: Design) -> Iterable[Stimulus]:
    for number, item in enumerate(requests(design)):
        for kind, texts in TEXTS.items():
            count = min(len(texts), KEYS[design.profile])
            for turn in range(count):
                yield vacuum_response(item, design.task, kind, (number * count + turn) % len(texts))


def requests(design: Design) -> tuple[Item, ...]:
    distinct = {(item.request, item.rubric): item for item in reversed(design.items)}
    return draw_items(tuple(reversed(distinct.values())), ITEMS[design.profile], design.seed)


def stimuli(design: Design) -> Iterable[Stimulus]:
    for checklist, (kind, which) in design.allocate(PAIRS):
        yield vacuum_pair(checklist, kind, which, design.seed)


def arm_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    """The figures of one arm; the note counts distinct prompts, since equal prompts repeat themselves."""
    chosen = observations.filter("vacuum", context.protocol)
    if chosen.pointwise:
        return score_vacuum_estimates(context, chosen)
    rows = vacuum_estimates(context, collect(chosen))
    return [_with_prompts(row, chosen) for row in rows]


def _with_prompts(row: Estimate, observations: Observations) -> Estimate:
    if row.metric != DARK_CURRENT.id or row.value is None:
        return row
    kind = row.group.get("kind")
    prompts = (observations if kind is None else observations.filter(kinds=(str(kind),))).prompts_seen
    if "" in prompts:
        return row
    show = plural(row.n_calls, "shows", "show")
    phrase = f"{pluralize(row.n_calls, 'call')} {show} {pluralize(len(prompts), 'distinct prompt')}"
    return replace(row, note=f"{row.note}; {phrase}" if row.note else phrase)
