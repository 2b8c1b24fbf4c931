"""Ragas metrics of both generations: `ascore` with fields by name, and single-turn metrics on a sample.

A metric of the newest kind is given its model at each call: name the variable that holds it, `?llm=NAME`.
Ragas hands on numbers outside the allowed values, and takes every verdict on a claim but 0 for a yes; here
they are unreadable.
"""

from __future__ import annotations

import inspect
import logging
import re
import string
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from steelyard.errors import ConfigError
from steelyard.providers.function.frameworks.adapter import FrameworkAdapter, Grade, bind, has_base
from steelyard.trials.judge import Slots

_LISTS = ("retrieved_contexts", "reference_contexts", "contexts")
_NO_SETTINGS = ("client", "cache", "run_config", "generate", "agenerate", "generate_text", "agenerate_text")
"""Attributes of a model: its client, and what wraps its methods."""

# The library under Ragas logs errors with the keys that servers quote; every failure is on record without.
logging.getLogger("instructor").addHandler(logging.NullHandler())


class RagasMetric(FrameworkAdapter):
    name, package, classes = "Ragas", "ragas.metrics", ("SimpleBaseMetric", "SingleTurnMetric")
    attributes = ("name", "definition", "rubrics", "allowed_values", "strictness", "mode", "with_reference")
    unseen = "the client of its model (address)"
    unchecked = re.compile(r'"verdict":\s*(?![01]\b)-?\d+')

    @property
    def settings(self) -> Mapping[str, Any]:
        held: dict[str, Any] = getattr(self.judge, "__dict__", {})
        prompts = {
            name: [each.instruction, getattr(each, "examples", None)]
            for name, each in held.items()
            if hasattr(each, "instruction")
        }
        return {**super().settings, "prompt": self._prompt, "prompts": prompts, "llm": self._llm}

    @classmethod
    def model_settings(cls, model: Any) -> Mapping[str, Any] | None:
        if not has_base(model, "ragas.llms", "BaseRagasLLM", "InstructorBaseRagasLLM"):
            return None
        return {name: value for name, value in vars(model).items() if name not in _NO_SETTINGS}

    @property
    def _llm(self) -> Any:
        return self.module.get("llm") or getattr(self.judge, "llm", None)

    @property
    def _prompt(self) -> str:
        prompt = getattr(self.judge, "prompt", None)
        return prompt if isinstance(prompt, str) else str(getattr(prompt, "instruction", "") or "")

    async def grade(self, slots: Slots) -> Grade:
        where = f"the Ragas metric {self.judge.name!r}"
        if has_base(self.judge, "ragas.metrics", "SingleTurnMetric"):
            samples = import_module("ragas.dataset_schema")
            values = bind(self._columns(slots), slots, where, _LISTS)
            score = await self.judge.single_turn_ascore(samples.SingleTurnSample(**values))
            kind = getattr(getattr(self.judge, "output_type", None), "name", "")
            ends = (0.0, 1.0) if kind in ("BINARY", "CONTINUOUS") else (None, None)
            return Grade(float(score), *ends)
        values = bind(self._fields(), slots, where, _LISTS)
        if has_base(self.judge, "ragas.metrics", "SimpleLLMMetric"):
            if self._llm is None:
                raise ConfigError(f"{where} holds no model; name the variable that does: ?llm=NAME.")
            values["llm"] = self._llm
        return self._grade((await self.judge.ascore(**values)).value)

    def _columns(self, slots: Slots) -> list[str]:
        """Columns that a metric requires, and of its optional ones those that the data have."""
        required, every = (
            self.judge.get_required_columns(with_optional=optional).get("SINGLE_TURN", ())
            for optional in (False, True)
        )
        given = {"user_input", "response"}
        given |= {"reference"} if slots.reference is not None else set()
        given |= {"retrieved_contexts"} if slots.context is not None else set()
        return sorted({*required, *(given & set(every))})

    def _fields(self) -> list[str]:
        if self._prompt:
            return [name for _, name, _, _ in string.Formatter().parse(self._prompt) if name]
        parameters = inspect.signature(self.judge.ascore).parameters.values()
        return [
            each.name for each in parameters if each.default is each.empty and each.kind != each.VAR_KEYWORD
        ]

    def _grade(self, value: Any) -> Grade:
        allowed = self.judge.allowed_values
        told = f"value {value!r}, allowed are {allowed}"
        if isinstance(value, str):
            return Grade(value if value in allowed else None, why=told)
        if not isinstance(value, (int, float)):
            return Grade(None, why=told)
        if isinstance(allowed, range):
            return Grade(value, float(allowed.start), float(allowed.stop))
        ends = map(float, allowed[:2]) if isinstance(allowed, tuple) else ()
        return Grade(value, *ends)
