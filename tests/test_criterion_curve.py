"""The criterion probe: graded tie instructions, their fingerprints, their curve, and widening it."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import xlogy
from scipy.stats import t

from own_judges import measured, study_of
from steelyard.core.content_hash import canonical_json
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render.clauses import sentence
from steelyard.datasheet.render.html import render
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import EstimateContext
from steelyard.metrics.pairs.signal_detection import CORRECT, TIES, protocol_shift
from steelyard.probes.catalogue import Criterion
from steelyard.probes.probe import Design
from steelyard.providers.planted.decision_model import expected_rates
from steelyard.providers.planted.planted_judges import Planted
from steelyard.providers.planted.server import start
from steelyard.providers.vendors.completions import ChatCompletions
from steelyard.study.judge_config import parse_judge
from steelyard.study.study import Study
from steelyard.tasks.task import CHECKLIST_TASK
from steelyard.trials.builtin_prompts import GRADED
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial
from strategies import make

PROBIT = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02"
FINGERPRINTS = {
    "openai/gpt-4o": ("f5a91", "be0cf"),
    "embedded/smollm2-135m": ("c7809", "19219"),
    "embedded/smollm2-135m-likelihood": ("66efd", "16f96"),
    "planted/probit": ("2fb9d", "3110a"),
}
"""Beginnings of the base and strict fingerprints; a change would make users pay for their replies again."""
AT_ZERO = {"delta": 0, "kind": "same_subset"}
HEADING = EstimateContext("J", "criterion", {"protocol": "strict"}, 7)


def judge_of(text: str, arms: tuple[str, ...] = ()) -> Judge:
    return parse_judge(text, Path(), CHECKLIST_TASK.scale, arms)


def study(*criteria: object, profile: str = "quick") -> Study:
    probes = ["vacuum", "ladder", *criteria]
    return study_of({"name": "curve", "profile": profile, "judges": [PROBIT], "probes": probes})


@pytest.mark.parametrize("text", FINGERPRINTS)
def test_further_instructions_leave_the_fingerprints_alone(text: str) -> None:
    usual, graded = judge_of(text), judge_of(text, GRADED)
    assert list(usual.protocols) == ["base", "strict"]
    assert set(graded.protocols) == set(GRADED)
    for name, beginning in zip(("base", "strict"), FINGERPRINTS[text], strict=True):
        assert usual.fingerprint(name) == graded.fingerprint(name)
        assert usual.fingerprint(name).startswith(f"sha256:{beginning}")
    assert len({graded.fingerprint(name) for name in GRADED}) == 4


def test_settings_are_graded() -> None:
    likelihood = judge_of("embedded/smollm2-135m-likelihood", GRADED)
    assert [likelihood.protocols[name].reader.args["margin"] for name in GRADED] == [0.5, 2.0, 8.0, 16.0]
    probit = judge_of("planted/probit?tau=1", GRADED)
    taus = [probit.protocols[name].settings.get("tau", 1.0) for name in GRADED]
    assert taus == pytest.approx([0.5, 1.0, 1.6, 2.2])


def test_a_judge_with_a_prompt_of_its_own_has_no_built_in_instruction() -> None:
    own = parse_judge(
        {
            "model": "openai/x",
            "prompt": "{{ first }} {{ second }}",
            "protocols": {"mild": "{{ second }} {{ first }}"},
        },
        Path(),
        CHECKLIST_TASK.scale,
        GRADED,
    )
    assert list(own.protocols) == ["base", "mild"]


@pytest.mark.parametrize(
    ("options", "arms"),
    [
        ({}, ("strict",)),
        ({"levels": 2}, ("strict",)),
        ({"levels": 3}, ("lenient", "strict")),
        ({"levels": 4}, ("lenient", "strict", "strictest")),
        ({"protocols": ["lenient", "mine"]}, ("lenient", "mine")),
        ({"protocol": "mine"}, ("mine",)),
    ],
)
def test_arms(options: dict[str, object], arms: tuple[str, ...]) -> None:
    assert Criterion(**options).arms == arms  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"levels": 1}, "levels is 1, expected 2, 3 or 4"),
        ({"levels": 5}, "levels is 5, expected 2, 3 or 4"),
        ({"levels": True}, "levels is True, expected 2, 3 or 4"),
        ({"levels": "4"}, "levels is '4', expected 2, 3 or 4"),
        ({"protocols": []}, "expected a list of names other than base"),
        ({"protocols": "strict"}, "expected a list of names other than base"),
        ({"protocols": ["base"]}, "expected a name other than base"),
        ({"protocols": ["a", "a"]}, "one of them twice"),
        ({"levels": 4, "protocol": "strict"}, "give one of the options"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Criterion(**options)  # type: ignore[arg-type]


def test_every_arm_measures_vacuum_and_the_whole_ladder() -> None:
    shown = list(Criterion(levels=4).showings(Design(7), GRADED))
    by_arm = {
        arm: {(s.stimulus.id, s.order, s.replicate) for s in shown if s.protocol == arm} for arm in GRADED
    }
    assert len(by_arm["base"]) == 540
    assert all(trials == by_arm["base"] for trials in by_arm.values())
    # The default is what it was: two arms.
    assert len(list(Criterion().showings(Design(7), ("base", "strict")))) == 2 * 540
    # A judge without one of the arms keeps the others; with base alone there is nothing to compare.
    assert len(list(Criterion(levels=4).showings(Design(7), ("base", "strict")))) == 2 * 540
    assert not list(Criterion(levels=4).showings(Design(7), ("base",)))


@pytest.fixture(scope="module")
def curve(tmp_path_factory: pytest.TempPathFactory) -> tuple[Datasheet, Judge]:
    """Without the baselines, at which no test here looks."""
    made = study({"criterion": {"levels": 4}}, profile="standard")
    return measured(made, tmp_path_factory.mktemp("curve") / "run"), made.judges[0]


@pytest.mark.parametrize("arm", GRADED)
def test_each_point_of_the_curve_lies_where_it_was_planted(curve: tuple[Datasheet, Judge], arm: str) -> None:
    sheet, judge = curve
    parameters = Planted(judge).parameters(judge.protocols[arm].settings)
    at_zero = sheet.find(
        judge.name, "raw_false_preference", "ladder", protocol=arm, delta=0, kind="same_subset"
    )
    one = sheet.find(judge.name, "target_sensitivity", "ladder", protocol=arm, delta=1)
    dark = sheet.find(judge.name, "dark_current", "vacuum", protocol=arm)
    for found, expected in (
        (at_zero, 1 - expected_rates(parameters, 0).tie),
        (one, expected_rates(parameters, 1).better),
        (dark, 1 - expected_rates(parameters, 0, same_texts=True).tie),
    ):
        assert found is not None
        assert found.value is not None
        # Pairs, not calls, are independent; three and a half standard errors over twelve figures.
        assert abs(found.value - expected) <= 3.5 * sqrt(expected * (1 - expected) / found.n_units)


def test_a_stricter_instruction_trades_one_for_the_other(
    curve: tuple[Datasheet, Judge],
) -> None:
    sheet, judge = curve
    for metric, probe, group in (
        ("raw_false_preference", "ladder", AT_ZERO),
        ("dark_current", "vacuum", {}),
        ("target_sensitivity", "ladder", {}),
    ):
        values = [sheet.find(judge.name, metric, probe, protocol=arm, **group) for arm in GRADED]
        rates = [found.value for found in values if found is not None and found.value is not None]
        assert rates == sorted(rates, reverse=True)
        assert len(rates) == 4
    pooled = sheet.find(judge.name, "target_sensitivity", "ladder", protocol="base")
    assert pooled is not None
    assert pooled.denominator == 300


def test_the_curve_is_drawn_and_read(curve: tuple[Datasheet, Judge]) -> None:
    sheet, judge = curve
    page = render(sheet)
    assert "Operating curve" in page
    assert page.count("(target sensitivity), all steps") > 1
    said = sentence(next(r for r in sheet.findings if r.title == "Criterion").clause)
    assert said.index("lenient") < said.index("strict changes") < said.index("strictest")
    shift = sheet.find(judge.name, "sensitivity_shift", "criterion", protocol="strictest", delta=1)
    assert shift is not None
    assert shift.value is not None
    assert shift.value < 0
    change = re.search(r"change p = (\S+) \(signs of clusters flipped\)", shift.note or "")
    assert change is not None
    assert float(change[1]) < 0.001


def trials_in(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "run.db")) as base, base:
        return int(base.execute("select count(*) from replies").fetchone()[0])


def test_a_wider_curve_in_the_same_folder_pays_for_its_own_arms_only(tmp_path: Path) -> None:
    """Two arms have the plain figure; two criteria with an arm in common have each figure once."""
    run, wider = tmp_path / "run", {"criterion": {"levels": 3}}
    measured(study("criterion"), run)
    before, page = trials_in(run), (run / "datasheet.html").read_text()
    assert "Criterion trade-off" in page
    assert "Operating curve" not in page
    once = measured(study(wider), run)
    assert trials_in(run) == before + 72
    with pytest.raises(ConfigError, match="holds another study"):
        measured(study("criterion"), run)
    twice = measured(study({"criterion": {"protocol": "strict"}}, wider), tmp_path / "two")
    each, both = (sorted(canonical_json(row.to_json()) for row in s.estimates) for s in (once, twice))
    assert both == each


def test_all_instructions_are_recognised_over_http() -> None:
    planted = judge_of(PROBIT, GRADED)

    async def compare() -> None:
        runner, url = await start(planted)
        client = ChatCompletions(
            Judge("served", "openai", "probit", planted.protocols, options={"base_url": url})
        )
        await client.open()
        try:
            shown = list(Criterion(levels=4).showings(Design(7, "quick"), GRADED))[::5]
            calls = [
                Trial(planted, s.protocol, s.stimulus, CHECKLIST_TASK, s.order, s.replicate).presentation()
                for s in shown
            ]
            inside = Planted(planted)
            texts = [(await client.ask(call)).text for call in calls]
            assert texts == [(await inside.ask(call)).text for call in calls]
        finally:
            await client.close()
            await runner.cleanup()

    asyncio.run(compare())


def test_a_shift_by_hand() -> None:
    # Base: both calls right on all 8 pairs. Strict: one right, one tie. Sensitivity 16/16 → 8/16, ties 0 → 8.
    base = make(["12"] * 8, tasks=8, kind="prefix", delta=1.0, better=1)
    strict = make(["1t"] * 8, tasks=8, kind="prefix", delta=1.0, better=1)
    cost = protocol_shift(HEADING, CORRECT, base, strict)
    ties = protocol_shift(HEADING, TIES, base, strict)
    assert (cost.value, cost.numerator, cost.denominator) == (-0.5, -8, 16)
    assert (ties.value, ties.numerator) == (0.5, 8)
    # All eight tasks changed the same way: p = 2 / 2⁸.
    assert "change p = 0.0078 (signs of clusters flipped)" in (cost.note or "")
    # Alike in every cluster: correlation .1 is assumed, so of 16 / 1.1 calls half were lost and none gained.
    for shift, (low, high) in ((cost, score_limits(0, 8 / 1.1)), (ties, score_limits(8 / 1.1, 0))):
        assert (shift.intervals[0].low, shift.intervals[0].high) == pytest.approx((low, high), abs=1e-5)


def score_limits(
    gained: float, lost: float, size: float = 16 / 1.1, clusters: int = 8
) -> tuple[float, float]:
    """The differences that a score test does not reject, the likelihood under each found by search."""
    size, clusters = 16 / 1.1, 8

    def beyond(at: float) -> float:
        def against(losses: float) -> float:
            shares = np.array([losses + at, losses, 1 - 2 * losses - at])
            return -float(xlogy([gained, lost, size - gained - lost], shares).sum())

        fitted = minimize_scalar(against, bounds=(max(0.0, -at), (1 - at) / 2), options={"xatol": 1e-12}).x
        distance = gained - lost - size * at
        return distance**2 / (size * (2 * fitted + at - at**2)) - t.ppf(0.975, clusters - 1) ** 2

    middle = (gained - lost) / size
    return brentq(beyond, -0.999, middle), brentq(beyond, middle, 0.999)


@pytest.mark.slow
def test_arms_that_do_not_differ_are_told_apart_in_at_most_five_percent() -> None:
    generator = np.random.default_rng(3)
    signs = np.array(list("12t"))
    found = 0
    for _ in range(300):
        answers = ["".join(row) for row in signs[generator.integers(0, 3, (80, 2))]]
        base, arm = (make(half, tasks=8) for half in (answers[:40], answers[40:]))
        note = protocol_shift(HEADING, TIES, base, arm).note or ""
        found += float(note.split("change p = ")[1].split(" ")[0]) <= 0.05
    assert found / 300 <= 0.05 + 3 * sqrt(0.05 * 0.95 / 300)
