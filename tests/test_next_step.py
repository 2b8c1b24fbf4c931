"""What to do next: a command that runs as it is printed, with the calls that it makes."""

from __future__ import annotations

import io
import json
import math
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from commands import Command
from own_judges import measured, study_of
from servers import ScriptedServer, wins
from steelyard.cli.study import argv_for_rerun
from steelyard.core.text import round_up
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.render import terminal
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.equals import ONE_VERDICT
from steelyard.metrics.scores.against_labels import AGREE_CONSTANT
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.sample_size_hint import SampleSizeHint, _hint, rows_of_the_rarer, sample_size_hint
from steelyard.run_folder.snapshot import load_plan, load_snapshot
from steelyard.runner.costs import CallPrices
from steelyard.runner.record import RunRecord
from steelyard.study.study import with_larger_sample

GOOD = "planted/probit?s=4&beta=0&tau=1.8&sigma=0&lapse=0"
LEANING = "planted/probit?s=2.5&beta=1&tau=1.2&sigma=0.2&lapse=0&name=leaning"


def verdicts(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "datasheet.json").read_text(encoding="utf-8"))[
        "verdicts"
    ]
    return found


def repeated(command: Command, line: str) -> dict[str, Any]:
    """The datasheet that a printed command brings."""
    program, *words = shlex.split(line)
    assert program == "steelyard"
    body: dict[str, Any] = json.loads(command(*words, "--json").out)
    return body


def asked(line: str, **keys: object) -> Datasheet:
    """The run of the line's judge with these keys, without baselines, as if the line had been typed."""
    words = shlex.split(line)
    body = {"judges": [words[words.index("-j") + 1]], "probes": ["vacuum", "ladder"], **keys}
    return measured(replace(study_of(body), command=tuple(words)), Path("run"))


def planned(command: Command, line: str) -> int:
    """Calls of the first judge in the plan of a printed command; that a run makes them, others show."""
    _, _, *words = shlex.split(line)
    rows = json.loads(command("plan", *words, "--json").out)["rows"]
    return sum(row["calls"] for row in rows if row["judge"] == rows[0]["judge"])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_after_a_smoke_test_the_command_measures_at_standard_size(command: Command) -> None:
    command("measure", "-j", GOOD, "-p", "ladder", "--seed", "3", "--out", "run")
    (verdict,) = verdicts(Path("run"))
    assert verdict["command"] == f"steelyard measure -j '{GOOD}' -p ladder --seed 3 --profile standard"
    assert verdict["next"] == {
        "purpose": "measure at standard size",
        "command": verdict["command"],
        "price": f"{verdict['calls']} calls, free",
        "calls": verdict["calls"],
        "dollars": 0,
        "step": "LARGER",
    }
    assert verdict["dollars"] == 0
    body = repeated(command, verdict["command"])
    assert (body["study"]["profile"], body["run"]["calls"]) == ("standard", verdict["calls"])


def test_on_the_pack_the_calls_are_those_of_its_scales(command: Command) -> None:
    asked("-j 'planted/rater?noise=0' -p stochastic_stability --out run", probes=["stochastic_stability"])
    (verdict,) = verdicts(Path("run"))
    assert planned(command, verdict["command"]) == verdict["calls"]


def test_a_study_file_is_measured_again_by_its_name(command: Command) -> None:
    Path("mine.yaml").write_text(
        "judges: [planted/first, planted/coin]\nprobes: [vacuum]\n", encoding="utf-8"
    )
    command("measure", "mine.yaml", "--out", "run")
    first, _ = verdicts(Path("run"))
    assert first["command"] == "steelyard measure mine.yaml -j planted/first --until verdict"
    words = shlex.split(first["command"])[2:]
    sizes = json.loads(command("plan", *words, "--json").out)["looks"]
    assert first["calls"] == sum(row["calls"] for size in sizes for row in size["rows"]) == 288
    assert first["next"]["price"] == f"at most {first['calls']} calls, free"


def own_rows(labels: str, scale: str = "binary") -> list[str]:
    """The options of a data file with so many rows as labels."""
    rows = "\n".join(f"q{n},answer {n},{label}" for n, label in enumerate(labels.split()))
    Path("mine.csv").write_text(f"q,a,l\n{rows}\n", encoding="utf-8")
    Path("r.md").write_text("The better answer is right.\n", encoding="utf-8")
    columns = "request=q,response=a" + (",label=l" if "-" not in labels else "")
    return ["--data", "mine.csv", "--columns", columns, "--scale", scale, "--rubric", "r.md"]


def test_beyond_the_full_profile_there_is_the_gate(command: Command) -> None:
    command("measure", "-j", GOOD, "-p", "ladder", "--profile", "full", "--out", "run")
    (verdict,) = verdicts(Path("run"))
    assert verdict["next"]["step"] == "GATE"
    assert verdict["command"] == "steelyard gate run --policy default"
    assert command(*shlex.split(verdict["command"])[1:]).out.startswith("PASS")


def test_merit_that_was_not_asked_for_is_what_to_measure_next(command: Command) -> None:
    """At no size would the probe that was named show whether the judge tells good from bad."""
    command("measure", "-j", "planted/tie", "-p", "vacuum", "--profile", "full", "--out", "run")
    (verdict,) = verdicts(Path("run"))
    assert verdict["next"]["step"] == "LARGER"
    named = "-p vacuum -p ladder -p criterion -p length"
    assert verdict["command"] == f"steelyard measure -j planted/tie --profile full {named}"
    assert planned(command, verdict["command"]) == verdict["calls"]


def test_of_several_judges_of_a_study_file_the_promising_one_is_measured_alone(command: Command) -> None:
    judges = [{"model": GOOD.partition("?")[0], "name": "good", "s": 4, "beta": 0, "tau": 1.8, "sigma": 0}]
    body = {"judges": [*judges, "planted/first", "planted/tie?name=even"], "probes": ["vacuum", "ladder"]}
    Path("study.yaml").write_text(json.dumps(body))
    command("measure", "study.yaml", "--out", "run")
    (good, *unfit) = verdicts(Path("run"))
    assert [verdict["verdict"] for verdict in unfit] == ["unfit", "unfit"]
    assert good["command"] == "steelyard measure study.yaml -j good --profile standard"
    assert unfit[1]["command"] == "steelyard measure study.yaml -j even --profile standard"
    assert planned(command, good["command"]) == good["calls"]
    sheet = repeated(command, good["command"].replace("standard", "quick"))
    assert [judge["name"] for judge in sheet["judges"] if not judge["baseline"]] == ["good"]


def test_a_partial_run_is_finished_where_it_lies(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with ScriptedServer(lambda received: wins("tie")) as server:
        judge = f"openai/mine?base_url={server.url}&input_price=1000&output_price=0&max_tokens=50"
        words = ("-p", "vacuum", "--budget", "0.7", "--concurrency", "1")
        command("measure", "-j", judge, *words, "--out", "run")
        (verdict,) = verdicts(Path("run"))
        left = verdict["calls"]
        assert verdict["verdict"] == "too_little_data"
        assert verdict["next"]["purpose"] == "finish the run"
        assert verdict["command"].startswith("steelyard measure -j ")
        assert verdict["next"]["price"] == f"{left} calls, about ${left * 0.1:.2f}"
        before = len(server.requests)
        body = repeated(command, verdict["command"])
        assert len(server.requests) - before == left > 0
    assert (body["run"]["partial"], body["run"]["dollars"]) == (False, 1.2)


def test_the_command_is_kept_with_the_study_and_decides_nothing(command: Command) -> None:
    command("measure", "-j", GOOD, "-p", "vacuum", "--out", "one")
    command("measure", "-j", GOOD, "-p", "vacuum", "--concurrency", "3", "--out", "two")
    one, two = (load_snapshot(Path(folder) / "study.yaml") for folder in ("one", "two"))
    assert one.command == ("-j", GOOD, "-p", "vacuum", "--out", "one")
    assert one.hash == two.hash
    assert verdicts(Path("one")) == verdicts(Path("two"))
    before = Path("one/datasheet.json").read_bytes()
    command("report", "one")
    assert Path("one/datasheet.json").read_bytes() == before


def test_without_a_command_the_step_is_told_without_one(tmp_path: Path) -> None:
    probes = ["vacuum", "ladder"]
    sheet = measured(study_of({"judges": [LEANING], "probes": probes}), tmp_path / "run")
    assert argv_for_rerun() is None
    assert sheet.verdict.command is None
    assert sheet.verdict.next is not None
    assert (sheet.verdict.next.step, sheet.verdict.next.price) == (
        "REMEDY",
        f"{sheet.verdict.calls} calls, free",
    )
    assert sheet.verdict.next.purpose.endswith(': {consensus: orders, of: "leaning"}')


def test_own_data_that_did_not_change_are_asked_afresh_in_a_new_folder(command: Command) -> None:
    """The command has their options and makes all of its calls; what it prints ran never before."""
    rows = own_rows("0 1 " * 20)
    words = ("measure", "-j", "planted/constant?value=1", *rows, "-p", "stochastic_stability")
    first = command(*words, "--json").out
    ran, (verdict,) = {shlex.join(("steelyard", *words))}, json.loads(first)["verdicts"]
    assert "--profile" not in verdict["command"]
    assert "--columns request=q,response=a,label=l" in verdict["command"]
    for number in (2, 3):
        assert verdict["next"]["step"] == "FIX_AND_REPEAT"
        assert re.search(rf" --out steelyard-runs/mine-[0-9a-f]{{8}}-{number}$", verdict["command"])
        assert verdict["command"] not in ran
        if number == 2:
            ran.add(verdict["command"])
            body = repeated(command, verdict["command"])
            assert body["run"]["calls"] == verdict["calls"] == 200
            (verdict,) = body["verdicts"]
    replayed = command(*words)
    assert "No calls: every" in replayed.out
    assert "--out DIR." in replayed.out


HOSTILE = 'planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0&name=it\'s $HOME `x` "lean"'


@pytest.mark.parametrize("judge", [GOOD, HOSTILE])
def test_what_the_terminal_prints_pastes_into_a_shell(command: Command, judge: str) -> None:
    printed = command("measure", "-j", judge, "-p", "vacuum", "--out", "run").out
    (verdict,) = verdicts(Path("run"))
    (line,) = [line for line in printed.splitlines() if line.startswith("steelyard ")]
    echo = "steelyard() { printf '%s\\0' \"$@\"; }; "
    pasted = subprocess.run(["bash", "-c", echo + line], capture_output=True, text=True, check=True)
    assert pasted.stdout.split("\0")[:-1] == shlex.split(verdict["command"])[1:]
    assert any(judge in word for word in pasted.stdout.split("\0"))


def test_the_next_step_measures_the_cured_judge(command: Command) -> None:
    probes = ("-p", "vacuum", "-p", "ladder")
    command("measure", "-j", LEANING, "-j", "planted/tie", *probes, "--out", "two")
    leaning, _ = verdicts(Path("two"))
    cured = f"steelyard measure -p vacuum -p ladder -j 'consensus/orders?of={LEANING}' --profile standard"
    assert leaning["command"] == cured
    assert leaning["next"]["step"] == "REMEDY"
    assert leaning["next"]["price"] == f"{leaning['calls']:,} calls, free"
    assert planned(command, leaning["command"]) == leaning["calls"]
    asked(leaning["command"], profile="standard")
    (cured_verdict,) = verdicts(Path("run"))
    assert cured_verdict["judge"] == "leaning, both orders"
    assert cured_verdict["verdict"] != "unfit"


def test_a_judge_of_a_study_file_is_cured_there(command: Command) -> None:
    body = {"judges": [LEANING], "probes": ["vacuum", "ladder"]}
    measured(replace(study_of(body), command=("mine.yaml", "--out", "run")), Path("run"))
    (verdict,) = verdicts(Path("run"))
    definition = '{consensus: orders, of: "leaning"}'
    assert verdict["next"]["step"] == "REMEDY"
    assert re.search(rf"{re.escape(definition)} .* mine\.yaml\b", verdict["next"]["purpose"])
    assert verdict["command"] == "steelyard measure mine.yaml --profile standard"
    Path("mine.yaml").write_text(
        f"judges: ['{LEANING}', {definition}]\nprobes: [vacuum, ladder]\n",
        encoding="utf-8",
    )
    # The remedy is read from the calls of the judge itself.
    assert planned(command, verdict["command"]) == verdict["calls"]


def test_the_majority_of_repeats_is_counted_on_rows_of_ones_own(command: Command) -> None:
    words = own_rows("0 1 " * 15)
    noisy = "planted/rater?sensitivity=1&specificity=1&noise=0.35&name=noisy"
    command("measure", "-j", noisy, *words, "--replicates", "3", "-p", "stochastic_stability", "--out", "run")
    (verdict,) = verdicts(Path("run"))
    assert f"-j 'majority/3?of={noisy}'" in verdict["command"]
    assert repeated(command, verdict["command"])["run"]["calls"] == verdict["calls"]


def test_a_judge_of_a_scale_that_the_pack_does_not_have_is_cured_on_ones_own_rows(command: Command) -> None:
    words = [*own_rows("1 2 3 4 5 " * 8, "1-5"), "-p", "stochastic_stability"]
    noisy = "planted/rater?sensitivity=1&specificity=1&noise=0.35&name=noisy"
    command("measure", "-j", noisy, *words, "--out", "run")
    (verdict,) = verdicts(Path("run"))
    assert f"-j 'mean/3?of={noisy}'" in verdict["command"]
    assert verdict["calls"] == 40 * 5 * 3


def labelled(folder: Path, judge: str, labels: str, command: Command) -> dict[str, Any]:
    command("measure", "-j", judge, *own_rows(labels), "-p", "stochastic_stability", "--out", str(folder))
    (verdict,) = verdicts(folder)
    return verdict


def test_so_many_labelled_rows_are_to_be_added(command: Command, tmp_path: Path) -> None:
    verdict = labelled(tmp_path / "few", "planted/rater?sensitivity=.85&specificity=.85", "0 1 " * 8, command)
    told = re.search(
        r"add about (\d+) labelled rows, which would decide “([^”]+)”", verdict["next"]["purpose"]
    )
    assert told is not None, verdict["next"]
    body = json.loads((tmp_path / "few" / "datasheet.json").read_text(encoding="utf-8"))
    figures = [
        e for e in body["estimates"] if e["probe"] == "original" and e["group"] == {"protocol": "base"}
    ]
    needed = {
        metric_named(e["metric"]).short: (e["calls_needed"] - e["n_calls"]) * e["n_units"] / e["n_calls"]
        for e in figures
        if e["finding"] == "inconclusive" and e["calls_needed"] and e["judge"] == verdict["judge"]
    }
    assert int(told[1]) == round_up(math.ceil(needed[told[2]]))
    # 16 rows of 5 calls each, and as many for each row that comes.
    assert verdict["calls"] == round_up(5 * (16 + int(told[1])))


def test_where_one_label_is_rare_rows_of_it_are_to_be_added(command: Command, tmp_path: Path) -> None:
    """Right on 27 rows that should pass and 3 that should fail: only more of the latter tell anything."""
    verdict = labelled(
        tmp_path / "rare", "planted/rater?sensitivity=.9&specificity=.9", "1 1 1 1 1 1 1 1 1 0 " * 3, command
    )
    told = re.search(r"add about (\d+) rows labelled 0, which would decide “", verdict["next"]["purpose"])
    assert told is not None, verdict["next"]
    assert verdict["calls"] == round_up(5 * (30 + int(told[1])))


def test_as_many_rows_of_the_rare_label_as_tell_the_same() -> None:
    """10 and 90 rows, 100 more wanted: 1/20 + 1/180 = 1/(10 + m) + 1/90 at m = 12.5."""
    rates = [
        Estimate("j", "original", metric, {"protocol": "base"}, "call", 0.1, n_units=units)
        for metric, units in (("false_positive_rate", 10), ("false_negative_rate", 90))
    ]
    assert rows_of_the_rarer(rates, 100) == (0, 13)
    assert rows_of_the_rarer(rates[:1], 100) == (None, None)
    even = [replace(rate, n_units=50) for rate in rates]
    assert rows_of_the_rarer(even, 100) == (None, None)
    # Two for three: neither label is rare.
    mixed = [replace(rate, n_units=units) for rate, units in zip(rates, (40, 60), strict=True)]
    assert rows_of_the_rarer(mixed, 20) == (None, None)
    # However many of the rare ones: the others alone leave more open than a thousand further rows would.
    assert rows_of_the_rarer(rates, 1000) == (None, None)


def test_a_gain_over_the_commonest_label_asks_for_no_rows() -> None:
    """It decides no finding: a good judge of uneven labels may not beat naming the commonest."""
    figures = [
        Estimate("j", "original", "accuracy", {"protocol": "base"}, "call", 0.89, n_calls=600, n_units=600),
        Estimate(
            "j",
            "original",
            "accuracy_gain",
            {"protocol": "base"},
            "item",
            -0.01,
            n_calls=600,
            n_units=600,
            status="inconclusive",
            calls_needed=7600,
        ),
    ]
    sheet = Datasheet("s", 7, "sha256:0", "0", "quick", (), tuple(figures))
    assert sample_size_hint(sheet, "j") is None


def test_a_slot_preference_that_is_open_asks_for_rows_without_labels() -> None:
    figures = [
        Estimate("j", "position", "accuracy", {"protocol": "base"}, "call", 1.0, n_calls=160, n_units=80),
        Estimate(
            "j",
            "position",
            "net_slot_preference",
            {"protocol": "base"},
            "pair",
            0.0,
            n_calls=160,
            n_units=80,
            status="inconclusive",
            calls_needed=440,
        ),
    ]
    hint = sample_size_hint(Datasheet("s", 7, "sha256:0", "0", "quick", (), tuple(figures)), "j")
    assert hint is not None
    assert hint.growth == 1 + 140 / 80
    assert re.match(r"add about 140 rows,", hint.advice)  # labelled or not


def test_rows_without_labels_are_to_be_labelled(command: Command, tmp_path: Path) -> None:
    verdict = labelled(tmp_path / "none", "planted/constant?value=1", "- " * 12, command)
    # Wilson's half-width at .8 of 100 rows: 1.96·√(.16/100 + 1.96²/40000)/(1 + 1.96²/100) = .0777.
    assert re.search(r"label .*\b100 rows, .* ±0\.08\b", verdict["next"]["purpose"])
    assert verdict["next"]["step"] == "MORE_ROWS"
    assert verdict["calls"] == 5 * 100


def test_one_class_alone_asks_for_the_other(command: Command, tmp_path: Path) -> None:
    verdict = labelled(tmp_path / "one", "planted/rater?sensitivity=1&noise=0", "1 " * 12, command)
    assert verdict["next"]["step"] == "MORE_ROWS"
    # As many as fifty of the other label beside the twelve.
    assert verdict["calls"] == round_up(5 * (12 + 50))
    body = json.loads((tmp_path / "one" / "datasheet.json").read_text(encoding="utf-8"))
    agreement = next(
        e for e in body["estimates"] if e["metric"] == "kappa" and e["judge"] == verdict["judge"]
    )
    assert (agreement["value"], agreement["intervals"]) == (None, [])
    assert agreement["reason"] == AGREE_CONSTANT.code
    # What was not measured fails no judge.
    assert command("gate", str(tmp_path / "one"), "--policy", "smoke").code == 4


PRICED = "openai/m?base_url={}&name=paid&input_price=10&output_price=100&max_tokens=8"
"""A hundred tokens in and five out, as the scripted server counts them, cost $0.0015."""


def test_what_is_still_to_be_paid_goes_by_who_is_still_to_be_asked(command: Command) -> None:
    """The free judge has answered, the dear one has not: what is left costs what the plan says."""
    with ScriptedServer(wins("tie")) as server:
        paid = PRICED.format(server.url)
        words = ("-j", "planted/tie?name=free", "-j", paid, "-p", "vacuum", "--out", "run")
        cut = command("measure", *words, "--budget", "0.000001")
        assert (cut.code, len(server.requests)) == (1, 0)
        assert "not be computed" not in cut.err
        body = json.loads(command("plan", *words, "--json").out)
        due = next(row for row in body["rows"] if row["judge"] == "paid")
        told = [(each["calls"], each["dollars"]) for each in verdicts(Path("run"))]
        assert told == [(12, round(due["dollars"], 6))] * 2
        assert due["dollars"] > 0
        # Some calls were answered: the others cost what those did.
        command("measure", *words, "--budget", "0.012")
    asked = len(server.requests)
    assert 0 < asked < 12
    left = verdicts(Path("run"))[0]
    assert (left["calls"], left["dollars"]) == (12 - asked, pytest.approx((12 - asked) * 0.0015))


def test_a_call_costs_what_calls_of_the_same_judges_cost(command: Command) -> None:
    with ScriptedServer(wins("tie")) as server:
        words = ("-j", "planted/tie?name=free", "-j", PRICED.format(server.url), "-p", "vacuum")
        assert command("measure", *words, "--out", "run").code == 0
    folder = RunFolder(Path("run"))
    plan = load_plan(folder)
    free, paid = (judge for judge in plan.study.judges if not judge.baseline)
    with folder.store(read_only=True) as store:
        rates = CallPrices(RunRecord(store).answers(plan.trials))
        assert rates.per_call([free]) == 0
        assert rates.per_call([paid]) == pytest.approx(0.0015)
        assert rates.per_call([free, paid]) == pytest.approx(0.00075)
        assert rates.pending_cost(()) == 0


def on_screen(sheet: Datasheet) -> str:
    """What the terminal shows, white space joined."""
    console = Console(file=io.StringIO(), width=100)
    terminal.render_brief(sheet, console)
    return " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]


def told(folder: str, title: str) -> tuple[str, str]:
    """Word and sentence of a reading."""
    body = json.loads((Path(folder) / "datasheet.json").read_text(encoding="utf-8"))
    (found,) = (reading for reading in body["readings"] if reading["title"] == title)
    return found["word"], found["sentence"]


def test_a_remedy_without_merit_is_not_offered() -> None:
    """Both orders make a judge that always answers tie of one that always names the first text."""
    sheet = asked("-j planted/first -p vacuum -p ladder --out run")
    (verdict,) = verdicts(Path("run"))
    assert "consensus" not in verdict["command"]
    assert "per verdict" not in on_screen(sheet)
    body = json.loads(Path("run/datasheet.json").read_text(encoding="utf-8"))
    (cured,) = (each for each in body["remedies"] if each["remedy"] == "orders")
    (merit,) = (each["estimate"] for each in cured["figures"] if each["estimate"]["metric"] == "merit")
    # A tie on every pair is half a point each.
    assert (merit["value"], merit["finding"] == "clear") == (0.5, False)


def test_a_remedy_that_worsens_what_is_flagged_is_not_offered() -> None:
    coarse = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0&name=coarse"
    sheet = asked(f"-j '{coarse}' -p vacuum -p ladder --profile standard --out run", profile="standard")
    assert "No remedy from" in on_screen(sheet)
    written = Path("run/datasheet.md").read_text(encoding="utf-8")
    worse = re.search(r"No remedy .*: both orders, .*: “.*” .* gets worse, (0\.\d+) → (0\.\d+)", written)
    assert worse is not None
    assert worse[1] != worse[2]
    assert "consensus" not in verdicts(Path("run"))[0]["command"]


def test_what_holds_by_construction_is_not_flagged_and_no_step_is_repeated() -> None:
    never_tie = "planted/probit?s=8&beta=0&tau=0&sigma=0&lapse=0&name=forced"
    words = "-p vacuum -p ladder --profile standard --out run"
    asked(f"-j 'consensus/orders?of={never_tie}' {words}", profile="standard")
    word, sentence = told("run", "Surface")
    assert word == "measured"
    assert ONE_VERDICT in sentence
    assert told("run", "Position")[0] == "clear"
    (verdict,) = verdicts(Path("run"))
    assert "Surface" not in [fact["title"] for fact in verdict["facts"]]
    assert verdict["command"].count("consensus/orders") == 1
    assert verdict["command"] != shlex.join(
        ("steelyard", "measure", "-j", f"consensus/orders?of={never_tie}")
    )
    assert " --out steelyard-runs/" in verdict["command"]


def test_rows_that_are_added_are_sampled_too() -> None:
    words = ("--data", "mine.csv", "--sample", "5", "--scale", "binary")
    assert [*with_larger_sample(words, 17.2)] == ["--data", "mine.csv", "--sample", "86", "--scale", "binary"]
    assert [*with_larger_sample(words, 1.0)] == [*words]


def replies(answer: str) -> str:
    """A judge in Python that knows its rows by number: the body of a function of n and the label."""
    Path("mine.py").write_text(
        "def judge(request, response):\n"
        "    n, label = (int(word) for word in response.split()[1:])\n"
        f"    return {answer}\n",
        encoding="utf-8",
    )
    return "python/mine.py:judge"


def rows_file(labels: list[int], *more: str) -> list[str]:
    """Rows whose response tells their number and label, and the options that name their columns."""
    rows = "\n".join(f"q{n},answer {n} {label},{label}" for n, label in enumerate(labels))
    Path("mine.csv").write_text(f"q,a,l\n{rows}\n", encoding="utf-8")
    Path("r.md").write_text("The better answer is right.\n", encoding="utf-8")
    columns = ["--columns", "request=q,response=a,label=l", "--scale", "binary", "--rubric", "r.md"]
    return ["--data", "mine.csv", *columns, *more]


def quoted(step: Mapping[str, Any]) -> list[str]:
    """Names of figures in the purpose of a step."""
    return re.findall("“([^”]+)”", step["purpose"])


def step_of(command: Command, judge: str, options: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    done = command("measure", "-j", judge, *options, "--out", "run")
    assert done.code == 0, done.err
    (verdict,) = verdicts(Path("run"))
    return verdict, verdict["next"]


def test_a_fault_that_is_shown_comes_before_labels(command: Command) -> None:
    """Wrong in half of 12 fails, right on 28 passes: merit is open, and it errs leniently by the test."""
    judge = replies("1 if label or n % 2 else 0")
    verdict, step = step_of(command, judge, rows_file([int(n >= 24) for n in range(60)]))
    assert verdict["verdict"] == "too_little_data"
    assert (step["step"], quoted(step)) == ("FIX_AND_REPEAT", ["errs leniently"])


def test_a_fault_goes_by_the_name_of_its_row(command: Command) -> None:
    """A third of the rows right, the others by length: `goes by length` is the question, not its figure."""
    Path("mine.py").write_text(
        "def judge(request, response):\n"
        "    n, label = (int(word) for word in response.split()[-2:])\n"
        "    return label if n % 3 == 0 else int(len(response) > 30)\n",
        encoding="utf-8",
    )
    data = rows_file([n % 2 for n in range(60)])
    rows = Path("mine.csv").read_text(encoding="utf-8").splitlines()
    longer = [line.replace("answer", "word " * 9) if n // 2 % 2 else line for n, line in enumerate(rows)]
    Path("mine.csv").write_text("\n".join(longer), encoding="utf-8")
    verdict, step = step_of(command, "python/mine.py:judge", data)
    assert verdict["verdict"] == "too_little_data"
    assert (step["step"], quoted(step)) == ("FIX_AND_REPEAT", ["longer scores higher"])


def test_best_of_several_asks_for_no_labels_where_all_have_them(recorded: Callable[[str], Path]) -> None:
    (verdict,) = verdicts(recorded("best-of-good"))
    assert "label about" not in verdict["next"]["purpose"]


@pytest.mark.parametrize(
    ("rows", "wrong", "purpose"),
    [(60, 17, "add about "), (200, 69, "“tells good from bad” sits at its limit")],
)
def test_merit_that_is_open_without_lost_calls_asks_for_rows_or_says_that_it_sits_at_its_limit(
    command: Command, rows: int, wrong: int, purpose: str
) -> None:
    """J is 1 − 34/60 = .43 and 1 − 138/200 = .31, where .30 is wanted; .31 would take some 30,000 rows."""
    judge = replies(f"1 - label if n < {wrong} else label")
    verdict, step = step_of(command, judge, rows_file([n % 2 for n in range(rows)]))
    assert verdict["verdict"] == "too_little_data"
    assert step["purpose"].startswith(purpose), step


def test_no_rows_of_one_label_are_asked_for_where_the_mix_decides() -> None:
    """15 rows that should fail and 135 that should pass: more fails decide leniency, and would bend κ."""
    body = Estimate("j", "original", "kappa", {"protocol": "base"}, "call", 0.32, status="inconclusive")
    open_ = replace(body, n_calls=150, n_units=150, calls_needed=400)
    rates = [
        replace(body, metric=f"false_{kind}_rate", value=0.2, status=None, n_units=rows)
        for kind, rows in (("positive", 15), ("negative", 135))
    ]
    mixed, shifted = (_hint([replace(open_, metric=name)], rates) for name in ("kappa", "leniency"))
    assert mixed is not None
    assert mixed.growth == 1 + 250 / 150
    assert "“agrees beyond chance”" in mixed.advice
    assert shifted is not None
    assert re.match(r"add .*\d+ rows labelled 0, .*“errs leniently”", shifted.advice)
    assert shifted.growth < mixed.growth


def test_replies_that_cannot_be_read_come_before_rows(command: Command) -> None:
    """Right in .78 of 64 rows, and 16 replies are unreadable: they alone keep merit open."""
    judge = replies("'well' if n % 5 == 3 else 1 - label if n % 9 in (0, 4) else label")
    verdict, step = step_of(command, judge, rows_file([n % 2 for n in range(80)]))
    assert verdict["verdict"] == "too_little_data", verdict
    assert step["step"] == "FIX_AND_REPEAT"
    assert "replies that could" in step["purpose"]


def test_labelled_rows_that_were_not_drawn_come_first(command: Command) -> None:
    """16 of 200 labelled rows were drawn: more of these are drawn before others are labelled."""
    judge = replies("label if n % 7 else 1 - label")
    _, step = step_of(command, judge, rows_file([n % 2 for n in range(200)], "--sample", "16"))
    told = re.match(r"draw (\d+) of the 200 labelled rows, of which this run drew 16, and", step["purpose"])
    assert told is not None, step
    assert f"--sample {told[1]}" in step["command"]


def test_the_sample_of_a_study_file_is_told_to_be_raised(command: Command) -> None:
    replies("label if n % 7 else 1 - label")
    rows_file([n % 2 for n in range(200)])
    Path("mine.yaml").write_text(
        "judges: ['python/mine.py:judge']\nprobes: [stochastic_stability]\n"
        "task: {scale: binary, rubric: r.md}\n"
        "data: {path: mine.csv, columns: {request: q, response: a, label: l}, sample: 16}\n",
        encoding="utf-8",
    )
    command("measure", "mine.yaml", "--out", "run")
    (verdict,) = verdicts(Path("run"))
    told = re.search(
        r"draw (\d+) of the 200 .*, with `sample: \1` under `data` of mine.yaml", verdict["next"]["purpose"]
    )
    assert told is not None, verdict["next"]
    # Read back from the folder, where rows that were not drawn are unknown, it is a larger sample as well.
    (Path("run") / "datasheet.json").unlink()
    command("report", "run")
    (again,) = verdicts(Path("run"))
    told = re.search(r"with `sample: (\d+)` under `data` of mine.yaml", again["next"]["purpose"])
    assert told is not None, again["next"]
    assert int(told[1]) > 16


@pytest.mark.parametrize(("more", "data"), [("", ""), (", sample: 12", "under `data` and ")])
def test_a_sample_of_a_probe_is_what_is_raised(command: Command, more: str, data: str) -> None:
    """Of the rows that were drawn 8 are shown: these come before rows that nobody has labelled."""
    replies("label if n % 7 else 1 - label")
    rows_file([n % 2 for n in range(200)])
    Path("mine.yaml").write_text(
        "judges: ['python/mine.py:judge']\ntask: {scale: binary, rubric: r.md}\n"
        "probes: [{format_invariance_1: {sample: 8}}, {format_invariance_2: {sample: 6}}]\n"
        f"data: {{path: mine.csv, columns: {{request: q, response: a, label: l}}{more}}}\n",
        encoding="utf-8",
    )
    command("measure", "mine.yaml", "--out", "run")
    (verdict,) = verdicts(Path("run"))
    told = re.search(
        rf"show (\d+) of the 200 labelled rows, of which this run showed 8, with `sample: \1` {data}for "
        "format_invariance_1 and for format_invariance_2 of mine.yaml, and measure again",
        verdict["next"]["purpose"],
    )
    assert told is not None, verdict["next"]
    assert 12 < int(told[1]) <= 200


def test_a_figure_at_its_limit_asks_for_no_rows() -> None:
    body = Estimate("j", "original", "merit", {"protocol": "base"}, "call", 0.301, status="inconclusive")
    close = replace(body, n_calls=100, n_units=100, calls_needed=40_000)
    hint = _hint([close], [])
    assert hint is not None
    assert (hint.at_limit, hint.growth) == (True, 1.0)
    near = _hint([replace(close, calls_needed=2_000)], [])
    assert near is not None
    assert not near.at_limit
    assert near.growth == 1 + 1900 / 100


@pytest.mark.parametrize(
    ("answer", "advice"),
    [("int(words > 60)", "it goes by the length of the texts"), ("1 - label", "the answers are reversed")],
)
def test_a_judge_is_reversed_only_where_length_does_not_explain_it(
    command: Command, answer: str, advice: str
) -> None:
    """Of 100 rows 50 are long; people fail 35 of these and 15 of the short ones: J is −.4 by length."""
    cells = ((80, 0, 35), (80, 1, 15), (20, 0, 15), (20, 1, 35))
    rows = [
        (f"{label} " + "word " * (words + n), label) for words, label, count in cells for n in range(count)
    ]
    lines = "\n".join(f"q{n},{text},{label}" for n, (text, label) in enumerate(rows))
    options = rows_file([])
    Path("mine.csv").write_text(f"q,a,l\n{lines}\n", encoding="utf-8")
    Path("mine.py").write_text(
        "def judge(request, response):\n"
        "    label, words = int(response.split()[0]), len(response.split())\n"
        f"    return {answer}\n",
        encoding="utf-8",
    )
    verdict, _ = step_of(command, "python/mine.py:judge", options)
    assert verdict["verdict"] == "unfit", verdict
    assert advice in verdict["remedy"]


def test_an_empty_part_of_natural_pairs_asks_for_pairs_at_random(command: Command) -> None:
    """People prefer the longer text in all 30 pairs: 16 of the others, at one in 32, are 512 pairs."""
    lines = "\n".join(f"{n},q{n},{'word ' * (9 + n % 5)},short,1" for n in range(30))
    Path("mine.csv").write_text(f"id,q,a,b,l\n{lines}\n", encoding="utf-8")
    columns = "id=id,request=q,response_1=a,response_2=b,label=l"
    options = ["--data", "mine.csv", "--columns", columns, "--scale", "pairwise", "-p", "position"]
    Path("mine.py").write_text(
        "def judge(request, response_1, response_2):\n"
        "    return 1 if len(response_1) > len(response_2) else 2\n",
        encoding="utf-8",
    )
    _, step = step_of(command, "python/mine.py:judge", options)
    assert step["step"] == "MORE_ROWS"
    assert step["purpose"].startswith(f"label about {round_up(512)} pairs drawn")
    assert re.search(r" 16 of .*\bshorter\b", step["purpose"])


@pytest.mark.parametrize(
    ("columns", "unlabelled", "told"),
    [
        ("request=q,id=i", True, "request=q,id=i,label=label"),
        ("request=q,label=truth", True, "request=q,label=truth"),
        ("request=q,id=i", False, "request=q,id=i"),
    ],
)
def test_the_command_that_asks_for_labels_reads_them(columns: str, unlabelled: bool, told: str) -> None:
    hint = SampleSizeHint("label about 100 rows", unlabelled=unlabelled)
    words = ["steelyard", "measure", "--data", "my data.csv", "--columns", columns, "-j", "j"]
    assert hint.lacks_column(words) == (columns != told)
    if columns != told:
        assert shlex.split(hint.command(shlex.join(words))) == [*words[:5], told, *words[6:]]
    assert not hint.lacks_column(["steelyard", "measure", "study.yaml"])
