from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from authoring_server import Cast
from commands import Command, Done
from servers import ScriptedServer
from steelyard.cli.main import main

settings.register_profile("steelyard", deadline=None, database=None, derandomize=True)
settings.load_profile("steelyard")  # A busy machine fails no test, and a test says the same twice.

Steelyard = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A clean environment: no keys, no options, a folder of its own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STEELYARD_", "OPENAI_")) or name == "STEELYARD_CACHE"
    }
    return {**kept, "COLUMNS": "100", "NO_COLOR": "1"}


@pytest.fixture
def steelyard(tmp_path: Path, environment: dict[str, str]) -> Steelyard:
    """Run the command in a process of its own, as a user does."""

    def run(*arguments: object, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "steelyard", *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, **extra},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command inside this process, from its arguments to its exit code: quicker, and as real."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["steelyard", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return Done(int(stop.value.code or 0), out, err)

    return run


@pytest.fixture
def cast() -> Cast:
    """The models of a study whose texts are written; a test may change what they do."""
    return Cast()


@pytest.fixture
def server(cast: Cast) -> Iterator[ScriptedServer]:
    """A server at which the cast answers."""
    with ScriptedServer(cast) as server:
        yield server
