"""Workers of a real cluster of two nodes: the same figures, and a lost node costs what was in flight."""

from __future__ import annotations

import asyncio
import importlib.util
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from servers import Answer, Received, ScriptedServer, hang, says
from steelyard.errors import ConfigError, PermanentError, TransientError, without_frames
from steelyard.lab.folder.run_folder import RunFolder
from steelyard.lab.measure import measure
from steelyard.lab.run.engine import Local, engine_of
from steelyard.lab.run.limits import RunLimits
from steelyard.lab.run.planner import make_plan
from steelyard.lab.run.ray_engine import RayEngine, RemoteProvider, Worker
from steelyard.lab.study.study import Study
from steelyard.lab.study.study_file import build_study, load_config
from steelyard.providers.planted.planted import Planted
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply

CONCURRENCY = 8
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


def study(url: str, *more: str, **overrides: Any) -> Study:
    judges = [f"openai/m?base_url={url}&reader=choice", *more]
    return build_study(load_config(None, {"judges": judges, "profile": "quick", **overrides}), Path())


@pytest.mark.parametrize("name", ["", "moon", "local:9", "Ray"])
def test_an_engine_that_is_none(name: str) -> None:
    with pytest.raises(ConfigError, match="expected 'local', 'ray' or 'ray:ADDRESS'"):
        engine_of(name, 120.0, print)


def test_only_judges_that_wait_or_need_cores_travel() -> None:
    told: list[str] = []
    judges = study("http://127.0.0.1:9/v1", "planted/tie", "embedded/smollm2-135m").judges
    connected = [engine_of("ray", 120.0, told.append).connect(judge) for judge in judges[:3]]
    assert [type(each).__mro__[1].__name__ for each in connected[:1]] == [RemoteProvider.__name__]
    assert isinstance(connected[1], Planted)
    assert isinstance(connected[2], RemoteProvider)
    assert told == ["judge planted/tie: its calls are made in this process; the cluster is not for it"]
    assert isinstance(engine_of("ray:10.0.0.1:6379", 120.0, print), RayEngine)
    assert isinstance(engine_of("local", 120.0, print), Local)


def test_an_error_is_itself_after_a_journey() -> None:
    limited = TransientError("rate_limited", "slow down", status=429, retry_after=3.5)
    refused = PermanentError("bad_request", "no")
    for error in (limited, refused):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert (str(again), again.__dict__) == (str(error), error.__dict__)


def test_an_error_that_is_kept_holds_no_frames() -> None:
    """A frame holds the body of a reply, and the list that the error is kept in."""
    try:
        raise TransientError("garbled_reply", "no") from ValueError("half")
    except TransientError as error:
        kept = without_frames(error)
    assert (kept.__traceback__, kept.__cause__, kept.__context__) == (None, None, None)
    assert (kept.reason, str(kept)) == ("garbled_reply", "no")


def test_a_call_that_breaks_its_provider_costs_no_other_of_its_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of a shard has an outcome of its own, so that none that is paid for is made again."""
    judge = study("http://127.0.0.1:9/v1", "planted/tie").judges[1]
    trials = [t for t in make_plan(study("http://127.0.0.1:9/v1", "planted/tie")).trials if t.judge == judge]
    asked = [trial.presentation() for trial in trials[:5]]
    usual = Planted.ask

    async def ask(self: Planted, presentation: Presentation) -> Reply:
        if presentation is asked[2]:
            raise ZeroDivisionError("a fault of the provider")
        return await usual(self, presentation)

    monkeypatch.setattr(Planted, "ask", ask)

    async def outcomes() -> dict[int, Any]:
        return {place: outcome async for place, outcome in Worker(judge, 120.0).answer(asked)}

    answered = asyncio.run(outcomes())
    assert sorted(answered) == [0, 1, 2, 3, 4]
    broken = answered.pop(2)
    assert isinstance(broken, PermanentError)
    assert broken.reason == "internal_error"
    assert all(isinstance(outcome, Reply) for outcome in answered.values())


def test_a_call_that_takes_too_long_ends_on_its_worker_too() -> None:
    """The driver has stopped waiting by then: what came later would be paid for and thrown away."""

    async def outcome() -> Any:
        async with ScriptedServer(hang()) as server:
            judge = study(server.url).judges[0]
            trial = next(t for t in make_plan(study(server.url)).trials if t.judge == judge)
            worker = Worker(judge, 0.05)
            found = [each async for each in worker.answer([trial.presentation()])]
            await worker._provider.close()
            return found

    ((place, error),) = asyncio.run(outcome())
    assert place == 0
    assert isinstance(error, TransientError)
    assert (error.reason, str(error).endswith("no reply within 0.05 s")) == ("timeout", True)


SIZE = {"num_cpus": 1, "object_store_memory": 80_000_000}
WITHOUT_KEYS = {"RAY_USAGE_STATS_ENABLED": "0", "OPENAI_API_KEY": ""}


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """A cluster of two nodes, in processes of this machine; its workers have no keys."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WITHOUT_KEYS.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={**SIZE, "include_dashboard": False})
        cluster.add_node(**SIZE)
        try:
            yield cluster
        finally:
            cluster.shutdown()


@pytest.fixture
def nodes(machines: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The cluster, where Ray looks for it; who joined it has left it when the test ends."""
    import ray

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ADDRESS", machines.address)
    try:
        yield machines
    finally:
        ray.shutdown()


@needs_ray
def test_a_lost_node_costs_nothing_but_what_was_in_flight(nodes: Any, tmp_path: Path) -> None:
    asked: Counter[str] = Counter()
    lock, gone = threading.Lock(), threading.Event()
    third = nodes.add_node(**SIZE)

    def lose() -> None:
        nodes.remove_node(third, allow_graceful=False)
        gone.set()

    def script(request: Received) -> Answer:
        with lock:
            asked[request.headers["idempotency-key"]] += 1
            number = asked.total()
        if number == 20:
            threading.Thread(target=lose).start()
        if number == 40:
            gone.wait(240)
        return says("1" if "a" in request.user[-9:] else "2")

    with ScriptedServer(script) as server:
        wanted = study(server.url, replicates=2)
        far = RunFolder(tmp_path / "far")
        done = measure(wanted, far, RunLimits(concurrency=CONCURRENCY, attempts=9, engine="ray"))
        assert gone.is_set()
        again = sum(number - 1 for number in asked.values())
        near = measure(wanted, RunFolder(tmp_path / "near"), RunLimits(concurrency=CONCURRENCY))
    assert done.errors == ()
    assert not done.sitting.failed
    assert again <= CONCURRENCY
    with far.store(read_only=True) as store:
        assert store.verify() == []
    sheets = [each.require().to_json() for each in (done, near)]
    for sheet in sheets:
        del sheet["run"]
    assert sheets[0]["judges"] == sheets[1]["judges"]


@needs_ray
def test_a_driver_killed_with_9_leaves_no_worker_that_calls(
    nodes: Any, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Resumed, it asks again for nothing but what was in flight; the cluster is not its own and stays."""
    asked: Counter[str] = Counter()
    driver: subprocess.Popen[bytes] | None = None

    def script(request: Received) -> Answer:
        asked[request.headers["idempotency-key"]] += 1
        if asked.total() == 30:
            assert driver is not None
            driver.kill()
        return says("1" if request.chance % 2 else "2")

    with ScriptedServer(script) as server:
        arguments = ["measure", "-j", f"openai/m?base_url={server.url}&reader=choice", "--profile", "quick"]
        arguments += ["--engine", "ray", "--concurrency", str(CONCURRENCY), "--out", "run"]
        driver = subprocess.Popen(
            [sys.executable, "-m", "steelyard", *arguments],
            cwd=tmp_path,
            env={**environment, "RAY_ADDRESS": nodes.address, "RAY_USAGE_STATS_ENABLED": "0"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert driver.wait(300) == -signal.SIGKILL
        at_death = asked.total()
        wait_until(lambda: not server.clients)
        assert asked.total() - at_death <= CONCURRENCY
        wanted = study(server.url)
        done = measure(wanted, RunFolder(tmp_path / "run"), RunLimits(concurrency=CONCURRENCY, engine="ray"))
    assert done.errors == ()
    assert sum(number - 1 for number in asked.values()) <= CONCURRENCY


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that happens by itself, for two minutes at most."""
    limit = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.1)
