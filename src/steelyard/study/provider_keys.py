"""Keys of a judge that its provider alone understands, and whose a stray key is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from steelyard.core.validation import checked, unknown_key
from steelyard.errors import ConfigError
from steelyard.providers.options import Options
from steelyard.providers.provider import PROVIDERS, provider_info
from steelyard.study.judge_address import typed

Own = TypeVar("Own", bound=Options)


def own_keys(
    kind: type[Own], body: Mapping[str, Any], common: Collection[str], where: str, under: str = ""
) -> Own:
    """What a mapping says to the provider; `common` are the keys that the laboratory reads itself.

    A common key that the provider also names is given to both; null is as good as not said.
    """
    for key in body:
        if key not in common and key not in kind.model_fields:
            raise ConfigError(f"{where}: {_stray(str(key), [*common, *kind.model_fields], under)}")
    options = {key: value for key, value in body.items() if key in kind.model_fields and value is not None}
    return checked(kind, typed(options, kind), where, under=under)


def _stray(key: str, known: Collection[str], under: str) -> str:
    """A key that changes nothing here."""
    owner = next(_owners(key), None)
    if owner is not None:
        place = f"{under}: " if under else ""
        return f"{place}key {key!r} belongs to {owner} only; remove it."
    return unknown_key(f"{under}.{key}" if under else key, dict.fromkeys(known))


def _owners(key: str) -> Iterator[str]:
    """Whose judges have such a key, as the class that brings it says."""
    for name in PROVIDERS.in_order():
        try:
            info = provider_info(name)
        except ConfigError:
            continue
        for each in (info, *info.models.values()):
            for kind in (*each.options.__mro__, *each.settings.__mro__):
                owner = vars(kind).get("owner", f"{name} judges")
                if owner and _brings(kind, key):
                    yield owner


def _brings(kind: type, key: str) -> bool:
    """Whether a class has a field that none of its bases has."""
    return key in _fields(kind) and not any(key in _fields(base) for base in kind.__bases__)


def _fields(kind: type) -> Collection[str]:
    return kind.model_fields if issubclass(kind, BaseModel) else ()
