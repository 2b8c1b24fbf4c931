"""A server that sends a response twice: no trial keeps the reply to another, and every call is billed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import repeating_server
from commands import Command
from repeating_server import name_of

PRICED = "&input_price=1&output_price=1"
EACH = 0.000105
"""Dollars of a call: 100 tokens in, 5 out."""


@contextmanager
def repeating(latency: float, share: float, *, has_id: bool) -> Iterator[tuple[str, dict[str, int]]]:
    """A server's address, and what it counted, once it has ended."""
    words = [str(latency), str(share), "0.04", "ids" if has_id else "none"]
    command = [sys.executable, str(Path(repeating_server.__file__)), *words]
    counted: dict[str, int] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1", counted
        server.stdin.close()
        counted |= json.loads(server.stdout.readline())


def replies_of_others(folder: Path) -> tuple[int, int]:
    """Replies on disk, and those among them that answer another prompt."""
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        rows = connection.execute(
            "SELECT prompts.body, replies.body FROM replies JOIN trials ON trials.key = replies.trial"
            " JOIN prompts ON prompts.hash = trials.prompt WHERE judge = 'mine'"
        ).fetchall()
    wrong = [
        1
        for prompt, reply in rows
        if name_of(json.loads(prompt)["messages"][-1]["content"]) not in json.loads(reply)["text"]
    ]
    return len(rows), len(wrong)


def sheet(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / "datasheet.json").read_text())
    return body


@pytest.mark.parametrize("has_id", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("latency", [0, 0.02])
def test_no_trial_keeps_the_reply_to_another(
    command: Command, tmp_path: Path, latency: float, has_id: bool
) -> None:
    with repeating(latency, 0.05, has_id=has_id) as (url, counted):
        judge = f"openai/m?base_url={url}&name=mine{PRICED}"
        said = command("measure", "-j", judge, "--replicates", 4, "--out", tmp_path / "run")
    assert said.code == 0
    run = sheet(tmp_path / "run")["run"]
    assert counted["repeats"] > 0
    assert replies_of_others(tmp_path / "run") == (run["calls"], 0)
    again = run.get("repeated", {"calls": 0})["calls"]
    assert run["calls"] + again == counted["requests"]
    assert run["dollars"] == pytest.approx(EACH * counted["requests"])
    if again:
        sentence = "that may belong to other calls"
        assert sentence in said.err
        assert sentence in (tmp_path / "run" / "datasheet.md").read_text()
