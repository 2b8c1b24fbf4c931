"""What outweighs quality: how many steps of quality a cue is worth to the judge, length among them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np

from steelyard.core.arrays import distinct
from steelyard.core.content_hash import rng_for
from steelyard.core.foreign_code import may_run_code
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.instrument.areas import AREA_WORTH
from steelyard.metrics.instrument.crossing import CROSSING, CUE_SHIFT, shift_estimates
from steelyard.metrics.instrument.level_worth import single_text_estimates
from steelyard.metrics.instrument.worth_estimates import (
    BEATS_PADDED,
    LENGTH_WORTH,
    WORTH,
    length_estimates,
    worth_estimates,
)
from steelyard.metrics.pairs.columns import collect, missing_rates
from steelyard.metrics.proportions import FAILED_RATE, UNREADABLE_RATE
from steelyard.probes import probe
from steelyard.probes.catalogue import ladder_arm
from steelyard.probes.probe import PAIRWISE, POINTWISE, Design, Showing
from steelyard.stimuli import cues as cue_table
from steelyard.stimuli.cues import CUES, LENGTH_PROBE, PROBE, Cue
from steelyard.stimuli.ladder import Kind, compose
from steelyard.stimuli.original import NATURAL_PROBE, natural_pair
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observations import Observations

SIZES = {0: (6, 12, 24), 1: (6, 12, 24), 2: (4, 10, 20), 3: (4, 8, 16)}
"""Pairs of one cue by their step, in the three profiles."""
LARGEST = (2, 6, 12)
"""The same at the largest step of a ladder that is deeper than that."""


@cache
def step_kinds(depth: int) -> tuple[Kind[tuple[int, int]], ...]:
    """Pairs of one cue by their levels."""
    sizes = {**SIZES, **({depth: LARGEST} if depth not in SIZES else {})}
    levels = {step: tuple((low, low + step) for low in range(depth + 1 - step)) for step in sizes}
    return tuple(Kind(levels[step], size) for step, size in sizes.items())


CUES_OF = {"quick": 2, "standard": 4, "full": len(CUES)}
"""How many cues of the table each profile takes where the study names none."""
_APART = 13
"""Checklists between the first pairs of two cues."""
_WHERE = "probe 'tradeoff': cues"
_WAYS = ("prepend", "append", "function")
_OWN = "{name: footer, append: TEXT}, or prepend: TEXT, or function: MODULE:NAME"


class Tradeoff:
    name = PROBE
    title = "What outweighs quality"
    question = "How many steps of quality is a cue worth, such as padding or a claim of authority?"
    metrics = (WORTH, CROSSING, AREA_WORTH, CUE_SHIFT, UNREADABLE_RATE, FAILED_RATE)
    forms = (PAIRWISE, POINTWISE)

    def __init__(self, cues: Sequence[str | Mapping[str, str]] | None = None) -> None:
        """`cues` are names of the table, or cues of your own; without them the profile chooses."""
        self.cues = None if cues is None else _cues(cues)

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        """The ladder, which says what a step is, and the pairs of each cue; of data, its pairs or texts."""
        self._refuse_idle(design)
        if design.form == POINTWISE:
            yield from probe.pointwise(self.texts(design), "base", design.replicates)
            return
        if design.items:
            plain = [natural_pair(item, NATURAL_PROBE) for item in design.items]
            each = product(self._chosen(design), design.items)
            cued = [cue_table.cued_item(item, cue, design.seed) for cue, item in each]
            yield from probe.both_orders([*plain, *cued], "base", design.replicates)
            return
        yield from ladder_arm(design, "base")
        yield from probe.both_orders(self.pairs(design), "base", design.replicates)

    def texts(self, design: Design) -> Iterable[Stimulus]:
        """Every single text as it is and with each cue; one that no cue changes is not shown."""
        for item, original in zip(design.items, design.originals, strict=True):
            cued = [cue_table.cued_text(item, design.task, cue, design.seed) for cue in self._chosen(design)]
            changed = [stimulus for stimulus in cued if stimulus is not None]
            yield from (original, *changed) if changed else ()

    def _refuse_idle(self, design: Design) -> None:
        """A cue of the study that changes no text has no worth, and its calls would be paid for nothing."""
        texts = [item.responses[-1] for item in design.items]
        texts = texts or [compose(each, design.seed)[0].prefix(each.depth) for each in design.catalogue]
        for cue in self._chosen(design) if may_run_code() else ():
            if cue.name not in CUES and all(cue.apply(text, rng_for(design.seed)) == text for text in texts):
                raise ConfigError(f"{_WHERE}: {cue.name!r} changes no text; mend it, or leave it out.")

    def _chosen(self, design: Design) -> tuple[Cue, ...]:
        return self.cues or tuple(CUES.values())[: CUES_OF[design.profile]]

    def pairs(self, design: Design) -> Iterable[Stimulus]:
        for number, cue in enumerate(self._chosen(design)):
            start = _APART * (list(CUES).index(cue.name) if cue.name in CUES else len(CUES) + number)
            for checklist, (low, high) in design.allocate(step_kinds(design.depth), start):
                yield cue_table.cued_pair(checklist, cue, low, high, design.seed)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return cue_estimates(context, observations.filter(protocol="base"))


def cue_estimates(context: EstimateContext, rows: Observations) -> list[Estimate]:
    """Worths in steps, or of single texts in levels; of pairs without steps the shift."""
    mine = rows.filter(PROBE)
    cues = list(dict.fromkeys(str(kind) for kind in mine.shown.kind[distinct(mine.stimulus)].tolist()))
    if mine.pointwise:
        return single_text_estimates(context, rows, PROBE, cues)
    if not len(mine) or not np.isnan(mine.shown.delta[mine.stimulus]).all():
        return worth_estimates(context, rows)
    shifts = shift_estimates(context, rows, PROBE, cues)
    return [*shifts, *missing_rates(context, collect(mine))]


def _cues(given: object) -> tuple[Cue, ...]:
    if not isinstance(given, (list, tuple)) or not given:
        raise ConfigError(f"{_WHERE} is {given!r}, expected a list such as [padding, bullets].")
    cues = tuple(_cue(one) for one in given)
    if len({cue.name for cue in cues}) < len(cues):
        raise ConfigError(f"{_WHERE} names one of them twice; leave one out.")
    return cues


def _cue(given: object) -> Cue:
    """A cue of the table, or one of the study file."""
    if not isinstance(given, Mapping):
        if not isinstance(given, str) or given not in CUES:
            raise ConfigError(
                f"{_WHERE}: unknown cue {given!r}; known: {', '.join(CUES)}, or one of your own: {_OWN}."
            )
        return CUES[given]
    name, ways = given.get("name"), [way for way in _WAYS if way in given]
    known = len(ways) == 1 and set(given) == {"name", *ways} and isinstance(given[ways[0]], str)
    if not known or not isinstance(name, str) or not str(given[ways[0]]).strip():
        raise ConfigError(f"{_WHERE}: found {dict(given)!r}, expected {_OWN}.")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in cue_table.RESERVED:
        raise ConfigError(f"{_WHERE}: name {name!r} is taken or no small word such as footer; take another.")
    if ways[0] == "function" and not all(str(given["function"]).rpartition(":")):
        raise ConfigError(
            f"{_WHERE}: function is {given['function']!r}, expected MODULE:NAME or FILE.py:NAME."
        )
    return cue_table.own_cue(name, ways[0], str(given[ways[0]]))


@cache
def padded_steps(depth: int) -> tuple[Kind[tuple[int, int]], ...]:
    """Pairs by their levels, the worse text padded. Quick has none: so few would decide nothing."""
    return tuple(
        Kind(tuple((low, low + step) for low in range(depth + 1 - step)), sizes)
        for step, sizes in ((1, (0, 10, 18)), (2, (0, 14, 22)))
    )


_START = 20


class Length:
    name = LENGTH_PROBE
    title = "Length against quality"
    question = "Does a worse text win where it has twice as many words, and how many steps is that worth?"
    metrics = (BEATS_PADDED, LENGTH_WORTH, UNREADABLE_RATE, FAILED_RATE)
    forms = (PAIRWISE,)

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        yield from probe.catalogue_showings(self.pairs(design), design, "base")

    def pairs(self, design: Design) -> Iterable[Stimulus]:
        for checklist, (low, high) in design.allocate(padded_steps(design.depth), _START):
            yield cue_table.cued_pair(checklist, cue_table.DOUBLED, low, high, design.seed, self.name)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return length_estimates(context, observations.filter(protocol="base"))
