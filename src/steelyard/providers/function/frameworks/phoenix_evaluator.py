"""Phoenix evaluators: the fields of their template are bound by name, their choices are their range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.providers.function.frameworks.adapter import FrameworkAdapter, Grade, bind
from steelyard.trials.presentation import Slots


class PhoenixEvaluator(FrameworkAdapter):
    name, package, classes = "Phoenix", "phoenix.evals", ("Evaluator",)

    @property
    def settings(self) -> Mapping[str, Any]:
        llm = getattr(self.judge, "llm", None)
        return {
            "template": str(getattr(getattr(self.judge, "prompt_template", None), "template", "")),
            "labels": getattr(self.judge, "labels", None),
            "scores": getattr(self.judge, "label_score_map", None),
            "explanation": getattr(self.judge, "include_explanation", None),
            "parameters": getattr(self.judge, "invocation_parameters", None),
            "model": [str(getattr(llm, "provider", "")), str(getattr(llm, "model", ""))],
        }

    async def grade(self, slots: Slots) -> Grade:
        schema = self.judge.input_schema
        names = [] if schema is None else list(schema.model_fields)
        values = bind(names, slots, f"the Phoenix evaluator {self.judge.name!r}")
        score = (await self.judge.async_evaluate(values))[0]
        scores = (getattr(self.judge, "label_score_map", None) or {}).values()
        if score.score is None:
            return Grade(score.label, label=score.label, why=str(score))
        low, high = min(scores, default=None), max(scores, default=None)
        return Grade(float(score.score), low, high, label=score.label)
