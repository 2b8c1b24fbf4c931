"""Nothing paid is lost, nothing is paid twice: real processes, really killed."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from commands import Command, StartedCommand
from servers import Answer, Received, ScriptedServer, hang, says

CONCURRENCY = 4
CALLS = 72
"""Quick vacuum and ladder under the base protocol."""


class Teller:
    """Answers by the trial's own key; after `patience` answers it lets every further call hang."""

    def __init__(self, patience: int | None = None, usage: dict[str, int] | None = None) -> None:
        self.patience = patience
        self.usage = usage
        self.keys: list[str] = []
        self.hanging = threading.Semaphore(0)
        self._lock = threading.Lock()

    def __call__(self, request: Received) -> Answer:
        key = request.headers["idempotency-key"]
        with self._lock:
            self.keys.append(key)
            if self.patience is not None and len(self.keys) > self.patience:
                self.hanging.release()
                return hang()
        answer = json.dumps({"winner": ("1", "2", "tie")[request.chance % 3]})
        return says(answer) if self.usage is None else says(answer, usage=self.usage)


def arguments(server: ScriptedServer, out: str) -> list[str]:
    judge = f"openai/scripted?base_url={server.url}"
    options = ["-p", "vacuum", "-p", "ladder", "--concurrency", str(CONCURRENCY), "--out", out]
    return ["measure", "-j", judge, *options]


def start(tmp_path: Path, environment: dict[str, str], server: ScriptedServer, out: str) -> StartedCommand:
    return StartedCommand(arguments(server, out), tmp_path, environment)


def sheet(folder: Path) -> dict[str, Any]:
    """The datasheet without its clock."""
    body: dict[str, Any] = json.loads((folder / "datasheet.json").read_text())
    del body["run"]
    return body


def test_kill_9_repeats_only_what_was_in_flight(tmp_path: Path, environment: dict[str, str]) -> None:
    teller = Teller(patience=30)
    with ScriptedServer(teller) as server:
        process = start(tmp_path, environment, server, "killed")
        for _ in range(CONCURRENCY):
            assert teller.hanging.acquire(timeout=240)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert len(teller.keys) == 30 + CONCURRENCY
        teller.patience = None
        again = start(tmp_path, environment, server, "killed")
        _, errors = again.communicate(timeout=120)
        assert again.returncode == 0, errors
        seen = Counter(teller.keys)
        assert len(seen) == CALLS
        repeated = [key for key, count in seen.items() if count > 1]
        assert len(repeated) == CONCURRENCY
        assert max(seen.values()) == 2

        finished = start(tmp_path, environment, server, "killed")
        finished.communicate(timeout=120)
        assert Counter(teller.keys) == seen

        undisturbed = start(tmp_path, environment, server, "undisturbed")
        undisturbed.communicate(timeout=120)
    assert sheet(tmp_path / "killed") == sheet(tmp_path / "undisturbed")
    killed, whole = (_without_run(tmp_path / name / "datasheet.json") for name in ("killed", "undisturbed"))
    assert killed == whole


def test_calls_made_again_after_a_kill_are_in_the_bill_and_in_the_budget(
    tmp_path: Path, environment: dict[str, str], steelyard: Any
) -> None:
    """400 tokens in at $2.50 and 10 out at $10 a million: $0.0011 a call; four are paid twice."""
    teller = Teller(patience=30, usage={"prompt_tokens": 400, "completion_tokens": 10, "total_tokens": 410})
    with ScriptedServer(teller) as server:
        asked = [word.replace("openai/scripted", "openai/gpt-4o") for word in arguments(server, "run")]
        process = StartedCommand(asked, tmp_path, environment)
        for _ in range(CONCURRENCY):
            assert teller.hanging.acquire(timeout=240)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        teller.patience = None
        # The lost calls are reserved at the most they can cost, so that the budget holds whatever happened.
        stopped = steelyard(*asked, "--budget", "0.034")
        assert "budget of $0.034" in stopped.stderr
        assert len(teller.keys) == 30 + CONCURRENCY
        again = steelyard(*asked)
    assert "4 calls had" in stopped.stderr
    assert "had been sent" not in again.stderr
    run = json.loads((tmp_path / "run" / "datasheet.json").read_text())["run"]
    assert run["repeated"] == {"calls": CONCURRENCY, "dollars": pytest.approx(4 * 0.0011)}
    assert run["dollars"] == pytest.approx((CALLS + CONCURRENCY) * 0.0011)
    assert run["calls"] == CALLS
    report = (tmp_path / "run" / "datasheet.md").read_text()
    assert re.search(r"for 4 calls .* lost", report)
    assert not (tmp_path / "run" / ".in_flight").exists()


def test_a_log_of_the_run_file_that_is_gone_is_told_before_anything_is_paid_again(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    teller = Teller(patience=30)
    with ScriptedServer(teller) as server:
        process = start(tmp_path, environment, server, "run")
        for _ in range(CONCURRENCY):
            assert teller.hanging.acquire(timeout=240)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        teller.patience = None
        log = tmp_path / "run" / "run.db-wal"
        kept = log.read_bytes()
        log.unlink()
        asked = len(teller.keys)
        refused = start(tmp_path, environment, server, "run")
        _, errors = refused.communicate(timeout=240)
        assert refused.returncode == 1
        assert re.search(r"run\.db-wal, .* gone", errors)
        assert len(teller.keys) == asked
        for name in ("run.db-wal", "run.db-shm"):
            (tmp_path / "run" / name).unlink(missing_ok=True)
        log.write_bytes(kept)
        again = start(tmp_path, environment, server, "run")
        _, errors = again.communicate(timeout=240)
    assert again.returncode == 0, errors
    assert len(set(teller.keys)) == CALLS
    assert len(teller.keys) == CALLS + CONCURRENCY


def test_calls_whose_replies_found_no_room_on_disk_are_in_the_bill(
    tmp_path: Path, environment: dict[str, str], steelyard: Any
) -> None:
    teller = Teller(usage={"prompt_tokens": 400, "completion_tokens": 10, "total_tokens": 410})
    with ScriptedServer(teller) as server:
        asked = [word.replace("openai/scripted", "openai/gpt-4o") for word in arguments(server, "run")]
        asked += ["--replicates", "8"]
        # The baselines are through by then: what finds no room are replies of the server.
        full = StartedCommand(asked, tmp_path, environment, largest=5_000_000)
        _, errors = full.communicate()
        assert (full.returncode, "free some space" in errors) == (1, True), errors
        again = steelyard(*asked)
    assert again.returncode == 0, again.stderr
    run = json.loads((tmp_path / "run" / "datasheet.json").read_text())["run"]
    assert len(teller.keys) > len(set(teller.keys)) == run["calls"]
    assert run["dollars"] == pytest.approx(0.0011 * len(teller.keys))


def test_a_path_that_sqlite_cannot_open_leaves_nothing_behind(command: Command, tmp_path: Path) -> None:
    folder = Path(*["f" * 200] * 3)
    done = command("measure", "-j", "planted/tie", "-p", "vacuum", "--out", str(folder))
    assert done.code == 1
    assert re.search("SQLite .* 504; .*--out", done.err)
    assert not (tmp_path / folder.parts[0]).exists()


@pytest.mark.parametrize("target", ["nowhere", "link"], ids=["dangling", "loop"])
@pytest.mark.parametrize("out", ["link", "link/run"])
def test_a_link_that_leads_nowhere_is_called_so(
    out: str, target: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(target)
    done = command("measure", "-j", "planted/tie", "-p", "vacuum", "--out", out)
    assert done.code == 1
    assert re.search("link: .* nowhere; .*--out", done.err)


def test_figures_are_printed_where_the_folder_cannot_be_written(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = command("measure", "-j", "planted/tie", "-p", "vacuum", "--out", "run", "--json")
    assert made.code == 0, made.err

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "unlink", refuse)
    opened = Path.open

    def open_to_read(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        return refuse() if "w" in mode or "+" in mode else opened(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", open_to_read)
    done = command("report", "run", "--format", "json", "--verify")
    assert json.loads(done.out)["estimates"] == json.loads(made.out)["estimates"]
    assert "(Read-only file system); mount" in done.err


def _without_run(path: Path) -> str:
    """The file's own bytes, less the part that holds the clock."""
    text = path.read_text()
    before, _, rest = text.partition('\n "run": {')
    return before + rest.partition("\n },")[2]


def test_two_processes_do_not_share_a_folder(tmp_path: Path, environment: dict[str, str]) -> None:
    teller = Teller(patience=0)
    with ScriptedServer(teller) as server:
        first = start(tmp_path, environment, server, "run")
        assert teller.hanging.acquire(timeout=240)
        second = start(tmp_path, environment, server, "run")
        _, errors = second.communicate(timeout=240)
        assert second.returncode == 1
        assert "process is measuring" in errors
        first.kill()
        first.communicate()


@pytest.mark.parametrize(
    "lose", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["deleted", "emptied"]
)
def test_replies_that_are_gone_are_not_paid_for_again(steelyard, tmp_path: Path, lose) -> None:
    command = ("measure", "-j", "planted/tie", "-p", "vacuum", "--out", "run")
    assert steelyard(*command).returncode == 0
    lose(tmp_path / "run" / "run.db")
    done = steelyard(*command)
    assert done.returncode == 1
    assert "behind datasheet.json are" in done.stderr
