"""Adapters of frameworks whose judges take a few lines: autoevals, openevals, Phoenix, MLflow, Inspect."""

from __future__ import annotations

import copy
import inspect
import json
import os
import re
import string
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from types import NoneType
from typing import Any

from steelyard.core.threads import run_in_daemon_thread
from steelyard.errors import ConfigError
from steelyard.providers.function.frameworks.adapter import (
    FrameworkAdapter,
    Grade,
    bind,
    has_base,
    require,
    with_cell,
)
from steelyard.trials.judge import Slots

_FIELD = re.compile(r"{{[#^&{]?\s*(\w+)")
_BUILT_IN = frozenset(("__choices",))


class AutoevalsScorer(FrameworkAdapter):
    """LLMClassifier, Factuality and their like score a text from 0 to 1, Battle compares two.

    A field that a template names and nobody gives is rendered empty there; here it is demanded.
    """

    name = package = "autoevals"
    classes = ("Scorer",)
    attributes = ("name", "messages", "model", "engine", "choice_scores", "render_args", "extra_args")

    def __init__(self, judge: Any, module: Mapping[str, Any]) -> None:
        super().__init__(judge, module)
        if getattr(judge, "name", "") == "Battle":  # Battle(…) makes an LLMClassifier of this name
            self.texts = 2

    @property
    def template(self) -> str | None:
        messages: list[dict[str, Any]] = getattr(self.judge, "messages", None) or []
        return str(messages[0].get("content", "")) if len(messages) == 1 else None

    def with_template(self, text: str) -> Any:
        changed = copy.copy(self.judge)
        changed.messages = [{**self.judge.messages[0], "content": text}]
        return changed

    async def grade(self, slots: Slots) -> Grade:
        if self.texts == 2:
            first, second = slots.texts
            score = await self._eval(first, second, instructions=slots.request)
            return Grade({1: "1", 0: "2"}.get(score.score), why=str(score.metadata))
        values = bind(self._fields(), slots, f"autoevals {getattr(self.judge, 'name', '')}".strip())
        expected = values.pop("expected", slots.reference)
        values.pop("output", None)
        score = await self._eval(slots.texts[0], expected, **values)
        metadata = score.metadata or {}
        label = metadata.get("choice")
        return Grade(score.score, 0.0, 1.0, label=label, why=json.dumps(metadata, default=str))

    async def _eval(self, *texts: str | None, **fields: Any) -> Any:
        if self._is_async:
            return await self.judge.eval_async(*texts, **fields)
        return await run_in_daemon_thread(lambda: self.judge.eval(*texts, **fields), "judge")

    @property
    def _is_async(self) -> bool:
        """By its client: `eval_async` awaits whatever a plain one returns, after the model has replied."""
        if type(self.judge)._run_eval_async.__module__ == "autoevals.score":  # it calls the plain method
            return False
        client = getattr(self.judge, "client", None) or import_module("autoevals.oai")._client_var.get(None)
        chat = getattr(getattr(client, "openai", client), "chat", None)
        return chat is None or inspect.iscoroutinefunction(inspect.unwrap(chat.completions.create))

    def _fields(self) -> list[str]:
        messages = getattr(self.judge, "messages", None)
        if messages is None:  # scorers without a template take what they need of these
            return ["input"]
        text = " ".join(str(message.get("content", "")) for message in messages)
        given = _BUILT_IN | set(getattr(self.judge, "render_args", None) or ())
        return [name for name in dict.fromkeys(_FIELD.findall(text)) if name not in given]


_SETTINGS = (
    *("prompt", "system", "model", "continuous", "choices", "schema"),
    *("use_reasoning", "few_shot_examples"),
)


class OpenevalsJudge(FrameworkAdapter):
    """openevals judges: functions that `create_llm_as_judge` made; the prompt is read from their closure.

    openevals hands on whatever number the model wrote; here a truth value has to be one,
    and a number in range.
    """

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


class PhoenixEvaluator(FrameworkAdapter):
    """Phoenix evaluators: the fields of their template are bound by name, their choices are their range."""

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


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class MlflowJudge(FrameworkAdapter):
    """MLflow judges: made by `make_judge`, or Guidelines and other built-in scorers.

    MLflow hands on whatever the model wrote, whatever type was declared; here a truth value has to be one.
    """

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


_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0}
"""Correct, partially correct, incorrect. N, no answer, is no grade."""


class InspectScorer(FrameworkAdapter):
    """Called on a state that holds the request and the answer; the reference is the target."""

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
