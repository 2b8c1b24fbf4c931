"""JSONL and JSON: one object per row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from steelyard.errors import DataError
from steelyard.tasks.sources.encoding import read_text
from steelyard.tasks.sources.inspect_log import is_log, read_inspect
from steelyard.tasks.sources.table import Table, table_of_objects


def read_jsonl(path: Path) -> Table:
    """One JSON object per line; blank lines are passed over."""
    # Not `splitlines`: a line separator inside a JSON text does not end the line.
    lines = enumerate(read_text(path).split("\n"), start=1)
    filled = [(f"line {number}", line) for number, line in lines if line.strip()]
    bodies = [(where, _parsed(f"{path}, {where}", line)) for where, line in filled]
    for where, body in bodies:
        if not isinstance(body, dict):
            raise DataError(
                f"{path}, {where}: found a {type(body).__name__}, expected one object per line; correct it."
            )
    return table_of_objects(str(path), bodies)


def read_json(path: Path) -> Table:
    """A list of objects, or one object that holds exactly one such list; or an Inspect log."""
    body = _parsed(str(path), read_text(path))
    if is_log(body):
        return read_inspect(path)
    rows = _only_list(body) if isinstance(body, dict) else body
    if not isinstance(rows, list):
        content = (
            "an object without one list of rows" if isinstance(body, dict) else f"a {type(body).__name__}"
        )
        raise DataError(f"{path}: found {content}, expected a JSON list of objects; correct the file.")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(
                f"{path}, row {number}: found a {type(row).__name__}, expected an object; correct it."
            )
    return table_of_objects(str(path), [(f"row {number}", row) for number, row in enumerate(rows, start=1)])


def _only_list(body: dict[str, Any]) -> list[Any] | None:
    lists = [value for value in body.values() if isinstance(value, list)]
    return lists[0] if len(lists) == 1 else None


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
        line = f", line {number}" if (number := getattr(error, "lineno", 1)) > 1 else ""
        raise DataError(f"{where}{line}: not valid JSON ({reason}); correct it.") from error
