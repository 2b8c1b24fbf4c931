"""The world in which the pages' blocks are tried: files that readers would have, and a server that answers.

The server stands in for every vendor, over real HTTP. It judges, writes and confirms; a written text has the
score that it was written for.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl

from agent_runs import stock_messages, stock_sample, write_log
from authoring_server import GOALS
from docs_pages import ROOT
from servers import Answer, Received, says
from test_adapters import harmbench, write_csv, write_jsonl
from test_examples import Room

ROWS = 6
"""Rows of every data file that a page names."""

TEMPLATES = {
    "system.md": "You are a judge.",
    "judge": "{{ instruction }} {{ rubric }}\n{{ request }}\n1: {{ first }}\n2: {{ second }}\nReply.",
}


class Vendor(Room):
    """Answers in the form that is asked for; its verdicts follow from the text alone."""

    def __call__(self, request: Received) -> Answer:
        if request.user.startswith((*GOALS, "Two responses")):
            return super().__call__(request)
        properties = self._properties(request.body)
        if "winner" in properties:
            return says(json.dumps({"winner": properties["winner"]["enum"][len(request.user) % 3]}))
        if "score" in properties:
            return super().__call__(request)
        if "Verdict: " in request.user:
            return says("The first is short. Verdict: tie")
        if "[[A]]" in request.user:
            return says("They are much alike. [[C]]")
        return says("Score: 3" if "Score: N" in request.user else "tie")

    @staticmethod
    def _properties(body: Mapping[str, Any]) -> dict[str, Any]:
        found: Any = body.get("response_format")
        for key in ("json_schema", "schema", "properties"):
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}


def write_world(folder: Path) -> None:
    """What every page may speak of: the examples, and texts beside a study."""
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)


GRADER = "Question: {question}\nAnswer: {answer}\nReply PASS or FAIL.\n"


def write_texts(mentions: str, folder: Path) -> None:
    """Rubrics, instructions and prompts that are named and not there yet."""
    for file in re.findall(r"(?<![\w/.-])([\w-]+\.md)\b", mentions):
        if not (folder / file).exists() and not file.startswith("gate"):
            kind = "judge" if file.startswith("judge") else file
            (folder / file).write_text(
                GRADER
                if file == "grader.md"
                else TEMPLATES.get(kind, "What is asked for counts, and nothing else.\n")
            )


def write_data(data: Mapping[str, Any], folder: Path) -> dict[str, int]:
    """The files that a study names, with the columns it names; the score of every response in them."""
    if Path(data["path"]).suffix == ".eval":
        column = data.get("stratify", "kind")
        samples = [stock_sample(n, metadata={column: f"stratum {n % 3}"}) for n in range(ROWS)]
        write_log(folder / data["path"], samples)
        return {}
    rows = _rows(data)
    for path in (data["path"], data.get("responses", {}).get("path", data["path"])):
        write = {".csv": write_csv, ".jsonl": write_jsonl, ".xlsx": write_xlsx}[Path(path).suffix]
        write(folder / path, rows)
    columns = {"response": "generation", "label": "human_consensus", **data.get("columns", {})}
    labels = data.get("labels", {0: 0, 1: 1})
    if "messages" in columns or "responses" in columns:
        return {}
    return {row[columns["response"]]: labels.get(row.get(columns["label"]), 0) for row in rows}


def _rows(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    if Path(data["path"]).stem == "harmbench":
        return [{**harmbench(n), "generation": text_of(n)} for n in range(ROWS)]
    columns: dict[str, str] = data.get("columns", {})
    fixed = {k: v[0] if isinstance(v, list) else v for k, v in data.get("where", {}).items()}
    several = "responses" in columns
    labels = list(data.get("labels", {1: 1, 2: 2, 3: 3} if several else {0: 0, 1: 1}))
    return [
        {
            data.get("stratify") or "stratum": f"stratum {n % 3}",
            **{column: f"{part} {n}" for part, column in columns.items()},
            **({columns["response"]: text_of(n)} if "response" in columns else {}),
            **({columns["messages"]: stock_messages(n)} if "messages" in columns else {}),
            **({columns["responses"]: [f"{text_of(n)} {each}" for each in range(4)]} if several else {}),
            **({columns["label"]: labels[n % len(labels)]} if "label" in columns else {}),
            **fixed,
        }
        for n in range(ROWS)
    ]


def text_of(row: int) -> str:
    """A response of two lines, unlike every other."""
    return f"Fold sheet number {row} once along its middle.\nThen press the edge of sheet {row} with a thumb."


def write_xlsx(path: Path, rows: list[dict[str, Any]]) -> None:
    book = openpyxl.Workbook()
    for row in (list(rows[0]), *(list(row.values()) for row in rows)):
        book.active.append(row)
    book.save(path)
