"""DeepEval metrics: GEval, DAG and every other metric of one turn score a text, ArenaGEval compares two.

A metric keeps its score on itself, so each call has a copy of its own. GEval lets the model write its steps
from the criteria; they are written once in a run.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from steelyard.errors import ConfigError, UnreadableError
from steelyard.providers.function.frameworks.adapter import (
    FrameworkAdapter,
    Grade,
    has_base,
    missing_field,
    passages_of,
)
from steelyard.trials.judge import Slots

_PACKAGE = "deepeval"
_NEEDS = {"expected_output": "reference", "context": "context", "retrieval_context": "context"}


class DeepEvalMetric(FrameworkAdapter):
    name = "DeepEval"
    attributes = (
        *("criteria", "evaluation_steps", "rubric", "evaluation_params", "threshold", "strict_mode"),
        *("evaluation_model", "top_logprobs", "include_reason", "truths_extraction_limit"),
        "penalize_ambiguous_claims",
    )

    def __init__(self, judge: Any, module: Mapping[str, Any]) -> None:
        super().__init__(judge, module)
        self._steps: list[str] | None = None
        self._lock = asyncio.Lock()
        if has_base(judge, _PACKAGE, "BaseArenaMetric"):
            self.texts = 2
            self.caveat = "ArenaGEval shuffles the order itself: its position bias can not be measured"
        elif self._writes_steps:
            self.caveat = "the model writes GEval's steps once a run from the criteria: runs differ by them"

    @classmethod
    def fits(cls, judge: Any) -> bool:
        if has_base(judge, _PACKAGE, "BaseConversationalMetric"):
            raise ConfigError(f"{type(judge).__name__} judges conversations, expected a metric of one turn.")
        return has_base(judge, _PACKAGE, "BaseMetric", "BaseArenaMetric")

    @property
    def settings(self) -> Mapping[str, Any]:
        own = {**super().settings}
        rubric = [getattr(each, "__dict__", each) for each in own["rubric"] or ()]
        dag = getattr(self.judge, "dag", None)
        model = getattr(self.judge, "model", None)
        own["temperature"] = getattr(model, "temperature", None)
        if self.model_settings(model) is not None and not type(model).__module__.startswith("deepeval."):
            own["model"] = model  # of a class that the user wrote
        return {**own, "rubric": rubric, **({} if dag is None else {"dag": _graph(dag)})}

    @classmethod
    def model_settings(cls, model: Any) -> Mapping[str, Any] | None:
        return {} if has_base(model, _PACKAGE, "DeepEvalBaseLLM") else None

    @property
    def _writes_steps(self) -> bool:
        return hasattr(self.judge, "_a_generate_evaluation_steps") and not self.judge.evaluation_steps

    async def grade(self, slots: Slots) -> Grade:
        cases, metric = import_module("deepeval.test_case"), self._fresh()
        for param in self._params(metric):
            field = _NEEDS.get(getattr(param, "value", str(param)))
            if field is not None and getattr(slots, field) is None:
                raise missing_field(f"{type(metric).__name__}", field)
        passages = passages_of(slots)
        texts = [
            cases.LLMTestCase(
                input=slots.request,
                actual_output=text,
                expected_output=slots.reference,
                context=passages,
                retrieval_context=passages,
            )
            for text in slots.texts
        ]
        if self._writes_steps:
            async with self._lock:
                if self._steps is None:
                    self._steps = await metric._a_generate_evaluation_steps(False)
            metric.evaluation_steps = self._steps
        if self.texts == 2:
            pair = [cases.Contestant(name=n, test_case=case) for n, case in zip("12", texts, strict=True)]
            return Grade(str(await _measured(metric, cases.ArenaTestCase(contestants=pair))))
        metric.score = None  # of an earlier call
        returned = await _measured(metric, texts[0])
        score = metric.score if returned is None else returned  # a metric of one's own need not return it
        if score is None:
            raise UnreadableError(str(metric.error or metric.reason or "no score"))
        return Grade(float(score), 0.0, 1.0, passed=metric.is_successful())

    def _fresh(self) -> Any:
        if hasattr(self.judge, "dag"):
            return import_module("deepeval.metrics.utils").copy_metrics([self.judge])[0]
        return copy.copy(self.judge)

    @staticmethod
    def _params(metric: Any) -> Any:
        if hasattr(metric, "dag"):
            utils = import_module("deepeval.metrics.dag.dag")
            return utils.extract_required_params(metric.dag.root_nodes, metric.dag.multiturn)
        named = getattr(metric, "evaluation_params", None) or getattr(metric, "_required_params", ())
        return named if isinstance(named, (list, tuple, set)) else ()


async def _measured(metric: Any, case: Any) -> Any:
    """Without the progress line, which a metric of one's own need not know."""
    known = inspect.signature(metric.a_measure).parameters.values()
    quiet = any(each.kind == each.VAR_KEYWORD or each.name == "_show_indicator" for each in known)
    return await metric.a_measure(case, **({"_show_indicator": False} if quiet else {}))


_NODE = (
    *("criteria", "instructions", "label", "output_label", "verdict", "score", "evaluation_params"),
    *("children", "child"),
)


def _graph(dag: Any) -> Any:
    """The words of a graph of decisions: what each node asks, of what, and where it leads."""

    def walk(each: Any, depth: int) -> Any:
        each = getattr(each, "value", each)
        if each is None or isinstance(each, (str, int, float, bool)) or not depth:
            return each if isinstance(each, (str, int, float, bool)) else None
        if isinstance(each, (list, tuple)):
            return [walk(inner, depth - 1) for inner in each]
        return {
            key: walk(getattr(each, key), depth - 1) for key in _NODE if getattr(each, key, None) is not None
        }

    return walk(dag.root_nodes, 24)
