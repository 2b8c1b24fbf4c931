"""Inspect scorers: called on a state that holds the request and the answer; the reference is the target."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from steelyard.providers.function.frameworks.adapter import (
    FrameworkAdapter,
    Grade,
    has_base,
    require,
    with_cell,
)
from steelyard.trials.presentation import Slots

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0}
"""Correct, partially correct, incorrect. N, no answer, is no grade."""


class InspectScorer(FrameworkAdapter):
    name = "Inspect"
    unseen = None

    @classmethod
    def fits(cls, judge: Any) -> bool:
        return getattr(getattr(judge, "__registry_info__", None), "type", None) == "scorer"

    @property
    def settings(self) -> Mapping[str, Any]:
        params = dict(getattr(self.judge, "__registry_params__", None) or {})
        default = None if params.get("model") else os.environ.get("INSPECT_EVAL_MODEL")
        return {
            "name": self.judge.__registry_info__.name,
            "params": {key: str(params[key]) for key in params},
            **({"default_model": default} if default else {}),
        }

    @classmethod
    def model_settings(cls, model: Any) -> Mapping[str, Any] | None:
        if not has_base(model, "inspect_ai", "Model"):
            return None
        address = getattr(model.api, "base_url", None)
        return {"model": str(model), "config": model.config, "args": model.model_args, "base_url": address}

    @property
    def template(self) -> str | None:
        held = inspect.getclosurevars(self.judge).nonlocals if inspect.isfunction(self.judge) else {}
        found = held.get("grading_template")
        return found if isinstance(found, str) else None

    def with_template(self, text: str) -> Any:
        return with_cell(self.judge, "grading_template", text)

    async def grade(self, slots: Slots) -> Grade:
        solver, model = import_module("inspect_ai.solver"), import_module("inspect_ai.model")
        scorer = import_module("inspect_ai.scorer")
        criterion = require(slots.reference, f"the Inspect scorer {self.settings['name']}", "reference")
        state = solver.TaskState(
            model=model.ModelName("none/none"),
            sample_id=0,
            epoch=1,
            input=slots.request,
            messages=[model.ChatMessageUser(content=slots.request)],
            output=model.ModelOutput.from_content("none/none", slots.texts[0]),
            metadata={} if slots.metadata is None else json.loads(slots.metadata),
        )
        score = await self.judge(state, scorer.Target(criterion))
        value = None if score is None else score.value
        if value in _LETTERS:
            return Grade(_LETTERS[value], 0.0, 1.0, label=value)
        is_grade = isinstance(value, (bool, int, float, str)) and value != "N"
        why = "the scorer gave no score" if score is None else f"value {value!r}: {score.explanation}"
        return Grade(value if is_grade else None, why=why)
