"""Lines of a JSONL file, each with where it stands, and what is wrong with one in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel

from steelyard.core.validation import checked
from steelyard.errors import DataError

Line = TypeVar("Line", bound=BaseModel)
Body = dict[str, Any]
Lines = Callable[[Path], Iterator[tuple[str, Body]]]
_BLOCK = 1 << 22
EXPORTED = ({"baseline", "verdict", "right"}, {"verdict", "messages"})
"""Keys of every line of a run's results, or of its trials; no line of recorded verdicts has them."""


def is_name(text: str) -> bool:
    return text.isprintable() and (" " not in text or text == " ".join(text.split())) and bool(text)


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError(f"found {text!r}, expected a name without line breaks or outer spaces; correct it.")
    return text


Name = Annotated[str, AfterValidator(_name)]


class RecordedSource(Protocol):
    @property
    def scores(self) -> bool:
        """True where single texts were scored, False where pairs were compared."""

    @property
    def remarks(self) -> Sequence[str]:
        """What was left out, in sentences, once the lines are read."""

    @property
    def baselines(self) -> Collection[str]:
        """Judges that stood beside others as baselines, once the lines are read."""

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
            f"{path}: cannot be read ({error.strerror}); expected a JSONL file of recorded verdicts."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text ({error.reason}); save it as UTF-8.") from error
    if blank:
        raise DataError(
            f"{path}: the file is empty, expected one JSON object per line; record some verdicts first."
        )


def read_lines(path: Path) -> Iterator[tuple[str, Body]]:
    for number, line in enumerate(text_lines(path), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, parse_object(where, line)


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
