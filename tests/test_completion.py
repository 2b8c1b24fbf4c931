"""A real bash that completes what is typed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "install.md"

SCRIPT = """
{told}
try() {{
  COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
  $(complete -p steelyard | sed 's/.*-F \\([^ ]*\\).*/\\1/') steelyard
  echo "${{COMPREPLY[*]}}"
}}
try steelyard me
try steelyard measure --bud
try steelyard measure --probe vac
try steelyard measure -j planted/pro
try steelyard measure --profile ""
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_the_line_of_the_guide_makes_bash_complete(tmp_path: Path) -> None:
    (told,) = re.findall(r"^~/\.bashrc +(.+)$", GUIDE.read_text(), re.M)
    folder = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "--norc", "-c", SCRIPT.format(told=told)],
        env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    commands, options, probes, judges, profiles = done.stdout.splitlines()
    assert (commands, options) == ("measure", "--budget")
    assert "vacuum" in probes.split()
    assert "planted/probit" in judges.split()
    assert profiles == "quick standard full"
