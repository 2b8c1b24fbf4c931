"""MLflow judges: made by `make_judge`, or Guidelines and other built-in scorers.

MLflow hands on whatever the model wrote, whatever type was declared; here a truth value has to be one.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import NoneType
from typing import Any

from steelyard.core.threads import run_in_daemon_thread
from steelyard.errors import ConfigError
from steelyard.providers.function.frameworks.adapter import FrameworkAdapter, Grade, require
from steelyard.trials.presentation import Slots

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class MlflowJudge(FrameworkAdapter):
    name, package, classes = "MLflow", "mlflow.genai", ("Scorer", "Judge")
    attributes = ("name", "instructions", "guidelines", "model", "feedback_value_type", "inference_params")

    @property
    def settings(self) -> Mapping[str, Any]:
        plain = (str, list, dict, NoneType)
        return {
            name: value if isinstance(value, plain) else str(value)
            for name, value in super().settings.items()
        }

    async def grade(self, slots: Slots) -> Grade:
        where, needed = f"the MLflow judge {self.judge.name!r}", self._needed
        if unknown := needed - {"inputs", "outputs", "expectations"}:
            raise ConfigError(f"{where} needs a {', '.join(sorted(unknown))}, which a text alone has not.")
        if "expectations" in needed:
            require(slots.reference, where, "reference")
        keys: dict[str, Any] = {"inputs": {"request": slots.request}, "outputs": {"response": slots.texts[0]}}
        if slots.reference is not None:
            keys["expectations"] = {"expected_response": slots.reference}
        parameters = inspect.signature(self.judge.__call__).parameters
        if not any(each.kind == each.VAR_KEYWORD for each in parameters.values()):
            keys = {name: value for name, value in keys.items() if name in parameters}
        feedback = await run_in_daemon_thread(lambda: self.judge(**keys), "judge")
        value = getattr(feedback, "value", feedback)
        error = getattr(feedback, "error", None)
        value = getattr(value, "value", value)  # a rating is an enumeration
        shown = f"value {value!r}, error {error}"
        if error is not None or not isinstance(value, (bool, int, float, str)):
            return Grade(None, why=shown)
        if isinstance(value, bool):
            return Grade(float(value), 0.0, 1.0)
        declared = getattr(self.judge, "feedback_value_type", None)
        if declared is bool:
            return Grade(None, why=f"{shown}, expected true or false")
        return Grade(value)

    @property
    def _needed(self) -> set[str]:
        """A judge says so itself; a scorer of one's own by its parameters."""
        if hasattr(self.judge, "get_input_fields"):
            return {field.name for field in self.judge.get_input_fields()}
        parameters = inspect.signature(self.judge.__call__).parameters.values()
        return {each.name for each in parameters if each.default is each.empty and each.kind in _NAMED}
