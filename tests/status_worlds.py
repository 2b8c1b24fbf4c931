"""Estimates with a status from simulated answers, lost calls among them, for each rule that gives one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

import numpy as np

from calibration import level_worth, worth
from pairs import pair
from scores import call
from steelyard.datasheet.glossary import metric_named
from steelyard.metrics.comparison.against_baselines import gain_estimates
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.instrument.crossing import shift_estimates
from steelyard.metrics.instrument.worth_estimates import ALLOWED, pair_worths
from steelyard.metrics.pairs.columns import PairAnswer, collect
from steelyard.metrics.pairs.natural import natural_estimates
from steelyard.metrics.run.losses import loss_estimates
from steelyard.metrics.run.self_preference import Treatment, self_preference
from steelyard.metrics.run.strata import strata_estimates
from steelyard.metrics.scores.best_of import best_of_estimates
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.edited_texts import invariance_estimates
from steelyard.metrics.scores.probe import by_scale, directional_bias_estimates
from steelyard.metrics.scores.repeats import stability
from steelyard.stimuli.original import rotations
from steelyard.tasks.task import Item
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Decided, Unreadable

Chance = np.random.Generator
LOSSES = (0.0, 0.0, 0.01, 0.08, 0.2)
SLOTS = ("1", "2", "tie")


def context(probe: str) -> EstimateContext:
    return EstimateContext.for_protocol("j", probe, "base", 7)


def scores(chance: Chance) -> Iterator[Estimate]:
    """Single texts as they are, repeated, edited, in strata, against labels, and against rules."""
    scale = str(chance.choice(["binary", "1-5"]))
    low, high = (0, 1) if scale == "binary" else (1, 5)
    count, lost = int(chance.integers(6, 130)), float(chance.choice(LOSSES))
    clusters = int(chance.choice([1, 4, count]))
    right, edited, lenient = chance.choice([0.5, 0.8, 0.97]), chance.choice([0.0, 0.2]), chance.random() < 0.4

    def answer(label: int, keeps: float) -> int | str:
        if chance.random() < lost:
            return "unreadable"
        return label if chance.random() < keeps else high if lenient else int(chance.integers(low, high + 1))

    rows, labels = [], chance.integers(low, high + 1, count)
    for n, label in enumerate(labels.tolist()):
        name, cluster = f"i{n:03d}", f"c{n % clusters}"
        own = answer(label, right)
        for replicate in range(2):
            said = own if isinstance(own, int) and chance.random() < 0.9 else answer(label, right)
            plain = call(name, said, label, replicate=replicate, scale=scale, cluster=cluster)
            rows.append(replace(plain, stimulus=replace(plain.stimulus, stratum=f"s{n % 3}")))
        said = answer(label, right - edited)
        rows.append(call(name, said, label, probe="typos", scale=scale, cluster=cluster))
    seen = Observations.of(rows)
    plain_rows = seen.filter("original")
    plain_scores = collect_scores(plain_rows)
    yield from by_scale(context("original"), plain_scores)
    yield from stability(context("original"), plain_scores)
    words = chance.integers(5, 60, len(plain_scores.items))
    yield from directional_bias_estimates(context("original"), plain_scores, words)
    yield from invariance_estimates(context("typos"), collect_scores(seen))
    once = seen.filter(calls=seen.replicate == 0)
    yield from invariance_estimates(context("typos"), collect_scores(once))  # the noise is not known
    yield from strata_estimates("j", plain_rows, 7)
    yield from loss_estimates("j", rows, 7)
    yield from gain_estimates("j", plain_rows, {}, 7)


def pairs(chance: Chance) -> Iterator[Estimate]:
    """Natural pairs in both orders, people's choice known, and the same with a cue on the second text."""
    count, lost = int(chance.integers(4, 90)), float(chance.choice(LOSSES))
    clusters = int(chance.choice([1, 6, count]))
    right, slot, cued = chance.choice([0.5, 0.8, 0.97]), chance.choice([0.0, 0.3]), chance.choice([0.0, 0.4])

    def both(better: str, drawn: float) -> tuple[str, str]:
        wanted = ("1", "2") if better == "u" else ("2", "1")
        said = []
        for answer in wanted:
            free = str(chance.choice(SLOTS))
            said.append("1" if chance.random() < slot else answer if chance.random() < right else free)
        if chance.random() < drawn:
            said = ["2", "1"]
        lose = chance.random(2) < lost
        first, second = ("unreadable" if gone else each for gone, each in zip(lose, said, strict=True))
        return first, second

    rows: list[Observation] = []
    for n in range(count):
        better, task = str(chance.choice(["u", "v"])), f"t{n % clusters}"
        for replicate in range(2):
            rows += pair(
                f"n{n:03}/position", both(better, 0.0), better, probe="position", kind="natural", task=task,
                replicate=replicate,
            )  # fmt: skip
        for cue in ("authority", "padding"):
            answers = both(better, float(cued) if cue == "padding" else 0.0)
            rows += pair(f"n{n:03}/cues/{cue}", answers, better, probe="cues", kind=cue, task=task)
    seen = Observations.of(rows)
    natural = collect(seen.filter("position"))
    longer = {name: int(chance.integers(1, 3)) for name in natural.names}
    yield from natural_estimates(context("position"), natural, natural, longer=longer)
    yield from shift_estimates(context("cues"), seen, "cues", ("authority", "padding"))
    yield from gain_estimates("j", seen.filter("position"), {}, 7)


def best_of(chance: Chance) -> Iterator[Estimate]:
    """The best of three in every rotation, one slot named too often by some judges."""
    lost, right, slot = float(chance.choice(LOSSES)), chance.choice([0.4, 0.9]), chance.choice([0.0, 0.3])
    rows = []
    for n in range(int(chance.integers(3, 70))):
        item = Item(f"i{n}", "?", ("a", "b", "c"), f"i{n}", label=str(chance.integers(1, 4)))
        for shown in rotations(item):
            best = shown.expectation.value  # type: ignore[union-attr]
            said = best if chance.random() < right else str(chance.integers(1, 4))
            verdict = Decided("1" if chance.random() < slot else said)
            gone = chance.random() < lost
            rows.append(
                Observation("j", "base", shown, "uv", 0, Unreadable("") if gone else verdict, Usage(), "")
            )
    yield from best_of_estimates(context("best_of"), collect_scores(Observations.of(rows)))


def own_family(chance: Chance) -> Iterator[Estimate]:
    """Texts of the judge's own family and of others, with the same labels."""
    lost, favour = float(chance.choice(LOSSES)), chance.choice([0.0, 0.1, 0.3])
    rows = []
    for n in range(int(chance.integers(6, 120))):
        own, label = bool(chance.random() < 0.5), int(chance.integers(1, 4))
        value = float(np.clip(label / 4 + favour * own + chance.normal(0, 0.15), 0, 1))
        rows.append(Treatment(f"c{n // 2}", f"i{n}", label, own, value, bool(chance.random() < lost)))
    yield self_preference(context("self_preference"), rows, [])


def levels(chance: Chance) -> Iterator[Estimate]:
    """Worths of four cues on single texts."""
    rater = level_worth.RATERS[str(chance.choice(["strong", "weak"]))]
    clusters = int(chance.choice([6, 24]))
    yield from level_worth.run(rater, float(chance.choice([0.0, 0.5, 0.9, 1.5])), chance, clusters)


def steps(chance: Chance) -> Iterator[Estimate]:
    """Worths of cues on pairs, from the joint fit, now and then with lost calls."""
    found = worth.draw(worth.STRONG, float(chance.choice([0.0, 1.5, 3.0])), chance, "quick")
    if chance.random() < 0.4:
        gone = chance.random(len(found)) < 0.1
        found = replace(found, u_first=np.where(gone, np.int64(PairAnswer.UNREADABLE), found.u_first))
    yield from pair_worths(worth.CONTEXT, found, worth.layout("quick").cues)


WORLDS = {"scores": scores, "pairs": pairs, "best_of": best_of, "own_family": own_family, "levels": levels}


def rule_of(estimate: Estimate) -> tuple[tuple[float, float], float | None] | None:
    """What a figure may lie within, and the value that its test excludes; None where neither decides.

    That lost calls are uneven, that a model does not fit, and merit have tests of their own.
    """
    metric = metric_named(estimate.metric)
    limit = metric.limit_in(estimate.group, estimate.probe)
    if estimate.metric in ("merit", "level_agreement", "fit_g2", "fit_p") or estimate.reading == "uneven":
        return None
    if limit is not None:
        return limit.allowed, None
    own = {
        "invariance": (0.9, inf),
        "cue_worth": ALLOWED,
        "accuracy_gain": (0.0, inf),
        "error_gain": (0.0, inf),
    }
    if estimate.metric in own:
        return own[estimate.metric], None
    return ((0.8, 1.25), 1.0) if estimate.metric == "resolution_ratio" else ((-0.1, 0.1), 0.0)
