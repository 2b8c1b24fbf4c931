"""Progress where nobody watches: lines in the log of a job, while calls are still waited for."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from pathlib import Path

import pytest

from commands import surroundings
from servers import Answer, Received, ScriptedServer, wins
from steelyard.cli import progress
from steelyard.cli.main import main
from steelyard.cli.progress import log_line


class Log(io.StringIO):
    """A stream that is no terminal; `told` is set by the first line of progress."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def write(self, text: str) -> int:
        if " calls" in text:
            self.told.set()
        return super().write(text)


def test_a_line_comes_while_a_call_is_waited_for(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.01)
    log = Log()

    def script(request: Received) -> Answer:
        assert log.told.wait(60), "no line of progress"
        return wins("tie")

    with ScriptedServer(script) as server:
        judge = f"openai/m?base_url={server.url}&input_price=100&output_price=100"
        texts = ["steelyard", "measure", "-j", judge, "-p", "vacuum", "--out", "run"]
        with (
            surroundings(tmp_path, texts, environment),
            contextlib.redirect_stderr(log),
            contextlib.redirect_stdout(io.StringIO()),
            pytest.raises(SystemExit) as stop,
        ):
            main()
    assert stop.value.code == 0
    first = log.getvalue().splitlines()[0]
    assert first == "steelyard: 0 of 12 calls"


def test_a_run_that_is_soon_done_writes_nothing(steelyard) -> None:
    assert steelyard("measure", "-j", "planted/tie", "-p", "vacuum").stderr == ""


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ((0, 288, 0, 12.0, 0.0), "0 of 288 calls"),
        ((30, 288, 0, 15.0, 0.0), "30 of 288 calls, 2.0/s, about 2 min left"),
        ((30, 288, 24, 3600.0, 0.0), "30 of 288 calls, 0.0/s, about 43 h left"),
        (
            (100, 1200, 0, 10.0, 0.25),
            "100 of 1,200 calls, 10.0/s, about 110 s left, $0.2500 spent, about $2.75 to go",
        ),
        ((12, 12, 0, 10.0, 0.0), "12 of 12 calls, now computing the figures"),
    ],
)
def test_what_a_line_tells(state: tuple[int, int, int, float, float], said: str) -> None:
    """Calls done, calls in all, those answered by an earlier run, seconds and dollars so far."""
    assert re.sub(r"\s+", " ", log_line(*state)) == said
