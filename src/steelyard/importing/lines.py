"""Lines of a JSONL file, each with where it stands, and what is wrong with one in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from steelyard.core.validation import checked
from steelyard.errors import DataError

Line = TypeVar("Line", bound=BaseModel)
Body = dict[str, Any]
Lines = Callable[[Path], Iterator[tuple[str, Body]]]
"""A file to its lines as objects, each with where it stands."""
EXPORTED = {"baseline", "verdict", "right"}
"""Keys that every line of a run's results has, and no line of recorded verdicts."""


class RecordedForm(Protocol):
    """How files are read that are no JSONL of recorded verdicts: tables, or logs."""

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


def read_lines(path: Path) -> Iterator[tuple[str, Body]]:
    """Every line that is not blank, as an object, with its file and number."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); expected a JSONL file of recorded verdicts."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text ({error.reason}); save it as UTF-8.") from error
    empty = True
    # Not `splitlines`: a line separator inside a JSON text does not end the line.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            empty = False
            where = f"{path}, line {number}"
            yield where, parse_object(where, line)
    if empty:
        raise DataError(
            f"{path}: the file is empty, expected one JSON object per line; record some verdicts first."
        )


def parse_object(where: str, line: str) -> Body:
    """One JSON object in which no key stands twice."""
    try:
        # A mark inside the text has words of its own, which `loads` knows.
        body = json.loads(line) if line.startswith("\ufeff") else _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
        raise DataError(f"{where}: not valid JSON ({reason}), expected one object; correct it.") from error
    if not isinstance(body, dict):
        raise DataError(f"{where}: found a {type(body).__name__}, expected one JSON object; correct it.")
    return body


def parse_objects(texts: str) -> list[Body]:
    """Objects that stand one after the other, parted by commas; no key stands twice in any."""
    try:
        bodies: list[Body] = _DECODER.decode(f"[{texts}]")
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON objects ({error}); correct them.") from error
    if not all(type(body) is dict for body in bodies):
        raise DataError("not JSON objects alone; correct them.")
    return bodies


def _each_key_once(items: list[tuple[str, Any]]) -> Body:
    """Two values under one key would be one too many, and only the last would be seen."""
    body = dict(items)
    if len(body) < len(items):
        names = [name for name, _ in items]
        raise ValueError(f"key {next(name for name in names if names.count(name) > 1)!r} stands there twice")
    return body


def parse(model: type[Line], where: str, body: Body) -> Line:
    """The line as its model, or what is wrong with it."""
    try:
        return checked(model, body, where, error=DataError)
    except DataError:
        if not body.keys() >= EXPORTED:
            raise
    raise DataError(
        f"{where}: a line of a run's results or of `steelyard export`, expected recorded verdicts; the run "
        "folder itself is read by report, compare, gate and overall, and `steelyard export --inspect` writes "
        "logs that can be imported."
    )


_DECODER = json.JSONDecoder(object_pairs_hook=_each_key_once)
