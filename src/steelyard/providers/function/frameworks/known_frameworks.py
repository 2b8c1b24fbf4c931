"""The frameworks whose judges are known, by their class; each adapter is loaded when a judge fits."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from steelyard.providers.function.code_hash import code_hash
from steelyard.providers.function.frameworks.adapter import FrameworkAdapter

ADAPTERS = {
    "autoevals": "autoevals_scorer:AutoevalsScorer",
    "deepeval": "deepeval_metric:DeepEvalMetric",
    "inspect_ai": "inspect_scorer:InspectScorer",
    "mlflow": "mlflow_judge:MlflowJudge",
    "openevals": "openevals_judge:OpenevalsJudge",
    "phoenix": "phoenix_evaluator:PhoenixEvaluator",
    "ragas": "ragas_metric:RagasMetric",
}
"""Top-level package to the adapter of its judges."""


def adapter_for(judge: Any, module: Mapping[str, Any] | None = None) -> FrameworkAdapter | None:
    """The adapter of a framework's judge; None for everything else. No framework is imported for this."""
    modules = [kind.__module__ for kind in type(judge).__mro__]
    modules += [str(getattr(judge, "__module__", "")), _registered(judge)]
    for package in dict.fromkeys(name.partition(".")[0] for name in modules):
        if package in ADAPTERS:
            file, _, kind = ADAPTERS[package].partition(":")
            adapter: type[FrameworkAdapter] = getattr(import_module(f"{__package__}.{file}"), kind)
            if adapter.fits(judge):
                return adapter(judge, module or {})
    return None


def _registered(judge: Any) -> str:
    """Inspect marks what it made; a user's own scorer is otherwise a function of the user's module."""
    return "inspect_ai" if hasattr(judge, "__registry_info__") else ""


def settings_of(judge: Any) -> Mapping[str, Any] | None:
    """What decides a verdict of a framework's judge, with the code and the attributes that its user wrote."""
    adapter = None if isinstance(judge, type) else adapter_for(judge)
    if adapter is None:
        return None
    held: dict[str, Any] = getattr(judge, "__dict__", {})
    kinds = [judge] if inspect.isfunction(judge) else type(judge).__mro__
    own = [kind for kind in kinds if _package(kind) == _package(kinds[0]) and _package(kind) not in ADAPTERS]
    wrapped = [each for each in held.values() if inspect.isfunction(each) and _package(each) not in ADAPTERS]
    if not own and not wrapped:
        return adapter.settings
    # What a run leaves behind, such as a score, is among the attributes that the framework names.
    named = {name for kind in kinds if _package(kind) in ADAPTERS for name in _attributes(kind)}
    state = {name: value for name, value in held.items() if own and name not in named}
    return {**adapter.settings, "code": [code_hash(each) for each in (*own, *wrapped)], "state": state}


def _package(code: Any) -> str:
    return str(code.__module__).partition(".")[0]


def _attributes(kind: Any) -> Iterable[str]:
    return (*vars(kind), *vars(kind).get("__annotations__", ()))
