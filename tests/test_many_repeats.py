"""Pairs that were asked again and again: what is drawn for them is drawn from the same laws."""

from __future__ import annotations

from math import comb
from pathlib import Path

import numpy as np
import pytest

from steelyard.metrics.instrument import model
from steelyard.metrics.instrument.likelihood import Rows, answer_rates
from steelyard.metrics.pairs import flips
from steelyard.metrics.pairs.flips import Flips, relabelling_p
from steelyard.study.planner import count_calls, make_plan
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.trials.trial import calls_behind

THETA = np.array([0.8, 0.3, 0.5, 0.6, 0.03])


def rows_of(pairs: int, repeats: int) -> Rows:
    chance = np.random.default_rng(pairs)
    pair = np.repeat(np.arange(pairs), repeats)
    delta = np.repeat(chance.choice([0.0, 0.5, 2.0], pairs), repeats)
    first, second = chance.integers(0, 3, (2, len(pair)))
    return model._sorted(Rows(delta, pair, pair % 5, first, second))


@pytest.mark.parametrize(("pairs", "repeats"), [(1, 2), (7, 1), (30, 4), (3, 50)])
def test_a_simulated_row_is_what_its_own_push_makes_it(pairs: int, repeats: int) -> None:
    """Row by row, from the same stream of chance: repeats that share a push lose nothing."""
    rows, sets = rows_of(pairs, repeats), 199
    chance = np.random.default_rng(4)
    surface = chance.normal(0.0, THETA[3], (sets, pairs))
    place = np.cumsum(np.diff(rows.pair, prepend=rows.pair[0]) != 0)
    push = THETA[0] * rows.delta + surface[:, place]
    cells = np.zeros(push.shape, dtype=np.int64)
    for order in (1.0, -1.0):
        edges = np.cumsum(answer_rates(THETA, order * push), axis=-1)[..., :2]
        cells = cells * 3 + (chance.random(push.shape)[..., None] > edges).sum(axis=-1)
    made = model._simulate(rows, THETA, np.random.default_rng(4), sets)
    assert np.array_equal(made, cells)
    tables = model._tables(made, np.zeros(len(rows), dtype=np.int64), 1)
    assert np.array_equal(tables[:, 0], [np.bincount(one, minlength=9) for one in cells])


def test_deals_have_the_chances_of_the_hypergeometric_law() -> None:
    won, first = np.array([5, 3, 2]), 4
    excess, chances = flips._deals(won, first)
    dealt = [(u, v, first - u - v) for u in range(6) for v in range(4) if 0 <= first - u - v <= 2]
    exact = [comb(5, u) * comb(3, v) * comb(2, t) / comb(10, 4) for u, v, t in dealt]
    assert len(excess) == len(dealt)
    assert chances == pytest.approx(exact)


def test_deals_drawn_pair_by_pair_come_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """p by both ways of drawing, each from 1,999 deals: standard error of their difference at most .016."""
    counts = np.random.default_rng(2).multinomial(40, [0.4, 0.3, 0.3], size=(5, 2))
    many = Flips(counts, np.arange(5), np.zeros((5, 2), dtype=np.int64))
    alone = relabelling_p(many, 1, draws=1999)
    monkeypatch.setattr(flips, "MANY", 10**9)
    together = relabelling_p(many, 1, draws=1999)
    assert alone != together
    assert alone == pytest.approx(together, abs=0.06)


@pytest.mark.parametrize("judge", ["consensus/orders?of=majority/3?of=planted/coin", "planted/coin"])
def test_calls_are_counted_as_they_would_be_made(judge: str) -> None:
    study = build_study(StudyConfig(judges=[judge, "planted/first"], replicates=3), Path())
    plan, made = make_plan(study), set[tuple[object, ...]]()
    for one, number in zip(study.judges, count_calls(study, study.judges), strict=True):
        before = len(made)
        for trial in plan.trials:
            if trial.judge.name == one.name:
                made |= {
                    (member.fingerprint(trial.protocol), trial.stimulus.id, order, replicate)
                    for member, order, replicate in calls_behind(one, trial.order, trial.replicate)
                }
        assert number == len(made) - before
    assert len(plan.calls) == len(made)
