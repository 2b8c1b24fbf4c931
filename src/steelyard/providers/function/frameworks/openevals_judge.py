"""openevals judges: functions that `create_llm_as_judge` made; the prompt is read from their closure.

openevals hands on whatever number the model wrote; here a truth value has to be one, and a number in range.
"""

from __future__ import annotations

import inspect
import string
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from steelyard.core.threads import run_in_daemon_thread
from steelyard.providers.function.frameworks.adapter import FrameworkAdapter, Grade, bind, with_cell
from steelyard.trials.presentation import Slots

_SETTINGS = (
    *("prompt", "system", "model", "continuous", "choices", "schema"),
    *("use_reasoning", "few_shot_examples"),
)


class OpenevalsJudge(FrameworkAdapter):
    name = "openevals"

    @classmethod
    def fits(cls, judge: Any) -> bool:
        return inspect.isfunction(judge) and judge.__module__.startswith("openevals.")

    @cached_property
    def _closure(self) -> dict[str, Any]:
        outer = inspect.getclosurevars(self.judge).nonlocals
        inner = outer.get("scorer")
        return {**outer, **(inspect.getclosurevars(inner).nonlocals if inspect.isfunction(inner) else {})}

    @property
    def settings(self) -> Mapping[str, Any]:
        client = self._closure.get("judge")
        model = getattr(client, "model_name", None) or getattr(client, "model", None)
        own = {name: self._closure.get(name) for name in _SETTINGS}
        if given := self._closure.get("structured_output_kwargs"):
            own["structured_output_kwargs"] = given
        sampling = {name: getattr(client, name, None) for name in ("temperature", "seed", "max_tokens")}
        return {**own, **sampling, "client": model if isinstance(model, str) else type(client).__name__}

    @property
    def template(self) -> str | None:
        prompt = self._closure.get("prompt")
        return prompt if isinstance(prompt, str) else None

    def with_template(self, text: str) -> Any:
        inner = inspect.getclosurevars(self.judge).nonlocals.get("scorer")
        if not inspect.isfunction(inner):
            return with_cell(self.judge, "prompt", text)
        return with_cell(self.judge, "scorer", with_cell(inner, "prompt", text))

    async def grade(self, slots: Slots) -> Grade:
        named = [name for _, name, _, _ in string.Formatter().parse(self.template or "") if name]
        values = bind(dict.fromkeys(["inputs", "outputs", *named]), slots, "the openevals judge")
        if slots.reference is not None:
            values.setdefault("reference_outputs", slots.reference)
        if inspect.iscoroutinefunction(self.judge):
            result = await self.judge(**values)
        else:
            result = await run_in_daemon_thread(lambda: self.judge(**values), "judge")
        found = result.get("score") if isinstance(result, dict) else result
        return self._grade(found, f"returned {result}")

    def _grade(self, found: Any, shown: str) -> Grade:
        choices, number = self._closure.get("choices"), isinstance(found, (int, float))
        if choices:
            listed = found if found in choices else None
            return Grade(
                listed, float(min(choices)), float(max(choices)), why=f"{shown}, expected one of {choices}"
            )
        if self._closure.get("continuous"):
            return Grade(found if number and not isinstance(found, bool) else None, 0.0, 1.0, why=shown)
        if self._closure.get("schema") is not None:
            return Grade(found if number or isinstance(found, str) else None, why=shown)
        truth = float(found) if isinstance(found, bool) else None
        return Grade(truth, 0.0, 1.0, why=f"{shown}, expected true or false")
