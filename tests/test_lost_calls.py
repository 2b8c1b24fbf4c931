"""Judges most of whose calls bring no verdict, and money that nobody can know: what is said of them."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from servers import Answer, ScriptedServer, cut, drop, fails, hang, says, sends, wins
from steelyard.datasheet.conclusion import Step
from steelyard.datasheet.questions.causes import Advice
from steelyard.run_folder.next_step import TRY_FIRST
from steelyard.runner.limits import MAYBE_BILLED

FAST = ("--attempts", 1, "--backoff", 0.01, "--concurrency", 1)
LOST = ("failed_rate", "unreadable_rate")
GOOD = 3
"""Replies before a server changes."""


def measured(command: Command, tmp_path: Path, reply: Any, query: str = "", *probes: str) -> dict[str, Any]:
    with ScriptedServer(reply) as server:
        judge = f"openai/m?base_url={server.url}&name=mine{query}"
        words = [word for probe in probes or ("vacuum",) for word in ("-p", probe)]
        said = command("measure", "-j", judge, *words, "--out", "run", *FAST)
    body: dict[str, Any] = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    return {**body, "said": said}


def lost_in(body: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Calls of the judge under test without a verdict, of all its calls."""
    judge = body["verdicts"][0]["judge"]
    return {
        each["metric"]: (each["numerator"], each["denominator"])
        for each in body["estimates"]
        if (each["judge"], each["probe"]) == (judge, "run") and each["metric"] in LOST and not each["group"]
    }


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_server_that_dies_leaves_too_little_data(command: Command, tmp_path: Path) -> None:
    number = count()
    body = measured(command, tmp_path, lambda _: wins("tie") if next(number) < GOOD else fails(400))
    (verdict,) = body["verdicts"]
    assert verdict["verdict"] == "too_little_data"
    assert lost_in(body) == {"failed_rate": (9, 12), "unreadable_rate": (0, 12)}
    assert [fact["title"] for fact in verdict["facts"]] == ["Failures"]
    assert (verdict["remedy"], verdict["next"]["step"]) == (Advice.NO_SERVER.value, Step.ASK_AGAIN.name)
    assert (verdict["calls"], "--out run" in verdict["command"]) == (12 - GOOD, True)


def test_a_judge_that_is_hardly_ever_read_is_not_called_usable(command: Command, tmp_path: Path) -> None:
    number = count()
    probes = "vacuum", "ladder"  # a preflight stops a shorter run of which so few replies can be read
    body = measured(
        command, tmp_path, lambda _: wins("tie") if next(number) < 20 else says("hm"), "", *probes
    )
    (verdict,) = body["verdicts"]
    assert lost_in(body) == {"failed_rate": (0, 72), "unreadable_rate": (52, 72)}
    assert [fact["title"] for fact in verdict["facts"]] == ["Failures"]
    assert (verdict["verdict"], verdict["remedy"]) == ("unfit", Advice.READABLE.value)
    assert verdict["next"]["step"] == Step.FIX_AND_REPEAT.name
    assert verdict["next"]["purpose"].startswith(f"{TRY_FIRST}, ")
    assert "see them with `steelyard show run --judge mine --outcome unreadable`" in body["said"].err


def test_a_judge_of_pairs_gives_no_score_to_nothing(command: Command, tmp_path: Path) -> None:
    body = measured(command, tmp_path, lambda _: wins("1"), "", "vacuum")
    (verdict,) = body["verdicts"]
    facts = [fact["sentence"] for fact in verdict["facts"]]
    assert (verdict["facts"][0]["title"], "in 12 of 12 calls" in facts[0]) == ("Dark current", True)
    assert not any("score" in fact for fact in facts)


def test_dollars_of_an_unknown_price_are_not_known(command: Command, tmp_path: Path) -> None:
    body = measured(command, tmp_path, lambda _: wins("tie"), "", "vacuum")
    assert body["run"]["dollars"] is None
    assert body["run"]["input_tokens"] > 0


def test_dollars_of_tokens_that_nobody_counted_are_called_an_estimate(
    command: Command, tmp_path: Path
) -> None:
    usage = {"prompt_tokens": "many", "completion_tokens": -5}
    uncounted = says('{"winner": "tie"}', usage=usage)
    body = measured(command, tmp_path, lambda _: uncounted, "&input_price=1&output_price=1", "vacuum")
    assert body["run"]["uncounted"] == {"mine": 12}
    assert body["run"]["dollars"] > 0
    said = body["said"]
    assert "the server counted no tokens in 12 calls; their cost is estimated" in said.err
    assert ", about $0.00" in said.out


def test_a_judge_that_calls_every_pair_a_tie_is_not_taken_for_a_reversed_one(
    command: Command, tmp_path: Path
) -> None:
    rows = "\n".join(f"q{n},answer {n},other {n},{1 + n % 2}" for n in range(60))
    Path("mine.csv").write_text(f"q,a,b,l\n{rows}\n", encoding="utf-8")
    words = ["--data", "mine.csv", "--columns", "request=q,response_1=a,response_2=b,label=l"]
    Path("r.md").write_text("The better answer is right.\n", encoding="utf-8")
    given = [*words, "--scale", "pairwise", "--rubric", "r.md"]
    command("measure", "-j", "planted/tie", *given, "-p", "position", "--out", "run")
    (verdict,) = json.loads((tmp_path / "run" / "datasheet.json").read_text())["verdicts"]
    assert verdict["verdict"] == "unfit"
    assert verdict["facts"][0]["title"] == "Merit"
    assert ": merit 0.50 [" in verdict["facts"][0]["sentence"]
    assert verdict["remedy"] == Advice.NO_CHOICE.value


def test_a_reversed_judge_is_told_to_say_the_opposite(command: Command, tmp_path: Path) -> None:
    rows = "\n".join(f"q{n},answer {n},{n % 2}" for n in range(60))
    Path("mine.csv").write_text(f"q,a,l\n{rows}\n", encoding="utf-8")
    Path("r.md").write_text("The better answer is right.\n", encoding="utf-8")
    words = ["--data", "mine.csv", "--columns", "request=q,response=a,label=l", "--scale", "binary"]
    judge = "planted/rater?sensitivity=0.05&specificity=0.05"
    command("measure", "-j", judge, *words, "--rubric", "r.md", "-p", "stochastic_stability", "--out", "run")
    (verdict,) = json.loads((tmp_path / "run" / "datasheet.json").read_text())["verdicts"]
    assert verdict["verdict"] == "unfit"
    assert verdict["facts"][0]["sentence"].startswith("says the opposite")
    assert ": merit −" in verdict["facts"][0]["sentence"]
    assert verdict["remedy"] == Advice.REVERSED.value


TIMED = ("--attempts", 3, "--backoff", 0.01, "--concurrency", 1, "--timeout", 3)
PRICED = "&input_price=1&output_price=1"


def timed_out(command: Command, hanging: int, *words: object, tokens: int = 100) -> dict[str, Any]:
    """A run whose first so many requests are never answered; 100 tokens in and 5 out cost $0.000105."""
    number = count()
    reply = says('{"winner": "tie"}', usage={"prompt_tokens": tokens, "completion_tokens": 5})
    with ScriptedServer(lambda _: hang() if next(number) < hanging else reply) as server:
        judge = f"openai/m?base_url={server.url}&name=mine{PRICED}"
        command("measure", "-j", judge, "-p", "vacuum", "--out", f"run{hanging}", *TIMED, *words)
    body: dict[str, Any] = json.loads(Path(f"run{hanging}", "datasheet.json").read_text())
    return body


def test_a_call_that_timed_out_and_was_made_again_is_on_the_bill(command: Command) -> None:
    run = timed_out(command, 1)["run"]
    assert run["repeated"] == {"calls": 1, "dollars": pytest.approx(0.000105)}
    assert run["dollars"] == pytest.approx(13 * 0.000105)
    assert run["calls"] == 12
    assert "of it for 1 call whose reply was lost" in Path("run1", "datasheet.md").read_text()


def test_a_call_that_timed_out_leaves_less_of_the_budget(command: Command) -> None:
    """A call costs more than the longest prompt may cost beyond the shortest, so one lost is one fewer."""
    clean, late = (timed_out(command, lost, "--budget", 0.007, tokens=800)["run"] for lost in (0, 1))
    assert "repeated" not in clean
    assert 0 < late["calls"] < clean["calls"] <= 12


USED = {"prompt_tokens": 100, "completion_tokens": 5}
DAMAGED = {
    "half a body": cut(wins("tie"), 40),
    "no choice": sends({"choices": [], "usage": USED}),
    "half a packed body": Answer(
        data=gzip.compress(wins("tie").data)[:-9], headers={"Content-Encoding": "gzip"}
    ),
    "reset": drop(),
}
"""Answers that a vendor generated and nobody can use."""
EACH = 0.000105


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_reply_is_on_the_bill(command: Command, damaged: Answer) -> None:
    number = count()
    with ScriptedServer(lambda _: wins("tie") if next(number) % 4 == 3 else damaged) as server:
        judge = f"openai/m?base_url={server.url}&name=mine{PRICED}"
        command("measure", "-j", judge, "-p", "vacuum", "--out", "run", "--backoff", 0.01, "--concurrency", 1)
        assert len(server.requests) == 48
    run = json.loads(Path("run", "datasheet.json").read_text())["run"]
    assert run["repeated"] == {"calls": 36, "dollars": pytest.approx(36 * EACH)}
    assert run["dollars"] == pytest.approx(48 * EACH)


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_a_budget_is_kept_where_replies_are_damaged(command: Command, damaged: Answer) -> None:
    """Of a reply that nobody could use only the most that it can cost is known, until its call has one."""
    number, budget, together = count(), 0.005, 4
    with ScriptedServer(lambda _: wins("tie") if next(number) % 4 == 3 else damaged) as server:
        judge = f"openai/m?base_url={server.url}&name=mine{PRICED}"
        words = ["--budget", budget, "--backoff", 0.01, "--concurrency", together]
        said = command("measure", "-j", judge, "-p", "vacuum", "--out", "run", *words)
        charged = EACH * len(server.requests)
    assert said.code == 1
    assert charged <= budget
    spent = re.search(r"the budget of \$0\.005 is reached \(\$([\d.]+) spent\)", said.err)
    assert spent is not None, said.err
    assert charged - 0.0001 < float(spent[1]) <= budget
    assert json.loads(Path("run", "datasheet.json").read_text())["run"]["calls"] > 0


def test_the_words_of_a_filter_are_no_answer_on_the_bill(command: Command, tmp_path: Path) -> None:
    """Every other prompt is refused, in few words or in many: the same dollars."""
    dollars = []
    for words in ("content filter", "content filter " * 20):
        number = count()
        body = measured(
            command,
            tmp_path,
            lambda _, words=words, number=number: fails(400, words) if next(number) % 2 else wins("tie"),
            PRICED,
        )
        dollars.append(body["run"]["dollars"])
        shutil.rmtree(tmp_path / "run")
    assert dollars[0] == dollars[1] > 12 / 2 * EACH


def test_a_call_of_a_lost_worker_may_be_billed() -> None:
    assert "worker_lost" in MAYBE_BILLED


def test_calls_that_are_refused_in_different_ways_end_with_the_reason_of_the_server(command: Command) -> None:
    """Too different to stop early, and each alone a wrong request."""
    number = count()
    with ScriptedServer(lambda _: fails((400, 422)[next(number) % 2], "no such field: winner")) as server:
        judge = f"openai/m?base_url={server.url}&name=mine"
        said = command("measure", "-j", judge, "-p", "vacuum", "--out", "run", *FAST)
    assert said.code == 1
    assert "no such field: winner" in said.err.strip().splitlines()[-1]
