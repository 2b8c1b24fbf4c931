"""The fixture `judge_gate`, in a pytest of its own."""

from __future__ import annotations

import os
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest_plugins = "pytester"
HEAD = """
from pathlib import Path

def first(request, one, two):
    return "1"

def fair(request, one, two):
    return "tie"

DARK = {"dark_current": {"max": 0.5}}
"""


@pytest.mark.slow
def test_a_judge_that_keeps_its_policy_passes_and_one_that_does_not_fails_in_words(
    pytester: pytest.Pytester, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in os.environ.keys() - environment.keys():
        monkeypatch.delenv(name)
    pytester.makepyfile(
        test_judge=HEAD
        + """
def test_fair(judge_gate):
    ruling = judge_gate(fair, DARK, probes=["vacuum"], out="fair")
    assert [check.result for check in ruling.checks] == ["PASS"]
    assert judge_gate(Path("fair"), DARK).result == "PASS"

def test_first(judge_gate):
    judge_gate(first, DARK, probes=["vacuum"])

def test_undecided(judge_gate):
    judge_gate(Path("fair"), {"dark_current": {"max": 0.01}}, inconclusive="skip")

def test_undecided_fails(judge_gate):
    judge_gate(Path("fair"), {"dark_current": {"max": 0.01}})
"""
    )
    installed = "steelyard" in entry_points(group="pytest11").names
    named = [] if installed else ["-p", "steelyard.pytest_plugin"]
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rs", *named)
    done.assert_outcomes(failed=2, passed=1, skipped=1)
    printed = done.stdout.str()
    assert "judge gate: FAIL" in printed
    assert "FAIL first: reacts to nothing (dark current): at most 0.5 (Vacuum, base): 1.00 [0.62, 1.00]" in (
        printed
    )
    assert "INCONCLUSIVE fair: reacts to nothing (dark current): at most 0.01" in printed
    assert "pytest_plugin.py" not in printed.replace("steelyard.pytest_plugin", "")


def test_pytest_finds_the_plugin_by_itself_where_the_package_is_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"steelyard": "steelyard.pytest_plugin"}
