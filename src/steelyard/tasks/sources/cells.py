"""Cells to text."""

from __future__ import annotations

import json
import math
from typing import Any

from steelyard.errors import DataError


def is_missing(cell: Any) -> bool:
    """Null, NaN or an empty text."""
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))


def plain_text(cell: Any) -> str:
    """A scalar as people write it: 4.0 is `4`, true is `true`; text stays as it is."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def long_text(cell: Any, where: str) -> str:
    """A request or response: a scalar, or a list of chat messages written one after the other."""
    if isinstance(cell, (list, dict)):
        messages = messages_of(cell)
        if messages is None:
            raise DataError(
                f"{where}: found a {type(cell).__name__}, expected a text or a list of messages with role "
                "and content; map another column."
            )
        return "\n\n".join(f"{role}: {content}" for role, content in messages)
    if isinstance(cell, bytes):
        raise DataError(f"{where}: found bytes, expected a text; write the column as text.")
    return plain_text(cell)


def messages_of(cell: Any) -> list[tuple[str, str]] | None:
    """Role and content of each chat message, or None where the cell is something else."""
    if not isinstance(cell, list) or not cell:
        return None
    if not all(isinstance(message, dict) and {"role", "content"} <= message.keys() for message in cell):
        return None
    return [(str(message["role"]), str(message["content"])) for message in cell]


def rubric_text(cell: Any, where: str) -> str:
    """A rubric: a text, or a list of points, which becomes a numbered list."""
    points = _points(cell)
    if points is None:
        return long_text(cell, where)
    if not all(isinstance(point, str) for point in points):
        raise DataError(f"{where}: the rubric is a list of more than texts; write one text per point.")
    return "\n".join(f"{number}. {point.strip()}" for number, point in enumerate(points, start=1))


def _points(cell: Any) -> list[Any] | None:
    """The list a rubric is, or that a CSV cell spells as JSON."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except ValueError:
            return None
    return cell if isinstance(cell, list) and cell else None
