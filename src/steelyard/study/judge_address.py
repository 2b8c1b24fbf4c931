"""A judge as people write it, as a mapping: `provider/model?key=value`, or keys in YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel

from steelyard.core.validation import shown, takes_text
from steelyard.errors import ConfigError

DEEPEST = 20
"""Depth of nesting in a judge's mapping; more would exhaust the stack when it is written or hashed."""

_WORDS = {"null": None, "none": None, "": None, "true": True, "false": False}
"""Values of a query that are no numbers and no text."""


class QueryValue(str):
    """A value after `?`: text that has no type of its own yet."""

    __slots__ = ()


def place_of(given: str | Mapping[str, Any]) -> str:
    """The judge by name or model; the query is left out, since an address in it may hold a secret."""
    title = given if isinstance(given, str) else given.get("name") or given.get("model")
    return f"judge {shown(title.partition('?')[0] if isinstance(title, str) else title)}"


def as_mapping(given: str | Mapping[str, Any], where: str) -> dict[str, Any]:
    """A model and its settings, wherever they stand: in the mapping or in the query of its address."""
    if _deeper_than(DEEPEST, given):
        raise ConfigError(f"{where}: nested more than {DEEPEST} levels deep; flatten the mapping.")
    if not isinstance(given, str):
        body = dict(given)
        if isinstance(body.get("model"), str) and "?" in body["model"]:
            body = {**as_mapping(body["model"], where), **{k: v for k, v in body.items() if k != "model"}}
        return body
    model, _, query = given.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise ConfigError(f"{where}: the query after '?' must read key=value&key=value ({error}).") from error
    return {"model": model, **{key: QueryValue(value) for key, value in pairs}}


def typed(body: Mapping[str, Any], kind: type[BaseModel]) -> dict[str, Any]:
    """Values of a query as the fields want them: numbers and words become what they look like."""
    fields = kind.model_fields
    return {
        key: value
        if not isinstance(value, QueryValue)
        else str(value)
        if key in fields and takes_text(fields[key])
        else _typed(value)
        for key, value in body.items()
    }


def _typed(value: str) -> object:
    if value in _WORDS:
        return _WORDS[value]
    for convert in (int, float):
        try:
            return convert(value)
        except ValueError:
            continue
    return str(value)


def _deeper_than(depth: int, value: Any) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return depth == 0 or any(_deeper_than(depth - 1, part) for part in inner)
