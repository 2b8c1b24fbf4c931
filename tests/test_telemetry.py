"""Frameworks do not report what is measured, unless the user has them do so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands import Command
from steelyard.providers.function.frameworks.adapter import TELEMETRY_OFF

JUDGE = """
import json, os
from pathlib import Path

Path("seen.json").write_text(json.dumps(dict(os.environ)))

def judge(request, first, second):
    return "tie"
"""


@pytest.mark.parametrize(
    "set_by_user", [{}, {"RAGAS_DO_NOT_TRACK": "false", "DEEPEVAL_TELEMETRY_OPT_OUT": "0"}]
)
def test_telemetry_is_off_before_a_framework_is_imported(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_by_user: dict[str, str]
) -> None:
    for name in TELEMETRY_OFF:
        monkeypatch.delenv(name, raising=False)
    for name, value in set_by_user.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "evals.py").write_text(JUDGE)
    done = command("measure", "-j", "python/evals.py:judge", "-p", "vacuum", "--out", "run")
    assert done.code == 0, done.err
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert {name: seen[name] for name in TELEMETRY_OFF} == {**TELEMETRY_OFF, **set_by_user}
    assert "RAGAS_DO_NOT_TRACK" not in os.environ or set_by_user


def test_errors_that_may_hold_a_key_are_not_printed_by_the_library_under_ragas() -> None:
    said = "import logging, steelyard.providers.function.frameworks.ragas_metric\n"
    said += "logging.getLogger('instructor').error('API call failed: Bearer sk-1')"
    ran = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert ran.stderr == ""


def test_the_guides_name_the_variables() -> None:
    guide = (Path(__file__).parents[1] / "docs" / "guides" / "frameworks.md").read_text()
    assert all(f"`{name}`" in guide for name in TELEMETRY_OFF)
