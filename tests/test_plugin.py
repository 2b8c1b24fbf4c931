"""A probe and a figure, each in one file of another distribution, found through their entry points."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

EXAMPLES = [Path(__file__).parent / folder for folder in ("plugin_example", "figure_example")]


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """PYTHONPATH with the examples on it."""
    site = tmp_path / "site"
    for example in EXAMPLES:
        install(example, site)
    return os.pathsep.join(path for path in (str(site), os.environ.get("PYTHONPATH", "")) if path)


def install(example: Path, site: Path) -> None:
    """The module of a project and the metadata that an installer would write."""
    project = tomllib.loads((example / "pyproject.toml").read_text())["project"]
    folder = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    folder.mkdir(parents=True)
    name, version = project["name"], project["version"]
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{point} = {target}\n" for point, target in points.items())
        for group, points in project["entry-points"].items()
    ]
    (folder / "entry_points.txt").write_text("\n".join(groups))
    for module in example.glob("*.py"):
        shutil.copy(module, site)


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


def test_a_figure_of_a_plugin_stands_on_the_page(steelyard, installed: str, tmp_path: Path) -> None:
    done = steelyard("measure", "-p", "vacuum", "-j", "planted/first", "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "run" / "datasheet.html").read_text()
    anchors = re.findall(r'<figure id="fig-([^"]+)"', page)
    assert anchors[0] == "axes"
    assert anchors[-1] == "zero_points"
    plate = page.partition('<figure id="fig-zero_points"')[2].partition("</figure>")[0]
    assert "Zero points" in plate
    assert "planted/first: dark current 1.00" in plate  # what the drawing says to those who can not see it
    assert plate.count("<tr>") == 1 + 5  # the header, the judge and four baselines
    assert "Not drawn" not in plate
    assert "var(--stable)" in plate

    without = steelyard("report", "run")
    assert without.returncode == 0, without.stderr
    assert "zero_points" not in (tmp_path / "run" / "datasheet.html").read_text()


BROKEN = {
    "raises": "def draw(summary):\n    raise LookupError('no ink')\n",
    "answers": "def draw(summary):\n    return 'a drawing'\n",
    "missing": "import nothing_of_this_name\n",
}


def test_figures_that_can_not_be_drawn_are_told_and_the_page_stands(
    steelyard, installed: str, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    metadata = site / "steelyard_broken-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard-broken\nVersion: 1\n")
    points = "".join(f"{name} = broken_{name}:draw\n" for name in BROKEN)
    (metadata / "entry_points.txt").write_text(f"[steelyard.figures]\n{points}axes = broken_raises:draw\n")
    for name, source in BROKEN.items():
        (site / f"broken_{name}.py").write_text(source)
    done = steelyard("measure", "-p", "vacuum", "-j", "planted/first", "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 1
    assert done.stderr.startswith("steelyard: could not be computed: figure answers (TypeError: found str")
    assert "Traceback" not in done.stderr
    causes = {
        "figure answers": "TypeError: found str, expected a Figure or None",
        "figure missing": "ModuleNotFoundError: No module named 'nothing_of_this_name'",
        "figure raises": "LookupError: no ink",
    }
    faults = json.loads((tmp_path / "run" / "datasheet.json").read_text())["faults"]
    assert {fault["figure"]: fault["cause"] for fault in faults} == causes
    page = (tmp_path / "run" / "datasheet.html").read_text()
    assert page.count('<figure id="fig-axes"') == 1  # the built-in one
    assert 'id="fig-zero_points"' in page
    for name in BROKEN:
        plate = page.partition(f'<figure id="fig-{name}"')[2].partition("</figure>")[0]
        assert "could not be computed" in plate
    assert page.rstrip().endswith("</html>")
