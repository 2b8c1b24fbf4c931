"""Edits of the rubric reach a judge whose own prompt holds it; else the sheet says what is left out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

import steelyard
from commands import Command
from steelyard.errors import ConfigError
from steelyard.stimuli.rubric_edits import with_rubric

RUBRIC = "1. It is right.\n2. It is short.\n3. It is polite."
SEEN: list[str] = []


@pytest.mark.parametrize(
    ("prompt", "rubric", "shown"),
    [
        (f"Judge.\n{RUBRIC}\nNow.", RUBRIC, f"Judge.\n{RUBRIC}\nNow."),
        (f"Judge.\n{RUBRIC}\nNow.", "1. It is short.\n2. It is right.\n3. It is polite.",
         "Judge.\n1. It is short.\n2. It is right.\n3. It is polite.\nNow."),
        ("- a\n- b", "- b\n- a", "- b\n- a"),
        ("- a\n- c", "- b\n- a", None),
        ("- a", "- b\n- a", None),
        ("", "- a", None),
        ("- a", "", None),
    ],
)  # fmt: skip
def test_a_rubric_takes_the_place_of_its_own_lines(prompt: str, rubric: str, shown: str | None) -> None:
    assert with_rubric(prompt, rubric) == shown


def scorer(prompt: str) -> Any:
    """A judge of the class that autoevals has, which notes the prompts that it sends."""

    async def eval_async(self: Any, output: str, expected: Any = None, **keys: Any) -> Any:
        SEEN.append(self.messages[0]["content"])
        return SimpleNamespace(score=float("good" in output), metadata={"choice": "x"})

    base = type("Scorer", (), {"__module__": "autoevals.score"})
    methods = {"eval_async": eval_async, "_run_eval_async": eval_async}
    made = type("LLMClassifier", (base,), {"__module__": "autoevals.llm", **methods})()
    made.name, made.messages = "points", [{"role": "user", "content": prompt}]
    made.client = SimpleNamespace(chat=None)
    return made


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    SEEN.clear()
    lines = ["q,a,ok", *(f"question {n},{'good' if n % 2 else 'bad'} {n},{n % 2}" for n in range(20))]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    (tmp_path / "rubric.md").write_text(RUBRIC)
    return {
        "data": {"path": "rows.csv", "columns": {"request": "q", "response": "a", "label": "ok"}},
        "task": {"scale": "binary", "rubric": "rubric.md"},
    }


def test_a_visible_prompt_gets_the_points_in_another_order(rows: dict[str, Any]) -> None:
    judge = {"model": scorer(f"Judge {{{{input}}}} {{{{output}}}}\n{RUBRIC}\nNow."), "name": "j"}
    sheet = steelyard.measure(judge, probes=["rubric_order"], **rows)
    as_written = [prompt for prompt in SEEN if RUBRIC in prompt]
    moved = [prompt for prompt in SEEN if RUBRIC not in prompt]
    assert (len(as_written), len(moved)) == (20, 20)
    assert all(point in prompt for prompt in moved for point in ("right.", "short.", "polite."))
    assert sheet.run["calls"] == 40
    assert any("score_range is left out" in told for told in sheet.caveats("j"))


def test_a_prompt_without_the_rubric_is_told_and_refused_where_named(rows: dict[str, Any]) -> None:
    judge = {"model": scorer("Judge {{input}} {{output}}."), "name": "j"}
    with pytest.raises(ConfigError, match=r"rubric_order.*each judge has a prompt of its own"):
        steelyard.measure(judge, probes=["rubric_order"], **rows)
    assert SEEN == []


def test_every_form_of_the_datasheet_says_what_was_left_out(
    command: Command, tmp_path: Path, rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("deepeval", "deepeval.test_case"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(LLMTestCase=dict))
    (tmp_path / "evals.py").write_text(
        dedent(
            """
            Base = type("BaseMetric", (), {"__module__": "deepeval.metrics.base_metric"})
            class Metric(Base):
                evaluation_params = ()
                async def a_measure(self, case, _show_indicator=True):
                    return 1.0
                def is_successful(self):
                    return True
                error = None
            metric = Metric()
            """
        )
    )
    options = ["--data", "rows.csv", "--scale", "binary", "--rubric", "rubric.md"]
    options += ["--columns", "request=q,response=a,label=ok", "-p", "format_invariance_1"]
    done = command("measure", "-j", "python/evals.py:metric", *options, "--out", "run")
    assert done.code == 0, done.err
    told = "rubric_order and score_range are left out: its prompt can not be changed from outside"
    assert told in " ".join((done.out + done.err).split())
    for name in ("datasheet.html", "datasheet.md", "datasheet.json"):
        text = (tmp_path / "run" / name).read_text()
        assert told in (json.dumps(json.loads(text)) if name.endswith("json") else text), name


def test_a_function_is_not_asked_about_a_rubric_that_it_never_sees(rows: dict[str, Any]) -> None:
    def judge(request: str, response: str) -> bool:
        return "good" in response

    sheet = steelyard.measure(judge, probes=["format_invariance_1"], **rows)
    assert sheet.run["calls"] == 40
    with pytest.raises(ConfigError, match="rubric_order"):
        steelyard.measure(judge, probes=["rubric_order"], **rows)
