"""The file of results: read, added to, written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calibration.coverage import CORRELATIONS, Counts, Row
from calibration.sheets import TASKS, Truth

FILE = Path(__file__).parents[2] / "docs" / "calibration.json"
CELLS = tuple((tasks, correlation) for correlation in CORRELATIONS for tasks in TASKS)
"""Columns of the table: number of tasks and correlation."""


@dataclass
class SheetResults:
    """Truth and coverage of every figure of one sheet."""

    truths: dict[float, Truth] = field(default_factory=dict)
    """Correlation to truth."""
    cells: dict[tuple[int, float], Counts] = field(default_factory=dict)
    """Tasks and correlation to outcomes."""

    def to_json(self) -> dict[str, Any]:
        """Runs of each cell; per row its truths, and of each cell the runs given and covered."""
        rows = dict.fromkeys(row for counts in self.cells.values() for row in counts.given)
        return {
            "runs": [self.cells[cell].runs for cell in CELLS],
            "rows": [self._row(row) for row in rows],
        }

    def _row(self, row: Row) -> dict[str, Any]:
        truths = [self.truths[correlation].get(row) for correlation in CORRELATIONS]
        return {
            **dict(zip(("probe", "metric", "condition"), row, strict=True)),
            "truth": [None if true is None else round(true, 6) for true in truths],
            "given": [self.cells[cell].given[row] for cell in CELLS],
            "covered": [self.cells[cell].covered[row] for cell in CELLS],
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> SheetResults:
        """The inverse of `to_json`."""
        found = cls({c: {} for c in CORRELATIONS}, {cell: Counts() for cell in CELLS})
        for cell, runs in zip(CELLS, body["runs"], strict=True):
            found.cells[cell].runs = runs
        for entry in body["rows"]:
            row = (entry["probe"], entry["metric"], entry["condition"])
            for correlation, true in zip(CORRELATIONS, entry["truth"], strict=True):
                if true is not None:
                    found.truths[correlation][row] = true
            for index, cell in enumerate(CELLS):
                found.cells[cell].given[row] = entry["given"][index]
                found.cells[cell].covered[row] = entry["covered"][index]
        return found


def load(path: Path = FILE) -> dict[str, Any]:
    """The whole file; empty where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"sheets": {}}


def save(body: dict[str, Any], path: Path = FILE) -> None:
    """Write it, one row a line, so that a difference can be read."""
    text = json.dumps(body, indent=1, ensure_ascii=False)
    path.write_text(_rows_on_one_line(text) + "\n", encoding="utf-8")


def _rows_on_one_line(text: str) -> str:
    """Join the lines of everything that is nested four deep or more."""
    lines: list[str] = []
    for line in text.splitlines():
        deep = len(line) - len(line.lstrip(" "))
        if deep > 4 or (deep == 4 and line.strip() in ("}", "},")):
            space = "" if lines[-1].endswith(("{", "[")) or line.strip()[0] in "]}" else " "
            lines[-1] += space + line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)
