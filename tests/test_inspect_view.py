"""Exported logs in Inspect's own viewer: a real server, a real browser."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from browsers import chromium, opened
from commands import Command

pytest.importorskip("inspect_ai")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def viewed(logs: Path) -> Iterator[str]:
    """The address of `inspect view` on a folder of logs."""
    port = free_port()
    command = [sys.executable, "-u", "-m", "inspect_ai", "view", "start", "--log-dir", str(logs)]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert any("Running on" in line for line in process.stdout)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_the_viewer_shows_a_run_with_its_edit_and_its_scores(tmp_path: Path, command: Command) -> None:
    measured = ("-p", "truncated_tail", "-j", "planted/rater")
    assert command("measure", *measured, "--out", "run").code == 0
    assert command("export", "run", "--inspect", "--out", "logs").code == 0
    with chromium() as browser, viewed(tmp_path / "logs") as url, opened(browser, url) as page:
        page.get_by_text("truncated_tail").first.click()
        page.get_by_text("planted/rater").first.wait_for()
        assert "NaN" not in page.inner_text("body")
        page.get_by_text("library-list/truncated_tail/0").first.click()
        page.get_by_text("You help readers of a town library.").first.wait_for()
        page.get_by_role("tab", name="Info").or_(page.get_by_text("Info", exact=True)).first.click()
        page.get_by_text("steelyard").first.wait_for()
