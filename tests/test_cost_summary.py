"""What a run has cost stands on its datasheet, in words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from batch_server import BatchServer
from commands import Command
from review_sessions import Client, serving
from servers import ScriptedServer
from steelyard.core.json_dataclasses import from_body
from steelyard.datasheet.run_facts import RunFacts
from steelyard.datasheet.sections.summary import cost_summary
from steelyard.web.view_app import ViewPages
from vendors import KEY


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({}, ""),
        ({"calls": 12, "dollars": 0.0}, ""),
        ({"calls": 12, "dollars": 1.5}, "$1.50"),
        ({"calls": 12, "dollars": None}, "price not known"),
        ({"calls": 12, "dollars": 0.024, "uncounted": {"j": 3}}, "about $0.024"),
        ({"calls": 1440, "dollars": 0.024, "batched_calls": 1280}, "$0.024, 1,280 of 1,440 calls in batches"),
        (
            {"calls": 1, "dollars": 0.0, "authoring": {"calls": 1, "dollars": 0.5, "input_tokens": 9}},
            "$0.50 for 1 call that wrote and confirmed texts",
        ),
        (
            {"calls": 2, "dollars": 0.1, "authoring": {"calls": 30, "dollars": None}},
            "$0.10; price not known for 30 calls that wrote and confirmed texts",
        ),
        ({"calls": 2, "dollars": 0.1, "authoring": {"calls": 30, "dollars": 0.0}}, "$0.10"),
    ],
)
def test_what_was_spent_is_said_where_anything_was(run: dict[str, Any], told: str) -> None:
    assert cost_summary(from_body(RunFacts, run, "run")) == told


def test_datasheets_say_what_batches_cost(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts of 100 tokens and answers of 5 cost $0.0003; 8 calls are made in full, 4 at half price."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ScriptedServer(BatchServer()) as server:
        judge = f"openai/gpt-4o?base_url={server.url}"
        done = command("measure", "-j", judge, "-p", "vacuum", "--out", "run", "--batch", "--poll", "0.01")
    assert done.code == 0, done.err
    told = "$0.0030, 4 of 12 calls in batches"
    assert f"- spent: {told}\n" in (tmp_path / "run" / "datasheet.md").read_text()
    assert f"<dt>spent</dt><dd>{told}</dd>" in (tmp_path / "run" / "datasheet.html").read_text()
    # How long a call took in a batch nobody knows.
    assert command("export", "run", "--out", "out").code == 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "trials.jsonl").read_text().splitlines()]
    mine = [row["latency_ms"] for row in rows if row["judge"] == "openai/gpt-4o"]
    assert (len(mine), mine.count(None)) == (12, 4)
    assert min(each for each in mine if each is not None) > 0
    pages = ViewPages([tmp_path / "run"])
    pages.runs[0].load()
    with serving(lambda _: pages.app()) as view:
        client = Client.of(view)
        overview = client.get("/").text
        links = set(
            re.findall(r'href="(/run/0/call/\w+)[?"]', client.get("/run/0/calls?judge=openai/gpt-4o").text)
        )
        calls = [client.get(link).text for link in links]
    assert '<td data-label="calls" data-sort="12">12</td>' in overview
    ((dollars, price),) = re.findall(r'<td data-label="price" data-sort="(.*?)">(.*?)</td>', overview)
    assert float(dollars) == pytest.approx(0.0030)
    assert price == told
    waits = [re.findall(r"<dt>latency</dt><dd>(.*?)</dd>", call) for call in calls]
    assert waits.count(["not known, in a batch"]) == 4
    assert ["0 ms"] not in waits
    assert len(waits) == 12
