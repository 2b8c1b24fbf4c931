"""Real shells that complete what is typed."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "quickstart.md"

SCRIPT = """
{told}
try() {{
  COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
  $(complete -p steelyard | sed 's/.*-F \\([^ ]*\\).*/\\1/') steelyard
  echo "${{COMPREPLY[*]}}"
}}
try steelyard me
try steelyard measure --probe vac
try steelyard measure -j planted/pro
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_the_line_of_the_guide_makes_bash_complete(tmp_path: Path) -> None:
    script = SCRIPT.format(told=_line_for("~/.bashrc"))
    commands, probes, judges = _said(["bash", "--norc", "-c", script], tmp_path)
    assert commands == "measure"
    assert "vacuum" in probes.split()
    assert "planted/probit" in judges.split()


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
def test_the_line_of_the_guide_makes_fish_complete(tmp_path: Path) -> None:
    typed = ["steelyard me", "steelyard measure --bud", "steelyard measure --profile "]
    asked = "; ".join(f"complete -C '{words}'" for words in typed)
    script = f"{_line_for('~/.config/fish/config.fish')}; {asked}"
    lines = _said(["fish", "--no-config", "-c", script], tmp_path)
    assert [line.split("\t")[0] for line in lines] == ["measure", "--budget", "full", "quick", "standard"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_the_line_of_the_guide_makes_zsh_complete(tmp_path: Path) -> None:
    """Tab is pressed at a terminal; what it left in the line becomes the argument of an echo before it."""
    (tmp_path / ".zshrc").write_text(f"autoload -U compinit; compinit -u -D\n{_line_for('~/.zshrc')}\n")
    keyboard, terminal = pty.openpty()
    with subprocess.Popen(
        ["zsh", "-i"],
        env=_environment(tmp_path) | {"TERM": "dumb"},
        cwd=tmp_path,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    ):
        os.close(terminal)
        for typed in ("steelyard measure --bud", "steelyard measure --profile st"):
            os.write(keyboard, f"{typed}\t\x01echo 'left: \x05'\r".encode())
        os.write(keyboard, b"exit\r")
        left = re.findall(r"^left: (.+?) *\r$", _all_of(keyboard), re.M)
    os.close(keyboard)
    assert left == ["steelyard measure --budget", "steelyard measure --profile standard"]


def _line_for(file: str) -> str:
    """What the guide says to write into a shell's own file."""
    (line,) = re.findall(rf"^{re.escape(file)} +(.+)$", GUIDE.read_text(), re.M)
    return str(line)


def _environment(home: Path) -> dict[str, str]:
    folder = Path(sys.executable).parent
    return {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(home), "OMP_NUM_THREADS": "1"}


def _said(command: list[str], home: Path) -> list[str]:
    done = subprocess.run(
        command, env=_environment(home), cwd=home, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def _all_of(terminal: int) -> str:
    """What a terminal shows until its shell has gone."""
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            part = b""
        if not part:
            return shown.decode(errors="replace")
        shown += part
