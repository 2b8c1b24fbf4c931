"""A study on data, killed: nothing paid is lost, and a server sees texts and never the answers."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path

from commands import StartedCommand
from servers import Answer, Received, ScriptedServer, hang, says

CONCURRENCY = 3
ITEMS = 10
SECRET = "zq"
"""In every id, cluster, stratum and label of the file, and in no text."""


class Grader:
    """Scores by the trial's own key; after `patience` answers it lets every further call hang."""

    def __init__(self, patience: int | None = None) -> None:
        self.patience = patience
        self.requests: list[Received] = []
        self.hanging = threading.Semaphore(0)
        self._lock = threading.Lock()

    @property
    def keys(self) -> list[str]:
        return [request.headers["idempotency-key"] for request in self.requests]

    def __call__(self, request: Received) -> Answer:
        with self._lock:
            self.requests.append(request)
            if self.patience is not None and len(self.requests) > self.patience:
                self.hanging.release()
                return hang()
        return says(json.dumps({"score": 1 + request.chance % 4}))


def write_study(folder: Path, url: str) -> None:
    rows = [
        {
            "uid": f"{SECRET}-id-{n}",
            "source": f"{SECRET}-source-{n // 2}",
            "topic": f"{SECRET}-topic-{n % 2}",
            "question": f"Describe colour number {n}.",
            "answer": f"It is a colour.\n\nNumber {n} is warm and bright.",
            "mark": f"{SECRET}-mark-{1 + n % 4}",
        }
        for n in range(ITEMS)
    ]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = ", ".join(f"{SECRET}-mark-{mark}: {mark}" for mark in range(1, 5))
    (folder / "study.yaml").write_text(
        f"name: resumed\njudges: ['openai/scripted?base_url={url}']\n"
        "task: {rubric: '4 is vivid, 1 is dull.', scale: {ordinal: [1, 4]}}\n"
        "data:\n  path: data.jsonl\n"
        "  columns: {id: uid, cluster: source, request: question, response: answer, label: mark}\n"
        f"  stratify: topic\n  labels: {{{labels}}}\n"
        "probes: [format_invariance_1, typos, {stochastic_stability: {replicates: 2}}]\n"
    )


def start(folder: Path, environment: dict[str, str], out: str) -> StartedCommand:
    options = ["--concurrency", str(CONCURRENCY), "--out", out]
    return StartedCommand(["measure", "study.yaml", *options], folder, environment)


def sheet(folder: Path) -> dict[str, object]:
    body: dict[str, object] = json.loads((folder / "datasheet.json").read_text())
    del body["run"]
    return body


def test_kill_9_repeats_only_what_was_in_flight(tmp_path: Path, environment: dict[str, str]) -> None:
    grader = Grader(patience=12)
    with ScriptedServer(grader) as server:
        write_study(tmp_path, server.url)
        process = start(tmp_path, environment, "killed")
        for _ in range(CONCURRENCY):
            assert grader.hanging.acquire(timeout=240)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert len(grader.keys) == 12 + CONCURRENCY
        grader.patience = None
        again = start(tmp_path, environment, "killed")
        _, errors = again.communicate(timeout=120)
        assert again.returncode == 0, errors
        seen = Counter(grader.keys)
        assert [count for count in seen.values() if count > 1] == [2] * CONCURRENCY

        finished = start(tmp_path, environment, "killed")
        out, _ = finished.communicate(timeout=120)
        assert "No calls" in out
        assert Counter(grader.keys) == seen

        undisturbed = start(tmp_path, environment, "undisturbed")
        undisturbed.communicate(timeout=120)
    assert sheet(tmp_path / "killed") == sheet(tmp_path / "undisturbed")
    assert_nothing_is_given_away(grader)


def assert_nothing_is_given_away(grader: Grader) -> None:
    assert len(grader.requests) > 3 * ITEMS
    for request in grader.requests:
        told = request.data.decode() + json.dumps(dict(request.headers)) + request.path
        assert "colour number" in told
        for secret in (SECRET, "uid", "format_invariance", "typos", "perturbed"):
            assert secret not in told
