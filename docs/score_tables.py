"""The calibration tables of corrected scores: on planted judges by design, and on real verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

NOMINAL, FLOOR = 0.95, 0.93
LABELS, PER_TASK = (30, 100, 300), (1, 5, 10)
CELLS = tuple((labels, size) for labels in LABELS for size in PER_TASK)
REASONS = {
    "yes or no": "few of the labels are of the rare kind, and one more or less moves the figure far.",
    "scores from 1 to 5": "nine labels of ten are the highest; samples without the lowest ones are too sure.",
    "wins with ties": "nine comparisons of ten are won; samples without a loss are too sure.",
    "difference of systems": "two systems that differ on one item in sixteen; few labels show a difference.",
}
"""Quantity to the reason why single cells lie below the floor."""


def low(held: int, given: int) -> bool:
    """Below the floor by more than two standard errors of the simulation."""
    return given > 0 and held / given < FLOOR - 2 * sqrt(FLOOR * (1 - FLOOR) / given)


def low_cells(body: dict[str, Any]) -> list[tuple[dict[str, Any], int]]:
    """Rows and numbers of cells that are low."""
    return [
        (row, cell)
        for row in body["rows"]
        for cell in range(len(CELLS))
        if low(row["held"][cell], row["given"][cell])
    ]


def corrected_section(body: dict[str, Any]) -> list[str]:
    """Coverage of corrected scores by quantity and design, over worlds and both claims."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in body["rows"]:
        groups.setdefault((row["quantity"], row["design"]), []).append(row)
    error = sqrt(NOMINAL * (1 - NOMINAL) / body["runs"])
    cells = len(body["rows"]) * len(CELLS)
    below = low_cells(body)
    columns = [f"{labels} labels, {size} a task" for labels, size in CELLS]
    columns = [name if size == 1 else f"{size}" for name, (_, size) in zip(columns, CELLS, strict=True)]
    lines = [
        CORRECTED.format(
            date=body["date"],
            cells=cells,
            runs=body["runs"],
            error=_decimal(error, 3),
            machine=body["machine"],
        ),
        f"| quantity, design | {' | '.join(columns)} |",
        "| :-- |" + " --: |" * len(CELLS),
        *(
            f"| {quantity}, `{design}` | {' | '.join(_pooled(rows, 'held', 'given'))} |"
            for (quantity, design), rows in groups.items()
        ),
        "",
    ]
    if not below:
        return [*lines, "No single cell lies below .93 by more than two standard errors.", ""]
    lines.append(f"Below .93 by more than two standard errors: {len(below)} of {cells:,} cells.")
    lines.append("")
    for quantity, reason in REASONS.items():
        told = [_told(row, cell) for row, cell in below if row["quantity"] == quantity]
        if told:
            lines.append(f"- *{quantity}*: {'; '.join(told)}. The reason: {reason}")
    return [*lines, ""]


def _told(row: dict[str, Any], cell: int) -> str:
    labels, size = CELLS[cell]
    share = _decimal(row["held"][cell] / row["given"][cell])
    return f"{row['world']}, `{row['design']}`, {row['of']}, {labels} labels, {size} a task {share}"


def _pooled(rows: Sequence[dict[str, Any]], held: str, given: str) -> list[str]:
    sums = [
        (sum(row[held][n] for row in rows), sum(row[given][n] for row in rows)) for n in range(len(CELLS))
    ]
    return [_cell(k / n) if n else "–" for k, n in sums]


def arena_section(body: dict[str, Any]) -> list[str]:
    """Least coverage over three judges and mean half-width of the corrected win rate, by design."""
    labels = sorted({row["labels"] for row in body["rows"]})
    quantities = list(dict.fromkeys(row["quantity"] for row in body["rows"]))
    columns = [f"{quantity}, {count} labels" for quantity in quantities for count in labels]
    error = sqrt(NOMINAL * (1 - NOMINAL) / body["runs"])
    lines = [
        ARENA.format(date=body["date"], runs=f"{body['runs']:,}", error=_decimal(error, 3)),
        f"| design, claim | {' | '.join(columns)} |",
        "| :-- |" + " --: |" * len(columns),
    ]
    for design, of in dict.fromkeys((row["design"], row["of"]) for row in body["rows"]):
        mine = [row for row in body["rows"] if (row["design"], row["of"]) == (design, of)]
        made = [
            _arena_cell([row for row in mine if (row["quantity"], row["labels"]) == (quantity, count)])
            for quantity in quantities
            for count in labels
        ]
        lines.append(f"| `{design}`, {of} | {' | '.join(made)} |")
    return [*lines, ""]


def _arena_cell(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return "–"
    least = min(row["held"] / row["given"] for row in rows if row["given"])
    widths = [row["half_width"] for row in rows]
    return f"{_cell(least)} ± {_decimal(min(widths))}–{_decimal(max(widths))}"


def _cell(share: float) -> str:
    return f"**{_decimal(share)}**" if share < FLOOR else _decimal(share)


def _decimal(share: float, places: int = 2) -> str:
    return f"{share:.{places}f}".removeprefix("0")


CORRECTED = """\
## Corrected scores

How often the interval of `estimate` holds what people would say, on planted judges: {cells:,} cells of {runs}
runs each (± {error}), simulated {date} on {machine} with
`PYTHONPATH=tests python -m calibration.corrected_scores`. 1,000 items in tasks of 1, 5 or 10; half of the
items of a task share its label, three in ten the judge's luck. Yes or no: 2, 5, 20 and 50 % fails, two
judges. A row is pooled over its planted judges and over the claims about these items and about the
population. Runs that the command refuses are left out.
"""

ARENA = """\
## Corrected win rates on real verdicts

3,483 comparisons of gpt-4 on the Arena, with people's votes on all (the truth) and three judges. Labels were
drawn {runs} times (± {error}) on {date} with `PYTHONPATH=tests python -m calibration.arena_scores`. A cell
has the least coverage over the judges, and the half-widths from the best judge to the worst.
"""
