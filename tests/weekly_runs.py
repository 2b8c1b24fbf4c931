"""A judge behind one address that is measured week by week: its server may change, its settings stay."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from commands import run_command
from servers import planted_server
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Pairwise

SOUND = "planted/probit?s=2&beta=0&tau=0.8&sigma=0.7&lapse=0.01"
LEANING = "planted/probit?s=2&beta=3&tau=0.8&sigma=0.7&lapse=0.01"
"""The same judge with a lean to the first slot."""
WEEKS = (
    ("w1", SOUND, ""),
    ("w2", SOUND, ""),
    ("w3", SOUND, ""),
    ("w4", LEANING, ""),
    ("w5", LEANING, ""),
    ("warm", SOUND, "&temperature=1"),
)
"""Folder, what answers there, and settings that differ: a change in w4, and another temperature at last."""


def measure_weekly(folder: Path, weeks: Iterable[tuple[str, str, str]], *options: str) -> None:
    """Measure into a folder for each week; every week has noise of its own."""
    port = 0
    for number, (name, answers, settings) in enumerate(weeks):
        judge = parse_judge(f"{answers}&seed={number}", Path(), Pairwise())
        with planted_server(judge, port=port) as url:
            port = int(url.rpartition(":")[2].partition("/")[0])
            model = f"openai/gate?base_url={url}{settings}"
            run_command(folder, "measure", "-j", model, *options, "--out", name)
