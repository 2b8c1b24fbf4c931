"""Which items people label, drawn at once (no active learning): odds, who labels, and what tunes or tests.

`draw.json` records the whole frame before the first label, so that nobody has to remember how labels came
about. Labels of the test part are sealed: they lie in `labels.db`, and nothing reads them out until the
part is opened, once.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.core.content_hash import content_hash, rng_for, short_hash
from steelyard.core.json_dataclasses import from_body, to_body
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError
from steelyard.estimation.label_plan import (
    FLOOR,
    SCORE_FLOOR,
    by_verdict_numbers,
    sequence_limits_of,
    whole_numbers,
)
from steelyard.metrics.stats.intervals import Span

SCHEMA, FIRST_SCHEMA = "steelyard.draw/2", "steelyard.draw/1"
"""The first had a hash of its frame alone."""
DRAW_FILE = "draw.json"
UnitId = tuple[str, str, str]
TUNE, TEST, PILOT, LABELLED_BEFORE = "tune", "test", "pilot", "labelled"
OPENED = "opened"


@dataclass(frozen=True)
class FrameUnit:
    """One judged item, or one comparison, that could be drawn."""

    item: str
    score: float
    """Of the judge when the draw was made."""
    level: str
    """What it was drawn by: a verdict, a stratum, or nothing."""
    system: str = ""
    versus: str = ""
    part: str = ""
    """`tune`, `test`, `pilot` where an earlier draw brought its label, `labelled` where the file of verdicts
    had one, or nothing where it was not drawn."""
    key: str = ""
    """Its name on sheets and pages, which says nothing of the item."""
    annotators: tuple[str, ...] = ()
    """Who labels it; anybody where none is named."""

    @property
    def id(self) -> UnitId:
        return self.item, self.system, self.versus

    @property
    def is_claimed(self) -> bool:
        """Whether the figure is about it: labels that tuned the judge are not."""
        return self.part in ("", TEST)


@dataclass(frozen=True)
class LabelDraw:
    source: str
    judge: str
    criterion: str
    design: str
    seed: int
    scale: str
    at: str
    units: tuple[FrameUnit, ...]
    stop: float | None = None
    """Half-width at which labelling may stop, if that was declared before the first label."""
    schema: str = SCHEMA

    @classmethod
    def read(cls, folder: Path) -> LabelDraw:
        path = folder / DRAW_FILE
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            draw = from_body(cls, body)
            if draw.schema not in (SCHEMA, FIRST_SCHEMA):
                raise ValueError(f"schema {draw.schema!r}")
            told = body.pop("hash" if draw.schema == SCHEMA else "frame_hash")
            frame = [[unit.item, unit.system, unit.versus, unit.level, unit.part] for unit in draw.units]
            made = content_hash(body if draw.schema == SCHEMA else frame)
        except FileNotFoundError as error:
            raise ConfigError(
                f"{folder}: no {DRAW_FILE} found, expected a folder that `steelyard labels draw` made; name "
                "another."
            ) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{path}: not a draw that this version made ({error}); restore the file."
            ) from error
        if told != made:
            raise ConfigError(f"{path}: not the draw that was made (its hash differs); restore the file.")
        return draw

    def file_text(self) -> str:
        body = to_body(self)
        return json.dumps({**body, "hash": content_hash(body)}, ensure_ascii=False) + "\n"

    @cached_property
    def drawn(self) -> dict[str, FrameUnit]:
        return {unit.key: unit for unit in self.units if unit.part and unit.part != LABELLED_BEFORE}

    @property
    def annotators(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for unit in self.drawn.values() for name in unit.annotators))

    def assigned(self, annotator: str) -> list[str]:
        """Keys of what an annotator is to label."""
        return [
            key
            for key, unit in sorted(self.drawn.items())
            if unit.part != PILOT and (not unit.annotators or annotator in unit.annotators)
        ]

    def lines(self) -> list[str]:
        """What was drawn, in words."""
        parts = Counter(unit.part for unit in self.drawn.values())
        pool = Counter(unit.level for unit in self.units if unit.is_claimed)
        drawn = Counter(unit.level for unit in self.drawn.values() if unit.part == TEST)
        words = {TUNE: "for tuning", TEST: "for the test, sealed", PILOT: "from the pilot, labelled"}
        counts = [f"{parts[part]:,} {word}" for part, word in words.items() if parts[part]]
        drawn_items = pluralize(len(self.drawn), "item")
        made = [f"{drawn_items} of {len(self.units):,} drawn: {'; '.join(counts)}."]
        if before := sum(unit.part == LABELLED_BEFORE for unit in self.units):
            noun = "item has" if before == 1 else "items have"
            made.append(f"{before:,} {noun} a label in {self.source} already: not drawn, nor in the figure.")
        if len(pool) > 1 and parts[TEST]:
            noun = "stratum" if self.design == "strata" else "verdict"
            each = ", ".join(
                f"{drawn[level]:,} of {count:,} with {level}" for level, count in sorted(pool.items())
            )
            made.append(f"Test items by {noun}: {each}.")
        if self.scale not in ("binary", "pairwise"):
            made.append(f"People label them on a scale of {self.scale}; another is said by --scale.")
        return made

    def odds(self, labelled: Iterable[str]) -> dict[str, float]:
        """Chance of a test label in each level: labelled ones over all that the figure is about."""
        ours = Counter(self.drawn[key].level for key in labelled if self.drawn[key].part == TEST)
        pool = Counter(unit.level for unit in self.units if unit.is_claimed)
        return {level: ours[level] / count for level, count in pool.items()}

    def limits_at_every_look(self, labels: Mapping[str, Mapping[str, float]]) -> Span:
        """Limits of what people would say, however often somebody looks, from yes-or-no labels by key.

        Labels are read by level of the draw, or by verdict where the draw was random and the judge says yes
        or no: within a verdict a random draw is random too.
        """
        pool = [unit for unit in self.units if unit.is_claimed]
        verdicts = self.design == "random" and {unit.score for unit in pool} <= {0.0, 1.0}
        sizes = Counter(f"{unit.score:g}" if verdicts else unit.level for unit in pool)
        values: dict[str, list[float]] = {level: [] for level in sizes}
        for key, said in labels.items():
            unit = self.drawn[key]
            if unit.part == TEST:
                values[f"{unit.score:g}" if verdicts else unit.level].append(fmean(said.values()))
        return sequence_limits_of([(sizes[level] / len(pool), sum(y), len(y)) for level, y in values.items()])


def draw_units(
    units: Sequence[FrameUnit],
    size: int,
    *,
    tune: int,
    seed: int,
    spreads: Mapping[str, float],
    scored: bool = False,
    annotators: Sequence[str] = (),
    overlap: float = 0.0,
) -> tuple[FrameUnit, ...]:
    """The frame with its drawn units: numbers by level as `by_verdict_numbers` has them, at random within it.

    Units that have a part already (a pilot) keep it and are not drawn again.
    """
    by_level: defaultdict[str, list[FrameUnit]] = defaultdict(list)
    for unit in sorted(units, key=lambda unit: unit.id):
        if not unit.part:
            by_level[unit.level].append(unit)
    names = sorted(by_level)
    sizes = np.array([len(by_level[name]) for name in names], dtype=np.float64)
    each = np.array([spreads.get(name, 0.5) for name in names])
    counts, tuned = _numbers(sizes, each, size, tune, scored=scored)
    chosen: dict[UnitId, FrameUnit] = {}
    for name, count, first in zip(names, counts, tuned, strict=True):
        picked = rng_for(seed, "labels", name).sample(by_level[name], count)
        for place, unit in enumerate(picked):
            part = TUNE if place < first else TEST
            chosen[unit.id] = replace(
                unit, part=part, key=short_hash(content_hash(["label", seed, *unit.id]))
            )
    order = sorted(chosen.values(), key=lambda unit: unit.key)
    rng_for(seed, "annotators").shuffle(order)
    shared = round(overlap * len(order)) if len(annotators) > 1 else 0
    for place, unit in enumerate(order):
        alone = (annotators[place % len(annotators)],) if annotators else ()
        chosen[unit.id] = replace(unit, annotators=tuple(annotators) if place < shared else alone)
    return tuple(chosen.get(unit.id, unit) for unit in sorted(units, key=lambda unit: unit.id))


def _numbers(
    sizes: Floats, spreads: Floats, size: int, tune: int, *, scored: bool
) -> tuple[list[int], list[int]]:
    """How many of each level are drawn, and how many of those are for tuning."""
    total = int(sizes.sum())
    if not total:
        raise ConfigError("every item has a label already, so none can be drawn; run `steelyard estimate`.")
    if size > total:
        raise ConfigError(f"-n {size}: more than the {pluralize(total, 'item')} that can be drawn; lower it.")
    floor = SCORE_FLOOR if scored else FLOOR
    floors = float(np.minimum(floor, sizes).sum()) if len(sizes) > 1 else 1.0
    if size < floors:
        raise ConfigError(
            f"-n {size}: too few for {pluralize(len(sizes), 'level')}, expected at least {floors:.0f} "
            f"({floor} of each); raise it, or say --design random."
        )
    wanted = (
        by_verdict_numbers(sizes, spreads, size, scored=scored) if len(sizes) > 1 else np.array([float(size)])
    )
    counts = whole_numbers(wanted, sizes, size)
    each = np.array(counts, dtype=np.float64)
    return counts, whole_numbers(each * tune / size, each, tune)
