"""Datasheet and gate read figures by one rule: no word contradicts an interval, and no ruling a word."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from own_judges import measured, study_of
from said import decision
from steelyard.commands.gate.gate import gate, rule_on
from steelyard.commands.gate.policy import SHIPPED, find_policy, parse_policy
from steelyard.commands.gate.ruling import EXIT_CODES, Ruling, check
from steelyard.datasheet.conclusion import NO_FAULT, UNFIT
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import declared, metric_named
from steelyard.datasheet.questions.questions import QUESTIONS
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
from steelyard.metrics.findings import (
    MARGIN,
    calls_total,
    difference_word,
    estimate_word,
    judge_limit,
    with_finding,
)
from steelyard.metrics.instrument import worth_estimates
from steelyard.metrics.metric import Limit
from steelyard.metrics.pairs.decomposition import CELLS
from steelyard.metrics.pairs.ladder import TARGET_SENSITIVITY
from steelyard.metrics.proportions import DARK_CURRENT, proportion
from steelyard.metrics.stats.clusters import Tally
from steelyard.run_folder.published_files import read_datasheet

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RESULTS = {"clear": "PASS", "flagged": "FAIL", "inconclusive": "INCONCLUSIVE"}


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    clusters = draw(st.integers(1, 30))
    trials = np.array(draw(st.lists(st.integers(1, 12), min_size=clusters, max_size=clusters)))
    rate = draw(st.sampled_from([0.0, 0.03, 0.1, 0.3, 0.8, 0.95, 1.0]))
    seed = draw(st.integers(0, 999))
    events = np.random.default_rng(seed).binomial(trials, rate)
    total = int(trials.sum())
    return Tally(events, trials, total, total, unreadable=draw(st.integers(0, 4)))


def ends(estimate: Estimate) -> tuple[float, float]:
    interval = estimate.interval
    assert interval is not None
    low, high = interval.low, interval.high
    return -inf if low is None else low, inf if high is None else high


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(tally=tallies(), metric=st.sampled_from([DARK_CURRENT, TARGET_SENSITIVITY]), cells=st.booleans())
def test_a_word_never_contradicts_the_interval_nor_the_gate_the_word(
    tally: Tally, metric: Any, cells: bool
) -> None:
    heading = EstimateContext("J", "vacuum", {"protocol": "base", "delta": 1}, 7)
    found = proportion(heading, metric, tally, cells=len(CELLS) if cells else None)
    limit = metric.limit.value
    low, high = ends(found)
    if metric.limit.side == "max":
        within, beyond = high <= limit, low > limit
    else:
        within, beyond = low >= limit, high < limit
    assert found.status != "clear" or within
    assert found.status != "flagged" or beyond
    # The same limit in a policy, as a number and as the datasheet's own, gives the same result.
    numbered = {metric.limit.side: limit, "delta": 1.0}
    for entry in (numbered, "clear"):
        rule = parse_policy({metric.id: entry}, "policy").rules[0]
        ruled = check(rule, found)
        assert ruled.result == RESULTS[found.status or ""]
        missing = found.calls_needed if found.calls_needed is None else found.calls_needed - found.n_calls
        if ruled.calls_needed is not None and missing is not None:
            assert ruled.calls_needed == max(1, missing)


def test_a_difference_is_clear_within_its_margin_as_a_whole() -> None:
    # A 90 % interval of (−.05, .09) goes with a 95 % interval that reaches over .10.
    assert difference_word((-0.07, 0.101), 0.4) == "inconclusive"
    assert difference_word((-0.07, 0.099), 0.4) == "clear"


def test_quick_clears_a_judge_that_is_always_right() -> None:
    # 12 pairs on 12 checklists: 24 of 24; n_eff = 24/1.1 = 21.8, 21.8/(21.8 + t(11)²) = .818. Of a judge on
    # the limit no miss is seen in (.8 · .86)¹² = .011 of runs. Ten pairs: 18.2/(18.2 + t(9)²) = .78.
    pairs = np.full(12, 2)
    assert judge_limit(Tally(pairs, pairs, 24, 12), Limit(0.80, "min")) == "clear"
    assert judge_limit(Tally(pairs[:10], pairs[:10], 20, 10), Limit(0.80, "min")) == "inconclusive"


def test_no_failure_of_sixteen_is_not_below_a_fifth() -> None:
    # [0, .22] reaches over .2: one cluster each, t(15)²/(16 + t(15)²).
    ones = np.ones(16, dtype=np.int64)
    assert judge_limit(Tally(0 * ones, ones, 16, 16), Limit(0.2)) == "inconclusive"


def test_every_metric_of_a_policy_with_its_own_limit_takes_it_from_its_declaration() -> None:
    rules = {rule.metric: rule for rule in find_policy("default").rules}
    # A cue may be worth less than nothing: the sheet flags that, and the policy's one limit is the same.
    assert rules.pop("cue_worth").span == (-inf, worth_estimates.FAULT)
    for metric, rule in rules.items():
        limit = metric_named(metric).limit
        assert rule.uses_sheet_limit
        assert rule.span == ((-inf, inf) if limit is None else limit.allowed)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_policy_asks_for_merit(name: str) -> None:
    assert find_policy(name).rules[0].metric == "merit"


def test_what_names_a_reading_is_a_metric() -> None:
    assert {metric for question in QUESTIONS for metric in question.metrics} <= set(declared())


# Flags


def sheet_of(*figures: Estimate, flagged: tuple[str, ...] = (), undecided: tuple[str, ...] = ()) -> Datasheet:
    from steelyard.datasheet.instrument_card import JudgeEntry

    judge = JudgeEntry("J", "planted/coin", False, {"base": "sha256:0"})
    readings = [
        *(decision("J", title, "flagged") for title in flagged),
        *(decision("J", title, "inconclusive") for title in undecided),
    ]
    return Datasheet("study", 7, "sha256:0", "0", "quick", (judge,), figures, findings=tuple(readings))


DARK = Estimate(
    "J", "vacuum", "dark_current", {"protocol": "base"}, "call", 0.0, 0, 400,
    (Interval("wilson_cluster", 0.0, 0.02),), n_calls=400, n_units=200, n_clusters=40, status="clear",
)  # fmt: skip


def ruled(body: dict[str, Any], sheet: Datasheet) -> Ruling:
    policy = parse_policy(body, "policy")
    return rule_on(sheet, policy, ["J"])


def test_a_flag_that_no_rule_names_fails() -> None:
    sheet = sheet_of(DARK, flagged=("Length", "Dark current"), undecided=("Surface",))
    ruling = ruled({"dark_current": {"max": 0.1}}, sheet)
    assert [(c.metric, c.result) for c in ruling.checks] == [
        ("dark_current", "PASS"),
        ("beats_padded", "FAIL"),
    ]
    assert ruling.checks[1].name == "goes by length"
    assert (ruling.result, EXIT_CODES[ruling.result]) == ("FAIL", 3)
    (note,) = ruling.notes
    assert re.match("J: undecided .*: prefers a wording", note)


def test_flags_may_be_allowed_and_are_still_listed() -> None:
    sheet = sheet_of(DARK, flagged=("Length", "Position"))
    ruling = ruled({"dark_current": {"max": 0.1}, "flags": "allow"}, sheet)
    assert ruling.result == "PASS"
    (note,) = ruling.notes
    assert re.match("J: .* allowed .*: goes by length, leans to slot 1", note)


def test_flags_may_fail_whatever_the_rules_tolerate() -> None:
    sheet = sheet_of(DARK, flagged=("Dark current",))
    assert ruled({"dark_current": {"max": 0.5}}, sheet).result == "PASS"
    strict = ruled({"dark_current": {"max": 0.5}, "flags": "fail"}, sheet)
    assert [c.result for c in strict.checks] == ["PASS", "FAIL"]


def test_readings_that_are_no_faults_fail_nothing() -> None:
    assert ruled({"dark_current": {"max": 0.1}}, sheet_of(DARK, flagged=("Criterion",))).result == "PASS"


def test_flags_are_one_of_three_words() -> None:
    with pytest.raises(ConfigError, match="flags: found 'maybe', expected unnamed, allow or fail"):
        parse_policy({"dark_current": {"max": 0.1}, "flags": "maybe"}, "policy")


# What the sheet calls noise, and what is missing


def test_a_share_by_chance_does_not_fail() -> None:
    # A coin keeps to one wording in both orders for half of the pairs.
    stable = Estimate(
        "J", "ladder", "stable_cross_sensitivity", {"protocol": "base", "delta": 0, "kind": "same_subset"},
        "pair", 0.5, 30, 60, (Interval("goodman_cluster", 0.31, 0.69),), n_calls=120, n_units=60,
        n_clusters=10, status="inconclusive", reading="by chance",
    )  # fmt: skip
    for entry in ("clear", {"max": 0.10}, {"max": 0.25}):
        found = check(parse_policy({"stable_cross_sensitivity": entry}, "p").rules[0], stable)
        assert (found.result, found.calls_needed) == ("INCONCLUSIVE", None)
        assert "by chance would" in found.reason


def test_datasheet_and_gate_forecast_alike() -> None:
    # Once 30 calls on the sheet and 300 at the gate: no event in 12 vacuum calls of 4 clusters, limit .10.
    tally = Tally(np.zeros(4, dtype=np.int64), np.full(4, 3), 12, 6)
    found = proportion(EstimateContext.for_protocol("J", "vacuum", "base", 7), DARK_CURRENT, tally)
    rule = parse_policy({"dark_current": {"max": 0.1}}, "p").rules[0]
    needed = check(rule, found).calls_needed
    assert (found.calls_needed or 0) - 12 == needed == calls_total(found, (-inf, 0.1)) - 12  # type: ignore[operator]
    # 3/1.2 = 2.5 calls a cluster: 2.5 c > 9 t(c − 1)² first at 17 clusters, 42.5 > 9 · 2.12² = 40.4.
    assert needed == 17 * 3 - 12


def test_a_figure_that_is_no_share_narrows_with_the_root_of_its_calls() -> None:
    kappa = Estimate("J", "original", "kappa", {"protocol": "base"}, "call", 0.6, n_calls=100, n_clusters=50)
    wide = with_finding(
        Estimate(**{**vars(kappa), "intervals": (Interval("jackknife_cluster", 0.3, 0.8),)}),
        Limit(0.4, "min"),
    )
    assert wide.status == "inconclusive"
    # The lower reach of .3 has to shrink to .2 with (1.96 + .84)/1.96 to spare: (1.429 · .3/.2)² = 4.6.
    assert wide.calls_needed == pytest.approx(460, abs=3)
    assert estimate_word(wide, (0.29, inf)) == "clear"
    assert estimate_word(wide, (0.81, inf)) == "flagged"


# Whole runs


BASE = "s=4&beta=0&tau=0.5&sigma=0&lapse=0"
JUDGES = [
    f"planted/probit?{BASE}&name=excellent",
    "planted/probit?s=0.8&beta=0.8&sigma=1.5&name=leaning",
    "planted/first",
]
SHARP = "planted/probit?s=3&beta=0&sigma=0&name=sharp"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    measured(study_of({"judges": JUDGES}), folder / "quick")
    large = {"profile": "standard", "probes": ["vacuum", "ladder"]}
    measured(study_of({"judges": ["planted/longest", SHARP], **large}), folder / "standard")
    return sorted(folder.iterdir())


def test_words_of_whole_sheets_lie_where_their_intervals_do(runs: list[Path]) -> None:
    seen = 0
    for run in runs:
        for found in read_datasheet(run).estimates:
            limit = metric_named(found.metric).limit_in(found.group, found.probe)
            if found.status in (None, "inconclusive") or found.metric == "merit":
                continue
            low, high = ends(found)
            if limit is not None:
                allowed = limit.allowed
                inside, outside = (
                    allowed[0] <= low and high <= allowed[1],
                    low > allowed[1] or high < allowed[0],
                )
                assert inside if found.status == "clear" else outside or found.reading == "uneven", found
            elif found.metric in ("net_slot_preference", "length_lean", "flip_excess"):
                assert found.status == "flagged" or max(abs(low), abs(high)) < MARGIN, found
            seen += 1
    assert seen >= 25


def test_no_verdict_contradicts_a_shipped_policy(runs: list[Path]) -> None:
    for run in runs:
        sheet = read_datasheet(run)
        words = {verdict.judge: verdict.word for verdict in sheet.verdicts}
        for name in SHIPPED:
            ruling, written = gate(run, name, NOW)
            for judge in ruling.judges:
                results = {check.result for check in ruling.of(judge)}
                if words[judge] == NO_FAULT and name == "default":
                    assert "FAIL" not in results, (run, judge)
                if words[judge] == UNFIT:
                    assert results != {"PASS"}, (run, name, judge)
            assert (written is None) == (ruling.result == "INCONCLUSIVE")


def test_a_judge_that_prefers_the_longer_text_fails_the_default_policy(runs: list[Path]) -> None:
    standard = next(run for run in runs if run.name == "standard")
    assert any(
        (r.judge, r.title, r.status) == ("planted/longest", "Length", "flagged")
        for r in read_datasheet(standard).findings
    )
    ruling, _ = gate(standard, "default", NOW)
    assert any(check.result == "FAIL" for check in ruling.of("planted/longest"))
    own, _ = gate(standard, {"dark_current": {"max": 0.1}}, NOW)
    (row,) = (each for each in own.of("planted/longest") if each.metric == "length_lean")
    assert (row.metric, row.name, row.figure[-6:]) == ("length_lean", "goes by length", "longer")
    assert row.found.startswith("+0.50 [+0.")
    assert (row.result, row.reason.partition(" ")[0], row.reason[-9:]) == ("FAIL", "too", "at most 0")


# Edits that must change the verdict


def test_a_judge_that_sees_a_broken_run_is_not_said_to_flip(tmp_path: Path) -> None:
    sound = "planted/rater?noise=0&sensitivity=1&specificity=1&name=sound"
    probes = ["truncated_tail", "invented_call", "forged_result", "evidence_deletion"]
    sheet = measured(study_of({"judges": [sound], "probes": probes, "replicates": 3}), tmp_path / "run")
    assert {e.probe for e in sheet.estimates} >= {*probes}
    moved = [e for e in sheet.estimates if e.metric in ("invariance", "excess_flip") and e.value is not None]
    assert {e.probe for e in moved} == {"evidence_deletion"}
    assert all(e.status is None for e in moved)
    ruling, _ = gate(tmp_path / "run", "strict", NOW)
    assert not [c for c in ruling.checks if c.metric in ("invariance", "excess_flip") and c.result == "FAIL"]
    own = {"excess_flip": {"max": 0.1}, "unreadable_rate": {"max": 0.5}}
    with pytest.raises(ConfigError, match="no excess_flip under the conditions"):
        gate(tmp_path / "run", own, NOW)


# Certificates and the terminal


def test_inconclusive_leaves_no_certificate(runs: list[Path], tmp_path: Path, steelyard: Any) -> None:
    run = runs[0]
    path = run / "certificate.json"
    rules = tmp_path / "p.yaml"
    rules.write_text("unreadable_rate: {max: 0.5}\nflags: allow\n", encoding="utf-8")
    passed = steelyard("gate", run, "--policy", rules)
    assert (passed.returncode, path.exists()) == (0, True)
    assert passed.stdout.rstrip().endswith(f"Certificate: {path}")
    rules.write_text("unreadable_rate: {max: 0.001}\nflags: allow\n", encoding="utf-8")
    undecided = steelyard("gate", run, "--policy", rules)
    assert (undecided.returncode, path.exists()) == (4, False)
    assert "ertificate" not in undecided.stdout
    rules.write_text("unreadable_rate: {min: 0.5}\nflags: allow\n", encoding="utf-8")
    failed = steelyard("gate", run, "--policy", rules)
    assert failed.returncode == 3
    assert json.loads(path.read_text())["result"] == "FAIL"
    assert "Certificate:" not in failed.stdout
    assert "No certificate; " in failed.stdout
    assert steelyard("gate", run, "--check").returncode == 3


def test_the_terminal_shows_the_result_first_in_80_columns(runs: list[Path], steelyard: Any) -> None:
    standard = next(run for run in runs if run.name == "standard")
    done = steelyard("gate", standard, "--policy", "default", COLUMNS="80")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("FAIL: ")
    assert max(len(line) for line in lines if not line.startswith("No certificate")) <= 80
