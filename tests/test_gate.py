"""The gate decides on intervals, certifies, refuses what has expired, and sees drift."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
import yaml

from commands import Command
from own_judges import measured, study_of
from steelyard.cli.main import cli
from steelyard.commands.compare import Target, compare_targets
from steelyard.commands.gate.drift import _joint_check
from steelyard.commands.gate.gate import MARKS, check_certificate, gate, render_junit, render_markdown
from steelyard.commands.gate.policy import SHIPPED, Policy, find_policy, load_policy, parse_policy, select
from steelyard.commands.gate.ruling import apply_policy, check, worst
from steelyard.commands.import_verdicts import ImportFolder, import_verdicts
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render.data_files import dumps
from steelyard.errors import CertificateError, ConfigError, DataError
from steelyard.metrics.comparison.comparison import Comparison, ComparisonFamily
from steelyard.metrics.comparison.rows import ComparisonCriterion
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.run_folder.published_files import read_datasheet

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
POLICY = """\
dark_current: {max: 0.05}
positional_false_preference: {max: 0.10}
target_sensitivity: {delta: 1, min: 0.80}
unreadable_rate: {max: 0.02}
valid_for: 90d
"""


def policy(body: dict[str, Any]) -> Policy:
    return parse_policy(body, "policy.yaml")


def share(low: float | None, high: float | None, value: float = 0.04, **more: Any) -> Estimate:
    base = Estimate("J", "vacuum", "dark_current", {"protocol": "base"}, "call", value, 4, 100)
    return replace(base, intervals=(Interval("wilson_cluster", low, high),), n_calls=100, **more)


def of(trials: int) -> dict[str, Any]:
    """How many independent trials a share rests on."""
    return {"effective_size": float(trials), "quantile": 1.959963984540054}


def result(estimate: Estimate, **limits: float) -> tuple[str, str]:
    found = check(policy({"dark_current": dict(limits)}).rules[0], estimate)
    return found.result, found.reason


# The rule of decision


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.0, 0.05, "PASS"), (0.0, 0.051, "INCONCLUSIVE"), (0.05, 0.2, "INCONCLUSIVE"), (0.051, 0.2, "FAIL")],
)
def test_the_whole_interval_decides(low: float, high: float, expected: str) -> None:
    assert result(share(low, high), max=0.05)[0] == expected
    assert result(share(1 - high, 1 - low, 0.96), min=0.95)[0] == expected


@pytest.mark.parametrize(("left_out", "expected"), [(2, "PASS"), (3, "INCONCLUSIVE")])
def test_many_abstentions_that_a_figure_leaves_out_pass_nobody(left_out: int, expected: str) -> None:
    """Beside 100 calls that count."""
    found, reason = result(share(0.0, 0.04, 0.01, left_out=left_out), max=0.05)
    assert found == expected
    assert f"{left_out} calls abstained" in reason


@pytest.mark.parametrize(("accepted", "expected"), [(19, "INCONCLUSIVE"), (20, "PASS")])
def test_merit_on_texts_that_only_their_author_accepted_passes_nobody(accepted: int, expected: str) -> None:
    """40 texts written for an answer; from 20 that another accepted they count."""
    rule = policy({"merit": {"min": 0.3}}).rules[0]
    merit = replace(share(0.7, 0.95, 0.85, details={"accepted": (accepted, 40)}), metric="merit")
    found = check(rule, replace(merit, probe="label_flip"))
    assert (found.result, "but their author" in found.reason) == (expected, accepted < 20)


def test_the_point_never_decides() -> None:
    assert result(share(0.01, 0.2, value=0.04), max=0.05)[0] == "INCONCLUSIVE"
    alone = replace(share(0, 0), intervals=())
    word, reason = result(alone, max=0.05)
    assert (word, "no interval" in reason) == ("INCONCLUSIVE", True)


def test_both_limits_make_a_band() -> None:
    assert result(share(0.2, 0.3), min=0.1, max=0.4)[0] == "PASS"
    assert result(share(0.2, 0.3), min=0.25, max=0.4)[0] == "INCONCLUSIVE"
    assert result(share(0.2, 0.3), min=0.35, max=0.4)[0] == "FAIL"


def test_an_open_end_reaches_over_every_limit() -> None:
    assert result(share(None, 0.04), max=0.05)[0] == "PASS"
    assert result(share(0.01, None), max=0.05)[0] == "INCONCLUSIVE"
    assert result(share(0.06, None), max=0.05)[0] == "FAIL"


def test_undefined_is_inconclusive_with_its_reason() -> None:
    missing = replace(share(0, 0), value=None, intervals=(), note="no call ended in a verdict")
    assert result(missing, max=0.05) == ("INCONCLUSIVE", f"undefined: {missing.note}")


def test_missing_verdicts_decide_nothing() -> None:
    lost = {"unreadable": 0, "failed": 50}
    # 0 of 100, half as many failed: in the worst case a third.
    hidden = share(0.0, 0.04, 0.0, excluded=lost, bounds=(0.0, 1 / 3))
    word, reason = result(hidden, max=0.05)
    assert word == "INCONCLUSIVE"
    assert "50 failed" in reason
    # With one of 101 Wilson's upper end is .054.
    few = share(0.0, 0.037, 0.0, excluded={"unreadable": 1, "failed": 0}, bounds=(0.0, 1 / 101), **of(100))
    assert [result(few, max=limit)[0] for limit in (0.053, 0.055)] == ["INCONCLUSIVE", "PASS"]
    beyond = share(0.3, 0.5, 0.4, excluded=lost, bounds=(0.27, 0.6), **of(100))
    # In the best case .27 [.18, .37]: beyond .05 whatever became of them, and not beyond .25.
    assert [result(beyond, max=limit)[0] for limit in (0.05, 0.25)] == ["FAIL", "INCONCLUSIVE"]
    # Without bounds a loss of more than 2 % is too much.
    assert result(share(0.0, 0.04, excluded=lost), max=0.05)[0] == "INCONCLUSIVE"
    assert result(share(0.0, 0.04, excluded={"unreadable": 2, "failed": 0}), max=0.05)[0] == "PASS"


def test_calls_still_needed() -> None:
    # 0 events, limit .05: Wilson needs 73 calls (z²·.95/.05); 40 were made.
    fresh = replace(share(0.0, 0.0881, 0.0, **of(40)), numerator=0, denominator=40, n_calls=40)
    found = check(policy({"dark_current": {"max": 0.05}}).rules[0], fresh)
    assert found.calls_needed == 33
    few = (Interval("wilson", 0.0, 0.16113),)
    pairs = replace(fresh, denominator=20, unit="pair", intervals=few, **of(20))
    # 73 pairs in all are 146 calls.
    assert check(policy({"dark_current": {"max": 0.05}}).rules[0], pairs).calls_needed == 106
    at_limit = share(0.01, 0.2, value=0.05)
    assert check(policy({"dark_current": {"max": 0.05}}).rules[0], at_limit).calls_needed is None


def test_one_row_asked_five_times_is_one_row() -> None:
    # 0 of 5 calls of one item: Wilson leaves .6 behind from 2.56 items on, so 3, at 5 calls an item.
    one = Estimate("J", "original", "accuracy", {"protocol": "base"}, "call", 0.0, 0, 5)
    alone = (Interval("wilson_units", 0.0, 0.793),)
    one = replace(one, intervals=alone, n_calls=5, n_units=1, n_clusters=1, **of(1))
    found = check(policy({"accuracy": {"min": 0.6}}).rules[0], one)
    assert found.calls_needed == 8
    assert re.fullmatch(r".*\b2 more labelled rows \(8 calls\).*", found.more or "")


def test_the_worst_wins() -> None:
    assert worst([]) == worst(["PASS", "PASS"]) == "PASS"
    assert worst(["PASS", "INCONCLUSIVE"]) == "INCONCLUSIVE"
    assert worst(["INCONCLUSIVE", "FAIL", "PASS"]) == "FAIL"


# Which figures


def figure(metric: str, probe: str = "ladder", **group: str | float) -> Estimate:
    return Estimate("J", probe, metric, group, "call", 0.5, intervals=(Interval("wilson", 0.4, 0.6),))


@pytest.mark.parametrize(
    ("rule", "groups", "chosen"),
    [
        ({"max": 1}, [{"protocol": "base"}, {"protocol": "base", "kind": "empty"}], [0]),
        ({"max": 1, "kind": "empty"}, [{"protocol": "base"}, {"protocol": "base", "kind": "empty"}], [1]),
        ({"max": 1}, [{"protocol": "base"}, {"protocol": "strict"}], [0]),
        ({"max": 1, "protocol": "strict"}, [{"protocol": "base"}, {"protocol": "strict"}], [1]),
        ({"max": 1}, [{"delta": 1}, {"delta": 2}, {"delta": 2, "base_level": 0}], [0, 1]),
        ({"max": 1, "delta": 2}, [{"delta": 1}, {"delta": 2}, {"delta": 2, "base_level": 0}], [1]),
        ({"max": 1}, [{"delta": 0, "kind": "same_subset"}, {"delta": 0, "kind": "filler"}], [0]),
        (
            {"max": 1, "kind": "filler"},
            [{"delta": 0, "kind": "same_subset"}, {"delta": 0, "kind": "filler"}],
            [1],
        ),
        ({"max": 1, "slot": 2}, [{"delta": 0}, {"delta": 0, "slot": 1}, {"delta": 0, "slot": 2}], [2]),
        ({"max": 1, "delta": 9}, [{"delta": 1}], []),
    ],
)
def test_a_rule_names_its_figures(
    rule: dict[str, Any], groups: list[dict[str, Any]], chosen: list[int]
) -> None:
    figures = [figure("m", **group) for group in groups]
    assert select(policy({"m": rule}).rules[0], figures) == [figures[i] for i in chosen]


def test_losses_of_the_whole_run_stand_for_those_of_its_probes() -> None:
    whole, part = figure("unreadable_rate", "run"), figure("unreadable_rate", "vacuum", protocol="base")
    assert select(policy({"unreadable_rate": {"max": 0.1}}).rules[0], [part, whole]) == [whole]
    named = policy({"unreadable_rate": {"max": 0.1, "probe": "vacuum"}}).rules[0]
    assert select(named, [part, whole]) == [part]


# Policy files


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no rule found"),
        ("valid_for: 90d", "no rule found"),
        ("- 1", "no rule found"),
        ("a: {max: [", "not YAML"),
        ("dark_current: 0.05", "expected limits such as"),
        ("dark_current: {maximum: 0.05}", "dark_current: unknown key 'maximum'"),
        ("dark_current: {max: high}", "dark_current: max: found 'high', expected a number"),
        ("dark_current: {max: true}", "found True"),
        ("dark_current: {max: .nan}", "finite"),
        ("dark_current: {kind: empty}", "neither max nor min"),
        ("dark_current: {min: 0.5, max: 0.1}", "min 0.5 is above max 0.1"),
        ("dark_current: []", "expected limits such as"),
        ("dark_current: {max: 0.05}\nvalid_for: soon", "expected a time such as 90d"),
    ],
)
def test_a_wrong_policy_is_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"policy\.yaml: ") as caught:
        load_policy(path)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_list_of_limits_for_one_metric() -> None:
    rules = policy({"target_sensitivity": [{"delta": 1, "min": 0.8}, {"delta": 2, "min": 0.9}]}).rules
    assert [(rule.metric, rule.group, rule.low, rule.high) for rule in rules] == [
        ("target_sensitivity", {"delta": 1}, 0.8, None),
        ("target_sensitivity", {"delta": 2}, 0.9, None),
    ]
    assert [re.findall(r"Δ\d|\d\.\d", str(rule)) for rule in rules] == [["Δ1", "0.8"], ["Δ2", "0.9"]]


@pytest.mark.parametrize(("text", "expected"), [("36h", 1.5), ("90d", 90), ("2w", 14)])
def test_how_long_a_decision_holds(text: str, expected: float) -> None:
    assert policy({"m": {"max": 1}, "valid_for": text}).valid_for == timedelta(days=expected)


# Folders


def calls(judge: str, answers: str) -> Iterator[dict[str, Any]]:
    """Vacuum pairs in ten tasks, both orders; one letter per call, repeated."""
    told = answers.split()
    for number in range(120):
        yield {
            "judge": judge, "probe": "vacuum", "kind": "blank", "pair": f"p{number // 2}",
            "task": f"t{number // 2 % 10}", "first": "uv"[number % 2], "answer": told[number % len(told)],
        }  # fmt: skip


def folder(path: Path, **judges: str) -> Path:
    rows = [row for judge, answers in judges.items() for row in calls(judge, answers)]
    source = path.with_suffix(".jsonl")
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ImportFolder(path).write(import_verdicts([source]))
    return path


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def lenient(tmp_path: Path) -> Path:
    return write(tmp_path / "lenient.yaml", "dark_current: {max: 0.2}\nvalid_for: 90d\n")


def test_a_datasheet_comes_back_from_its_file(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", good="tie", bad="1 2")
    sheet = read_datasheet(run)
    assert dumps(sheet) == (run / "datasheet.json").read_text()
    assert [judge.name for judge in sheet.judges] == ["bad", "good"]
    assert {estimate.status for estimate in sheet.estimates} == {"flagged", "inconclusive", "clear", None}


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "not a datasheet"), ("{}", "not a datasheet (schema"), ('{"schema": 3}', "not a datasheet")],
)
def test_a_damaged_datasheet(tmp_path: Path, lenient: Path, text: str, told: str) -> None:
    run = folder(tmp_path / "run", good="tie")
    write(run / "datasheet.json", text)
    with pytest.raises(ConfigError) as caught:
        gate(run, lenient, NOW)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_several_judges_and_the_worst(tmp_path: Path, lenient: Path) -> None:
    run = folder(tmp_path / "run", good="tie", bad="1 2")
    decision, written = gate(run, lenient, NOW)
    assert decision.result == "FAIL"
    assert {judge: [c.result for c in decision.of(judge)] for judge in decision.judges} == {
        "good": ["PASS"],
        "bad": ["FAIL"],
    }
    assert written == run / "certificate.json"
    assert gate(run, lenient, NOW, ["good"])[0].result == "PASS"
    with pytest.raises(ConfigError, match="no judge 'nobody', expected one of bad, good"):
        gate(run, lenient, NOW, ["nobody"])


def test_what_no_figure_matches(tmp_path: Path) -> None:
    sheet = read_datasheet(folder(tmp_path / "run", good="tie"))
    for body, told in (
        ({"dark_curent": {"max": 1}}, "did you mean 'dark_current'"),
        ({"zzz": {"max": 1}}, "expected one of dark_current"),
        ({"dark_current": {"max": 1, "kind": "empty"}}, "there is vacuum: base"),
    ):
        with pytest.raises(ConfigError, match=told):
            apply_policy(sheet, policy(body), ["good"], "policy.yaml")


def test_many_failures_do_not_pass(tmp_path: Path, lenient: Path) -> None:
    run = folder(tmp_path / "run", broken="tie failed")
    decision, _ = gate(run, lenient, NOW)
    assert [(check.metric, check.result) for check in decision.checks] == [
        ("dark_current", "INCONCLUSIVE"),
        ("failed_rate", "FAIL"),
    ]


# Certificates


def test_a_certificate_says_what_it_is_for(tmp_path: Path, lenient: Path) -> None:
    run = folder(tmp_path / "run", good="tie")
    gate(run, lenient, NOW)
    body = json.loads((run / "certificate.json").read_text())
    sheet = json.loads((run / "datasheet.json").read_text())
    assert body["schema"] == "steelyard.certificate/1"
    assert body["result"] == "PASS"
    assert body["judges"][0]["protocols"] == sheet["judges"][0]["protocols"]
    assert body["stimulus_set"] == sheet["study"]["stimulus_set"]
    assert body["policy"] == {"dark_current": {"max": 0.2}, "valid_for": "90d"}
    assert body["versions"]["steelyard"] == sheet["study"]["version"]
    issued, expires = (datetime.fromisoformat(body[key]) for key in ("issued", "expires"))
    assert (issued, expires - issued) == (NOW, timedelta(days=90))


def test_a_certificate_holds_until_it_expires(tmp_path: Path, lenient: Path) -> None:
    run = folder(tmp_path / "run", good="tie")
    gate(run, lenient, NOW)
    path = run / "certificate.json"
    assert check_certificate(run, path, NOW + timedelta(days=89)).result == "PASS"
    assert check_certificate(run, path, NOW, given=lenient).result == "PASS"
    with pytest.raises(CertificateError, match="expired on 2026-05-30"):
        check_certificate(run, path, NOW + timedelta(days=90))


@pytest.mark.slow
def test_a_certificate_for_something_else(tmp_path: Path, lenient: Path) -> None:
    run = folder(tmp_path / "run", good="tie")
    other = folder(tmp_path / "other", good="tie tie tie abstain")
    gate(run, lenient, NOW)
    path = run / "certificate.json"
    with pytest.raises(CertificateError, match="another fingerprint under protocol 'base'"):
        check_certificate(other, path, NOW)
    stricter = write(tmp_path / "strict.yaml", "dark_current: {max: 0.1}\n")
    with pytest.raises(CertificateError, match="another policy"):
        check_certificate(run, path, NOW, given=stricter)
    body = json.loads(path.read_text())
    for change, told in (
        ({"stimulus_set": "sha256:0"}, "issued for stimulus set"),
        ({"versions": {"steelyard": "0.0.1", "python": "3"}}, "figures of version 0.0.1"),
        ({"judges": []}, "does not speak of judge 'good'"),
        ({"judges": [{**body["judges"][0], "result": "FAIL"}]}, "says FAIL of judge 'good'"),
    ):
        write(tmp_path / "changed.json", json.dumps({**body, **change}))
        with pytest.raises(CertificateError, match=told):
            check_certificate(run, tmp_path / "changed.json", NOW)
    for text in ("{", "[]", json.dumps({**body, "issued": "yesterday"})):
        write(tmp_path / "changed.json", text)
        with pytest.raises(ConfigError, match="not a certificate"):
            check_certificate(run, tmp_path / "changed.json", NOW)


def test_an_old_measurement_is_not_certified(tmp_path: Path, lenient: Path) -> None:
    run = tmp_path / "run"
    measured(study_of({"judges": ["planted/tie"], "probes": ["vacuum"]}), run)
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as database:
        database.execute("UPDATE replies SET received = ?", (datetime(2025, 11, 1, tzinfo=UTC).timestamp(),))
    with pytest.raises(CertificateError, match=r"measured on 2025-11-01.*longer ago than the policy's 90d"):
        gate(run, lenient, NOW)


def test_a_study_file_is_checked_without_a_call(tmp_path: Path, steelyard) -> None:
    study = write(tmp_path / "study.yaml", "judges: [planted/tie]\nprobes: [vacuum]\n")
    assert steelyard("measure", study, "--out", "run").returncode == 0
    rules = write(tmp_path / "p.yaml", "dark_current: {max: 0.6}\n")
    done = steelyard("gate", "run", "--policy", rules, "--judge", "planted/tie", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["result"] == "PASS"
    assert steelyard("gate", "run", "--check", "-j", "planted/tie").returncode == 0
    held = steelyard("gate", study, "--certificate", "run/certificate.json", "-j", "planted/tie")
    assert held.returncode == 0, held.stderr
    assert held.stdout.startswith("Certificate holds: planted/tie; ")
    assert "not expire" in held.stdout
    write(study, "judges: [{name: planted/tie, model: planted/first}]\nprobes: [vacuum]\n")
    refused = steelyard("gate", study, "--certificate", "run/certificate.json", "-j", "planted/tie")
    assert refused.returncode == 3
    assert refused.stderr.startswith("steelyard: run/certificate.json: judge ")
    assert "'planted/tie' has another" in refused.stderr
    assert refused.stderr.count("\n") == 1


# Drift


@pytest.mark.slow
def test_drift_against_a_reference(tmp_path: Path, lenient: Path) -> None:
    reference = folder(tmp_path / "old", good="tie")
    same = folder(tmp_path / "same", good="tie")
    drifted = folder(tmp_path / "drifted", good="tie 1 tie")
    decision, _ = gate(same, lenient, NOW, reference=reference)
    assert [check.result for check in decision.checks] == ["PASS", "PASS", "PASS"]
    assert "stays within the" not in decision.checks[-2].reason  # nothing differs that could be tolerated
    decision, _ = gate(drifted, lenient, NOW, reference=reference)
    together, drift = decision.checks[-2:]
    assert (together.result, together.metric, together.judge) == ("FAIL", "all", "good")
    assert "reads differently" in together.reason
    assert (drift.result, drift.metric, "beyond 0.1" in drift.rule) == ("FAIL", "dark_current", True)
    assert drift.found.startswith("+0.33 [")
    assert drift.value == pytest.approx(1 / 3)
    assert (drift.low or 0) < 1 / 3 < (drift.high or 0)
    assert "smallest detectable drift" in drift.reason
    assert re.match(r"differ by more .*\(q 0\.002\)", drift.reason)
    # A margin that holds the whole change tolerates it, and says that it is there.
    tolerant, _ = gate(drifted, lenient, NOW, reference=reference, margin=0.6)
    assert [check.result for check in tolerant.checks[-2:]] == ["PASS", "PASS"]
    assert "stays within the" in tolerant.checks[-2].reason
    assert tolerant.checks[-1].reason.startswith("differ, within ")
    # A change for the better is a change.
    assert gate(reference, lenient, NOW, reference=drifted)[0].result == "FAIL"


@pytest.mark.slow
def test_drift_needs_the_same_stimuli(tmp_path: Path, lenient: Path) -> None:
    reference = folder(tmp_path / "old", good="tie")
    rows = [{**row, "pair": row["pair"] + "x"} for row in calls("good", "tie")]
    source = write(tmp_path / "new.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    ImportFolder(tmp_path / "new").write(import_verdicts([source]))
    with pytest.raises(DataError, match="stimulus sets differ"):
        gate(tmp_path / "new", lenient, NOW, reference=reference)


# Reports


def test_junit_shows_everything_that_did_not_pass(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", good="tie", bad="1 2")
    rules = write(tmp_path / "p.yaml", "dark_current: [{max: 0.2}, {max: 0.05}]\n")
    decision, _ = gate(run, rules, NOW)
    root = ElementTree.fromstring(render_junit(decision))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "2", "1")
    assert [suite.get("name") for suite in root] == ["bad", "good"]
    problems = [(case.get("classname"), problem.tag) for suite in root for case in suite for problem in case]
    assert problems == [("bad", "failure"), ("bad", "failure"), ("good", "error")]
    error = root.find(".//error")
    assert error is not None
    (undecided,) = (each for each in decision.checks if each.result == "INCONCLUSIVE")
    assert undecided.more
    assert undecided.more in (error.text or "")


def test_hostile_names_stay_text(tmp_path: Path, lenient: Path) -> None:
    name = "<b>|`*_[x](y)&"
    run = folder(tmp_path / "run", **{name: "tie"})
    decision, _ = gate(run, lenient, NOW)
    root = ElementTree.fromstring(render_junit(decision))
    assert root[0].get("name") == name
    text = render_markdown(decision)
    assert "<b>" not in text.replace("\\<b\\>", "")
    rows = [line for line in text.splitlines() if line.startswith("| reacts to nothing")]
    assert [row.replace("\\|", "").count("|") for row in rows] == [6]


# The guide

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "gate-a-release.md"


def test_the_guide_shows_a_policy_and_a_workflow_that_work(tmp_path: Path) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    shown, workflow = re.findall(r"^```(?:text|yaml)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    found = load_policy(write(tmp_path / "policy.yaml", shown))
    assert found.body == load_policy(write(tmp_path / "policy.yaml", POLICY)).body
    steps = yaml.safe_load(workflow)["jobs"]["gate"]["steps"]
    commands = [step["run"].split()[1:] for step in steps if step.get("run", "").startswith("steelyard ")]
    assert [command[0] for command in commands] == ["gate", "measure", "gate"]
    for name, *arguments in commands:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        command.make_context(name, arguments)


def test_the_worked_example_of_the_guide(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", good="tie")
    for limit, expected in ((0.10, "PASS"), (0.05, "INCONCLUSIVE")):
        rules = write(tmp_path / "p.yaml", f"dark_current: {{max: {limit}}}")
        found = gate(run, rules, NOW)[0].checks[0]
        assert found.result == expected
    assert found.found == "0.00 [0.00, 0.08]"
    # 16 clusters in all, see `test_what_clearing_costs`.
    assert found.calls_needed == 72


# The command


def test_exit_codes_and_files(tmp_path: Path, steelyard) -> None:
    folder(tmp_path / "run", good="tie")
    for limit, code, word, forecast in (
        ("0.2", 0, "PASS", ""),
        (
            "0.01",
            4,
            "INCONCLUSIVE",
            "no profile would decide it in four runs of five",
        ),
        ("0.05", 4, "INCONCLUSIVE", "here 120) would decide in four runs of five"),
    ):
        write(tmp_path / "p.yaml", f"dark_current: {{max: {limit}}}\n")
        done = steelyard("gate", "run", "--policy", "p.yaml", "--junit", "j.xml", "--markdown", "m.md")
        assert done.returncode == code, done.stderr
        assert f"{word}: 1 check" in done.stdout
        assert f"Judge gate: {MARKS[word]} {word}" in (tmp_path / "m.md").read_text(encoding="utf-8")
        assert forecast in " ".join(done.stdout.split())
    write(tmp_path / "p.yaml", "dark_current: {min: 0.9}\n")
    assert steelyard("gate", "run", "--policy", "p.yaml", "--json").returncode == 3
    certificate = json.loads((tmp_path / "run" / "certificate.json").read_text())
    assert certificate["result"] == "FAIL"
    refused = steelyard("gate", "run", "--check")
    assert (refused.returncode, refused.stderr.count("\n")) == (3, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["run"], 2, "missing option: give --policy"),
        (["run", "--policy", "p.yaml", "--junit", "no/such/j.xml"], 1, "cannot be written"),
        (["run", "--check"], 2, "expected a certificate"),
    ],
)
def test_wrong_use_is_one_sentence(
    tmp_path: Path, steelyard, arguments: list[str], code: int, told: str
) -> None:
    folder(tmp_path / "run", good="tie")
    write(tmp_path / "p.yaml", "dark_current: {max: 0.2}\n")
    done = steelyard("gate", *arguments)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_wrong_places_are_named(tmp_path: Path, lenient: Path) -> None:
    run = folder(tmp_path / "run", good="tie")
    (tmp_path / "hollow").mkdir()
    with pytest.raises(ConfigError, match="nowhere: no such folder"):
        gate(tmp_path / "nowhere", lenient, NOW)
    with pytest.raises(ConfigError, match=r"no datasheet\.json found"):
        gate(tmp_path / "hollow", lenient, NOW)
    with pytest.raises(ConfigError, match=r"none\.yaml: no such file"):
        gate(run, tmp_path / "none.yaml", NOW)
    with pytest.raises(ConfigError, match="nowhere: no such folder"):
        gate(run, lenient, NOW, reference=tmp_path / "nowhere")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_policy_reads_and_names_known_metrics(name: str) -> None:
    policy = find_policy(name)
    assert (policy.name, policy.shipped) == (name, True)
    assert policy.valid_for is not None
    assert all(metric_named(rule.metric).meaning for rule in policy.rules)


def test_shipped_policies_grow_stricter() -> None:
    """Whatever a stricter policy lets through, a more lenient one does, figure by figure."""
    for lenient, strict in pairwise(SHIPPED):
        for mild in find_policy(lenient).rules:
            same = [rule for rule in find_policy(strict).rules if rule.metric == mild.metric]
            assert len(same) == 1
            assert mild.uses_sheet_limit or not same[0].uses_sheet_limit or same[0].has_limit
            assert mild.low is None or mild.low <= same[0].low
            assert mild.high is None or mild.high >= same[0].high


def test_a_file_comes_before_a_shipped_policy_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_policy("strict").shipped
    write(tmp_path / "strict", "dark_current: {max: 0.9}\n")
    own = find_policy("strict")
    assert (own.shipped, own.rules[0].high) == (False, 0.9)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("severe", "severe: no such file in .*; name a policy file, or smoke, default, strict"),
        (
            None,
            "policy: found NoneType, expected a file, a mapping of rules, or one of smoke, default, strict",
        ),
        ({}, "policy: no rule found"),
        ({"valid_for": "3d"}, "policy: no rule found"),
        ({"dark_current": 0.1}, "policy: dark_current: found 0.1, expected limits"),
    ],
)
def test_what_is_no_policy_is_told(given: object, sentence: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=sentence):
        find_policy(given)


def sheet_of(*figures: Estimate) -> Datasheet:
    judge = JudgeEntry("J", "planted/coin", False, {"base": "sha256:0"})
    return Datasheet("study", 7, "sha256:0", "0", "quick", (judge,), figures)


def test_a_shipped_policy_leaves_out_what_was_not_measured_and_says_so() -> None:
    ruling = apply_policy(sheet_of(share(0.0, 0.04)), find_policy("default"), ["J"], "default")
    assert [(check.metric, check.result) for check in ruling.checks] == [
        ("merit", "INCONCLUSIVE"),
        ("dark_current", "PASS"),
    ]
    assert ruling.checks[0].reason.endswith("was not measured")
    assert "not asked: leans" in ruling.notes[0]
    assert "(net slot preference)" in ruling.notes[0]


def test_a_shipped_policy_without_any_figure_decides_nothing() -> None:
    ties = replace(share(0.0, 0.04), metric="tie_rate")
    ruling = apply_policy(sheet_of(ties), find_policy("default"), ["J"], "default")
    assert [(check.metric, check.result) for check in ruling.checks] == [("merit", "INCONCLUSIVE")]


@pytest.mark.parametrize(
    ("other", "results"), [("flagged", ["PASS", "FAIL"]), ("inconclusive", ["PASS"]), ("clear", ["PASS"] * 2)]
)
def test_merit_that_one_kind_of_evidence_refutes_passes_by_no_other(other: str, results: list[str]) -> None:
    """What shows merit stands beside what leaves it open, and for nothing beside what refutes it."""
    merit = replace(share(0.9, 0.99, 0.95), metric="merit", probe="ladder", chance=0.5)
    kinds = replace(merit, status="clear"), replace(merit, probe="natural", status=other)
    ruling = apply_policy(sheet_of(*kinds), find_policy("default"), ["J"], "default")
    assert [check.result for check in ruling.checks if check.metric == "merit"] == results


def test_a_policy_of_ones_own_must_fit_whatever_it_names() -> None:
    with pytest.raises(ConfigError, match="no figure 'kappa' on the datasheet"):
        apply_policy(sheet_of(share(0.0, 0.04)), policy({"kappa": {"min": 0.5}}), ["J"], "policy.yaml")


def test_drift_of_another_judge_than_the_reference_is_said(tmp_path: Path) -> None:
    for name, judge in (("old", "coin"), ("new", "tie")):
        measured(study_of({"judges": [f"planted/{judge}?name=j"], "probes": ["vacuum"]}), tmp_path / name)
    shutil.copytree(tmp_path / "old", tmp_path / "same")
    notes = {
        name: gate(tmp_path / name, "smoke", NOW, reference=tmp_path / "old")[0].notes
        for name in ("same", "new")
    }
    assert [any("another fingerprint" in note for note in notes[name]) for name in notes] == [False, True]


@pytest.mark.slow
def test_of_recorded_verdicts_nobody_knows_how_they_were_asked(tmp_path: Path, lenient: Path) -> None:
    """Their fingerprint is that of the verdicts, which says nothing of model or prompt."""
    old, new = folder(tmp_path / "old", good="tie"), folder(tmp_path / "new", good="tie 1 tie")
    decision, _ = gate(new, lenient, NOW, reference=old)
    assert decision.result == "FAIL"
    assert not any("fingerprint" in note for note in decision.notes)
    assert compare_targets(Target(old, "good"), Target(new, "good")).namesakes() == ""


def test_drift_looks_at_every_figure_that_the_policy_names(tmp_path: Path) -> None:
    """Net slot preference too; of figures that pairs lack, one line speaks."""
    measured(study_of({"judges": ["planted/first?name=j"], "probes": ["ladder"]}), tmp_path / "run")
    decision, _ = gate(tmp_path / "run", "default", NOW, reference=tmp_path / "run")
    (absent,) = (note for note in decision.notes if "not asked for" not in note)
    assert "so not asked: " in absent
    drift = [check.metric for check in decision.checks if "drift beyond 0.1" in check.rule]
    assert "net_slot_preference" in drift


def test_a_position_bias_that_comes_is_drift_though_no_rule_names_it(tmp_path: Path) -> None:
    """β 0 → 3 under one name, with a policy about something else: FAIL, and back again."""
    for folder, bias in (("old", 0), ("new", 3)):
        judge = f"planted/probit?s=0.8&beta={bias}&tau=0.6&name=j"
        measured(study_of({"judges": [judge], "probes": ["ladder"]}), tmp_path / folder)
    policy = tmp_path / "policy.yaml"
    policy.write_text("unreadable_rate: {max: 0.5}\n", encoding="utf-8")
    for new, old in (("new", "old"), ("old", "new")):
        decision, _ = gate(tmp_path / new, policy, NOW, reference=tmp_path / old)
        drifted = [check for check in decision.checks if check.result == "FAIL" and "drift" in check.rule]
        failed = [check.metric for check in drifted]
        assert failed[0] == "all"
        assert "net_slot_preference" in failed


@pytest.mark.parametrize(("scale", "highest"), [("binary", 1), ("1-5", 5)])
def test_a_judge_that_turns_all_verdicts_round_on_unlabelled_items_has_drifted(
    command: Command, tmp_path: Path, scale: str, highest: int
) -> None:
    """Repeats and edits leave its verdicts as they are, before and after."""
    (tmp_path / "items.csv").write_text("q,a\n" + "".join(f"q {n},a {n}\n" for n in range(20)))
    (tmp_path / "rubric.md").write_text("Good.")
    data = ("--data", "items.csv", "--columns", "request=q,response=a", "--rubric", "rubric.md")
    for folder, value in (("old", int(highest > 1)), ("same", int(highest > 1)), ("new", highest)):
        judge = f"planted/constant?name=j&value={value}"
        assert not command("measure", *data, "--scale", scale, "-j", judge, "--out", folder).code
    policy = write(tmp_path / "policy.yaml", "unreadable_rate: {max: 0.5}\n")
    decided = {
        folder: gate(tmp_path / folder, policy, NOW, reference=tmp_path / "old")[0]
        for folder in ("same", "new")
    }
    failed = [check.metric for check in decided["new"].checks if check.result == "FAIL"]
    (drift,) = (check for check in decided["new"].checks if check.metric == "mean_verdict")
    assert (failed, drift.value) == (["all", "mean_verdict"], 1.0)
    assert "FAIL" not in {check.result for check in decided["same"].checks}
    assert all(any("known answers" in note for note in each.notes) for each in decided.values())


def test_lost_calls_alone_show_no_absence_of_drift() -> None:
    question = ComparisonCriterion("run", "failed_rate", (), "call")
    alike = replace(Comparison.undefined(question), status="clear", difference=0.0)
    (lost,) = _joint_check("j", ComparisonFamily((alike,), 1.0), None, 0.1, tolerated=False)
    other = replace(alike, metric="invariance")
    (kept,) = _joint_check("j", ComparisonFamily((alike, other), 1.0), None, 0.1, tolerated=False)
    assert (lost.result, kept.result) == ("INCONCLUSIVE", "PASS")


@pytest.mark.parametrize(("high", "metric", "found"), [
    (0.05, "invariance", "INCONCLUSIVE"), (0.89, "invariance", "INCONCLUSIVE"), (0.91, "invariance", "PASS"),
    (0.05, "accuracy", "PASS"),
])  # fmt: skip
def test_other_verdicts_that_no_label_explains_are_noise_or_drift(
    high: float, metric: str, found: str
) -> None:
    row = replace(Comparison.undefined(ComparisonCriterion("format", metric, (), "call")), status="clear")
    (check,) = _joint_check("j", ComparisonFamily((row,), 1.0), share(0.0, high), 0.1, tolerated=False)
    assert check.result == found
