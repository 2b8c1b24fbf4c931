"""`measure --until verdict`: one folder grows from quick to full and stops where the word is decided."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from calibration.until import simulate_until
from commands import Command, StartedCommand
from servers import ScriptedServer
from steelyard.datasheet.assemble import ERROR
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, at_alpha
from steelyard.metrics.proportions import DARK_CURRENT
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile
from steelyard.metrics.stats.intervals import score
from steelyard.run_folder import resume
from steelyard.stimuli.stimulus import StimulusSet
from test_resume import Teller

PROBES = ("-p", "vacuum", "-p", "ladder")
QUICK, STANDARD, FULL = 72, 660, 2064
"""Calls of the two probes under the base protocol."""
NOISY = "planted/rater?sensitivity=1&specificity=1&noise=0.3"
RATER = ("-j", NOISY, "-p", "stochastic_stability", "--scale", "binary")
"""40 calls at `quick`, where merit is open; 120 at `standard`, where merit and a fault are shown."""
LIMIT = DARK_CURRENT.limit


def looks(folder: Path) -> list[dict[str, Any]]:
    """The looks that a datasheet tells of."""
    return list(json.loads((folder / "datasheet.json").read_text())["run"]["looks"])


def study(folder: Path) -> dict[str, Any]:
    """What the folder keeps of its study."""
    return dict(yaml.safe_load((folder / "study.yaml").read_text()))


# The error of one look


def share(events: int, trials: int, finding: str) -> Estimate:
    """A dark current with one call in each of its clusters."""
    reach = t_quantile(0.975, trials - 1)
    interval = Interval("wilson_cluster", *score(events / trials, trials, reach))
    found = Estimate("j", "vacuum", DARK_CURRENT.id, {"protocol": "base"}, "call", events / trials)
    counts = {"numerator": events, "denominator": trials, "n_calls": trials, "n_units": trials}
    found = replace(found, effective_size=float(trials), quantile=reach)
    return replace(found, **counts, n_clusters=trials, intervals=(interval,), status=finding)


def test_a_third_of_the_error_is_spent_on_each_of_three_looks() -> None:
    assert pytest.approx(0.05 / 3) == ERROR
    assert normal_quantile(1 - ERROR / 2) == pytest.approx(2.394, abs=5e-4)


@pytest.mark.parametrize(("events", "word"), [(6, INCONCLUSIVE), (8, FLAGGED)])
def test_a_flag_has_to_hold_at_the_limits_of_one_look(events: int, word: str) -> None:
    # Wilson with t(39): 6 of 40 reach down to .070 at 95 % and .062 at 98.3 %, 8 of 40 to .105 and .095;
    # the limit of dark current lies between.
    assert LIMIT is not None
    usual, strict = share(events, 40, FLAGGED), at_alpha(share(events, 40, FLAGGED), LIMIT, ERROR)
    by_hand = score(events / 40, 40, t_quantile(1 - ERROR / 2, 39))
    assert strict.interval is not None
    assert usual.interval is not None
    assert (strict.interval.low, strict.interval.high) == pytest.approx(by_hand)
    assert strict.interval.low < (usual.interval.low or 0.0)
    assert strict.status == (FLAGGED if by_hand[0] > LIMIT.value else INCONCLUSIVE)


def test_a_test_has_to_hold_at_the_error_of_one_look() -> None:
    lean = Estimate("j", "ladder", "net_slot_preference", {}, "pair", 0.4, n_clusters=30)
    lean = replace(lean, intervals=(Interval("t_cluster", 0.05, 0.75),), status=FLAGGED, p_corrected=0.03)
    assert at_alpha(lean, None, ERROR).status == INCONCLUSIVE
    assert at_alpha(replace(lean, p_corrected=0.01), None, ERROR).status == FLAGGED
    narrow = replace(lean, value=0.0, status=CLEAR, p_corrected=0.9)
    # 1.2 times as wide: ±.08 stays within the margin of .10, ±.09 does not.
    for reach, word in ((0.08, CLEAR), (0.09, INCONCLUSIVE)):
        interval = Interval("t_cluster", -reach, reach)
        assert at_alpha(replace(narrow, intervals=(interval,)), None, ERROR).status == word


def test_a_word_without_a_limit_or_a_test_is_withheld() -> None:
    gain = Estimate("j", "original", "accuracy_gain", {}, "call", 0.4, intervals=(Interval("t", 0.2, 0.6),))
    assert at_alpha(replace(gain, status=CLEAR), None, ERROR).status == INCONCLUSIVE


# Looks


def test_a_coin_of_a_study_file_stops_after_quick(command: Command, tmp_path: Path) -> None:
    body = {"name": "mine", "judges": ["planted/coin"], "probes": ["vacuum", "ladder"], "profile": "full"}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(body))
    arguments = ("measure", "mine.yaml", "--until", "verdict")
    done = command(*arguments)
    assert done.code == 0
    assert f"Looks: quick, {QUICK} calls: unfit. Stopped: the word is decided." in done.out
    assert f"{QUICK} calls in this run" in done.out
    (folder,) = (tmp_path / "steelyard-runs").iterdir()
    assert folder.name.startswith("mine-")
    assert folder.name.endswith("-until-verdict")
    (look,) = looks(folder)
    assert look == {
        "profile": "quick",
        "calls": QUICK,
        "words": {"planted/coin": "unfit"},
        "open": {},
        "end": "decided",
    }
    again = command(*arguments)
    assert (again.code, "No calls" in again.out) == (0, True)
    assert "Stopped: the word is decided" in command("report", folder.relative_to(tmp_path)).out
    assert json.loads(command(*arguments, "--json").out)["run"]["looks"] == [look]


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_plain_folder_goes_on_through_interruptions_and_stops_where_nothing_is_open(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = (*RATER, "--out", "run")
    arguments = ("measure", "--until", "verdict", *judge)
    assert command("measure", *judge).code == 0
    stimuli = tmp_path / "run" / "stimuli.jsonl"
    small = stimuli.read_text()
    # Growth is interrupted after its study, then after its stimuli: the second goes on from the first.
    for owner, name, stimuli_are_old in ((StimulusSet, "write", True), (resume, "_save_plan", False)):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupt)
            assert command(*arguments).code == 1
        assert study(tmp_path / "run")["profile"] == "standard"
        assert (stimuli.read_text() == small) is stimuli_are_old
    done = command(*arguments)
    assert (done.code, "\n80 calls in this run" in done.out) == (0, True)
    quick, standard = looks(tmp_path / "run")
    assert (quick["profile"], quick["calls"], quick["end"]) == ("quick", 40, None)
    assert quick["open"]["planted/rater"]
    assert (standard["profile"], standard["calls"]) == ("standard", 120)
    assert (standard["words"], standard["open"]) == ({"planted/rater": "usable_with_care"}, {})
    assert study(tmp_path / "run")["profile"] == "standard"
    sheet = (tmp_path / "run" / "datasheet.json").read_text()
    again = command(*arguments)
    assert (again.code, "No calls" in again.out) == (0, True)
    assert (tmp_path / "run" / "datasheet.json").read_text() == sheet
    for page in ("datasheet.md", "datasheet.html"):
        assert "the word is decided" in (tmp_path / "run" / page).read_text()
    # The calls are those of a plain run of this size.
    plain = command("measure", *RATER, "--profile", "standard", "--out", "plain", "--json")
    assert json.loads(plain.out)["estimates"] == json.loads(sheet)["estimates"]
    assert command("measure", *judge, "--profile", "standard").code == 0
    assert looks(tmp_path / "run") == [quick, standard]
    refused = command("measure", *judge, "--profile", "full")
    assert (refused.code, "holds another study (profile, items differ)" in refused.err) == (2, True)


def test_a_study_without_merit_is_looked_at_once(command: Command, tmp_path: Path) -> None:
    done = command("measure", "--until", "verdict", "-j", "planted/coin", "-p", "vacuum", "--out", "run")
    assert done.code == 0
    assert [look["end"] for look in looks(tmp_path / "run")] == ["unasked"]


def test_kill_9_in_the_second_look(tmp_path: Path, environment: dict[str, str], command: Command) -> None:
    arguments = ["measure", "--until", "verdict", *RATER, "--out", "run"]
    one = StartedCommand(arguments, tmp_path, environment)
    kept = tmp_path / "run" / "study.yaml"
    one.wait_until(lambda: kept.exists() and "profile: standard" in kept.read_text())
    one.kill()
    done = command(*arguments)
    assert done.code == 0
    assert [look["calls"] for look in looks(tmp_path / "run")] == [40, 120]
    assert "120 calls in this run" not in done.out


def test_a_budget_ends_within_a_look_and_a_larger_one_goes_on(command: Command, tmp_path: Path) -> None:
    with ScriptedServer(Teller()) as server:
        judge = f"openai/gpt-4o-mini?base_url={server.url}"
        arguments = ("measure", "--until", "verdict", "-j", judge, *PROBES, "--out", "run")
        short = command(*arguments, "--budget", "0.001")
        assert short.code == 1
        assert "budget" in short.err
        body = json.loads((tmp_path / "run" / "datasheet.json").read_text())
        assert body["run"]["partial"] is True
        assert (body["run"]["looks"], study(tmp_path / "run")["looks"]) == ([], [])
        done = command(*arguments, "--budget", "10")
        assert done.code == 0, done.err
    assert looks(tmp_path / "run")[-1]["end"] == "decided"


# Usage


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--profile", "quick"), "--until: sets the profile itself; remove --profile."),
        (("--decide", "dark_current<0.1"), "--decide: earlier spelling of --until, which is given too;"),
        (("--cap", "5"), "--cap: works only with a rule, as in --until"),
    ],
)
def test_one_way_to_say_how_far_to_go(command: Command, more: tuple[str, ...], told: str) -> None:
    done = command("measure", "--until", "verdict", "-j", "planted/coin", *more)
    assert (done.code, told in done.err) == (2, True)


def test_rows_of_ones_own_do_not_grow(command: Command, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("q,a,l\none,two,1\nthree,four,0\n")
    (tmp_path / "rubric.md").write_text("The answer is right.")
    data = ("--data", "rows.csv", "--columns", "request=q,response=a,label=l", "--scale", "binary")
    done = command("measure", "--until", "verdict", "-j", "planted/rater", *data, "--rubric", "rubric.md")
    assert done.code == 2
    assert "which does not change how many rows of your data are judged; leave --until out." in done.err


def test_the_plan_prices_each_look(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    done = command("plan", "--until", "verdict", *RATER, "--json")
    calls = {
        look["profile"]: sum(row["calls"] for row in look["rows"]) for look in json.loads(done.out)["looks"]
    }
    assert calls == {"quick": 40, "standard": 80, "full": 220}
    monkeypatch.setenv("STEELYARD_UNTIL", "verdict")
    table = command("measure", *RATER, "--dry-run").out
    assert [line.split()[:2] for line in table.splitlines()[3:7]] == [
        ["quick", "40"],
        ["standard", "80"],
        ["full", "220"],
        ["all", "340"],
    ]


# Planted judges


def test_planted_judges_get_their_words_for_few_calls() -> None:
    found = simulate_until("catalogue", [1], ["excellent", "always first"])
    assert dict(found["always first"].words) == {"U": 1}
    assert found["always first"].calls == QUICK
    assert dict(found["excellent"].words) == {"N": 1}
    assert found["excellent"].calls in (STANDARD, FULL)
