"""A judge as people write it: `provider/model?key=value` or keys in YAML, and the keys its provider reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel

from steelyard.core.dotenv import holds_key
from steelyard.core.validation import checked, format_value, takes_text, unknown_key
from steelyard.errors import ConfigError
from steelyard.providers.provider import PROVIDERS, provider_info
from steelyard.providers.provider_info import Options

DEEPEST = 20
"""Depth of nesting in a judge's mapping; more would exhaust the stack when it is written or hashed."""

_WORDS = {"null": None, "none": None, "": None, "true": True, "false": False}


class QueryValue(str):
    """A value after `?`: text that has no type of its own yet."""

    __slots__ = ()


def judge_place(given: str | Mapping[str, Any]) -> str:
    """The judge by name or model; the query is left out, since an address in it may hold a secret."""
    title = given if isinstance(given, str) else given.get("name") or given.get("model")
    return f"judge {format_value(plain_address(title) if isinstance(title, str) else title)}"


def plain_address(text: str) -> str:
    """Provider and model, without the query and without what may be a key."""
    address = text.partition("?")[0]
    return f"{address.partition('/')[0]}/…" if holds_key(address) else address


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


def convert_query(body: Mapping[str, Any], kind: type[BaseModel]) -> dict[str, Any]:
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


Own = TypeVar("Own", bound=Options)


def provider_options(
    kind: type[Own], body: Mapping[str, Any], common: Collection[str], where: str, under: str = ""
) -> Own:
    """What a mapping says to the provider; `common` are the keys that every provider shares.

    A common key that the provider also names is given to both; null is as good as not said.
    """
    for key in body:
        if key not in common and key not in kind.model_fields:
            raise ConfigError(f"{where}: {_stray(str(key), [*common, *kind.model_fields], under)}")
    options = {key: value for key, value in body.items() if key in kind.model_fields and value is not None}
    return checked(kind, convert_query(options, kind), where, under=under)


def _stray(key: str, known: Collection[str], under: str) -> str:
    owners = list(dict.fromkeys(_owners(key)))
    if owners:
        place = f"{under}: " if under else ""
        more = ["others"] if len(owners) > 2 else []
        return f"{place}key {key!r} belongs to {' and '.join(owners[:2] + more)} only; remove it."
    return unknown_key(f"{under}.{key}" if under else key, dict.fromkeys(known))


def _owners(key: str) -> Iterator[str]:
    for name in PROVIDERS.in_order():
        try:
            info = provider_info(name)
        except ConfigError:
            continue
        for each in (info, *info.models.values()):
            for kind in (*each.options.__mro__, *each.settings.__mro__):
                owner = vars(kind).get("owner", f"{name} judges")
                inherited = any(key in getattr(base, "model_fields", ()) for base in kind.__bases__)
                if owner and key in getattr(kind, "model_fields", ()) and not inherited:
                    yield owner
