"""A probe in one file of another distribution, found through its entry point."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent / "plugin_example"


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """PYTHONPATH with the example on it: its module, and the metadata an installer would write."""
    site = tmp_path / "site"
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    folder = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    folder.mkdir(parents=True)
    name, version = project["name"], project["version"]
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{point} = {target}\n" for point, target in points.items())
        for group, points in project["entry-points"].items()
    ]
    (folder / "entry_points.txt").write_text("\n".join(groups))
    shutil.copy(EXAMPLE / "steelyard_example_probe.py", site)
    return os.pathsep.join(path for path in (str(site), os.environ.get("PYTHONPATH", "")) if path)


def test_the_datasheet_holds_the_plugins_estimate(steelyard, installed: str, tmp_path: Path) -> None:
    done = steelyard(
        "measure", "-p", "example_probe", "-j", "planted/first", "--out", "run", PYTHONPATH=installed
    )
    assert done.returncode == 0, done.stderr
    assert "capitals preference" in done.stdout
    rows = json.loads((tmp_path / "run" / "datasheet.json").read_text())["estimates"]
    counts = {
        row["judge"]: (row["value"], row["numerator"], row["denominator"], row["n_units"], row["n_clusters"])
        for row in rows
        if (row["probe"], row["metric"]) == ("example_probe", "capitals_preference")
    }
    # Four quick tasks, a pair each, both orders: always-first chooses the capitals in one of two calls.
    assert counts["planted/first"] == counts["first"] == (0.5, 4, 8, 4, 4)
    assert counts["tie"] == counts["longest"] == (0.0, 0, 8, 4, 4)
    assert "capitals preference" in (tmp_path / "run" / "datasheet.html").read_text()


def test_the_run_is_rebuilt_only_where_the_plugin_is_installed(steelyard, installed: str) -> None:
    arguments = ("measure", "-p", "example_probe", "-j", "planted/coin", "--out", "run")
    assert steelyard(*arguments, PYTHONPATH=installed).returncode == 0
    assert steelyard("report", "run", PYTHONPATH=installed).returncode == 0
    without = steelyard("report", "run")
    assert without.returncode == 2
    assert "unknown probe 'example_probe'" in without.stderr


def test_the_plugin_is_listed_and_takes_options(steelyard, installed: str, tmp_path: Path) -> None:
    listed = steelyard("probes", PYTHONPATH=installed)
    assert "example_probe" in listed.stdout
    (tmp_path / "study.yaml").write_text("judges: [planted/tie]\nprobes: [{example_probe: {level: 5}}]\n")
    done = steelyard("measure", "study.yaml", "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 0, done.stderr
    stimuli = [json.loads(line) for line in (tmp_path / "run" / "stimuli.jsonl").read_text().splitlines()]
    assert {stimulus["id"].rpartition("/")[2] for stimulus in stimuli} == {"q5"}
    assert all(u.upper() == v for u, v in (stimulus["texts"] for stimulus in stimuli))
