"""Dataclasses from their JSON: the annotations say what is expected, and defaults what a missing key means.

Keys that the dataclass does not know are left aside, so that a program reads what a later one wrote. Numbers
keep their kind: what was written as an integer comes back as one, and is written again in the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache, partial
from math import isfinite
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Reader = Callable[[Any, str, str | int], Any]
"""Takes a value, the place of what holds it, and its key or number there."""

_PLAIN = {str: "text", bool: "true or false", int: "a whole number", float: "a number", NoneType: "null"}
_LONGEST = 60
_KEY = "key"


def from_body(kind: type[T], body: object, where: str = "") -> T:
    return kind(**read_fields(kind, body, where))


def read_fields(
    kind: Any, body: object, where: str = "", names: Collection[str] | None = None
) -> dict[str, Any]:
    held = mapping(body, where)
    values: dict[str, Any] = {}
    for each, key, expected, read in _declared(kind):
        if names is not None and each.name not in names:
            continue
        if key in held:
            values[each.name] = read(held[key], where, key)
        elif each.default is MISSING and each.default_factory is MISSING:
            raise ValueError(f"{_within(where, key)}: missing, expected {_words(expected)}")
    return values


def written_fields(body: Any, names: Collection[str]) -> dict[str, Any]:
    """The JSON of the named fields of a dataclass under their keys, in the order of the names."""
    keys = {each.name: _key(each) for each in fields(body)}
    return {keys[name]: to_body(getattr(body, name)) for name in names}


def to_body(value: Any) -> Any:
    """The JSON of a value that `from_body` reads back; a dataclass with a `to_json` of its own uses that."""
    if is_dataclass(value):
        own = getattr(value, "to_json", None)
        return own() if own else written_fields(value, [each.name for each in fields(value)])
    if isinstance(value, Mapping):
        return {key: to_body(inner) for key, inner in value.items()}
    return [to_body(inner) for inner in value] if isinstance(value, (tuple, list)) else value


def keyed(key: str, default: T) -> T:
    """A field of a dataclass that stands under another key in the file than its name in the code."""
    held: T = field(default=default, metadata={_KEY: key})
    return held


def mapping(body: object, where: str) -> Mapping[str, Any]:
    """The same body, which has to be an object."""
    if not isinstance(body, Mapping):
        raise _unexpected(Mapping, body, where)
    return body


def _key(each: Field[Any]) -> str:
    return str(each.metadata.get(_KEY, each.name))


@cache
def _declared(kind: Any) -> tuple[tuple[Field[Any], str, Any, Reader], ...]:
    """Each field, its key, what its annotation expects, and how that is read."""
    hints = get_type_hints(kind)
    return tuple((one, _key(one), hints[one.name], _reader(hints[one.name])) for one in fields(kind))


@cache
def _reader(expected: Any) -> Reader:
    kinds = get_args(expected) if get_origin(expected) in (Union, UnionType) else (expected,)
    exact = {kind for kind in kinds if kind in _PLAIN} - {float} | ({int} if float in kinds else set())
    others = [_nested(kind) for kind in kinds if kind not in _PLAIN]

    def read(value: Any, where: str, name: str | int) -> Any:
        if type(value) in exact or (float in kinds and isinstance(value, float) and isfinite(value)):
            return value
        place = _within(where, name)
        if not others:
            raise _unexpected(expected, value, place)
        return others[0](value, place)

    return read


def _nested(kind: Any) -> Callable[[Any, str], Any]:
    """How an object or a list is read; what is declared as anything stays as it is."""
    if is_dataclass(kind):
        whole: Any = kind
        return getattr(kind, "from_json", None) or partial(from_body, whole)
    if get_origin(kind) is tuple:
        return _list_reader(kind, get_args(kind))
    if kind is Any:
        return lambda value, _: value
    reader = _reader(get_args(kind)[1])
    return lambda value, where: {
        key: reader(inner, where, key) for key, inner in mapping(value, where).items()
    }


def _list_reader(expected: Any, kinds: tuple[Any, ...]) -> Callable[[Any, str], Any]:
    readers, any_number = [_reader(kind) for kind in kinds if kind is not ...], kinds[-1] is ...

    def read(value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or not (any_number or len(value) == len(readers)):
            raise _unexpected(expected, value, where)
        each = readers * len(value) if any_number else readers
        numbered = enumerate(zip(each, value, strict=True))
        return tuple(one(item, where, number) for number, (one, item) in numbered)

    return read


def _within(where: str, name: str | int) -> str:
    return f"{where}.{name}" if where else str(name)


def _unexpected(expected: Any, value: Any, where: str) -> ValueError:
    shown = json.dumps(value, ensure_ascii=False)
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
    return ValueError(f"{where}: found {shown}, expected {_words(expected)}".removeprefix(": "))


def _words(expected: Any) -> str:
    origin, parts = get_origin(expected), get_args(expected)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_words, parts)))
    if origin is tuple:
        return "a list" if parts[-1] is ... else f"a list of {len(parts)}"
    return _PLAIN.get(expected, "an object")
