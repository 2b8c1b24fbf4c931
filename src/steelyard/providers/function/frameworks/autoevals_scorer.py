"""autoevals scorers: LLMClassifier, Factuality and their like score a text from 0 to 1, Battle compares two.

A field that a template names and nobody gives is rendered empty there; here it is demanded.
"""

from __future__ import annotations

import copy
import inspect
import json
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from steelyard.core.threads import run_in_daemon_thread
from steelyard.providers.function.frameworks.adapter import FrameworkAdapter, Grade, bind
from steelyard.trials.presentation import Slots

_FIELD = re.compile(r"{{[#^&{]?\s*(\w+)")
_BUILT_IN = frozenset(("__choices",))


class AutoevalsScorer(FrameworkAdapter):
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
