"""Judges of single texts whose every figure is known, with behaviour that tasks share.

A behaviour is a rule from label to score, such as "right", "always 1" or "one too high". Every item draws
one for each judge, and a repeated or edited item may draw another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from calibration.urn import shared
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Label, Lineage, Stimulus, Unknown
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Decided, Failed, Unreadable, Verdict

ITEMS = 4
"""Items of each task."""
REPEATS = 3
"""Askings of the unchanged item, and of the text at the border."""
EDIT, LEVELS = "typos", (0.05, 0.15)
"""The probe that edits, and the strengths of its edits."""
BORDER, EMPTY = "answer_ambiguity", "vacuum"
UNREADABLE, FAILED = 0.02, 0.01
OWN, OTHER = "openai/gpt-4o", "google/gemini-2.5-pro"


@dataclass(frozen=True)
class ScoreWorld:
    """The true values of judges that are alike in law, and the scale they answer on."""

    scale: str
    """As a stimulus writes it."""
    labels: tuple[int, ...]
    """Labels that an item may have, each as likely as the others."""
    rules: np.ndarray
    """(rules, labels) scores."""
    chances: np.ndarray
    """Share of each rule."""
    judges: tuple[str, ...] = ("openai/a", "openai/b", "openai/c")
    """Names of the judges."""
    common: float = 0.3
    """Chance that all judges follow the same rule on an item."""
    faithfulness: float = 0.9
    """Chance that a call shows the item's own rule and not a fresh one; at the border, its square."""
    moved: float = 0.1
    """Chance that an edit brings a fresh rule."""
    vacuum: float = 0.1
    """Chance of a score above the lowest where there is no content."""
    passing: float | None = None
    """Chance of the second of two labels; None where every task holds both equally often."""


def _binary() -> ScoreWorld:
    """Right, always 1, always 0, inverted: .88 of what deserves a 1 gets it, .85 of the rest a 0."""
    rules = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
    return ScoreWorld("binary", (0, 1), rules, np.array([0.80, 0.08, 0.05, 0.07]))


def _skewed() -> ScoreWorld:
    """Four items of five deserve a 1; right in .9 of calls on either label."""
    rules = np.array([[0, 1], [1, 0]])
    chances = np.array([0.9, 0.1])
    return ScoreWorld("binary", (0, 1), rules, chances, judges=("openai/a",), passing=0.8)


def _ordinal() -> ScoreWorld:
    """Errors of −2 to 2 levels on a scale of five, cut off at its ends."""
    levels = np.arange(1, 6)
    rules = np.clip(levels[None] + np.array([0, -1, 1, -2, 2])[:, None], 1, 5)
    return ScoreWorld("1-5", tuple(levels.tolist()), rules, np.array([0.5, 0.15, 0.22, 0.05, 0.08]))


BINARY, SKEWED, ORDINAL = _binary(), _skewed(), _ordinal()


@dataclass(frozen=True)
class Call:
    """One call on an item of a task."""

    item: int
    """Number of the item in its task."""
    edit: int | None
    """Number of the edit, or None for the unchanged item."""
    probe: str
    """Probe of the stimulus."""
    replicate: int
    """Which repeat."""


def _calls() -> Iterator[Call]:
    for item in range(ITEMS):
        for replicate in range(REPEATS):
            yield Call(item, None, ORIGINAL, replicate)
        for number in range(len(LEVELS)):
            yield Call(item, number, EDIT, 0)
        for replicate in range(REPEATS):
            yield Call(item, len(LEVELS), BORDER, replicate)
        yield Call(item, len(LEVELS) + 1, EMPTY, 0)


CALLS = tuple(_calls())
_KINDS = len(LEVELS) + 3
"""Texts of an item: unchanged, each edit, at the border, and without content."""


@cache
def _stimulus(
    scale: str, task: int, item: int, edit: int | None, probe: str, label: int, low: int
) -> Stimulus:
    parent = f"task-{task:05d}/i{item}"
    empty, border = probe == EMPTY, probe == BORDER
    return Stimulus(
        id=f"{parent}/{probe}/{edit}",
        probe=probe,
        kind="empty" if empty else ORIGINAL if edit is None else "perturbed",
        cluster=f"task-{task:05d}",
        stratum="all",
        request=parent,
        texts=("text",),
        expectation=Unknown() if border else Label(str(low if empty else label)),
        lineage=Lineage(parent=parent, edit="edit"),
        scale=scale,
        level=LEVELS[edit] if edit is not None and edit < len(LEVELS) else None,
        authors=(OWN if item % ITEMS < ITEMS // 2 else OTHER,) if edit is None else None,
    )


@cache
def _decided(score: int) -> Verdict:
    return Decided(str(score))


def observe(
    world: ScoreWorld, tasks: int, correlation: float, chance: np.random.Generator
) -> dict[str, Observations]:
    """One run of all judges on so many tasks, drawn at random from all that there could be."""
    labels = _labels(world, tasks, chance)
    rule, uniform, lost = _behaviours(world, tasks, correlation, chance)
    item = np.array([call.item for call in CALLS])
    empty = np.array([call.probe == EMPTY for call in CALLS])
    low, second = world.rules.min(), np.unique(world.rules)[1]
    found: dict[str, Observations] = {}
    for column, judge in enumerate(world.judges):
        given = world.rules[rule[:, :, column], labels[:, item]]
        given = np.where(empty, np.where(uniform[:, :, column] < world.vacuum, second, low), given)
        found[judge] = _observations(world, judge, labels, given, np.stack([uniform, lost])[..., column])
    return found


def _labels(world: ScoreWorld, tasks: int, chance: np.random.Generator) -> np.ndarray:
    """Places of the labels: both equally often in each task where there are two, else drawn."""
    if world.passing is not None:
        return (chance.random((tasks, ITEMS)) < world.passing).astype(np.int64)
    if len(world.labels) == 2:
        return np.tile(np.arange(ITEMS) % 2, (tasks, 1))
    return chance.integers(0, len(world.labels), (tasks, ITEMS))


def _behaviours(
    world: ScoreWorld, tasks: int, correlation: float, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rule, and what decides of vacuum and loss, of each call and judge: (tasks, calls, judges)."""
    texts, calls, judges = ITEMS * _KINDS, len(CALLS), len(world.judges)
    units = texts + calls
    fresh = np.stack(
        [_rules(world, chance, (tasks, units)), *chance.random((2, tasks, units, judges))], axis=-1
    )
    own = shared(chance, fresh, correlation)
    item = np.array([call.item for call in CALLS])
    kind = np.array([0 if call.edit is None else 1 + call.edit for call in CALLS])
    moves = (kind > 0) & (chance.random((tasks, texts))[:, item * _KINDS + kind] < world.moved)
    text = item * _KINDS + np.where(moves | (kind == _KINDS - 1), kind, 0)
    border = np.array([call.probe == BORDER for call in CALLS])
    faithful = np.where(border, world.faithfulness**2, world.faithfulness)
    again = chance.random((tasks, calls)) > faithful
    unit = np.where(again, texts + np.arange(calls), text)
    rows = np.arange(tasks)[:, None]
    shown = own[rows, unit]
    # A call is lost by itself: the behaviour of the call's own place, not of the text it shows.
    lost = own[rows, texts + np.arange(calls)][..., 2]
    return shown[..., 0].astype(np.int64), shown[..., 1], lost


def _rules(world: ScoreWorld, chance: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Rules of the judges, sometimes the same for all of them."""
    number = len(world.judges)
    each = chance.choice(len(world.chances), (*shape, number), p=world.chances)
    together = chance.random(shape) < world.common
    return np.where(together[..., None], each[..., :1], each).astype(np.float64)


def _observations(
    world: ScoreWorld, judge: str, labels: np.ndarray, given: np.ndarray, other: np.ndarray
) -> Observations:
    """Score, length and loss of every call as an observation."""
    low = int(world.rules.min())
    rows = []
    for task, columns in enumerate(zip(given.tolist(), *other.tolist(), strict=True)):
        for call, score, size, loss in zip(CALLS, *columns, strict=True):
            label = world.labels[labels[task, call.item]]
            shown = _stimulus(world.scale, task, call.item, call.edit, call.probe, label, low)
            usage = Usage(round(100 + 100 * size), 10)
            verdict = _verdict(score, loss)
            rows.append(Observation(judge, "base", shown, "uv", call.replicate, verdict, usage, ""))
    return Observations.of(rows)


def _verdict(score: int, loss: float) -> Verdict:
    if loss < UNREADABLE:
        return Unreadable("no answer")
    return Failed("timeout") if loss < UNREADABLE + FAILED else _decided(score)
