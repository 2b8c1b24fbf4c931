"""Functions as judges, handed over as objects or named on the command line; the other doors of a notebook."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import steelyard
from commands import Command
from steelyard.datasheet.render.clauses import conclusion_text, fact_text
from steelyard.errors import (
    ConfigError,
    DataError,
    PermanentError,
    RunError,
    SteelyardError,
    TransientError,
    UnknownNameError,
    UsageError,
)
from steelyard.providers.function.code_hash import code_hash
from steelyard.providers.function.python_function import (
    PythonFunction,
    address_of,
    asked_of_a_function,
    function_at,
)
from steelyard.runner.limits import RunLimits
from steelyard.tasks.task import Binary, Pairwise
from steelyard.trials.judge import Decoding, Judge, Presentation, Reply, Slots, Usage

MODULE = dedent(
    """
    def longer(request, first, second):
        if len(first) == len(second):
            return "tie"
        return "1" if len(first) > len(second) else "2"

    async def graded(request, response):
        return len(response) > 200

    LIMIT = 3

    class Kind:
        pass
    """
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a module of the user's in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_judges.py").write_text(MODULE)
    return tmp_path


def always_first(request: str, first: str, second: str) -> str:
    return "1"


def judge_of(function: object, scale: object = None, **options: object) -> Judge:
    protocols = asked_of_a_function(scale or Pairwise(), None)
    address = address_of(function, "tested")
    return Judge("tested", "python", address, protocols, options=options)


def ask(function: object, texts: tuple[str, ...] = ("a", "b"), scale: object = None) -> Reply:
    shown = Presentation((), Slots("why?", texts), ("1", "2", "tie"), Decoding())
    return asyncio.run(PythonFunction(judge_of(function, scale)).ask(shown))


def test_a_function_that_always_says_first_is_measured_as_such(here: Path) -> None:
    sheet = steelyard.measure(always_first, "planted/first", probes=["vacuum"])
    dark = sheet.find("always_first", "dark_current", protocol="base")
    assert (dark.numerator, dark.denominator) == (dark.n_calls, dark.n_calls)
    counts = {
        (e.metric, tuple(e.group.items())): (e.numerator, e.denominator)
        for e in sheet.estimates
        if e.judge == "planted/first"
    }
    assert counts == {
        (e.metric, tuple(e.group.items())): (e.numerator, e.denominator)
        for e in sheet.estimates
        if e.judge == "always_first"
    }


def test_the_command_line_names_a_function_of_a_module_or_of_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own_judges.py").write_text(MODULE)
    done = command("measure", "-j", "python/own_judges.py:longer", "-p", "vacuum", "--out", "run", "--json")
    assert done.code == 0, done.err
    rows = [row for row in done.rows if row["judge"] == "python/own_judges.py:longer"]
    dark = next(
        row for row in rows if row["metric"] == "dark_current" and row["group"] == {"protocol": "base"}
    )
    assert (dark["numerator"], dark["denominator"]) == (0, dark["n_calls"])
    again = command("measure", "-j", "python/own_judges.py:longer", "-p", "vacuum", "--out", "run")
    assert "No calls: every trial was answered before" in again.out
    scored = command(
        *("measure", "-j", "python/own_judges.py:graded", "--scale", "binary", "-p", "stochastic_stability"),
        *("--out", "b", "--json"),
    )
    assert scored.code == 0, scored.err
    agreed = [row for row in scored.rows if row["metric"] == "self_agreement" and row["value"] is not None]
    assert {row["value"] for row in agreed if row["judge"].startswith("python/")} == {1.0}
    # A report needs no function.
    (tmp_path / "own_judges.py").unlink()
    (tmp_path / "run" / "datasheet.json").unlink()
    rebuilt = command("report", "run", "--format", "json")
    assert rebuilt.code == 0, rebuilt.err
    assert rebuilt.rows == done.rows


@pytest.mark.parametrize(
    ("judge", "scale", "sentence"),
    [
        ("python/absent_module:f", "pairwise", "no module 'absent_module'; correct the name"),
        ("python/absent.py:f", "pairwise", "no file absent.py; correct the path"),
        ("python/own_judges.py:f", "pairwise", "no 'f' in own_judges.py; name a function"),
        ("python/own_judges.py:LIMIT", "pairwise", "found int, expected a function"),
        ("python/own_judges.py:Kind", "pairwise", "found the class Kind, expected a function or an object"),
        ("python/leaves.py:f", "pairwise", "leaves.py cannot be imported (SystemExit: 3); mend it"),
        (
            "python/unset.py:f",
            "pairwise",
            "unset.py cannot be imported (KeyError: 'JUDGE_NAME'); set this environment variable",
        ),
        (
            "python/own_judges.py:graded",
            "pairwise",
            "found (request, response), expected (request, first, second)",
        ),
        ("python/own_judges.py:longer", "binary", "expected (request, response) on a scale for one text"),
        ("python/nothing", "pairwise", "no function of this name was handed over in this session"),
        ("python/broken.py:f", "pairwise", "broken.py cannot be imported (SyntaxError"),
        ("python/needy.py:f", "pairwise", "no module 'absent_dependency'; install it"),
        ("python/own_judges.py:longer?prompt=x", "pairwise", "own_judges.py"),
        ("python/own_judges.py:longer?concurrency=0", "pairwise", "concurrency"),
    ],
)
def test_what_is_no_judge_is_refused_before_anything_is_written(
    command: Command, tmp_path: Path, judge: str, scale: str, sentence: str
) -> None:
    (tmp_path / "own_judges.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "unset.py").write_text("import os\n\nNAME = os.environ['JUDGE_NAME']\n")
    (tmp_path / "needy.py").write_text("import absent_dependency\n")
    done = command("measure", "-j", judge, "--scale", scale, "--out", "run")
    assert done.code == 2
    assert sentence in done.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("tie", "tie"),
        (1, "1"),
        (2.0, "2"),
        (True, "1"),
        (False, "0"),
        (0.5, "0.5"),
        (None, ""),
        ("  [[A]] ", "  [[A]] "),
    ],
)
def test_an_answer_becomes_the_text_of_a_reply(answer: object, text: str) -> None:
    assert ask(lambda request, first, second: answer).text == text


def test_an_async_function_and_one_that_returns_an_awaitable_are_awaited() -> None:
    async def second(request: str, first: str, second: str) -> str:
        await asyncio.sleep(0)
        return "2"

    assert ask(second).text == "2"
    assert ask(lambda *texts: second(*texts)).text == "2"

    class Grader:
        async def __call__(self, request: str, response: str) -> int:
            return 4

    assert ask(Grader(), ("a",), Binary()).text == "4"


def test_a_reply_passes_as_it_is_with_its_tokens() -> None:
    reply = Reply("1", usage=Usage(10, 2), served_model="m")
    told = ask(lambda request, first, second: reply)
    assert replace(told, latency_ms=0.0) == reply
    assert told.latency_ms > 0


def raising(error: BaseException) -> object:
    def judge(request: str, first: str, second: str) -> str:
        raise error

    return judge


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (KeyError("winner"), PermanentError, "raised KeyError"),
        (TypeError("x"), PermanentError, "raised TypeError"),
        (ConnectionError("reset"), TransientError, "raised ConnectionError"),
        (TimeoutError(), TransientError, "raised TimeoutError"),
        (RuntimeError("rate limit"), TransientError, "raised RuntimeError"),
        (SystemExit(3), TransientError, "raised RuntimeError"),
        (StopIteration(), TransientError, "raised RuntimeError"),
    ],
)
def test_what_a_function_raises_is_a_failure_of_the_call(
    error: BaseException, kind: type, reason: str
) -> None:
    with pytest.raises(kind) as failure:
        ask(raising(error))
    assert failure.value.reason == reason


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [
        ({"winner": "1"}, "returned {'winner': '1'} (dict), expected text or a number", "unreadable"),
        (steelyard.Unreadable("the model declined"), "the model declined", "unreadable"),
        (float("nan"), "nan", "off_scale"),
        (float("-inf"), "-inf", "off_scale"),
    ],
)
def test_an_answer_that_is_no_verdict_is_unreadable_and_shown(answer: object, text: str, finish: str) -> None:
    reply = ask(lambda request, first, second: answer)
    assert reply.finish == finish
    assert reply.text.startswith(text)


def test_a_function_that_fails_every_call_has_no_figure(here: Path) -> None:
    stopped = (
        r"stopped after 8 calls under protocol base, which all failed; the last: .* raised KeyError: 'x'"
    )
    with pytest.raises(RunError, match=stopped):
        steelyard.measure({"model": raising(KeyError("x")), "name": "broken"}, probes=["vacuum"], out="run")
    sheet = Path("run/datasheet.json")
    assert not sheet.exists() or all(
        e.value is None for e in steelyard.load("run").of("broken", "dark_current")
    )


def test_no_more_calls_run_at_once_than_the_judge_allows(here: Path) -> None:
    lock, running, most = threading.Lock(), [0], [0]
    barrier = threading.Event()

    def judge(request: str, first: str, second: str) -> str:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        barrier.wait(0.001)
        with lock:
            running[0] -= 1
        return "tie"

    steelyard.measure({"model": judge, "name": "alone", "concurrency": 1}, probes=["vacuum"])
    assert most[0] == 1


def test_a_function_runs_inside_a_running_event_loop(here: Path) -> None:
    async def cell() -> steelyard.Datasheet:
        return steelyard.measure(always_first, probes=["vacuum"])

    assert asyncio.run(cell()).find("always_first", "dark_current", protocol="base").value == 1.0


def leaning(strength: int) -> object:
    def judge(request: str, first: str, second: str) -> str:
        return "1" if len(first) + strength > len(second) else "2"

    return judge


def test_the_hash_of_a_function_sees_its_code_and_the_values_it_carries() -> None:
    assert code_hash(leaning(1)) == code_hash(leaning(1)) != code_hash(leaning(2))
    assert code_hash(always_first) != code_hash(leaning(1))
    one, again, two = (code_hash(functools.partial(max, default=default)) for default in (1, 1, 2))
    assert one == again != two

    def graded(request: str, response: str, limit: int = 3) -> int:
        return limit

    other = functools.partial(graded, limit=4)
    assert len({code_hash(graded), code_hash(other), code_hash(functools.partial(graded, limit=5))}) == 3

    class Grader:
        def __init__(self, limit: int) -> None:
            self.limit, self.client = limit, object()

        def __call__(self, request: str, response: str) -> int:
            return self.limit

        def grade(self, request: str, response: str) -> int:
            return self.limit

    assert code_hash(Grader(1)) == code_hash(Grader(1)) != code_hash(Grader(2))
    assert code_hash(Grader(1).grade) == code_hash(Grader(1).grade) != code_hash(Grader(2).grade)


LIMITS = [3]
"""What a function inside a judge names."""


def test_the_hash_of_a_function_sees_keyword_defaults_and_what_inner_functions_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def with_default(limit: int) -> Callable[..., int]:
        def judge(request: str, response: str, *, most: int = limit) -> int:
            return most

        return judge

    assert code_hash(with_default(1)) == code_hash(with_default(1)) != code_hash(with_default(2))

    def nested(request: str, response: str) -> int:
        def inside() -> int:
            return LIMITS[0]

        return inside()

    before = code_hash(nested)
    monkeypatch.setitem(globals(), "LIMITS", [4])
    assert code_hash(nested) != before


def test_a_function_without_source_is_hashed_by_its_instructions() -> None:
    scopes: list[dict[str, object]] = [{}, {}, {}]
    for scope, answer in zip(scopes, ("1", "1", "2"), strict=True):
        exec(f"def f(request, first, second):\n    return {answer!r}\n", scope)
    same, again, other = (code_hash(scope["f"]) for scope in scopes)
    assert same == again != other


def test_a_cycle_in_what_a_function_carries_ends() -> None:
    cycle: dict[str, object] = {}
    cycle["self"] = [cycle]

    def judge(request: str, first: str, second: str) -> str:
        return str(len(cycle))

    assert code_hash(judge) == code_hash(judge)


def test_an_edited_function_is_another_judge(here: Path) -> None:
    first = steelyard.measure({"model": leaning(0), "name": "j"}, probes=["vacuum"])
    other = steelyard.measure({"model": leaning(9), "name": "j"}, probes=["vacuum"])
    versioned = steelyard.measure({"model": leaning(0), "name": "j", "version": "2"}, probes=["vacuum"])
    prints = [sheet.judges[0].protocols["base"] for sheet in (first, other, versioned)]
    assert len(set(prints)) == 3
    assert len({first.folder, other.folder, versioned.folder}) == 3


def test_two_functions_of_one_name_are_refused_and_may_be_named(here: Path) -> None:
    with pytest.raises(ConfigError, match="judge"):
        steelyard.measure(leaning(0), leaning(9), probes=["vacuum"])
    both = steelyard.measure(
        {"model": leaning(0), "name": "even"}, {"model": leaning(999), "name": "leaning"}, probes=["vacuum"]
    )
    rates = [both.find(name, "dark_current", protocol="base").value for name in ("even", "leaning")]
    assert rates == [1.0, 1.0]  # without a tie among its answers, either names a winner between equals


def test_a_module_function_keeps_its_address_and_a_closure_its_name() -> None:
    assert address_of(always_first, "x") == f"{__name__}:always_first"
    closure = leaning(0)
    assert address_of(closure, "own") == "own"
    assert function_at("own") is closure
    assert function_at(f"{__name__}:always_first") is always_first


@pytest.mark.parametrize("given", [3, None, [1], object()])
def test_what_is_no_judge_at_all_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match="expected 'provider/model', a mapping, or a function"):
        steelyard.measure(given)


def test_plan_counts_what_measure_then_asks(here: Path) -> None:
    outlay = steelyard.plan(always_first, probes=["vacuum"])
    assert outlay.dollars is None
    sheet = steelyard.measure(always_first, probes=["vacuum"])
    assert outlay.folder == sheet.folder
    assert outlay.calls == sheet.run["calls"]
    assert steelyard.plan(always_first, probes=["vacuum"]).calls == 0
    assert repr(outlay) == f"<CostEstimate: {outlay.calls} calls, price unknown, {outlay.folder}>"
    assert steelyard.plan("planted/coin", probes=["vacuum"]).dollars == 0.0


def test_limits_may_be_a_mapping(here: Path) -> None:
    calls = []

    def failing(request: str, first: str, second: str) -> str:
        calls.append(request)
        raise KeyError("x")

    with pytest.raises(steelyard.SteelyardError):
        steelyard.measure(
            failing, probes=["vacuum"], limits={"attempts": 1, "concurrency": 1, "failure_threshold": 2}
        )
    assert 0 < len(calls) <= 12
    assert RunLimits.of({"budget": 2}) == RunLimits(budget=2.0)
    assert RunLimits.of(RunLimits(attempts=2)) == RunLimits.of({"attempts": 2})
    assert RunLimits.of(None) == RunLimits()


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"atempts": 1}, "limits: unknown key 'atempts' (did you mean 'attempts'?)"),
        ({"attempts": 0}, "limits: attempts: found 0, expected a number from 1 on"),
        ({"budget": "much"}, "limits: budget: found 'much', expected a number"),
        (3, "limits: found 3, expected a mapping"),
    ],
)
def test_what_is_no_limit_is_told(here: Path, limits: object, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        steelyard.measure("planted/tie", probes=["vacuum"], limits=limits)
    assert str(caught.value).startswith(told)


def test_a_seed_that_no_judge_can_have_is_told(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"arguments: seed: found 10.*, expected a number below 92233"):
        steelyard.plan("planted/tie", seed=10**30)


def test_load_and_report_give_the_datasheet_again(here: Path) -> None:
    sheet = steelyard.measure("planted/coin", probes=["vacuum"])
    assert steelyard.load(sheet.folder) == sheet
    (sheet.folder / "datasheet.json").unlink()
    assert steelyard.report(sheet.folder).estimates == sheet.estimates
    assert steelyard.load(sheet.folder).findings == sheet.findings
    with pytest.raises(UsageError, match="no such folder"):
        steelyard.load("absent")


def test_compare_and_gate_as_functions(here: Path) -> None:
    sheet = steelyard.measure("planted/coin", "planted/first", probes=["vacuum"], profile="standard")
    sides = [f"{sheet.folder}:{name}" for name in ("planted/coin", "planted/first")]
    comparison = steelyard.compare(*sides)
    assert {row.metric for row in comparison.rows} >= {"dark_current"}
    assert repr(comparison).startswith("<Comparison, planted/first against planted/coin: ")
    assert all(f"<p>{escape(sentence)}</p>" in comparison._repr_html_() for sentence in comparison.answer())
    Path("policy.yaml").write_text("dark_current: {max: 0.1}\n")
    ruling = steelyard.gate(sheet.folder, "policy.yaml", judges=("planted/coin",))
    assert ruling.result == "FAIL"
    assert repr(ruling) == "<Ruling on planted/coin: FAIL, 1 check>"
    assert "<td>FAIL</td><td>planted/coin</td>" in ruling._repr_html_()
    assert steelyard.gate(sheet.folder, "policy.yaml", judges="planted/coin") == ruling
    assert (sheet.folder / "certificate.json").exists()


def test_every_public_name_is_there_for_completion() -> None:
    assert dir(steelyard) == sorted(steelyard.__all__)
    for name in steelyard.__all__:
        assert getattr(steelyard, name) is not None
    assert "(request, first, second)" in (inspect.getdoc(steelyard.measure) or "")


def test_a_notebook_shows_a_sheet_in_a_line_a_table_and_a_frame(here: Path) -> None:
    sheet = steelyard.measure({"model": always_first, "name": "<b>first</b>"}, probes=["vacuum"])
    assert repr(sheet).startswith("<NotebookSheet of <b>first</b>: ")
    assert len(repr(sheet)) < 120
    assert repr(sheet.verdict) == f"<Conclusion on <b>first</b>: {sheet.verdict.word}>"
    first, *facts, so, after = str(sheet).split("\n  ")
    assert (first, so) == (f"<b>first</b>: {sheet.verdict.word}", f"so: {sheet.verdict.advice.value}")
    assert facts == [fact_text(fact) for fact in sheet.verdict.facts]
    assert after == f"next: {sheet.verdict.next.sentence}"
    table = sheet._repr_html_()
    assert "&lt;b&gt;first&lt;/b&gt;" in table
    assert "<b>first</b>" not in table
    cells = ("reacts to nothing", "1.00", "[0.62, 1.00]", "at most 0.10", "too high")
    assert re.findall(r"<td[^>]*>(.*?)</td>", table) == list(cells)
    assert f"&lt;b&gt;first&lt;/b&gt;: {sheet.verdict.word}</h4>" in table
    frame = sheet.to_frame()
    assert len(frame) == len(sheet.estimates) + len(sheet.panel)
    dark = frame[(frame.metric == "dark_current") & frame.kind.isna() & (frame.judge == "<b>first</b>")]
    assert dark[["value", "numerator", "denominator"]].to_numpy().tolist() == [[1.0, 12, 12]]
    interval = sheet.find("<b>first</b>", "dark_current", protocol="base").interval
    assert dark[["low", "high"]].to_numpy().tolist() == [[interval.low, interval.high]]


def test_find_suggests_the_nearest_name(here: Path) -> None:
    sheet = steelyard.measure({"model": always_first, "name": "first"}, probes=["vacuum"])
    for call, message in (
        (lambda: sheet.find("frst", "dark_current"), "unknown judge 'frst': did you mean 'first'"),
        (
            lambda: sheet.find("first", "darkcurrent"),
            "unknown metric 'darkcurrent': did you mean 'dark_current'",
        ),
        (
            lambda: sheet.find("first", "dark_current", protocl="base"),
            "unknown condition of dark_current 'protocl': did you mean 'protocol'",
        ),
        (lambda: sheet.of("first", "darkcurrent"), "unknown metric 'darkcurrent'"),
    ):
        with pytest.raises(UnknownNameError, match=message):
            call()
    assert sheet.find("first", "dark_current", protocol="strict") is None
    assert sheet.find("first", "kappa", protocol="base") is None  # a metric that this run did not measure


def test_print_shows_the_verdict_on_each_judge(here: Path) -> None:
    sheet = steelyard.measure({"model": always_first, "name": "first"}, probes=["vacuum"])
    assert str(sheet) == conclusion_text(sheet.verdict)
    assert str(sheet).startswith(f"first: {sheet.verdict.word}")


def test_a_function_that_returns_something_else_is_told_what_it_returned(here: Path) -> None:
    def wrong(request: str, first: str, second: str) -> dict[str, str]:
        return {"winner": "1"}

    message = r"stopped after 8 replies .*\(no answer 8\); replied 'returned \{'winner': '1'\} \(dict\).*"
    with pytest.raises(SteelyardError, match=message):
        steelyard.measure(wrong, probes=["vacuum"])


def test_parameters_have_names_and_types() -> None:
    for function in (steelyard.measure, steelyard.plan):
        parameters = inspect.signature(function).parameters.values()
        assert {"profile", "probes", "data", "task", "seed"} <= {each.name for each in parameters}
        assert not [each for each in parameters if each.kind is inspect.Parameter.VAR_KEYWORD]
        assert not [each for each in parameters if each.annotation is inspect.Parameter.empty]


def test_progress_is_one_line_and_silent_by_default_in_a_script(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steelyard.measure({"model": always_first, "name": "first"}, probes=["vacuum"], out="silent")
    assert capsys.readouterr().err == ""
    steelyard.measure({"model": always_first, "name": "first"}, probes=["vacuum"], out="told", progress=True)
    *_, last = capsys.readouterr().err.rstrip("\n").split("\r")
    assert last == "first 12/12 calls"


def test_data_may_be_a_file(here: Path) -> None:
    Path("items.csv").write_text("q,a,ok\n" + "".join(f"ask {n},answer {n},{n % 2}\n" for n in range(8)))
    with pytest.raises(DataError, match="no column is the response for certain; found: 'q', 'a', 'ok'"):
        steelyard.plan(
            "planted/coin", data=Path("items.csv"), task={"scale": "binary", "rubric": "Is it so?"}
        )
    columns = {"request": "q", "response": "a", "label": "ok"}
    planned = steelyard.plan(
        "planted/rater",
        data={"path": Path("items.csv"), "columns": columns},
        task={"scale": "binary", "rubric": "Is it right?"},
    )
    assert planned.calls > 0


def test_a_budget_is_refused_where_the_price_of_a_function_is_not_known(here: Path) -> None:
    with pytest.raises(UsageError, match="price"):
        steelyard.measure(always_first, probes=["vacuum"], limits=RunLimits(budget=1.0))


def test_a_function_may_be_a_member_of_a_judge_made_of_others(here: Path) -> None:
    """Both orders of a judge that always says first agree on nothing, so their consensus never prefers."""
    both = steelyard.measure({"consensus": "orders", "of": always_first, "name": "both"}, probes=["vacuum"])
    dark = both.find("both", "dark_current", protocol="base")
    assert (dark.numerator, dark.denominator) == (0, dark.denominator)
    assert dark.denominator > 0
    members = [always_first, {"model": leaning(0), "name": "even"}, "planted/tie"]
    jury = steelyard.measure({"jury": members, "name": "three"}, probes=["vacuum"], out="jury")
    assert jury.find("three", "dark_current", protocol="base").denominator == dark.denominator


def test_a_datasheet_stands_for_the_folder_of_its_run(tmp_path: Path) -> None:
    sheet = steelyard.measure("planted/coin", probes=["vacuum"], out=tmp_path / "coin")
    other = steelyard.measure("planted/tie", probes=["vacuum"], out=tmp_path / "tie")
    assert steelyard.load(sheet) == sheet
    assert steelyard.gate(sheet, {"dark_current": {"max": 0.1}}).result == "FAIL"
    assert steelyard.compare(sheet, other).first.folder == str(tmp_path / "coin")


@pytest.mark.parametrize("keys", [{"data": [{"q": "a"}]}, {"task": "binary"}])
def test_data_and_task_that_are_no_mappings_are_refused_in_a_sentence(keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"arguments: {next(iter(keys))}: found .* expected a mapping"):
        steelyard.measure("planted/coin", **keys)
