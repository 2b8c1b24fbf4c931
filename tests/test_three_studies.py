"""docs/guides/three-studies.md is run as printed, and compared with the truth, where the data are present."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands import Command
from docs_pages import ROOT, Block, blocks
from published_data import published
from test_leaderboard import SYSTEMS, votes

PAGE = ROOT / "docs" / "guides" / "three-studies.md"
SENTENCES = " ".join(PAGE.read_text(encoding="utf-8").split())
CUT = "…"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the page's first command wrote the files."""
    folder = tmp_path_factory.mktemp("studies")
    script = ROOT / "examples" / "three_studies.py"
    for name in ("arena_ranking", "llmbar", "two_judges"):
        (folder / "data").mkdir(exist_ok=True)
        (folder / "data" / name).symlink_to(published(name))
    subprocess.run([sys.executable, str(script), "data"], cwd=folder, check=True)
    shutil.rmtree(folder / "data")
    return folder


@pytest.fixture
def files(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    return shutil.copytree(written, tmp_path, dirs_exist_ok=True)


def shown(name: str) -> list[Block]:
    printed = [block for block in blocks(PAGE) if block.text.startswith(f"$ steelyard {name} ")]
    assert printed
    return printed


def follow(command: Command, block: Block) -> dict[str, dict[str, object]]:
    """Run a block's command, whose figures are written to a file beside.

    Its lines are the output's, in order, and only a cut leaves lines out.
    """
    (line,) = block.commands
    done = command(*shlex.split(line)[1:], "--out", "figures.json")
    assert done.code == 0, done.err
    *printed, last = [line.rstrip() for line in done.out.splitlines() if line.strip()]
    assert last == "Written: figures.json"
    expected = block.text.replace("\\\n", "").splitlines()[1:]
    place = 0
    for number, line in enumerate(expected):
        if line == CUT:
            after = expected[number + 1] if number + 1 < len(expected) else None
            place = len(printed) if after is None else printed.index(after, place)
        else:
            assert printed[place] == line
            place += 1
    assert place == len(printed)
    return json.loads(Path("figures.json").read_text())


def test_two_judges_two_winners(command: Command, files: Path) -> None:
    with (published("two_judges") / "verdicts.csv").open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["judge"] == "gpt-5.2"]
    claude = [row["model_a"].startswith("claude") == (row["human_winner"] == "model_a") for row in rows
              if "qwen3-235b-a22b-no-thinking" in (row["model_a"], row["model_b"])]  # fmt: skip
    truth = sum(claude) / len(claude)
    assert f"By all {len(claude)} votes people give Claude {100 * truth:.1f} %" in SENTENCES
    for block in shown("estimate"):
        found = follow(command, block)
        assert found["corrected"]["low"] <= truth <= found["corrected"]["high"]  # type: ignore[operator]
        assert abs(found["judge_only"]["value"] - truth) > 0.15  # type: ignore[operator]


def test_fourteen_thousand_verdicts_the_wrong_podium(command: Command, files: Path) -> None:
    people = votes("human").figures()
    assert f"people put gpt-4 first with {100 * people[0]:.1f} %" in SENTENCES
    assert f"claude-v1 second with {100 * people[1]:.1f} %" in SENTENCES
    outside = {}
    for block in shown("leaderboard"):
        found = follow(command, block)
        table = found["corrected"] or found["judge_alone"]
        ranks = {row["system"]: (row["best"], row["worst"]) for row in table["systems"]}  # type: ignore[attr-defined]
        held = [ranks[name][0] <= place <= ranks[name][1] for place, name in enumerate(SYSTEMS, start=1)]
        outside["corrected" if found["corrected"] else "judge"] = held.count(False)
    assert outside == {"judge": 2, "corrected": 0}
    assert "two lie outside the judge's rank sets, and none outside the corrected ones" in SENTENCES


def test_the_judge_changed_in_may(command: Command, files: Path) -> None:
    (block,) = shown("bridge")
    found = follow(command, block)
    with (files / "anchors.csv").open(newline="") as stream:
        anchors = {row["item"] for row in csv.DictReader(stream)}
    wins: dict[str, dict[str, bool]] = {}
    for line in (published("llmbar") / "verdicts.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["prompt"] == "Vanilla" and row["winner_AB"] and row["item_id"] not in anchors:
            wins.setdefault(row["item_id"], {})[row["judge"]] = row["winner_AB"] == "1"
    april = [row for row in wins.values() if {"ChatGPT", "GPT-4"} <= row.keys()]
    old, new = (sum(row[judge] for row in april) / len(april) for judge in ("ChatGPT", "GPT-4"))
    assert f"won {100 * old:.1f} % in April" in SENTENCES
    assert f"ChatGPT alone rated the {len(april)} of April" in SENTENCES
    assert f"GPT-4 on the pairs of April gives {new:.3f}" in SENTENCES
    assert f"a loss of {100 * (old - new):.0f} points" in SENTENCES
    (row,) = found["history"]
    assert row["translated"]["low"] <= new <= row["translated"]["high"]  # type: ignore[index]
