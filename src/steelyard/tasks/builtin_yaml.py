"""YAML: the files that ship inside, by the fast loader where PyYAML has it, and lists of people's own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel

from steelyard.core.validation import checked
from steelyard.errors import ConfigError

Listed = TypeVar("Listed", bound=BaseModel)

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_builtin(text: str) -> Any:
    return yaml.load(text, Loader=_LOADER)


def builtin_texts(folder: str) -> list[str]:
    entries = files("steelyard.tasks").joinpath(folder).iterdir()
    return [entry.read_text("utf-8") for entry in entries if entry.name.endswith(".yaml")]


def read_list(kind: type[Listed], path: Path, key: str) -> Listed:
    """The list in a YAML or JSON file, bare or under its key, as a model that has it there."""
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "not valid YAML or JSON"
        raise ConfigError(f"{path}: cannot be read ({reason}); expected a list of {key}.") from error
    return checked(kind, body if isinstance(body, dict) else {key: body}, str(path))
