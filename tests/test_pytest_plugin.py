"""The fixture `judge_gate`, in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

HEAD = """
from pathlib import Path

def first(request, one, two):
    return "1"

def fair(request, one, two):
    return "tie"

DARK = {"dark_current": {"max": 0.5}}
"""


@pytest.fixture
def suite(tmp_path: Path, environment: dict[str, str]):
    """Run pytest on one test file, as a user's project would."""

    def run(body: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_judge.py").write_text(HEAD + body)
        installed = "steelyard" in entry_points(group="pytest11").names
        named = [] if installed else ["-p", "steelyard.pytest_plugin"]
        arguments = ["-m", "pytest", "-p", "no:cacheprovider", "-rs", *named]
        return subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    return run


def test_a_judge_that_keeps_its_policy_passes_and_one_that_does_not_fails_in_words(suite) -> None:
    done = suite(
        """
def test_fair(judge_gate):
    ruling = judge_gate(fair, DARK, probes=["vacuum"], out="fair")
    assert [check.result for check in ruling.checks] == ["PASS"]
    assert judge_gate(Path("fair"), DARK).result == "PASS"

def test_first(judge_gate):
    judge_gate(first, DARK, probes=["vacuum"], profile="standard")

def test_undecided(judge_gate):
    judge_gate(Path("fair"), {"dark_current": {"max": 0.01}}, inconclusive="skip")

def test_undecided_fails(judge_gate):
    judge_gate(fair, {"dark_current": {"max": 0.01}}, probes=["vacuum"])
"""
    )
    assert "2 failed, 1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert "judge gate: FAIL" in done.stdout
    assert "FAIL first: reacts to nothing (dark current): at most 0.5 (Vacuum, base): 1.00 [0.96, 1.00]" in (
        done.stdout
    )
    assert "INCONCLUSIVE fair: reacts to nothing (dark current): at most 0.01" in done.stdout
    assert "pytest_plugin.py" not in done.stdout.replace("steelyard.pytest_plugin", "")


def test_pytest_finds_the_plugin_by_itself_where_the_package_is_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"steelyard": "steelyard.pytest_plugin"}
