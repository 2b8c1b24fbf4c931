"""Judges of frameworks are known by their class, and put on the scale only inside their own range.

Classes stand in for the frameworks here; `make test-frameworks` runs the real ones.
"""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import steelyard
from steelyard.errors import ConfigError, DataError, UnreadableError
from steelyard.providers.function.code_hash import Fingerprint
from steelyard.providers.function.frameworks import deepeval_metric as deepeval_metric_module
from steelyard.providers.function.frameworks.adapter import Grade, adapter_for, bind, reply_of, settings_of
from steelyard.trials.judge import Slots

BINARY, FIVE = ("0", "1"), ("1", "2", "3", "4", "5")


def stand_in(module: str, name: str, **body: Any) -> Any:
    """An object whose class derives from one of this name and module."""
    base = type(name, (), {"__module__": module})
    return type("Own", (base,), {"__module__": module, **body})()


@pytest.mark.parametrize(
    ("module", "name", "adapter"),
    [
        ("deepeval.metrics.base_metric", "BaseMetric", "DeepEval"),
        ("deepeval.metrics.base_metric", "BaseArenaMetric", "DeepEval"),
        ("ragas.metrics.base", "SimpleBaseMetric", "Ragas"),
        ("ragas.metrics.base", "SingleTurnMetric", "Ragas"),
        ("autoevals.score", "Scorer", "autoevals"),
        ("phoenix.evals.evaluators", "Evaluator", "Phoenix"),
        ("mlflow.genai.judges.base", "Judge", "MLflow"),
    ],
)
def test_a_judge_is_known_by_its_class(module: str, name: str, adapter: str) -> None:
    found = adapter_for(stand_in(module, name))
    assert found is not None
    assert found.name == adapter
    assert module.partition(".")[0] not in sys.modules


def test_a_function_of_openevals_and_a_registered_scorer_are_known() -> None:
    def judge(**keys: Any) -> None: ...

    assert adapter_for(judge) is None
    judge.__module__ = "openevals.llm"
    assert adapter_for(judge).name == "openevals"
    scorer = SimpleNamespace(__registry_info__=SimpleNamespace(type="scorer", name="mine"))
    assert adapter_for(scorer).name == "Inspect"
    assert adapter_for(SimpleNamespace(__registry_info__=SimpleNamespace(type="solver"))) is None


def test_other_objects_are_none_of_them() -> None:
    assert adapter_for(stand_in("deepeval.models", "GPTModel")) is None
    assert adapter_for(print) is adapter_for(3) is adapter_for(stand_in("mydeepeval.x", "BaseMetric")) is None
    with pytest.raises(ConfigError, match="judges conversations"):
        adapter_for(stand_in("deepeval.metrics.base_metric", "BaseConversationalMetric"))


@pytest.mark.parametrize(
    ("grade", "scale", "text", "finish"),
    [
        (Grade(1.0, 0, 1), BINARY, "1", "stop"),
        (Grade(0.0, 0, 1), BINARY, "0", "stop"),
        (Grade(0.6, 0, 1, passed=True), BINARY, "1", "stop"),
        (
            Grade(0.6, 0, 1),
            BINARY,
            "scored 0.6, between 0 and 1: say what passes with ?threshold=",
            "off_scale",
        ),
        (Grade(3.7, 0, 1, passed=True), BINARY, "scored 3.7, outside its range 0 to 1", "off_scale"),
        (Grade(-0.2, 0, 1), FIVE, "scored -0.2, outside its range 0 to 1", "off_scale"),
        (Grade(37, 1, 5), FIVE, "scored 37, outside its range 1 to 5", "off_scale"),
        (Grade(0.97, 0, 1), FIVE, "5", "stop"),
        (Grade(0.5, 0, 1), FIVE, "3", "stop"),
        (Grade(2.0, 1, 5), FIVE, "2", "stop"),
        (Grade(4), FIVE, "4", "stop"),
        (Grade("pass"), BINARY, "pass", "stop"),
        (Grade("1"), ("1", "2", "tie"), "1", "stop"),
    ],
)
def test_a_score_is_mapped_only_inside_its_own_range(
    grade: Grade, scale: tuple[str, ...], text: str, finish: str
) -> None:
    reply = reply_of(grade, scale, {}, None)
    assert (reply.text, reply.finish) == (text, finish)


def test_a_threshold_and_an_answer_map_are_the_owners_word() -> None:
    assert reply_of(Grade(0.6, 0, 1), BINARY, {}, 0.5).text == "1"
    assert reply_of(Grade(0.5, 0, 1, label="P"), BINARY, {"p": "0", "c": "1"}, None).text == "P"
    for none in (Grade(None, why="grader failed"), Grade(float("nan"), 0, 1, why="grader failed")):
        with pytest.raises(UnreadableError, match="grader failed"):
            reply_of(none, BINARY, {}, None)


def test_an_answer_map_is_never_passed_over() -> None:
    words = {"good": "1", "bad": "0"}
    assert reply_of(Grade(1.0, 0, 1, label="yes"), BINARY, words, None).text == "yes"  # not in the map
    with pytest.raises(UnreadableError, match="scored 1, which is none of the answers good, bad"):
        reply_of(Grade(1.0, 0, 1, passed=True), FIVE, words, None)
    assert reply_of(Grade(0.5, 0, 1), BINARY, {"0.5": "1", "1": "1"}, None).text == "0.5"


def test_fields_are_bound_by_name_and_demanded() -> None:
    slots = Slots("q", ("a",), context='["one", "two"]', metadata='{"style": "dry"}')
    bound = bind(("question", "output", "context", "style"), slots, "it")
    assert bound == {"question": "q", "output": "a", "context": "one\n\ntwo", "style": "dry"}
    assert bind(("contexts",), slots, "it", ("contexts",)) == {"contexts": ["one", "two"]}
    with pytest.raises(DataError, match="it needs 'reference'"):
        bind(("expected",), slots, "it")
    with pytest.raises(ConfigError, match="needs the field 'instructions'"):
        bind(("instructions",), slots, "it")


class Scripted:
    """A metric that keeps its score on itself, as DeepEval's do."""

    def __init__(self, criteria: str = "c") -> None:
        self.criteria, self.evaluation_params, self.score, self.error = criteria, (), None, None

    async def a_measure(self, case: Any, _show_indicator: bool = True) -> float:
        self.score = float(case.actual_output == "good")
        for _ in range(3):
            await asyncio.sleep(0)
        return self.score

    def is_successful(self) -> bool:
        return self.score >= 0.5


def deepeval_metric(criteria: str = "c") -> Any:
    named = dict.fromkeys(("score", "error"))
    base = type("BaseMetric", (), {"__module__": "deepeval.metrics.base_metric", **named})
    return type("Metric", (Scripted, base), {"__module__": "deepeval.metrics.own"})(criteria)


def test_a_metric_that_keeps_its_score_has_a_copy_for_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = ModuleType("deepeval.test_case")
    cases.LLMTestCase = SimpleNamespace
    monkeypatch.setitem(sys.modules, "deepeval.test_case", cases)
    monkeypatch.setitem(sys.modules, "deepeval", ModuleType("deepeval"))
    adapter = adapter_for(deepeval_metric())
    texts = ["good", "bad"] * 20

    async def every() -> list[Grade]:
        return await asyncio.gather(*(adapter.grade(Slots("q", (text,))) for text in texts))

    grades = asyncio.run(every())
    assert [(grade.value, grade.passed) for grade in grades] == [
        (float(t == "good"), t == "good") for t in texts
    ]
    assert adapter.judge.score is None


def test_a_metric_of_ones_own_knows_no_progress_line_and_need_not_return_its_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def a_measure(self: Any, test_case: Any) -> None:
        if test_case.actual_output != "skipped":
            self.score = 1.0

    cases = SimpleNamespace(LLMTestCase=SimpleNamespace)
    monkeypatch.setattr(deepeval_metric_module, "import_module", lambda name: cases)
    metric = deepeval_metric()
    metric.score, metric.reason, type(metric).a_measure = 0.3, "nothing to judge", a_measure
    adapter = adapter_for(metric)
    assert asyncio.run(adapter.grade(Slots("q", ("good",)))).value == 1.0
    with pytest.raises(UnreadableError, match="nothing to judge"):  # and not the score of an earlier call
        asyncio.run(adapter.grade(Slots("q", ("skipped",))))


def test_a_version_that_lacks_what_is_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"the DeepEval judge is of a version that is not known .*deepeval"):
        steelyard.remedied(deepeval_metric(), scale="binary")("q", "a")  # deepeval is not installed here
    monkeypatch.setitem(sys.modules, "deepeval", ModuleType("deepeval"))
    monkeypatch.setitem(sys.modules, "deepeval.test_case", ModuleType("deepeval.test_case"))
    with pytest.raises(ConfigError, match="no attribute 'LLMTestCase'"):
        steelyard.remedied(deepeval_metric(), scale="binary")("q", "a")


PREFIX = "is it"


class OwnScorer:
    """Its words stand in an attribute and in a constant of its module."""

    def __init__(self, prompt: str) -> None:
        self.prompt, self.score = prompt, None

    def measure(self) -> str:
        return f"{PREFIX} {self.prompt}"


def test_what_a_user_wrote_into_a_framework_is_part_of_the_fingerprint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = type("BaseMetric", (), {"__module__": "deepeval.metrics.base_metric", "score": None})
    own = type("Own", (OwnScorer, base), {"__module__": __name__})
    first = Fingerprint(own("right?"), settings_of).hash
    judge = own("right?")
    judge.score = 0.3
    assert Fingerprint(judge, settings_of).hash == first
    assert Fingerprint(own("true?"), settings_of).hash != first
    monkeypatch.setitem(globals(), "PREFIX", "was it")
    assert Fingerprint(own("right?"), settings_of).hash != first


def test_a_function_inside_a_frameworks_object_is_part_of_the_fingerprint() -> None:
    def decorated(function: Any) -> Any:
        made = stand_in("mlflow.genai.scorers.base", "Scorer")
        made.function = function
        return Fingerprint(made, settings_of).hash

    assert decorated(asked_once) != decorated(asked_twice)
    assert decorated(asked_once) == decorated(asked_once)


def asked_once() -> int:
    return 1


def asked_twice() -> int:
    return 2


def test_the_settings_of_a_metric_are_its_fingerprint() -> None:
    prints = [Fingerprint(deepeval_metric(c), settings_of).hash for c in ("a", "a", "b")]
    assert prints[0] == prints[1] != prints[2]
    metric = deepeval_metric("a")
    metric.score = 0.3  # what a run leaves behind is no setting
    assert Fingerprint(metric, settings_of).hash == prints[0]


def test_a_judge_for_one_text_is_refused_on_a_pairwise_scale() -> None:
    with pytest.raises(ConfigError, match="this DeepEval judge takes 1 text"):
        steelyard.measure({"model": deepeval_metric(), "name": "m"}, probes=["vacuum"])
