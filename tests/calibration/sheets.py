"""Every figure with an interval that a datasheet can print, from one simulated run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from calibration import level_worth, pair_world, score_world, worth
from calibration.pair_world import KEEN, MIDDLING, PairJudge
from calibration.score_world import BINARY, ORDINAL, SKEWED, ScoreWorld
from steelyard.metrics.comparison.comparison import compare
from steelyard.metrics.comparison.unit_events import UnitEvents, unit_events
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
from steelyard.metrics.instrument.derived import limit_of_detection
from steelyard.metrics.instrument.estimates import protocol_estimates
from steelyard.metrics.instrument.likelihood import NAMES
from steelyard.metrics.instrument.model import fit_instrument
from steelyard.metrics.juries import panel_estimates
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.pairs.decomposition import CELLS
from steelyard.metrics.pairs.natural import CELLS as NATURAL_CELLS
from steelyard.metrics.pairs.signal_detection import criterion_estimates, sensitivity_shifts
from steelyard.metrics.run.cost import run_costs
from steelyard.metrics.run.losses import METRICS as LOSSES
from steelyard.metrics.run.losses import loss_rate
from steelyard.metrics.run.volatility import volatility_estimates
from steelyard.probes.authored import AnswerAmbiguity
from steelyard.probes.catalogue import Ladder, Vacuum
from steelyard.probes.edits import Typos
from steelyard.probes.probe_metadata import metrics_of
from steelyard.probes.unchanged_items import Position, SelfPreference, StochasticStability
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observations

SEED = 7
TASKS = (4, 10, 24)
MANY = 2000
"""Tasks from which a truth is taken that has no formula: sampling is small beside that of 24 tasks."""
AGAINST_LABELS = ("accuracy", "false_positive_rate", "false_negative_rate", "balanced_accuracy", "kappa")
"""Figures of two labels that are simulated where one label is rare."""
COMPARED = "compare: "
"""What stands before the probe of a difference between two judges."""
MEMBERS = "judge_"
"""How the keys of a group begin that name judges."""
EQUALS = tuple(f"delta 0, kind {kind}" for kind in ("same_subset", "different_subset", "filler"))
AT_ONCE = {
    **{("ladder", equals): tuple(("ladder", cell.id, equals) for cell in CELLS) for equals in EQUALS},
    ("position", ""): tuple(("position", cell.id, "") for cell in NATURAL_CELLS),
}
"""Cells of one table, whose intervals are to hold at once."""


@dataclass(frozen=True)
class Figure:
    """One figure of a run: what it is, its value, and its first interval."""

    probe: str
    """Probe, or `compare` for a difference of two judges."""
    metric: str
    """Metric id."""
    condition: str
    """The group that the figure is of, as the page prints it."""
    value: float | None
    """The value, where it is defined."""
    interval: Interval | None
    """The recommended interval, where there is one."""

    @property
    def row(self) -> tuple[str, str, str]:
        """What tells the figure from others of the sheet."""
        return self.probe, self.metric, self.condition

    def holds(self, true: float) -> bool:
        """The interval holds the truth; an end that is not given sets no limit."""
        if self.interval is None:
            return False
        low, high = self.interval.low, self.interval.high
        # A truth at the very end of a range, such as a share of 0, must not be lost to rounding.
        return (low is None or low <= true + 1e-12) and (high is None or true - 1e-12 <= high)


Run = Callable[[int, float, np.random.Generator], list[Figure]]
"""From tasks, correlation and a random stream to the figures of one run."""
Truth = dict[tuple[str, str, str], float]
"""Probe, metric and condition to the true value."""


def _condition(group: dict[str, str | float]) -> str:
    told = {key: value for key, value in group.items() if not key.startswith(MEMBERS)}
    if told.get("protocol") == "base":
        del told["protocol"]
    return ", ".join(f"{key} {value}" for key, value in sorted(told.items()))


def _figures(estimates: Iterable[Estimate]) -> list[Figure]:
    """Each row once: the figures of judges that are alike in law would only repeat it."""
    found: dict[tuple[str, str, str], Figure] = {}
    for e in estimates:
        figure = Figure(e.probe, e.metric, _condition(dict(e.group)), e.value, e.interval)
        found.setdefault(figure.row, figure)
    return list(found.values())


def _per_task(figure: Figure, tasks: int) -> Figure:
    """The dollars of a point grow with the run: they are compared per task."""
    if figure.metric != "cost_per_point" or figure.value is None or figure.interval is None:
        return figure
    low, high = ((end or 0.0) / tasks for end in (figure.interval.low, figure.interval.high))
    return replace(figure, value=figure.value / tasks, interval=replace(figure.interval, low=low, high=high))


def pairs_of(judge: PairJudge) -> Run:
    """A judge of pairs: vacuum, ladder, criterion and natural pairs."""

    def run(tasks: int, correlation: float, chance: np.random.Generator) -> list[Figure]:
        seen = pair_world.observe(judge, tasks, correlation, chance)
        (base_vacuum, base), (strict_vacuum, strict) = (_arm(seen, p) for p in pair_world.PROTOCOLS)
        return _figures(
            [
                *Vacuum().estimates("judge", seen, SEED),
                *Ladder().estimates("judge", seen, SEED),
                *criterion_estimates(
                    EstimateContext.for_protocol("judge", "criterion", "strict", SEED),
                    base_vacuum,
                    strict_vacuum,
                    base,
                    strict,
                ),
                *sensitivity_shifts(
                    EstimateContext.for_protocol("judge", "criterion", "strict", SEED), base, strict
                ),
                *Position().estimates("judge", seen, SEED),
                *_losses(seen),
            ]
        )

    return run


def _arm(seen: Observations, protocol: str) -> tuple[Pairs, Pairs]:
    ladder = seen.filter("ladder", protocol, ("same_subset", "prefix"))
    return collect(seen.filter("vacuum", protocol)), collect(ladder)


def _losses(seen: Observations) -> list[Estimate]:
    # Without the test of even losses, which takes longer than all intervals together.
    return [loss_rate("judge", metric, kind, seen) for metric, kind in LOSSES.items()]


def scores_of(world: ScoreWorld) -> Run:
    """A judge of single texts: vacuum, edits, repeats, border, cost, volatility, and a jury of three."""

    def run(tasks: int, correlation: float, chance: np.random.Generator) -> list[Figure]:
        seen = score_world.observe(world, tasks, correlation, chance)
        judge = world.judges[0]
        mine = seen[judge]
        family = SelfPreference({judge: "own", score_world.OWN: "own", score_world.OTHER: "other"})
        probes = (Vacuum(), Typos(), StochasticStability(), AnswerAmbiguity(), family)
        estimates = [e for probe in probes for e in probe.estimates(judge, mine, SEED)]
        estimates += run_costs(judge, mine, estimates, _dollars, SEED)
        estimates += volatility_estimates(judge, estimates, SEED, mine)
        merged = Observations.of([row for rows in seen.values() for row in rows])
        estimates += [*panel_estimates(merged, tuple(seen), estimates, SEED), *_losses(mine)]
        return [_per_task(figure, tasks) for figure in _figures(estimates)]

    return run


def labelled(tasks: int, correlation: float, chance: np.random.Generator) -> list[Figure]:
    """A judge of single texts against labels of which one is rare."""
    seen = score_world.observe(SKEWED, tasks, correlation, chance)[SKEWED.judges[0]]
    figures = _figures(Typos().estimates(SKEWED.judges[0], seen, SEED))
    return [figure for figure in figures if figure.metric in AGAINST_LABELS]


def _dollars(usage: Usage) -> float:
    return (usage.input_tokens + 4 * usage.output_tokens) / 1e6


def pairs_compared(tasks: int, correlation: float, chance: np.random.Generator) -> list[Figure]:
    """Two judges of pairs on the same stimuli."""
    first, second = (
        unit_events(
            list(_base(pair_world.observe(j, tasks, correlation, chance))), lambda s: s.id, metrics_of
        )
        for j in (MIDDLING, KEEN)
    )
    return _differences(first, second)


def _base(seen: Observations) -> Observations:
    return seen.filter(calls=seen.protocol == 0)


def scores_compared(tasks: int, correlation: float, chance: np.random.Generator) -> list[Figure]:
    """Two judges of single texts on the same items, alike in law."""
    seen = score_world.observe(BINARY, tasks, correlation, chance)
    first, second, *_ = (unit_events(rows, lambda s: s.id, metrics_of) for rows in seen.values())
    return _differences(first, second)


def _differences(first: UnitEvents, second: UnitEvents) -> list[Figure]:
    return [
        Figure(f"{COMPARED}{c.probe}", c.metric, _condition(dict(c.group)), c.difference, c.intervals[0])
        for c in compare(first, second).rows
        if c.intervals
    ]


def instrument(tasks: int, correlation: float, chance: np.random.Generator) -> list[Figure]:
    """The joint fit of a judge of pairs, without its test of fit, which sets no interval."""
    seen = pair_world.observe(MIDDLING, tasks, correlation, chance)
    pairs = collect(seen.filter("ladder", "base"))
    found = fit_instrument(pairs, SEED, refits=0)
    return _figures(
        protocol_estimates(EstimateContext("judge", "ladder", {"protocol": "base"}, SEED), pairs, found)
    )


def on_many_tasks(run: Run) -> Callable[[float], Truth]:
    """The truth as the figures of very many tasks."""

    def true(correlation: float) -> Truth:
        chance = np.random.default_rng([int(100 * correlation), MANY])
        return {f.row: f.value for f in run(MANY, correlation, chance) if f.value is not None}

    return true


def difference_of_truths(correlation: float) -> Truth:
    """What KEEN shows more than MIDDLING; calls are lost alike."""
    first, second = (on_many_tasks(pairs_of(judge))(correlation) for judge in (MIDDLING, KEEN))
    shared = [row for row in first if row in second and row[0] != "run"]
    apart = {(COMPARED + row[0], *row[1:]): second[row] - first[row] for row in shared}
    return {**apart, **{(f"{COMPARED}run", metric, ""): 0.0 for metric in LOSSES}}


def no_difference(correlation: float) -> Truth:
    """Judges that are alike in law differ in nothing."""
    seen = scores_compared(max(TASKS), correlation, np.random.default_rng(0))
    return {figure.row: 0.0 for figure in seen}


def planted(correlation: float) -> Truth:
    """The parameters of the judge, whatever goes together."""
    del correlation
    true = np.array([getattr(MIDDLING, name) for name in NAMES])
    rows = {("ladder", name, ""): float(value) for name, value in zip(NAMES, true, strict=True)}
    return {**rows, ("ladder", "limit_of_detection", ""): limit_of_detection(true)}


CUE_WORTH = 1.5
"""Steps or levels that the cue of both sheets of cues is worth."""


def cues(tasks: int, correlation: float, chance: np.random.Generator) -> list[Figure]:
    """One cue and slot 1, at standard size, on so many clusters that differ the more they correlate."""
    spread = (correlation / 0.1) ** 0.5
    pairs = worth.draw(worth.STRONG, CUE_WORTH, chance, spread=spread, clusters=tasks, cues=("padding",))
    return _figures(e for e in worth.pair_worths(worth.CONTEXT, pairs, ("padding",)) if e.metric in _WORTHS)


def cues_of_texts(tasks: int, correlation: float, chance: np.random.Generator) -> list[Figure]:
    """The same on single texts, five rows a cluster."""
    spread = (correlation / 0.1) ** 0.5
    return _figures(level_worth.run(level_worth.STRONG, CUE_WORTH, chance, tasks, 5, spread)[:1])


def planted_worths(correlation: float) -> Truth:
    """What the cue and slot 1 are worth, however clusters differ."""
    del correlation
    rows = {("tradeoff", metric, "cue padding"): CUE_WORTH for metric in _WORTHS}
    slot = worth.STRONG.position_bias / worth.STRONG.resolution
    return {**rows, ("tradeoff", "cue_worth", "cue position"): slot}


_WORTHS = ("cue_worth", "cue_worth_crossing")


@dataclass(frozen=True)
class Sheet:
    """What is simulated: one run, and the truth behind it."""

    run: Run
    """The figures of one run."""
    truth: Callable[[float], Truth]
    """Correlation to the true figures."""


def _own(run: Run) -> Sheet:
    return Sheet(run, on_many_tasks(run))


SHEETS = {
    "pairs": _own(pairs_of(MIDDLING)),
    "binary": _own(scores_of(BINARY)),
    "skewed": _own(labelled),
    "ordinal": _own(scores_of(ORDINAL)),
    "pairs compared": Sheet(pairs_compared, difference_of_truths),
    "scores compared": Sheet(scores_compared, no_difference),
    "instrument": Sheet(instrument, planted),
    "cues": Sheet(cues, planted_worths),
    "cues of texts": Sheet(cues_of_texts, planted_worths),
}
"""What is simulated, by name."""
