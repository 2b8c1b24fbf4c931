"""Reading the YAML files that ship inside, by the fast loader where PyYAML has it."""

from __future__ import annotations

from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BuiltinModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def load_builtin(text: str) -> Any:
    """The content of a built-in file; files of users are read with messages in mind instead."""
    return yaml.load(text, Loader=_LOADER)
