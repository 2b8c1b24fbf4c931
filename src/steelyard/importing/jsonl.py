"""Lines of recorded verdicts: what they hold, where they stand, and what is wrong with one in a sentence."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Generic, Self, TypeVar, Union, get_args, get_type_hints

from msgspec import UNSET, Meta, Struct, UnsetType, structs
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from steelyard.core.files import read_problem
from steelyard.core.validation import checked
from steelyard.errors import DataError

Line = TypeVar("Line", bound=BaseModel)
Table = TypeVar("Table")
Outcome = tuple[Any, Any, Any]
"""Slot of the first text and answer, or score and why there is none; how sure the judge was."""
Body = dict[str, Any]
Lines = Callable[[Path], Iterator[tuple[str, Body]]]
_BLOCK = 1 << 22
BASE = "base"
LENGTHS = {"text": "words", "text_u": "words_u", "text_v": "words_v"}
"""Keys that hold a text, to those of its length in words."""
EXPORTED = ({"baseline", "verdict", "right"}, {"verdict", "messages"})
"""Keys of every line of a run's results, or of its trials; no line of recorded verdicts has them."""


MOST_WORDS = 999_999
"""A longer text counts as one of so many words."""


def count_words(text: str) -> int:
    return min(len(text.split()), MOST_WORDS)


def is_name(text: str) -> bool:
    return text.isprintable() and (" " not in text or text == " ".join(text.split())) and bool(text)


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError(f"found {text!r}, expected a name without line breaks or outer spaces; correct it.")
    return text


Name = Annotated[str, AfterValidator(_name)]


Sureness = Annotated[float, Meta(ge=0, le=100), Field(ge=0, le=100)]
"""A confidence, as a share or in percent."""


class RecordedLine(Struct, kw_only=True, forbid_unknown_fields=True):
    """What every line holds: a call; three fields of its outcome and those of its subject follow."""

    judge: Name
    protocol: Name | UnsetType = UNSET
    replicate: Annotated[int, Meta(ge=0, le=1_000_000), Field(ge=0, le=1_000_000)] | UnsetType = UNSET


@dataclass(frozen=True)
class LineFormat(Generic[Table]):
    """What the lines of a table hold, and the words for what is wrong with them."""

    table: Callable[..., Table]
    call: type[RecordedLine]
    disagreement: Callable[[Any], str | None]
    """The sentence about fields that do not agree with each other; those that are left out are None."""
    subject: Callable[[Any], Any]
    """What was judged by a call."""
    noun: str
    """The field that names the subject."""
    repeated: str
    """The sentence about a call that was made already, with its subject's `name` and `where` it stands."""
    styles: Callable[[str, Body], Iterator[RecordedLine] | None] | None = None
    """The calls of a line that is in another style than the project's own."""
    slots: tuple[str, ...] = ()
    """First outcomes that tell calls on one subject apart."""
    by_probe: bool = False
    """Whether several probes may tell of one call."""

    @cached_property
    def model(self) -> type[BaseModel]:
        """The fields of a line as a pydantic model, which words what is wrong with one."""
        disagreement = self.disagreement

        class Line(BaseModel):
            model_config = ConfigDict(extra="forbid", strict=True)

            @model_validator(mode="after")
            def _agree(self) -> Self:
                if fault := disagreement(self):
                    raise ValueError(fault)
                return self

        members: dict[str, Any] = {}
        hints = get_type_hints(self.call, include_extras=True)
        for field in sorted(structs.fields(self.call), key=lambda field: not field.required):
            kind = hints[field.name]
            if UnsetType in get_args(kind):
                kind = Union[tuple(part for part in get_args(kind) if part is not UnsetType)]  # noqa: UP007
            default = {"protocol": BASE, "replicate": 0}.get(field.name)
            members[field.name] = kind, (... if field.required else default)
        return create_model(self.call.__name__, __base__=Line, **members)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        hints = get_type_hints(self.call, include_extras=True).items()
        return tuple(name for name, hint in hints if hint == Name or Name in get_args(hint))

    def agrees(self, line: Any) -> bool:
        names = (getattr(line, name) for name in self._names)
        try:
            return all(n is None or is_name(str(n)) for n in names) and self.disagreement(line) is None
        except ValueError:
            return False

    def parse(self, where: str, body: Body) -> Iterator[RecordedLine]:
        """The calls of a line, or what is wrong with it in a sentence."""
        calls = None if self.styles is None else self.styles(where, body)
        return calls or iter([self.call(**dict(parse(self.model, where, self._counted(where, body))))])

    def _counted(self, where: str, body: Body) -> Body:
        """The line with the number of words of each text that it holds."""
        found = dict(body)
        for key, words in LENGTHS.items():
            if words not in self.model.model_fields or key not in body:
                continue
            text = found.pop(key)
            if words in body:
                raise DataError(f"{where}: found {words} and {key}, expected one of them; remove one.")
            if text is not None and not isinstance(text, str):
                raise DataError(f"{where}: {key} is {text!r:.60}, expected a text; correct it.")
            found[words] = None if text is None else count_words(text)
        return found

    def slot(self, outcome: Outcome) -> int:
        return self.slots.index(outcome[0]) if self.slots else 0


def holds_lines(path: Path) -> bool:
    """Whether a file holds lines of recorded verdicts, sound or not; a table has names of its own."""
    ending = path.suffix.lower()
    if ending not in (".jsonl", ".ndjson"):
        return ending not in (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".parquet", ".pq", ".json")
    try:
        with path.open(encoding="utf-8-sig") as stream:
            body = _DECODER.decode(next((line for line in stream if line.strip()), ""))
    except (OSError, ValueError, RecursionError):
        return True  # whoever reads the lines says what is wrong
    keys = {*body} if isinstance(body, dict) else set()
    if not keys or "probe" in keys or any(keys >= marks for marks in EXPORTED):
        return True
    return "item_id" in keys and any(key in _PAIR_KEYS or key.startswith("verdict_") for key in keys)


_PAIR_KEYS = ("winner_AB", "winner_BA", "runs")
"""Of lines that hold a pair each."""


class RecordedSource(ABC):
    remarks: Sequence[str] = ()
    """What was left out, in sentences, once the lines are read."""
    mapping: str = ""
    """Which columns were taken by their names, in a line."""
    baselines: Collection[str] = ()
    """Judges that stood beside others as baselines, once the lines are read."""

    @property
    def scores(self) -> bool:
        """True where single texts were scored, False where pairs were compared."""
        return True

    @abstractmethod
    def lines(self, path: Path) -> Iterator[tuple[str, Body]]:
        """The file as lines of recorded verdicts, each with where it stands."""


def text_lines(path: Path) -> Iterator[str]:
    """Every line of a file, which is UTF-8 throughout; one that is blank throughout raises an error."""
    blank = True
    try:
        with path.open(encoding="utf-8-sig") as stream:
            while stream.read(_BLOCK):  # no line is read of a file that is not UTF-8 to its end
                pass
        # In text mode, not by `splitlines`: a line separator inside a JSON text does not end the line.
        with path.open(encoding="utf-8-sig") as stream:
            for line in stream:
                blank = blank and not line.strip()
                yield line
    except OSError as error:
        raise DataError(
            f"{path}: {read_problem(path, error)}; expected a JSONL file of recorded verdicts."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text ({error.reason}); save it as UTF-8.") from error
    if blank:
        raise DataError(
            f"{path}: the file is empty, expected one JSON object per line; record some verdicts first."
        )


def parse_object(where: str, line: str) -> Body:
    try:
        # A mark inside the text has words of its own, which `loads` knows.
        body = json.loads(line) if line.startswith("\ufeff") else _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
        raise DataError(f"{where}: not valid JSON ({reason}), expected one object; correct it.") from error
    if not isinstance(body, dict):
        raise DataError(f"{where}: found a {type(body).__name__}, expected one JSON object; correct it.")
    return body


def _each_key_once(items: list[tuple[str, Any]]) -> Body:
    """Two values under one key would be one too many, and only the last would be seen."""
    body = dict(items)
    if len(body) < len(items):
        names = [name for name, _ in items]
        raise ValueError(f"key {next(name for name in names if names.count(name) > 1)!r} stands there twice")
    return body


def parse(model: type[Line], where: str, body: Body) -> Line:
    try:
        return checked(model, body, where, error=DataError)
    except DataError:
        if not any(body.keys() >= keys for keys in EXPORTED):
            raise
    raise DataError(
        f"{where}: a line of a run's results or of `steelyard export`, expected recorded verdicts; the run "
        "folder itself is read by report, compare, gate and overall, and `steelyard export --inspect` writes "
        "logs that can be imported."
    )


_DECODER = json.JSONDecoder(object_pairs_hook=_each_key_once)
