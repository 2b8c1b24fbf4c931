"""When a remedy is recommended: it brings no fault, it can be measured, and nobody has said it already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import run_command
from servers import planted_server
from steelyard.datasheet.questions.causes import Advice
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Pairwise
from steelyard.verdicts.majority_vote import average_of_orders
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

FIRST, SECOND, TIE, NONE = Decided("1"), Decided("2"), Tie(), Unreadable("no answer")
NEVER_TIES = "planted/probit?s=1.3&beta=1.2&tau=0&sigma=0&lapse=0"
"""It leans, and sees a step in four calls of five: in both orders of two pairs in three."""
TIES_OFTEN = "planted/probit?s=2.3&beta=1.2&tau=1.0&sigma=0.2&lapse=0"
"""It leans, and where one order names the better text the other is often a tie."""
LADDER = ("-p", "vacuum", "-p", "ladder", "--profile", "standard")


def measured(folder: Path, *words: object) -> tuple[str, dict[str, Any]]:
    """What the screen says, and the datasheet."""
    done = run_command(folder.parent, "measure", *words, "--out", folder)
    body: dict[str, Any] = json.loads((folder / "datasheet.json").read_text(encoding="utf-8"))
    return " ".join(done.out.split()), body


def finding_with(body: dict[str, Any], remedy: str, metric: str) -> str:
    (cured,) = (each for each in body["remedies"] if each["remedy"] == remedy)
    (found,) = (e["estimate"] for e in cured["figures"] if e["estimate"]["metric"] == metric)
    return str(found["finding"])


def test_a_remedy_that_brings_a_fault_is_not_recommended(tmp_path: Path) -> None:
    told, body = measured(tmp_path / "run", "-j", NEVER_TIES, *LADDER)
    found = [finding_with(body, name, "target_sensitivity") for name in ("uncured", "orders", "average")]
    assert found == ["inconclusive", "flagged", "flagged"]
    (verdict,) = body["verdicts"]
    assert (verdict["remedy"], verdict["next"]["step"]) == (Advice.HALF_VOTES.value, "FIX_AND_REPEAT")
    assert verdict["remedy"] in told
    assert "consensus/" not in told
    written = (tmp_path / "run" / "datasheet.md").read_text(encoding="utf-8")
    why = "both orders, a tie where they differ or average of both orders: “chooses the better text” is then"
    assert f"{why} beyond its limit, 0.80 → 0." in written


def test_the_next_remedy_of_a_fault_is_recommended_where_the_first_brings_one(tmp_path: Path) -> None:
    told, body = measured(tmp_path / "run", "-j", TIES_OFTEN, *LADDER)
    assert finding_with(body, "orders", "target_sensitivity") == "flagged"
    assert finding_with(body, "average", "target_sensitivity") == "clear"
    (verdict,) = body["verdicts"]
    assert (verdict["remedy"], verdict["next"]["step"]) == (Advice.AVERAGE.value, "REMEDY")
    assert (verdict["calls"], verdict["next"]["price"]) == (612, "612 calls, free")
    assert f"consensus/average?of={TIES_OFTEN}" in told


@pytest.mark.parametrize(
    ("verdicts", "common"),
    [
        ((FIRST, FIRST), FIRST),
        ((FIRST, TIE), FIRST),
        ((TIE, SECOND), SECOND),
        ((FIRST, SECOND), TIE),
        ((TIE, TIE), TIE),
        ((Abstained(), SECOND), SECOND),
        ((Abstained(), Abstained()), Abstained()),
        ((FIRST, NONE), NONE),
        ((NONE, Failed("timeout")), Failed("timeout")),
    ],
)
def test_the_average_of_two_orders(verdicts: tuple[Verdict, Verdict], common: Verdict) -> None:
    """A text that is named once and tied once has three quarters of a point."""
    assert average_of_orders(verdicts, True) == common


TIES_ON_ONE_SIDE = "planted/probit?s=6&beta=2.5&tau=4&sigma=0&lapse=0"
"""A step is seen where the better text stands first, and is a tie in two of three calls where it does not."""


def test_the_average_of_both_orders_is_a_judge_that_costs_two_calls(tmp_path: Path) -> None:
    together = f"consensus/average?of={TIES_ON_ONE_SIDE}"
    alone, both = (
        measured(tmp_path / str(n), "-j", judge, *LADDER)[1]
        for n, judge in enumerate((TIES_ON_ONE_SIDE, together))
    )
    (entry,) = (each for each in both["judges"] if not each["baseline"])
    assert (entry["name"], entry["calls_per_verdict"]) == ("planted/probit, both orders averaged", 2)

    def of(body: dict[str, Any], metric: str) -> dict[str, Any]:
        judge, place = body["verdicts"][0]["judge"], {"protocol": "base", "delta": 1}
        found = (
            e for e in body["estimates"] if (e["judge"], e["metric"], e["group"]) == (judge, metric, place)
        )
        return dict(next(found))

    # One order names the better text and the other ties: a miss as it was, and seen on average.
    assert of(alone, "target_sensitivity")["value"] < 0.85
    assert of(both, "target_sensitivity")["value"] == 1.0
    (row,) = (each for each in alone["remedies"] if each["remedy"] == "average")
    assert (row["calls"], row["definition"]) == (2, '{consensus: average, of: "planted/probit"}')
    (mended,) = (e["estimate"] for e in row["figures"] if e["estimate"]["metric"] == "target_sensitivity")
    assert mended["value"] == 1.0


def test_noise_under_too_little_data_offers_a_majority(tmp_path: Path) -> None:
    (tmp_path / "rubric.md").write_text("Pass what is right.\n", encoding="utf-8")
    rows = [f"{n},Case {n}?,Answer {n} says {n % 2} of it,{n % 2}" for n in range(24)]
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(["id,request,response,label", *rows]) + "\n", encoding="utf-8")
    noisy = "planted/rater?sensitivity=0.95&specificity=0.95&noise=0.5"
    columns = "request=request,response=response,label=label,id=id"
    words = ("-j", noisy, "--data", data, "--columns", columns, "--scale", "binary", "--rubric", "rubric.md")
    told, body = measured(tmp_path / "run", *words, "-p", "stochastic_stability")
    (verdict,) = body["verdicts"]
    assert verdict["verdict"] == "too_little_data"
    assert (verdict["remedy"], verdict["next"]["step"]) == (Advice.STILL_NOISY.value, "REMEDY")
    assert f"majority/3?of={noisy}" in verdict["command"]
    assert "its remedy, majority of 3" in told


LENGTH_BREAKS_TIES = "planted/probit?s=10&beta=0&tau=3&sigma=0&lapse=0&length=4"


def test_nobody_is_told_to_say_what_the_rubric_says(tmp_path: Path) -> None:
    """The built-in rubric says that length does not count; the judge is prompted with it over HTTP."""
    with planted_server(parse_judge(LENGTH_BREAKS_TIES, Path(), Pairwise())) as url:
        told, body = measured(
            tmp_path / "run", *LADDER, "-p", "length", "-j", f"openai/planted?base_url={url}"
        )
    (verdict,) = body["verdicts"]
    assert verdict["facts"][0]["title"] == "Length"
    assert verdict["remedy"] == Advice.LENGTH_STATED.value
    assert verdict["remedy"] in told
    # The same from the file alone.
    again = run_command(tmp_path, "report", "run")
    assert verdict["remedy"] in " ".join(again.out.split())


def test_a_rubric_that_does_not_say_it_is_to_say_it(tmp_path: Path) -> None:
    rubric = tmp_path / "rubric.md"
    rubric.write_text("The better answer gives more of what the request asks for.\n", encoding="utf-8")
    with planted_server(parse_judge(LENGTH_BREAKS_TIES, Path(), Pairwise())) as url:
        judge = ("-j", f"openai/planted?base_url={url}", "--rubric", rubric)
        _, body = measured(tmp_path / "run", *LADDER, "-p", "length", *judge)
    assert body["verdicts"][0]["remedy"] == Advice.LENGTH_IN_RUBRIC.value


def test_who_ties_too_often_is_not_told_that_answers_change(tmp_path: Path) -> None:
    """Steps that are not seen are no noise: nothing says that the same call would end otherwise."""
    told, body = measured(tmp_path / "run", "-j", "planted/probit?s=0.9&beta=0&tau=1.6&sigma=0&lapse=0")
    (verdict,) = body["verdicts"]
    assert (verdict["verdict"], verdict["facts"][0]["title"]) == ("too_little_data", "Sensitivity")
    assert verdict["remedy"] == Advice.STILL_UNKNOWN.value
    assert verdict["remedy"] in told
