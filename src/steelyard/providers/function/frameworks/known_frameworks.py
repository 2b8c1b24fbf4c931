"""The frameworks whose judges are known, by their class; each adapter is loaded when a judge fits."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from steelyard.providers.function.frameworks.adapter import Adapter

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


def adapter_for(judge: Any, module: Mapping[str, Any] | None = None) -> Adapter | None:
    """The adapter of a framework's judge; None for everything else. No framework is imported for this."""
    modules = [kind.__module__ for kind in type(judge).__mro__]
    modules += [str(getattr(judge, "__module__", "")), _registered(judge)]
    for package in dict.fromkeys(name.partition(".")[0] for name in modules):
        if package in ADAPTERS:
            file, _, kind = ADAPTERS[package].partition(":")
            adapter: type[Adapter] = getattr(import_module(f"{__package__}.{file}"), kind)
            if adapter.fits(judge):
                return adapter(judge, module or {})
    return None


def _registered(judge: Any) -> str:
    """Inspect marks what it made; a user's own scorer is otherwise a function of the user's module."""
    return "inspect_ai" if hasattr(judge, "__registry_info__") else ""


def settings_of(judge: Any) -> Mapping[str, Any] | None:
    adapter = None if isinstance(judge, type) else adapter_for(judge)
    return None if adapter is None else adapter.settings
