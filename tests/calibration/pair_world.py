"""A judge of pairs whose every figure is known: the instrument model, with behaviour that tasks share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from calibration.urn import shared
from steelyard.probes.catalogue import controls, ladder_arm, vacuum_arm
from steelyard.probes.probe import Design, Showing
from steelyard.stimuli.original import natural_pair
from steelyard.stimuli.stimulus import Prefers, Stimulus
from steelyard.tasks.checklist import Checklist
from steelyard.tasks.task import Item
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.stimulus_columns import StimulusColumns
from steelyard.verdicts.verdict import Decided, Failed, Tie, Unreadable

PROTOCOLS = ("base", "strict")
VERDICTS = (Decided("1"), Decided("2"), Tie(), Unreadable("no answer"), Failed("timeout"))
NATURAL_PAIRS, REPLICATES = 4, 3
"""Natural pairs of each task, and how often each order of them is asked."""
UNREADABLE, FAILED = 0.02, 0.01
"""Shares of calls that end without a verdict."""


@dataclass(frozen=True)
class PairJudge:
    """The true values of a judge of pairs."""

    resolution: float
    """Shift of the decision per quality step."""
    position_bias: float
    """Shift in favour of slot 1."""
    tie_threshold: float
    """Decisions within this distance of zero are ties."""
    surface_sensitivity: float
    """Standard deviation of the effect of a pair's wording."""
    lapse_rate: float
    """Share of calls answered at random."""
    vacuum_threshold: float
    """The tie threshold where there is nothing to compare."""
    strictness: float = 0.5
    """What the strict prompt adds to both thresholds."""
    faithfulness: float = 0.8
    """Chance that a repeated call shows the pair's own behaviour and not a fresh one."""


MIDDLING = PairJudge(0.8, 0.4, 0.6, 0.7, 0.02, 1.9)
"""Dark current .08, commits between equals .7, sensitivity .6 at one step and .98 at five."""
KEEN = PairJudge(1.2, 0.1, 0.6, 0.7, 0.02, 1.9)
"""The judge to compare with: it resolves more and leans less."""


class _OneTask(Design):
    """The standard design of a single catalogue task: every pair that it has, once."""

    @property
    def catalogue(self) -> tuple[Checklist, ...]:
        return super().catalogue[:1]


@dataclass(frozen=True)
class Layout:
    """Calls of one task, columns of equal length, and the same for many tasks."""

    shown: StimulusColumns
    protocol: np.ndarray
    stimulus: np.ndarray
    order: np.ndarray
    replicate: np.ndarray
    pair: np.ndarray
    """Number of the call's pair within its task."""
    retry: np.ndarray
    """Number of the behaviour that a repeated call may show instead, within its task."""
    repeated: np.ndarray
    """True where the pair is asked several times in the same order."""
    gap: np.ndarray
    """How much better u is."""
    empty: np.ndarray
    """True where there is nothing to compare."""
    units: int
    """Behaviours of a task."""
    tasks: int
    """Tasks."""


def _showings() -> Iterator[Showing]:
    design = _OneTask(seed=7)
    for protocol in PROTOCOLS:
        yield from vacuum_arm(design, protocol)
        yield from ladder_arm(design, protocol)
    for stimulus in controls(design):
        yield from (Showing(stimulus, "base", order, 0) for order in ORDERS)
    for number in range(NATURAL_PAIRS):
        item = Item(id=f"n{number}", request="?", responses=("u", "v"), label="1", cluster="n")
        pair = natural_pair(item, "position")
        yield from (Showing(pair, "base", order, r) for r in range(REPLICATES) for order in ORDERS)


def _gap(stimulus: Stimulus) -> float:
    if stimulus.kind == "filler":
        return -0.3
    size = 0.7 if stimulus.probe == "position" else stimulus.delta or 0.0
    wanted = stimulus.expectation
    return size * {"u": 1, "v": -1}[wanted.content] if isinstance(wanted, Prefers) else 0.0


@cache
def layout(tasks: int) -> Layout:
    """The standard design on so many tasks, all alike but in name; criterion's arms and natural pairs too."""
    showings = list(dict.fromkeys(_showings()))
    ids = sorted({s.stimulus.id for s in showings})
    by_id = {s.stimulus.id: s.stimulus for s in showings}
    pair = np.array([ids.index(s.stimulus.id) for s in showings])
    replicate = np.array([s.replicate for s in showings])
    stimuli = tuple(
        replace(by_id[name], id=f"{task:05d}/{name}", cluster=f"task-{task:05d}")
        for task in range(tasks)
        for name in ids
    )

    def every(column: Sequence[int] | np.ndarray) -> np.ndarray:
        return np.tile(np.asarray(column), tasks)

    return Layout(
        shown=StimulusColumns(stimuli),
        protocol=every([PROTOCOLS.index(s.protocol) for s in showings]),
        stimulus=every(pair) + np.repeat(np.arange(tasks) * len(ids), len(showings)),
        order=every([ORDERS.index(s.order) for s in showings]),
        replicate=every(replicate),
        pair=pair,
        retry=len(ids) + np.arange(len(showings)),
        repeated=np.isin(pair, pair[replicate > 0]),
        gap=np.array([_gap(s.stimulus) for s in showings]),
        empty=np.array([s.stimulus.probe == "vacuum" for s in showings]),
        units=len(ids) + len(showings),
        tasks=tasks,
    )


def observe(
    judge: PairJudge, tasks: int, correlation: float, chance: np.random.Generator, name: str = "judge"
) -> Observations:
    """One run of the judge on so many tasks, drawn at random from all that there could be."""
    shown = layout(tasks)
    own = shared(chance, _behaviours(chance, tasks, shown.units), correlation)
    fresh = shown.repeated & (chance.random((tasks, len(shown.pair))) > judge.faithfulness)
    unit = np.where(fresh, shown.retry, shown.pair)
    place = 2 * shown.protocol.reshape(tasks, -1) + shown.order.reshape(tasks, -1)
    rows = np.arange(tasks)[:, None]
    surface, noise, lapse, lost = own[rows, unit, 0], *(own[rows, unit, k + place] for k in (1, 5, 9))
    verdict = _answers(judge, shown, surface, noise, lapse, lost)
    return Observations.recorded(
        judges=(name,),
        protocols=PROTOCOLS,
        verdicts=VERDICTS,
        shown=shown.shown,
        judge=np.zeros(len(shown.stimulus), dtype=np.int64),
        protocol=shown.protocol,
        stimulus=shown.stimulus,
        order=shown.order,
        replicate=shown.replicate,
        verdict=verdict.ravel(),
    )


def _behaviours(chance: np.random.Generator, tasks: int, units: int) -> np.ndarray:
    """Surface effect, then noise, lapse and loss of each protocol and order; the last eight are uniform."""
    normal = chance.standard_normal((tasks, units, 5))
    return np.concatenate([normal, chance.random((tasks, units, 8))], axis=2)


def _answers(
    judge: PairJudge,
    shown: Layout,
    surface: np.ndarray,
    noise: np.ndarray,
    lapse: np.ndarray,
    lost: np.ndarray,
) -> np.ndarray:
    per_task = (shown.tasks, -1)
    side = 1 - 2 * shown.order.reshape(per_task)
    strict = shown.protocol.reshape(per_task) * judge.strictness
    threshold = np.where(shown.empty, judge.vacuum_threshold, judge.tie_threshold) + strict
    wording = np.where(shown.empty, 0.0, judge.surface_sensitivity * surface)
    drive = side * (judge.resolution * shown.gap + wording) + judge.position_bias + noise
    answer = np.where(drive > threshold, 0, np.where(drive < -threshold, 1, 2))
    answer = np.where(lapse < judge.lapse_rate, (3 * lapse / judge.lapse_rate).astype(np.int64), answer)
    return np.where(lost < UNREADABLE, 3, np.where(lost < UNREADABLE + FAILED, 4, answer))
