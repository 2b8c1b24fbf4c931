"""Values from elsewhere as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def json_value(value: Any) -> Any:
    """The same in plain JSON: NaN and infinities are nothing, sets are lists, other things their words."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_value(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return sorted((json_value(inner) for inner in value), key=str)
    return str(value)
