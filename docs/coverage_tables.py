"""The calibration tables: a summary for `concepts.md`, every row for `calibration.md`.

Both are written from `calibration.json`, which `make calibrate` makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from steelyard.datasheet.glossary import METRICS

FILE = Path(__file__).parent / "calibration.json"
TASKS, CORRELATIONS = (4, 10, 24), ("0", ".1", ".3")
NOMINAL, FLOOR = 0.95, 0.93
AT_ONCE = "all_cells"
"""Stands for a metric where the cells of one table are held against the truth at once."""

TITLES = {
    "pairs": "Pairs",
    "binary": "Yes or no",
    "ordinal": "Scores",
    "pairs compared": "Two judges of pairs",
    "scores compared": "Two judges of single texts",
    "instrument": "The joint fit",
}
"""Name of a simulated sheet to the heading of its tables."""


@dataclass(frozen=True)
class Row:
    """One figure, or several taken together."""

    label: str
    """First column."""
    given: tuple[int, ...]
    """Runs with an interval, by cell."""
    covered: tuple[int, ...]
    """Those whose interval held the truth, by cell."""
    runs: tuple[int, ...]
    """Runs, by cell."""

    @property
    def shares(self) -> list[float | None]:
        """Coverage, by cell."""
        return [k / n if n else None for k, n in zip(self.covered, self.given, strict=True)]

    @property
    def low(self) -> bool:
        """Some cell lies below the floor."""
        return any(share is not None and share < FLOOR for share in self.shares)

    def line(self) -> str:
        """The row of a table."""
        cells = [
            _cell(share, given, runs)
            for share, given, runs in zip(self.shares, self.given, self.runs, strict=True)
        ]
        return f"| {self.label} | {_decimal(NOMINAL)} | {' | '.join(cells)} |"


def _cell(share: float | None, given: int, runs: int) -> str:
    if share is None:
        return "–"
    text = f"**{_decimal(share)}**" if share < FLOOR else _decimal(share)
    return f"{text} °" if given < 0.9 * runs else text


def _decimal(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


def load() -> dict[str, Any]:
    """What was simulated."""
    body: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return body


def _label(metric: str) -> str:
    if metric == AT_ONCE:
        return "all cells of a table at once"
    return METRICS[metric].label if metric in METRICS else metric.replace("_", " ")


def together(sheet: dict[str, Any]) -> list[tuple[str, Row]]:
    """Metrics with their coverage over all probes and conditions."""
    by_metric: dict[str, list[dict[str, Any]]] = {}
    for row in sheet["rows"]:
        by_metric.setdefault(row["metric"], []).append(row)
    return [(metric, _pooled(_label(metric), rows, sheet["runs"])) for metric, rows in by_metric.items()]


def _pooled(label: str, rows: Sequence[dict[str, Any]], runs: Sequence[int]) -> Row:
    given, covered = ([sum(column) for column in zip(*(r[k] for r in rows), strict=True)] for k in KEYS)
    return Row(label, tuple(given), tuple(covered), tuple(len(rows) * n for n in runs))


KEYS = ("given", "covered")


def summary() -> str:
    """The table of `concepts.md`."""
    return "\n".join([*_head("figure"), *_summary_lines()])


def _summary_lines() -> Iterator[str]:
    sheets = load()["sheets"]
    for name, title in TITLES.items():
        if name in sheets:
            yield f"| *{title}* |" + " |" * 10
            yield from (row.line() for _, row in together(sheets[name]))


def _head(first: str) -> list[str]:
    columns = [f"ρ {correlation}, {tasks}" for correlation in CORRELATIONS for tasks in TASKS]
    return [f"| {first} | nominal | {' | '.join(columns)} |", "| :-- |" + " --: |" * 10]


def page() -> str:
    """The whole of `calibration.md`."""
    body = load()
    parts = [HEAD.format(**body, runs=_runs(body["sheets"]))]
    parts += [_section(TITLES[name], sheet) for name, sheet in body["sheets"].items()]
    return "\n".join(parts)


def _section(title: str, sheet: dict[str, Any]) -> str:
    rows = [_pooled(_named(row), [row], sheet["runs"]).line() for row in sheet["rows"]]
    return "\n".join([f"## {title}", "", *_head("probe, figure, condition"), *rows, ""])


def _named(row: dict[str, Any]) -> str:
    return ", ".join(part for part in (row["probe"], _label(row["metric"]), row["condition"]) if part)


def _runs(sheets: dict[str, Any]) -> str:
    told = []
    for name, sheet in sheets.items():
        least = min(sheet["runs"])
        told.append(f"{TITLES[name].lower()} {least} (± {_decimal(sqrt(NOMINAL * (1 - NOMINAL) / least))})")
    return ", ".join(told)


def marked(rows: Iterable[tuple[str, Row]]) -> set[str]:
    """Metrics that have a cell below the floor."""
    return {metric for metric, row in rows if row.low}


HEAD = """\
# Calibration

<!-- Written by docs/generate.py from docs/calibration.json; `make calibrate` makes both again. -->

How often the first interval of each figure holds the truth, simulated with judges whose truth is known. {date},
Steelyard {steelyard}, Python {python}, numpy {numpy}, scipy {scipy}, {machine}; command: `{command}`. Runs of each cell,
and the standard error of a coverage of .95: {runs}.
"""
