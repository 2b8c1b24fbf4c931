"""Length set against quality in the default run, by the real command at standard size.

A judge for which length decides, one for which it breaks ties, and one that ignores it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commands import run_command
from steelyard.datasheet.questions.causes import Advice
from steelyard.probes.probe import Design
from steelyard.probes.tradeoff import Length
from steelyard.providers.planted.answer_keys import builtin_key
from steelyard.study.planner import DEFAULT_PROBES

SOUND = "planted/probit?s=10&beta=0&tau=3&sigma=0&lapse=0"
JUDGES = {"decides": 60, "worth": 13, "ties": 4, "ignores": 0}
"""Judges by the pull of a text that is twice as long; a step of quality pulls by 10, and 3 is a tie."""


@dataclass(frozen=True)
class Measured:
    folder: Path
    screen: str

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads((self.folder / "datasheet.json").read_text(encoding="utf-8"))
        return body

    @property
    def verdict(self) -> dict[str, Any]:
        (verdict,) = self.body["verdicts"]
        return dict(verdict)

    def estimate(self, metric: str, **group: object) -> dict[str, Any]:
        """A figure of the judge under test."""
        named = self.verdict["judge"]
        (found,) = (
            each
            for each in self.body["estimates"]
            if (each["judge"], each["metric"]) == (named, metric) and group.items() <= each["group"].items()
        )
        return dict(found)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measured]:
    place, found = tmp_path_factory.mktemp("length"), {}
    for name, pull in JUDGES.items():
        folder = place / name
        words = ("-j", f"{SOUND}&length={pull}", "--profile", "standard", "--out", folder)
        done = run_command(place, "measure", *words)
        found[name] = Measured(folder, " ".join(done.out.split()))
    return found


def test_three_kinds_of_judges_get_three_words(measured: dict[str, Measured]) -> None:
    words = {name: each.verdict["verdict"] for name, each in measured.items()}
    assert words == {
        "decides": "unfit",
        "worth": "usable_with_care",
        "ties": "usable_with_care",
        "ignores": "no_fault_found",
    }
    assert len({each.screen.partition("Next:")[0] for each in measured.values()}) == len(JUDGES)


def test_who_lets_length_decide_is_unfit_and_the_screen_shows_why(measured: dict[str, Measured]) -> None:
    judge = measured["decides"]
    assert judge.verdict["facts"][0]["title"] == "Length"
    assert "prefers a padded text" in judge.screen
    assert judge.verdict["remedy"] == Advice.BY_LENGTH.value
    padded = judge.estimate("beats_padded", delta=2)
    assert (padded["value"], padded["finding"]) == (0.0, "flagged")
    assert re.search(r"two steps apart 0\.00 \[0\.00, 0\.15\] at least 0\.50 too low", judge.screen)


def test_a_worth_of_length_is_told_in_steps(measured: dict[str, Measured]) -> None:
    judge = measured["worth"]
    worth = judge.estimate("length_worth")
    assert worth["finding"] == "flagged"
    assert 1.0 < worth["value"] < 2.0  # 13 for a step of 10
    assert "It takes length for quality." in judge.screen
    assert f"worth of length +{worth['value']:.2f}" in judge.screen
    assert judge.estimate("beats_padded", delta=2)["finding"] == "clear"


def test_who_breaks_ties_by_length_still_names_the_better_text(measured: dict[str, Measured]) -> None:
    judge = measured["ties"]
    assert "It prefers the text that is padded where texts are equally good." in judge.screen
    assert judge.estimate("beats_padded", delta=1)["value"] == 1.0
    (reading,) = (each for each in judge.body["readings"] if each["title"] == "Length")
    assert "prefers a better text to a padded one: the better one wins in 1.00" in reading["sentence"]


def test_who_ignores_length_has_a_row_that_says_so(measured: dict[str, Measured]) -> None:
    judge = measured["ignores"]
    assert "beats padded, two steps apart 1.00 [0.85, 1.00] at least 0.50 fine" in judge.screen


@pytest.mark.parametrize(
    ("policy", "results"),
    [("smoke", (3, 0, 0, 0)), ("default", (3, 3, 3, 0)), ("strict", (3, 3, 3, 0))],
)
def test_shipped_policies_fail_them(
    measured: dict[str, Measured], policy: str, results: tuple[int, ...]
) -> None:
    for each, code in zip(measured.values(), results, strict=True):
        run_command(each.folder, "gate", each.folder, "--policy", policy, code=code)


def test_compare_names_the_figure_that_differs(measured: dict[str, Measured]) -> None:
    folders = [measured[name].folder for name in ("ignores", "decides")]
    told = " ".join(run_command(folders[0], "compare", *folders, "--full").out.split())
    assert "better beats padded" in told


def test_quick_says_that_it_cannot_see_length(tmp_path: Path) -> None:
    done = run_command(tmp_path, "measure", "-j", f"{SOUND}&length=60", "--out", "run")
    told = " ".join(done.out.split())
    (verdict,) = json.loads((tmp_path / "run" / "datasheet.json").read_text(encoding="utf-8"))["verdicts"]
    assert verdict["remedy"] == Advice.SMOKE_NO_LENGTH.value
    assert "Not measured: goes by length (--profile standard)" in told
    assert "leans to the longer" not in told


@pytest.mark.parametrize(("profile", "pairs"), [("quick", 0), ("standard", 24), ("full", 40)])
def test_padding_gives_nothing_and_doubles_the_worse_text(profile: str, pairs: int) -> None:
    """Whatever the catalogue holds: no sentence of it is added, and the better text is left alone."""
    assert "length" in DEFAULT_PROBES
    shown = list(Length().pairs(Design(7, profile)))
    assert len(shown) == len({pair.cluster for pair in shown}) == pairs
    for pair in shown:
        key = builtin_key(pair.request)
        better, worse = pair.texts
        low, delta = pair.base_level or 0.0, pair.delta or 0.0
        assert delta in (1, 2)
        assert (key.quality(worse), key.quality(better)) == (low, low + delta)
        assert 2 * len(better.split()) <= len(worse.split()) <= 2.5 * len(better.split())
