"""A study of items about the sky whose texts are written by a scripted author, as a file and its data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from authoring_server import TASK, WRITTEN, items
from servers import ScriptedServer

KEPT = ("semantic_paraphrase", "verbosity_bias_long", "verbosity_bias_short")
"""Probes whose texts keep the label of the item."""


def model(name: str, server: ScriptedServer) -> str:
    """A model of this name at the server."""
    return f"openai/{name}?base_url={server.url}"


def write_study(
    folder: Path,
    server: ScriptedServer,
    *,
    labelled: bool = True,
    count: int = 4,
    probes: Sequence[str] = WRITTEN,
    **keys: Any,
) -> None:
    """Write `study.yaml` and `sky.jsonl`; every other key of the study replaces what stands here."""
    columns = {"id": "id", "request": "q", "response": "a"} | ({"label": "label"} if labelled else {})
    rows = [{"id": i.id, "q": i.request, "a": i.responses[0], "label": i.label} for i in items(count)]
    lines = ({key: row[key] for key in columns.values()} for row in rows)
    (folder / "sky.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    body: dict[str, Any] = {
        "name": "sky",
        "judges": [{"name": "grader", "model": model("grader", server)}],
        "task": {"instruction": TASK.instruction, "rubric": TASK.rubric, "scale": "binary"},
        "data": {"path": "sky.jsonl", "columns": columns},
        "probes": list(probes),
        "author": {"model": model("writer", server)},
        "validator": {"model": model("checker", server)},
    }
    (folder / "study.yaml").write_text(yaml.safe_dump({**body, **keys}))
