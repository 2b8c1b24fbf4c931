"""A pointwise study against servers that misbehave, killed and resumed; and what its judges never see."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from commands import StartedCommand
from servers import Answer, Received, ScriptedServer, fails, hang, says
from steelyard.providers.embedded.embedded import EMBEDDED_SCORE_PROMPT
from steelyard.study.planner import make_plan
from steelyard.study.study_file import build_study, load_config
from steelyard.study.task_config import pack_task
from steelyard.tasks.task import Ordinal
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.trial import Trial

FAST = ("--attempts", 2, "--backoff", 0.01, "--timeout", 60, "--concurrency", 4)
CALLS = 20
"""Calls of the quick vacuum probe on single texts."""


def command(server: ScriptedServer, scale: str = "1-6") -> tuple[object, ...]:
    judge = f"openai/scripted?base_url={server.url}"
    return ("measure", "--scale", scale, "-p", "vacuum", "-j", judge, "--out", "run")


def rows(folder: Path, metric: str) -> list[dict[str, Any]]:
    body = json.loads((folder / "datasheet.json").read_text())
    return [
        row
        for row in body["estimates"]
        if (row["judge"], row["metric"], row["group"]) == ("openai/scripted", metric, {"protocol": "base"})
    ]


UNREADABLE = {
    "prose": says("I would give it a three."),
    "off scale": says('{"score": 7}'),
    "below": says('{"score": 0}'),
    "a half": says('{"score": 2.5}'),
    "true": says('{"score": true}'),
    "two scores": says('{"score": 1} {"score": 2}'),
    "the other form": says('{"winner": "1"}'),
    "cut": says('{"score": 1', finish="length"),
    "filtered": says("", finish="content_filter"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_reply_is_never_a_score(steelyard, tmp_path: Path, name: str) -> None:
    with ScriptedServer(lambda request: UNREADABLE[name]) as server:
        done = steelyard(*command(server), *FAST, "--no-preflight")
        assert len(server.requests) == CALLS
    assert done.returncode == 1
    assert "no readable verdict in 20 calls" in done.stderr
    for metric in ("dark_current", "mean_score"):
        (row,) = rows(tmp_path / "run", metric)
        assert row["value"] is None
        assert row["excluded"] == {"unreadable": CALLS, "failed": 0}


def test_failures_are_bounded_tried_again_and_paid_once(steelyard, tmp_path: Path) -> None:
    """Three calls end in a 400; seventeen score 1. The next run tries the three again and only them."""
    lock, seen = threading.Lock(), [0]

    def script(request: Received) -> Answer:
        del request
        with lock:
            seen[0] += 1
            return fails(400, "no") if seen[0] <= 3 else says('{"score": 1}')

    with ScriptedServer(script) as server:
        done = steelyard(*command(server), *FAST)
        assert done.returncode == 0, done.stderr
        assert "3 of 20 trials failed (bad_request 3); none of them is a score" in done.stderr
        (dark,) = rows(tmp_path / "run", "dark_current")
        assert (dark["numerator"], dark["denominator"], dark["bounds"]) == (0, 17, [0.0, 0.15])
        (mean,) = rows(tmp_path / "run", "mean_score")
        assert (mean["value"], mean["bounds"]) == (1.0, [1.0, (17 + 3 * 6) / 20])
        again = steelyard(*command(server), *FAST)
        assert again.returncode == 0
        assert len(server.requests) == CALLS + 3
        steelyard(*command(server), *FAST)
        assert len(server.requests) == CALLS + 3


def test_a_rejected_key_is_exit_2(steelyard) -> None:
    with ScriptedServer(lambda request: fails(401, "no")) as server:
        done = steelyard(*command(server), *FAST)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


class Teller:
    """Scores by the trial's own key; after `patience` answers it lets every further call hang."""

    def __init__(self, patience: int | None) -> None:
        self.patience = patience
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
        return says(json.dumps({"reason": "so", "score": int(key[:8], 16) % 6 + 1}))


def test_kill_9_repeats_only_what_was_in_flight(tmp_path: Path, environment: dict[str, str]) -> None:
    teller = Teller(patience=9)

    def start(server: ScriptedServer) -> StartedCommand:
        return StartedCommand([*command(server), "--concurrency", "4"], tmp_path, environment)

    with ScriptedServer(teller) as server:
        process = start(server)
        for _ in range(4):
            assert teller.hanging.acquire(timeout=240)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        teller.patience = None
        again = start(server)
        _, errors = again.communicate(timeout=120)
        assert again.returncode == 0, errors
        counts = Counter(teller.keys)
    assert len(counts) == CALLS
    assert sorted(counts.values()) == [1] * (CALLS - 4) + [2] * 4
    (dark,) = rows(tmp_path / "run", "dark_current")
    given = [int(key[:8], 16) % 6 + 1 for key in counts]
    assert (dark["numerator"], dark["denominator"]) == (sum(score > 1 for score in given), CALLS)
    (mean,) = rows(tmp_path / "run", "mean_score")
    assert mean["value"] == pytest.approx(sum(given) / CALLS)


# What a judge never sees


def pack_trials(scale: str) -> list[Trial]:
    """Every trial of every fitting probe that needs no author, on the whole pack."""
    judges = ["planted/rater", {"name": "chat", "model": "openai/m", "base_url": "http://127.0.0.1:9/v1"}]
    probes = ["vacuum", "label_flip", "semantic_paraphrase", "format_invariance_1", "stochastic_stability"]
    asked = {"judges": judges, "probes": probes, "profile": "full", "task": {"scale": scale}}
    return list(make_plan(build_study(load_config(None, asked), Path())).trials)


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["binary", "1-6"])
def test_no_presentation_holds_any_part_of_the_key(scale: str) -> None:
    """Names, labels and edits of all stimuli are searched for in all that a provider receives."""
    trials = [trial for trial in pack_trials(scale) if trial.replicate == 0]
    assert {trial.stimulus.probe for trial in trials} >= {"vacuum", "original", "label_flip"}
    for trial in trials:
        stimulus, presentation = trial.stimulus, trial.presentation()
        shown = repr(presentation)
        for secret in (stimulus.id, stimulus.lineage.parent, stimulus.hash, "Label(", "label_flip"):
            assert secret not in shown
        assert stimulus.lineage.edit == "none" or stimulus.lineage.edit not in shown


@pytest.mark.slow
def test_two_texts_of_one_item_differ_in_nothing_but_the_text() -> None:
    """The label of a flipped response is the other one; its prompt must not show it."""
    trials = {trial.stimulus.id: trial for trial in pack_trials("binary") if trial.judge.name == "chat"}
    flips = [name for name in trials if "/label_flip/" in name]
    assert flips
    for name in flips:
        flipped, original = trials[name], trials[f"{name.partition('/')[0]}/original"]
        assert flipped.stimulus.expectation != original.stimulus.expectation
        one, other = (trial.messages[-1].content for trial in (flipped, original))
        assert one.replace(flipped.slot_texts[0], "TEXT") == other.replace(original.slot_texts[0], "TEXT")


def test_the_embedded_prompt_names_the_range_and_little_else() -> None:
    judge = Judge("e", "embedded", "smollm2-135m", {"base": Protocol(EMBEDDED_SCORE_PROMPT)})
    stimulus = next(t.stimulus for t in pack_trials("1-6") if t.stimulus.kind == "dont_know")
    user = Trial(judge, "base", stimulus, pack_task(Ordinal(1, 6))).messages[-1].content
    assert re.search(r"a whole number from 1 to 6\. Reply with the number only\.$", user)
    assert stimulus.texts[0] in user
