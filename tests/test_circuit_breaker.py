"""The circuit breaker opens when a server answers nothing, and not for texts that it cannot take."""

from __future__ import annotations

import csv
import random
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from authoring_server import QUICK, TASK, WRITTEN, Cast, items, roles_at
from servers import Answer, Received, ScriptedServer, fails, hang, says
from steelyard.authoring.author import author
from steelyard.commands.measure import Measurement, measure
from steelyard.core.registry import Spec
from steelyard.errors import RunError, TransientError, UnreachableError, exit_code
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.preflight import CircuitBreaker
from steelyard.study.study import Study
from steelyard.study.study_file import StudyConfig, build_study

ITEMS = 36
CONCURRENCY = 16
LIMITS = RunLimits(concurrency=CONCURRENCY, attempts=3, backoff=0.005, call_timeout=60)
SCORE = says('{"score": 1}')


def run(
    folder: Path, script: Callable[[Received], Answer], limits: RunLimits = LIMITS, items: int = ITEMS
) -> tuple[Measurement, int]:
    """Some items, four repeats and one edit of each; and how many requests the calls took."""
    with (folder / "items.csv").open("w", newline="") as stream:
        rows = [(f"Question {n}?", f"This is answer number {n} of them.", n % 2) for n in range(items)]
        csv.writer(stream).writerows([("request", "response", "label"), *rows])
    with ScriptedServer(script) as server:
        config: dict[str, Any] = {
            "name": "breaker",
            "judges": [f"openai/scripted?base_url={server.url}"],
            "task": {"rubric": "1 is right.", "scale": "binary"},
            "data": {
                "path": "items.csv",
                "columns": {"request": "request", "response": "response", "label": "label"},
            },
            "probes": ["stochastic_stability", "format_invariance_1"],
        }
        study = build_study(StudyConfig(**config), folder)
        study = replace(study, judges=study.judges[:1])  # No test here looks at the baselines.
        measured = measure(study, RunFolder(folder / "run"), limits)
        return measured, len(server.requests)


def number(request: Received) -> int:
    """Which item a request is about."""
    found = re.search(r"Question (\d+)\?", request.user)
    assert found is not None
    return int(found[1])


def covered(measured: Measurement) -> tuple[int, int]:
    """Calls asked and planned."""
    assert measured.datasheet is not None
    return measured.datasheet.run["asked"], measured.datasheet.run["planned"]


def test_one_poisoned_text_costs_its_own_calls_only(tmp_path: Path) -> None:
    limits = RunLimits(concurrency=CONCURRENCY, attempts=2, backoff=0.001)
    measured, _ = run(tmp_path, lambda request: fails(500) if number(request) == 7 else SCORE, limits)
    asked, planned = covered(measured)
    assert (exit_code(measured.errors), asked) == (0, planned)
    assert measured.session.failures == {"server_error": planned // ITEMS}
    assert measured.session.calls == planned - planned // ITEMS


def test_one_text_in_twelve_that_is_refused_lets_the_rest_go_on(tmp_path: Path) -> None:
    measured, _ = run(tmp_path, lambda request: fails(500) if number(request) % 12 == 0 else SCORE, items=60)
    asked, planned = covered(measured)
    assert (exit_code(measured.errors), asked) == (0, planned)
    assert measured.session.failures == {"server_error": planned // 12}


def test_mixed_faults_let_the_run_end(tmp_path: Path) -> None:
    """Three of ten calls end in a 500 by chance, so that two tries are used up in nine of a hundred."""
    chance, lock = random.Random(7), threading.Lock()

    def script(request: Received) -> Answer:
        with lock:
            return fails(500) if chance.random() < 0.3 else SCORE

    limits = RunLimits(concurrency=CONCURRENCY, attempts=2, backoff=0.001)
    measured, _ = run(tmp_path, script, limits)
    asked, planned = covered(measured)
    assert (exit_code(measured.errors), asked) == (0, planned)
    assert 0 < measured.session.failures["server_error"] < 0.2 * planned


DEAD = {
    "500": fails(500),
    "429": fails(429, headers={"Retry-After": "0"}),
    "hang": hang(),
}


@pytest.mark.parametrize("name", DEAD)
def test_a_dead_server_is_given_up_after_two_rounds(tmp_path: Path, name: str) -> None:
    limits = RunLimits(concurrency=CONCURRENCY, attempts=2, backoff=0.001, call_timeout=0.05)
    measured, requests = run(tmp_path, lambda request: DEAD[name], limits)
    assert exit_code(measured.errors) == 1
    assert measured.datasheet is None
    assert len(measured.errors) == 1
    assert "calls in a row without a reply" in str(measured.errors[0])
    assert requests <= limits.attempts * (2 * CONCURRENCY + 2 * limits.failure_threshold)


def test_a_server_that_dies_is_given_up_too(tmp_path: Path) -> None:
    lock, seen = threading.Lock(), [0]

    def script(request: Received) -> Answer:
        del request
        with lock:
            seen[0] += 1
            return SCORE if seen[0] <= 100 else fails(500)

    limits = RunLimits(concurrency=4, attempts=2, backoff=0.001)
    measured, requests = run(tmp_path, script, limits, items=60)
    assert exit_code(measured.errors) == 1
    assert measured.session.calls == 100
    asked, planned = covered(measured)
    assert asked < planned
    # Twenty different items of sixty, drawn at random: 25 draws in the mean.
    assert requests <= 100 + limits.attempts * (2 * limits.concurrency + 50)


def test_authors_are_given_up_by_the_same_rule(tmp_path: Path) -> None:
    study = Study("s", 7, "quick", 1, (), tuple(map(Spec, WRITTEN)), TASK, items(12))
    with ScriptedServer(lambda request: fails(500)) as server:
        with pytest.raises(UnreachableError, match="calls in a row without a reply"):
            author(study, roles_at(server.url), RunFolder(tmp_path / "dead"), QUICK)
        assert len(server.requests) <= QUICK.attempts * (2 * QUICK.concurrency + 2 * QUICK.failure_threshold)
    cast = Cast()
    waiting = f"{len(WRITTEN)} of {12 * len(WRITTEN)} texts wait for a reply"
    with (
        ScriptedServer(lambda request: fails(500) if "town 3?" in request.user else cast(request)) as server,
        pytest.raises(RunError, match=waiting),
    ):
        author(study, roles_at(server.url), RunFolder(tmp_path / "poisoned"), QUICK)


class _Call:
    """As much of a call as the breaker looks at."""

    def __init__(self, item: str) -> None:
        self.item = item
        self.judge = type("J", (), {"name": "J"})()


def failures(breaker: CircuitBreaker, *names: str, in_doubt: bool = True) -> list[bool]:
    error = TransientError("server_error", "no")
    return [breaker.record_failure(_Call(name), error, in_doubt) is not None for name in names]  # type: ignore[arg-type]


def test_repeats_of_an_item_are_one_item() -> None:
    breaker = CircuitBreaker(3, 60, has_answered=False)
    assert failures(breaker, *"aaaaaaaaaabbbbb") == [False] * 15
    assert failures(breaker, "c") == [True]


def test_neighbours_that_were_begun_before_the_first_loss_say_nothing() -> None:
    breaker = CircuitBreaker(3, 60, has_answered=False)
    assert failures(breaker, *"abcdefgh", in_doubt=False) == [False] * 8
    assert breaker.half_open
    assert failures(breaker, *"xyz") == [False, False, True]


def test_a_reply_forgives_and_asks_for_more_evidence_after_it() -> None:
    breaker = CircuitBreaker(3, 60, has_answered=False)
    failures(breaker, *"ab")
    breaker.record_reply()
    assert not breaker.half_open
    assert failures(breaker, *"abcdefghijkl") == [False] * 11 + [True]


def test_no_more_items_are_needed_than_there_are() -> None:
    assert failures(CircuitBreaker(5, 1, has_answered=True), "a", "a") == [True, True]
