"""Judges made of other judges: how they are written, what they pay, and that remedies foretell them."""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import steelyard
from servers import Answer, Received, ScriptedServer, fails, says, wins
from steelyard.commands.measure import measure
from steelyard.errors import ConfigError, UsageError
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
from steelyard.metrics.pairs.columns import BY_CONSTRUCTION
from steelyard.metrics.remedies.mitigations import MitigatedFigure, mitigated_judges
from steelyard.metrics.remedies.targets import target_figures
from steelyard.metrics.run.cost import _prompt_share
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_snapshot, snapshot_text
from steelyard.runner.costs import plan_rows
from steelyard.runner.limits import RunLimits
from steelyard.runner.prices import dollars_of
from steelyard.runner.record import RunRecord
from steelyard.runner.runner import Runner, run_async
from steelyard.study.judge_config import parse_judge
from steelyard.study.planner import Plan, make_plan
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.tasks.task import Binary, Pairwise
from steelyard.trials.judge import CommonUsage, Judge, Usage
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Decided, Failed
from test_resume import CONCURRENCY, Teller, arguments, start

POSITIONAL = "planted/probit?s=1.2&beta=1.2&tau=0.6&sigma=0.4&lapse=0"
NOISY = "planted/probit?s=0.7&beta=0&tau=0.2&sigma=0&lapse=0"


PAIRS = Pairwise()


def parsed(given: Any, scale: Any = PAIRS) -> Judge:
    return parse_judge(given, Path(), scale)


@pytest.mark.parametrize(
    ("text", "body", "calls"),
    [
        (f"consensus/orders?of={POSITIONAL}", {"consensus": "orders", "of": POSITIONAL}, 2),
        (f"majority/3?of={NOISY}", {"majority": 3, "of": NOISY}, 3),
        ("jury/vote?of=planted/coin&of=planted/first", {"jury": ["planted/coin", "planted/first"]}, 2),
        (
            f"consensus/orders?name=both&of=majority/5?of={NOISY}",
            {"consensus": "orders", "name": "both", "of": {"majority": 5, "of": NOISY}},
            10,
        ),
        (
            f"jury/vote?of=consensus/orders?of={POSITIONAL}&of={NOISY}",
            {"jury": [{"consensus": "orders", "of": POSITIONAL}, NOISY]},
            3,
        ),
    ],
)
def test_a_string_says_what_a_study_file_says(text: str, body: dict[str, Any], calls: int) -> None:
    judge = parsed(text)
    assert judge == parsed(body)
    assert judge.calls_per_verdict == calls
    assert judge.composition is not None


def test_names_say_what_a_judge_is_made_of() -> None:
    assert parsed(f"consensus/orders?of={POSITIONAL}").name == "planted/probit, both orders"
    assert parsed("majority/3?name=three&of=planted/coin").name == "three"
    jury = parsed("jury/vote?of=planted/coin?seed=1&of=planted/coin?seed=2")
    assert [member.name for member in jury.leaf_judges] == ["planted/coin?seed=1", "planted/coin?seed=2"]


@pytest.mark.parametrize(
    ("given", "scale", "said"),
    [
        ("consensus/slots?of=planted/coin", Pairwise(), "consensus: found 'slots', expected 'orders'"),
        ("consensus/orders", Pairwise(), "found no member, expected of: JUDGE"),
        ("consensus/orders?of=planted/rater", Binary(), "have no order to reverse, found the scale 'binary'"),
        ("mean/3?of=planted/coin", Pairwise(), "two texts have no score to average"),
        ("majority/1?of=planted/coin", Pairwise(), "majority: found 1, expected a number from 2 on"),
        ("majority/many?of=planted/coin", Pairwise(), "majority: found 'many', expected a whole number"),
        ("jury/vote?of=planted/coin", Pairwise(), "jury: .*expected 2 or more entries"),
        ("jury/vote?of=planted/coin&of=planted/coin", Pairwise(), "planted/coin sits on it twice"),
        (
            {"jury": ["planted/coin", "planted/first"], "of": "x"},
            Pairwise(),
            "expected the members under jury",
        ),
        ({"consensus": "orders", "majority": 3, "of": "x"}, Pairwise(), "found consensus and majority"),
        ({"majority": 3, "of": "planted/coin", "temperature": 1}, Pairwise(), "unknown key 'temperature'"),
        ({"majority": 3, "of": "nobody/knows"}, Pairwise(), "judge .nobody/knows."),
        ("jury/vote?of=planted/first&of=planted/rater", Pairwise(), "scores single texts"),
    ],
)
def test_what_cannot_be_made_is_refused(given: Any, scale: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parsed(given, scale)


def study_of(*judges: Any, **settings: Any) -> Any:
    study = build_study(StudyConfig(judges=list(judges), **settings), Path())
    return replace(study, judges=tuple(judge for judge in study.judges if not judge.baseline))


def test_a_member_may_be_named() -> None:
    named = {"name": "lean", "model": POSITIONAL}
    study = study_of({"consensus": "orders", "of": "lean"}, named, probes=["vacuum"])
    assert [judge.name for judge in study.judges] == ["lean, both orders", "lean"]
    assert study.judges[0].leaf_judges == (study.judges[1],)
    # The same instrument written out goes by the name that it has in the study.
    written = study_of(f"consensus/orders?of={POSITIONAL}", named, probes=["vacuum"])
    assert written.judges[0].leaf_judges[0].name == "lean"


def test_two_members_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two judges are named 'planted/coin'"):
        study_of(
            {"majority": 3, "of": "planted/coin?seed=1"},
            {"majority": 3, "of": "planted/coin?seed=2", "name": "b"},
        )


def test_a_frozen_study_comes_back_with_what_its_judges_are_made_of(tmp_path: Path) -> None:
    study = study_of(f"jury/vote?of=consensus/orders?of={POSITIONAL}&of={NOISY}", NOISY, probes=["vacuum"])
    path = tmp_path / "study.yaml"
    path.write_text(snapshot_text(study))
    assert load_snapshot(path).judges == study.judges
    assert "composition" not in snapshot_text(study_of(NOISY, probes=["vacuum"]))


def test_calls_are_counted_once_whoever_rests_on_them() -> None:
    both, alone = f"consensus/orders?of={POSITIONAL}", f"majority/3?of={POSITIONAL}"
    settings: dict[str, Any] = {"probes": ["ladder"], "profile": "quick"}
    plain = make_plan(study_of(POSITIONAL, **settings))
    assert len(make_plan(study_of(both, **settings)).calls) == len(plain.calls) == 60
    shared = make_plan(study_of(both, POSITIONAL, alone, **settings))
    assert len(shared.calls) == 3 * 60
    rows = {row.judge: row.calls for row in plan_rows(shared.asked())}
    assert rows == {"planted/probit": 60, "planted/probit, majority of 3": 120}
    nothing_else = {row.judge: row.calls for row in plan_rows(make_plan(study_of(both, **settings)).asked())}
    assert nothing_else == {"planted/probit, both orders": 60}


def test_a_budget_wants_the_price_of_every_member(tmp_path: Path) -> None:
    study = build_study(
        StudyConfig(judges=["jury/vote?of=openai/house-a?base_url=http://127.0.0.1:9/v1&of=planted/coin"]),
        Path(),
    )
    with pytest.raises(ConfigError, match="judge openai/house-a: no price is known"):
        measure(study, RunFolder(tmp_path / "run"), RunLimits(budget=1.0))


def test_a_verdict_costs_what_its_members_cost() -> None:
    prices = "input_price=2&output_price=8", "input_price=1&output_price=4"
    members = [f"openai/{name}?{price}" for name, price in zip("ab", prices, strict=True)]
    dollars = dollars_of(parsed("jury/vote?of=" + "&of=".join(members)))
    assert dollars is not None
    used = CommonUsage.of([("openai/a", Usage(1000, 10)), ("openai/b", Usage(1000, 10))])
    assert (used.input_tokens, used.output_tokens) == (2000, 20)
    # 1000·2 + 10·8 and 1000·1 + 10·4 millionths.
    assert dollars(used) == pytest.approx(3120e-6)
    assert dollars(Usage(1, 1)) == pytest.approx(15e-6)
    assert dollars_of(parsed("jury/vote?of=openai/house-x&of=planted/coin")) is None
    # 1000·2 and 1000·1 millionths for the prompts; a bill of b is split as its list price is, 1000 : 40.
    assert dollars(used.prompt) == pytest.approx(3000e-6)
    billed = CommonUsage.of([("openai/a", Usage(1000, 10)), ("openai/b", Usage(1000, 10, billed=208e-6))])
    assert dollars(billed) == pytest.approx(2288e-6)
    assert dollars(billed.unbilled) == pytest.approx(3120e-6)
    assert sum(_prompt_share(call, dollars) for call in used.parts) == pytest.approx(3000e-6)
    assert sum(_prompt_share(call, dollars) for call in billed.parts) == pytest.approx(2200e-6)


def test_a_jury_that_is_paid_for_has_a_page_with_what_its_prompts_and_answers_cost(tmp_path: Path) -> None:
    def script(request: Received) -> Answer:
        return says('{"score": 1}') if request.body["model"] == "a" else says('{"score": 0}')

    with ScriptedServer(script) as server:
        sheet = steelyard.measure(
            {"name": "j", "jury": [priced("a", 2, 8, server.url), priced("b", 1, 4, server.url)]},
            out=tmp_path / "run",
            task={"scale": "binary"},
            probes=["typos"],
        )
    assert sheet.faults == ()
    calls = sheet.find("j", "cost_per_call", "cost", protocol="base").n_calls
    # Each verdict: two prompts of 100 tokens, two answers of 5.
    assert sheet.find("j", "cost_input", "cost", protocol="base").value == pytest.approx(calls * 300e-6)
    assert sheet.find("j", "cost_output", "cost", protocol="base").value == pytest.approx(calls * 60e-6)
    assert "dollars out" in (tmp_path / "run" / "datasheet.md").read_text(encoding="utf-8")


def priced(model: str, prompt: float, answer: float, url: str) -> dict[str, Any]:
    return {
        "name": model,
        "model": f"openai/{model}",
        "base_url": url,
        "input_price": prompt,
        "output_price": answer,
    }


def test_a_mean_of_scores_has_its_costs_and_no_fault(tmp_path: Path) -> None:
    study = study_of("mean/3?of=planted/rater", task={"scale": "1-6"}, probes=["typos"])
    sheet = measure(study, RunFolder(tmp_path / "run"), RunLimits()).require()
    assert sheet.faults == ()
    cost = sheet.find("planted/rater, mean of 3", "cost_per_call", "typos", protocol="base")
    assert cost is not None
    assert cost.value == 0.0


def observed(plan: Plan, path: Path) -> Observations:
    """Every call of a plan made and kept, and read back."""
    path.mkdir()
    with RunFolder(path).store() as store:
        record = RunRecord(store)
        run_async(Runner(record, RunLimits()), lambda runner: runner.run(plan.trials))
        return record.observations(plan.trials)


def overlap(first: Interval | None, second: Interval | None) -> bool:
    assert first is not None
    assert second is not None
    assert None not in (first.low, first.high, second.low, second.high)
    return bool(first.low <= second.high and second.low <= first.high)  # type: ignore[operator]


def foretold(judge: str, seed: int, path: Path, **settings: Any) -> dict[str, dict[str, MitigatedFigure]]:
    """The figures of each remedy, from a run of the uncured judge."""
    plan = make_plan(study_of(judge, seed=seed, **settings))
    rows = mitigated_judges("planted/probit", observed(plan, path), None, seed, priced=False)
    return {row.remedy: {each.estimate.metric: each for each in row.figures} for row in rows}


def measured(judge: str, seed: int, path: Path, **settings: Any) -> dict[str, Estimate]:
    """The same figures of the cured judge itself."""
    plan = make_plan(study_of(judge, seed=seed, **settings))
    seen = observed(plan, path)
    return {
        figure.metric.id: figure.estimate(
            EstimateContext.for_protocol("j", figure.probe, "base", seed), figure.columns(seen)
        )
        for figure in target_figures(seen)
    }


SHARES = ("raw_false_preference", "dark_current", "target_sensitivity")


@pytest.mark.slow
def test_the_remedy_table_of_a_positional_judge_foretells_its_consensus(tmp_path: Path) -> None:
    # Other noise and other stimuli: what one run foretells, another measures.
    settings: dict[str, Any] = {"profile": "standard", "probes": ["vacuum", "ladder"]}
    told = foretold(f"{POSITIONAL}&seed=1", 1, tmp_path / "told", **settings)
    uncured, orders = (
        {key: each.estimate for key, each in told[name].items()} for name in ("uncured", "orders")
    )
    found = measured(f"consensus/orders?of={POSITIONAL}&seed=101", 51, tmp_path / "found", **settings)
    for metric in SHARES:
        assert overlap(orders[metric].interval, found[metric].interval), metric
    assert orders["net_slot_preference"].value == found["net_slot_preference"].value == 0.0
    assert not overlap(uncured["raw_false_preference"].interval, orders["raw_false_preference"].interval)
    assert (uncured["net_slot_preference"].value or 0) > 0.5


@pytest.mark.slow
def test_the_remedy_table_of_a_noisy_judge_foretells_its_majority(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"profile": "standard", "probes": ["ladder"]}
    told = foretold(f"{NOISY}&seed=1", 1, tmp_path / "told", replicates=3, **settings)["majority_3"]
    found = measured(f"majority/3?of={NOISY}&seed=2", 2, tmp_path / "found", **settings)
    foreseen = told["target_sensitivity"]
    assert overlap(foreseen.estimate.interval, found["target_sensitivity"].interval)
    # Φ(.7 − .2) = .69 of calls are right; of three, two or more are in 3·.69²·.31 + .69³ = .77.
    assert overlap(foreseen.estimate.interval, Interval("", 0.77, 0.77))
    assert foreseen.change is not None
    assert (foreseen.change.difference or 0) > 0


def rater(seed: int, sensitivity: float = 0.8) -> str:
    return f"planted/rater?sensitivity={sensitivity}&specificity=0.8&noise=0&seed={seed}"


@pytest.mark.slow
def test_a_jury_gains_by_independent_errors_and_not_by_common_ones(tmp_path: Path) -> None:
    # Independent: .8³ + 3·.8²·.2 = .896. One draw for all three: whoever is right, all are.
    apart = "jury/vote?name=apart&of=" + "&of=".join(rater(seed) for seed in (1, 2, 3))
    alike = "jury/vote?name=alike&of=" + "&of=".join(
        rater(1, sensitivity) for sensitivity in (0.8, 0.801, 0.802)
    )
    study = build_study(
        StudyConfig(
            judges=[apart, alike], task={"scale": "binary"}, probes=["stochastic_stability"], profile="full"
        ),
        Path(),
    )
    study = replace(study, judges=tuple(judge for judge in study.judges if not judge.baseline))
    seen = observed(make_plan(study), tmp_path / "run")
    right = {}
    for name in ("apart", "alike"):
        (figure,) = [f for f in target_figures(seen.of_judge(name)) if f.metric.id == "accuracy"]
        right[name] = figure.estimate(
            EstimateContext.for_protocol(name, "", "base", 7), figure.columns(seen.of_judge(name))
        )
    assert (right["apart"].value or 0) > (right["alike"].value or 0) + 0.03
    assert (right["apart"].interval or Interval("", 0, 0)).high >= 0.896  # type: ignore[operator]
    assert (right["alike"].interval or Interval("", 0, 0)).low <= 0.802  # type: ignore[operator]


def test_the_sheet_of_a_consensus_judge(tmp_path: Path) -> None:
    study = study_of(POSITIONAL, f"consensus/orders?of={POSITIONAL}", probes=["vacuum", "ladder"])
    sheet = measure(study, RunFolder(tmp_path / "run"), RunLimits()).require()
    entry = next(judge for judge in sheet.judges if judge.members)
    assert (entry.name, entry.model) == ("planted/probit, both orders", "consensus/orders")
    assert (entry.members, entry.calls_per_verdict) == (("planted/probit",), 2)
    assert entry.made == "consensus/orders of planted/probit; 2 calls per verdict"
    assert sheet.run["calls"] == 72
    foreseen = next(row for row in sheet.remedies if row.remedy == "orders")
    assert {row.judge for row in sheet.remedies} == {"planted/probit"}
    for figure in foreseen.figures:
        same = sheet.find(entry.name, figure.estimate.metric, figure.estimate.probe, **{
            key: value for key, value in figure.estimate.group.items() if key != "remedy"
        })  # fmt: skip
        if figure.estimate.metric != "cost_per_verdict":
            assert same is not None
            assert same.value == pytest.approx(figure.estimate.value)
            # Both orders are one verdict: counted twice in the measured judge, and no surer for it.
            assert (same.interval, same.n_units) == (figure.estimate.interval, figure.estimate.n_units)
    slots = sheet.find(
        entry.name, "net_slot_preference", "ladder", protocol="base", delta=0, kind="same_subset"
    )
    assert slots is not None
    assert (slots.status, slots.value, slots.note) == ("clear", 0.0, BY_CONSTRUCTION)


def test_kill_9_and_a_consensus_pays_each_member_call_once(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(server: ScriptedServer, out: str) -> list[str]:
        words = arguments(server, out)
        place = words.index("-j") + 1
        return [*words[:place], f"consensus/orders?of={words[place]}", *words[place + 1 :]]

    monkeypatch.setattr("test_resume.arguments", made)
    teller = Teller(patience=20)
    with ScriptedServer(teller) as server:
        process = start(tmp_path, environment, server, "killed")
        for _ in range(CONCURRENCY):
            assert teller.hanging.acquire(timeout=240)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        teller.patience = None
        again = start(tmp_path, environment, server, "killed")
        _, errors = again.communicate(timeout=120)
        assert again.returncode == 0, errors
    seen = Counter(teller.keys)
    assert len(seen) == 72
    assert sorted(seen.values(), reverse=True)[:5] == [2, 2, 2, 2, 1]


def test_a_member_that_fails_is_outvoted_or_leaves_no_verdict(tmp_path: Path) -> None:
    def broken(request: Received) -> Any:
        del request
        return fails(400, "no such thing")

    with ScriptedServer(lambda request: wins("1")) as sound, ScriptedServer(broken) as ill:
        addresses = [f"openai/{name}?base_url={server.url}" for name, server in
                     (("a", sound), ("b", sound), ("c", ill))]  # fmt: skip
        jury, pair = (
            "jury/vote?name=three&of=" + "&of=".join(addresses),
            ("jury/vote?name=two&of=" + "&of=".join(addresses[1:])),
        )
        plan = make_plan(study_of(jury, pair, probes=["vacuum"], profile="quick"))
        seen = observed(plan, tmp_path / "run")
    assert {e.verdict for e in seen.of_judge("three")} == {Decided("1")}
    assert {type(e.verdict) for e in seen.of_judge("two")} == {Failed}
    assert len(plan.calls) == 3 * 12
