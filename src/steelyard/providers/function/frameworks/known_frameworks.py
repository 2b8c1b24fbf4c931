"""The frameworks whose judges are known, by their class; each adapter is loaded when a judge fits."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from steelyard.providers.function.code_hash import Fingerprint
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


TELEMETRY_OFF = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_MODEL_CATALOG_URI": "",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
}
"""Variables that keep the frameworks from reporting to their makers, and from asking them for updates."""


def turn_telemetry_off() -> None:
    """Have no framework report what is measured; a variable that the user has set stays as it is."""
    for name, value in TELEMETRY_OFF.items():
        os.environ.setdefault(name, value)


def adapter_for(judge: Any, module: Mapping[str, Any] | None = None) -> FrameworkAdapter | None:
    """The adapter of a framework's judge; None for everything else. No framework is imported for this."""
    return next((adapter(judge, module or {}) for adapter in _adapters(judge) if adapter.fits(judge)), None)


def _adapters(judge: Any) -> Iterator[type[FrameworkAdapter]]:
    """The adapters of the frameworks that an object has to do with."""
    modules = [kind.__module__ for kind in type(judge).__mro__]
    modules += [str(getattr(judge, "__module__", "")), _registered(judge)]
    for package in dict.fromkeys(name.partition(".")[0] for name in modules):
        if package in ADAPTERS:
            file, _, kind = ADAPTERS[package].partition(":")
            yield getattr(import_module(f"{__package__}.{file}"), kind)


def _registered(judge: Any) -> str:
    """Inspect marks what it made; a user's own scorer is otherwise a function of the user's module."""
    return "inspect_ai" if hasattr(judge, "__registry_info__") else ""


def settings_of(
    judge: Any, fingerprint: Fingerprint, module: Mapping[str, Any] | None = None
) -> Mapping[str, Any] | None:
    """What decides a verdict of a framework's judge, with the code and the attributes that its user wrote.

    Inside such a judge, of a framework's model too.
    """
    if isinstance(judge, type):
        return None
    adapter = adapter_for(judge, module)
    settings = adapter.settings if adapter is not None else _model_settings(judge, fingerprint)
    if settings is None:
        return None
    held: dict[str, Any] = getattr(judge, "__dict__", {})
    kinds = [judge] if inspect.isfunction(judge) else type(judge).__mro__
    own = [kind for kind in kinds if _package(kind) == _package(kinds[0]) and _package(kind) not in ADAPTERS]
    wrapped = [each for each in held.values() if inspect.isfunction(each) and _package(each) not in ADAPTERS]
    if not own and not wrapped:
        return settings
    # What a run leaves behind, such as a score, is among the attributes that the framework names.
    named = {name for kind in kinds if _package(kind) in ADAPTERS for name in _attributes(kind)}
    state = {name: value for name, value in held.items() if own and name not in {*named, *REGISTERED}}
    code = [fingerprint.code_hash(each) for each in (*own, *wrapped)]
    return {**settings, "code": code, "state": state}


def _model_settings(model: Any, fingerprint: Fingerprint) -> Mapping[str, Any] | None:
    if not fingerprint.in_framework:
        return None
    found = (adapter.model_settings(model) for adapter in _adapters(model))
    return next((settings for settings in found if settings is not None), None)


REGISTERED = ("__registry_info__", "__registry_params__")
"""Inspect's marks on what it made; the parameters are among the settings."""


def _package(code: Any) -> str:
    return str(code.__module__).partition(".")[0]


def _attributes(kind: Any) -> Iterable[str]:
    return (*vars(kind), *vars(kind).get("__annotations__", ()))
