"""The example notebook shows what running it shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import notebook
import pytest


def said(body: dict[str, Any]) -> list[str]:
    """Sources and outputs as text; addresses of run folders depend on Python's own instructions."""
    texts = []
    for cell in body["cells"]:
        texts.append("".join(cell["source"]))
        for output in cell.get("outputs", ()):
            texts.append("".join(output.get("text", output.get("data", {}).get("text/plain", ()))))
    return texts


@pytest.mark.slow
def test_the_notebook_holds_what_running_it_gives(tmp_path: Path) -> None:
    kept = json.loads(notebook.NOTEBOOK.read_text())
    assert said(kept) == said(notebook.run(tmp_path)), "run `python docs/notebook.py`"
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in kept["cells"]}) == len(kept["cells"])
    shown = [output for cell in kept["cells"] for output in cell.get("outputs", ())]
    assert any("unfit</h4>" in "".join(output.get("data", {}).get("text/html", ())) for output in shown)
