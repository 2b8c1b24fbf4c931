"""Run the example notebook and write it with its outputs: `python docs/notebook.py`.

Cells are run here in one scope; the value of a cell's last line is its output, as a notebook would show it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "examples" / "judge.ipynb"

CELLS: tuple[tuple[str, str], ...] = (
    (
        "markdown",
        "# Measure a judge that is a Python function\n\n"
        'A judge of pairs gets a request and two texts and returns `"1"`, `"2"` or `"tie"`. This one '
        "leans to the first text whenever the two are of about the same length.",
    ),
    (
        "code",
        "import steelyard\n\n\n"
        "def judge(request, first, second):\n"
        "    difference = len(first.split()) - len(second.split())\n"
        '    return "2" if difference < -3 else "1"\n\n\n'
        'sheet = steelyard.measure(judge, probes=["vacuum", "ladder"], profile="standard")\n'
        "sheet",
    ),
    ("markdown", "The verdict, and the decisive facts:"),
    (
        "code",
        'print(sheet.verdict.word)\nfor fact in sheet.verdict.facts:\n    print("-", fact.title)',
    ),
    ("markdown", "Every figure is a row, with its interval and its counts:"),
    (
        "code",
        "frame = sheet.to_frame()\n"
        'chosen = frame[(frame.judge == "judge") & (frame.metric == "dark_current") & frame.kind.isna()]\n'
        'chosen[["metric", "value", "numerator", "denominator"]]',
    ),
    ("markdown", "May it be used? A policy decides on whole intervals:"),
    ("code", 'steelyard.gate(sheet.folder, "default").result'),
)
"""Kind and source of each cell."""


def run(folder: Path) -> dict[str, Any]:
    """The notebook with its outputs, run in a folder."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    cells, here = [], Path.cwd()
    os.chdir(folder)
    try:
        for number, (kind, source) in enumerate(CELLS):
            cells.append(_cell(number, kind, source, scope))
    finally:
        os.chdir(here)
    about = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _cell(number: int, kind: str, source: str, scope: dict[str, Any]) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    cell["source"] = source.splitlines(keepends=True)
    if kind == "code":
        count = sum(kind == "code" for kind, _ in CELLS[: number + 1])
        cell |= {"execution_count": count, "outputs": _outputs(source, scope, count)}
    return cell


def _outputs(source: str, scope: dict[str, Any], count: int) -> list[dict[str, Any]]:
    *lines, last = ast.parse(source).body
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        shown = isinstance(last, ast.Expr)
        body = lines if shown else [*lines, last]
        exec(compile(ast.Module(body, []), "cell", "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), scope)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        result = {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}
        outputs.append(result)
    return outputs


def main() -> None:
    """Write the notebook beside the other examples."""
    with tempfile.TemporaryDirectory(prefix="steelyard-notebook-") as folder:
        NOTEBOOK.write_text(json.dumps(run(Path(folder)), indent=1, ensure_ascii=False) + "\n")
    print(f"wrote {NOTEBOOK}")


if __name__ == "__main__":
    main()
