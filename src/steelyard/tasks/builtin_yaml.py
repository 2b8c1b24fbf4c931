"""Reading the YAML files that ship inside, by the fast loader where PyYAML has it."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_builtin(text: str) -> Any:
    return yaml.load(text, Loader=_LOADER)


def builtin_texts(folder: str) -> list[str]:
    entries = files("steelyard.tasks").joinpath(folder).iterdir()
    return [entry.read_text("utf-8") for entry in entries if entry.name.endswith(".yaml")]
