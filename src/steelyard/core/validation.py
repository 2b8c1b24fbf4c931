"""What is wrong with a mapping, in one sentence: where, found, expected, and what to do next."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from reprlib import Repr
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from steelyard.errors import ConfigError, UsageError

Checked = TypeVar("Checked", bound=BaseModel)


class StrictModel(BaseModel):
    """What people write, as it stands there: no other keys, no conversion of one type into another."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "text that matches {pattern}",
    "string_unicode": "text in UTF-8 (PYTHONUTF8=1 reads a command line in it)",
    "too_short": "{min_length} or more entries",
    "too_long": "at most {max_length} entries",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number from {ge} on",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number up to {le}",
    "literal_error": "{expected}",
}
"""Kind of problem to what would have been right; pydantic's words speak of Python."""


@dataclass(frozen=True)
class Expected:
    """Beside a field's type: what to write there, for the sentence about something else."""

    text: str
    """Follows the word "expected"."""


def checked(
    kind: type[Checked], body: object, where: str, *, under: str = "", error: type[UsageError] = ConfigError
) -> Checked:
    """The mapping as its model; `under` is the key that it stands under in the file `where`."""
    try:
        return kind.model_validate(body)
    except ValidationError as problem:
        fault, step = _fault(problem, kind, under)
        raise error(f"{where}: {fault}; {step}." if step else f"{where}: {fault}.") from problem


def reason(error: ValidationError, kind: type[BaseModel]) -> str:
    """What is wrong first, for a sentence that has a next step of its own."""
    return _fault(error, kind, "")[0]


def _fault(error: ValidationError, kind: type[BaseModel], under: str) -> tuple[str, str]:
    """What is wrong first, and the next step.

    Branches of a union that all failed are told together; of those the one that was followed furthest is
    meant.
    """
    problems = [(problem, _place(kind, problem)) for problem in error.errors()]
    begins = problems[0][1].path
    within = [each for each in problems if each[1].path[: len(begins)] == begins]
    first, place = max(within, key=lambda each: len(each[1].path))
    key = ".".join(
        (*([under] if under else []), *(part if part.isprintable() else ascii(part) for part in place.path))
    )
    match first["type"]:
        case "extra_forbidden":
            return unknown_key(key, place.keys).rstrip("."), ""
        case "missing":
            return f"no key {key!r} found, expected {place.expected or 'it'}", "add it"
        case "value_error":
            return f"{key + ': ' if key else ''}{str(first['ctx']['error']).rstrip('.')}", ""
    branches = list(dict.fromkeys(_expected(p) for p, other in within if other.path == place.path))
    own_words = len(branches) > 1 or first["type"].endswith(("_type", "_mismatch"))
    expected = place.expected if place.expected and own_words else " or ".join(branches)
    return (
        f"{key + ': ' if key else ''}found {format_value(first['input'])}, expected {expected}",
        "correct it",
    )


def parse_map(text: str, where: str, form: str, example: str) -> dict[str, str]:
    """A map as the command line writes it: `request=test_case,response=generation`."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    for part, sign, value in pairs:
        if not sign or not value.strip():
            raise ConfigError(
                f"{where}: found {part.strip() + sign!r}, expected {form}, separated by commas, as in "
                f"{example}."
            )
    names = [part.strip() for part, _, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{where}: {name!r} is mapped twice; leave one out.")
    return {part.strip(): value.strip() for part, _, value in pairs}


def unknown_key(key: str, known: Iterable[str]) -> str:
    """A key that nobody reads, with the nearest that somebody does."""
    names = list(known)
    close = get_close_matches(key.rpartition(".")[2], names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"unknown key {key!r}{hint}; known keys: {', '.join(names)}."


def format_value(value: object) -> str:
    """A value for a message, cut short."""
    shortener = Repr()
    shortener.maxstring = shortener.maxother = 100
    try:
        return shortener.repr(value)
    except (ValueError, RecursionError):
        return f"something of type {type(value).__name__}"


def takes_text(field: FieldInfo) -> bool:
    """Whether a field takes any text, so that what looks like a number is to stay text."""
    return str in _alternatives(field.annotation)


@dataclass(frozen=True)
class _Place:
    path: tuple[str, ...]
    """Keys and positions as they stand in the mapping, without the branches of unions."""
    keys: tuple[str, ...]
    expected: str | None


def _place(kind: type[BaseModel], problem: ErrorDetails) -> _Place:
    """Follow a problem's place through the fields; the branches of unions on the way are no keys."""
    path: list[str] = []
    kinds: tuple[Any, ...] = (kind,)
    keys, expected = tuple(_fields(kind)), None
    for part in problem["loc"]:
        if len(kinds) > 1:
            kinds = tuple(each for each in kinds if _is_branch(each, str(part)))
        elif (field := _fields(*kinds).get(str(part))) is not None:
            path.append(str(part))
            kinds = tuple(_alternatives(field.annotation))
            expected = next((extra.text for extra in field.metadata if isinstance(extra, Expected)), None)
        elif inner := tuple(_members(*kinds)):
            path.append(str(part))
            kinds, expected = inner, None
        elif problem["type"] == "extra_forbidden":
            path.append(str(part))
        if len(kinds) == 1:
            keys = tuple(_fields(*kinds)) or keys
    return _Place(tuple(path), keys, expected)


def _is_branch(kind: Any, name: str) -> bool:
    """Whether pydantic's name of a union's branch means this type."""
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and name.partition("[")[0] == origin.__name__


def _fields(kind: Any = None) -> Mapping[str, FieldInfo]:
    """Keys of a model, by the name under which a file has them."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return {}
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _members(kind: Any = None) -> Iterator[Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(origin, type) and issubclass(origin, (dict, Mapping, list, tuple)) and arguments:
        yield from _alternatives(arguments[1] if issubclass(origin, (dict, Mapping)) else arguments[0])


def _alternatives(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        for branch in get_args(annotation):
            yield from _alternatives(branch)
    elif origin is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif annotation is not types.NoneType:
        yield annotation


def _expected(problem: ErrorDetails) -> str:
    context = problem.get("ctx", {}).items()
    if problem["type"] in _EXPECTED:
        limits = {name: f"{value:g}" if isinstance(value, float) else value for name, value in context}
        return _EXPECTED[problem["type"]].format(**limits)
    message = problem["msg"].removeprefix("Input should be ")
    return message[:1].lower() + message[1:]
