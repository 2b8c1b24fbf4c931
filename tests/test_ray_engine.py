"""Workers of a real cluster of two nodes: the same figures, and a lost node costs what was in flight."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from servers import Answer, Received, ScriptedServer, hang, says
from steelyard.commands.measure import measure
from steelyard.datasheet.render.data_files import to_json
from steelyard.errors import ConfigError, PermanentError, TransientError, without_frames
from steelyard.providers.planted.planted_judges import Planted
from steelyard.providers.provider import HasEndpoint, connect
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.ray_engine import RemoteProvider, Worker
from steelyard.runner.session import engine_of
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.study.study_file import build_study, load_config
from steelyard.trials.judge import Presentation, Reply

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
    connected = [engine_of("ray", 120.0, told.append)(judge) for judge in judges[:3]]
    assert isinstance(connected[0], RemoteProvider)
    assert isinstance(connected[0], HasEndpoint)
    assert isinstance(connected[1], Planted)
    assert isinstance(connected[2], RemoteProvider)
    assert not isinstance(connected[2], HasEndpoint)
    assert told == ["judge planted/tie: its calls are made in this process; the cluster is not for it"]
    assert engine_of("local", 120.0, print) is connect


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
        answered = [each async for each, _, _ in Worker(judge, 120.0).answer(asked)]
        assert answered[0] == []
        return dict(outcome for each in answered for outcome in each)

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
            _, (found, _, _) = [each async for each in worker.answer([trial.presentation()])]
            await worker._provider.close()
            return found

    ((place, error),) = asyncio.run(outcome())
    assert place == 0
    assert isinstance(error, TransientError)
    assert (error.reason, str(error).endswith("no reply within 0.05 s")) == ("timeout", True)


SIZE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80_000_000}
SOON_MISSED = {"health_check_period_ms": 500, "health_check_failure_threshold": 5}
"""A node that is lost is missed in seconds, not in half a minute."""
WITHOUT_KEYS = {"RAY_USAGE_STATS_ENABLED": "0", "OPENAI_API_KEY": ""}
NODE_KEY = "KEY_OF_THE_NODE"


@pytest.fixture(scope="module")
def gateways() -> Iterator[tuple[ScriptedServer, ScriptedServer]]:
    """The server that each node has to itself."""
    with ScriptedServer(says("1")) as first, ScriptedServer(says("1")) as second:
        yield first, second


def surroundings(node: int, gateway: ScriptedServer) -> dict[str, str]:
    """Environment of a node: what lies behind its gateway is reached by that alone, with a key of its own."""
    return {"http_proxy": gateway.url.removesuffix("/v1"), NODE_KEY: f"sk-of-node-{node}"}


@pytest.fixture(scope="module")
def machines(gateways: tuple[ScriptedServer, ScriptedServer]) -> Iterator[Any]:
    """A cluster of two nodes, in processes of this machine; its workers have no keys of vendors."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WITHOUT_KEYS.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        head, other = (surroundings(node, each) for node, each in enumerate(gateways))
        sizes = {**SIZE, "include_dashboard": False, "env_vars": head, "_system_config": SOON_MISSED}
        cluster: Any = Cluster(initialize_head=True, head_node_args=sizes)
        cluster.add_node(**SIZE, env_vars=other)
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
    assert not done.session.failures
    assert again <= CONCURRENCY
    with far.store(read_only=True) as store:
        assert store.verify() == []
    sheets = [to_json(each.require()) for each in (done, near)]
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


@needs_ray
def test_without_an_address_a_cluster_is_started_and_ends_with_the_run(
    process: Callable[..., subprocess.CompletedProcess[str]], command: Command, tmp_path: Path
) -> None:
    """In folders of its own: Ray joins what the shared one names, and leaves a token in the home folder."""
    made = tempfile.TemporaryDirectory(prefix="ray")  # a short name: its sockets lie below
    with made as at, ScriptedServer(lambda request: says("1" if request.chance % 2 else "2")) as server:
        arguments = (
            "measure",
            "-j",
            f"openai/m?base_url={server.url}&reader=choice",
            "-p",
            "vacuum",
            "--out",
        )
        own = {"RAY_ADDRESS": "", "RAY_TMPDIR": at, "RAY_USAGE_STATS_ENABLED": "0", "HOME": str(tmp_path)}
        far = process(*arguments, "far", "--engine", "ray", **own)
        asked = len(server.requests)
        near = command(*arguments, "near")
        wait_until(lambda: not is_running(at))
    assert (far.returncode, near.code, asked) == (0, 0, 12), far.stderr
    results = [(tmp_path / run / "results.csv").read_bytes() for run in ("far", "near")]
    assert results[0] == results[1]


@needs_ray
def test_without_an_address_a_driver_killed_with_9_is_resumed(
    process: Callable[..., subprocess.CompletedProcess[str]],
    command: Command,
    tmp_path: Path,
    environment: dict[str, str],
) -> None:
    """Ray's processes go with it; the same command asks for what is not stored and what was in flight."""
    asked: Counter[str] = Counter()
    driver: subprocess.Popen[bytes] | None = None

    def script(request: Received) -> Answer:
        asked[request.headers["idempotency-key"]] += 1
        if asked.total() == 30:
            assert driver is not None
            driver.kill()
        return says("1" if request.chance % 2 else "2")

    with tempfile.TemporaryDirectory(prefix="ray") as at, ScriptedServer(script) as server:
        own = {"RAY_ADDRESS": "", "RAY_TMPDIR": at, "RAY_USAGE_STATS_ENABLED": "0", "HOME": str(tmp_path)}
        arguments = ["measure", "-j", f"openai/m?base_url={server.url}&reader=choice", "--profile", "quick"]
        arguments += ["--engine", "ray", "--concurrency", str(CONCURRENCY), "--out", "run"]
        driver = subprocess.Popen(
            [sys.executable, "-m", "steelyard", *arguments],
            cwd=tmp_path,
            env={**environment, **own},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert driver.wait(300) == -signal.SIGKILL
        wait_until(lambda: not is_running(at) and not server.clients)
        assert asked.total() <= 30 + CONCURRENCY
        again = process(*arguments, **own)
        twice = sum(number - 1 for number in asked.values())
        near = command(*arguments[:5], "--out", "near")
        wait_until(lambda: not is_running(at))
    assert (again.returncode, near.code) == (0, 0), again.stderr
    assert twice <= CONCURRENCY
    results = [(tmp_path / run / "results.csv").read_bytes() for run in ("run", "near")]
    assert results[0] == results[1]


def is_running(word: str) -> bool:
    """Whether the command line of any process has this word."""
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return word in found.stdout


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:{free}", "nowhere.invalid:6379", "ray://127.0.0.1:{free}"])
def test_a_cluster_that_is_not_there_is_told_once(address: str, command: Command) -> None:
    """Ray itself would knock for ever; two judges wait for one cluster."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    where = address.format(free=free)
    judges = [part for name in "mn" for part in ("-j", f"openai/{name}?base_url=http://127.0.0.1:9/v1")]
    done = command("measure", *judges, "-p", "vacuum", "--engine", f"ray:{where}", "--out", "run")
    assert done.code == 1
    assert done.err.count(f"engine: no Ray cluster at {where} (") == 1
    assert "0 of 24 calls have a reply" in done.err


@needs_ray
def test_what_listens_but_is_no_cluster_is_left_in_time(tmp_path: Path, environment: dict[str, str]) -> None:
    """In a process of its own: the thread that still knocks ends with it."""
    program = (
        "import sys; from steelyard.runner import ray_engine; ray_engine.START_SECONDS = 0.5; "
        "from steelyard.cli.main import main; main()"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = f"127.0.0.1:{server.getsockname()[1]}"
        judge = "openai/m?base_url=http://127.0.0.1:9/v1"
        arguments = ("-j", judge, "-p", "vacuum", "--engine", f"ray:{where}", "--out", "run")
        done = subprocess.run(
            [sys.executable, "-c", program, "measure", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 1
    assert f"engine: no Ray cluster at {where} (it is not ready after 0.5 s)" in done.stderr


@needs_ray
def test_a_token_that_is_missing_is_told(tmp_path: Path, environment: dict[str, str]) -> None:
    """Ray refuses with an error of its own kind; in a process of its own, which reads its mode once."""
    judge = "openai/m?base_url=http://127.0.0.1:9/v1"
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = f"127.0.0.1:{server.getsockname()[1]}"
        arguments = ("-j", judge, "-p", "vacuum", "--engine", f"ray:{where}", "--out", "run")
        done = subprocess.run(
            [sys.executable, "-m", "steelyard", "measure", *arguments],
            cwd=tmp_path,
            env={**environment, "RAY_AUTH_MODE": "token", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 1
    assert f"engine: no Ray cluster at {where} (" in done.stderr
    assert "oken" in done.stderr.partition("engine: ")[2].partition(");")[0]


@needs_ray
def test_ctrl_c_ends_the_wait_for_a_cluster(tmp_path: Path, environment: dict[str, str]) -> None:
    """What listens takes the connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(240)
        where = f"127.0.0.1:{server.getsockname()[1]}"
        judge = "openai/m?base_url=http://127.0.0.1:9/v1"
        arguments = ("-j", judge, "-p", "vacuum", "--engine", f"ray:{where}", "--out", "run")
        with subprocess.Popen(
            [sys.executable, "-m", "steelyard", "measure", *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as driver:
            knock, _ = server.accept()
            assert driver.stderr is not None
            driver.send_signal(signal.SIGINT)
            while "stopping" not in (line := driver.stderr.readline()):
                assert line
            driver.send_signal(signal.SIGINT)
            words = driver.stderr.read()
            assert driver.wait(300) == 1
        knock.close()
    assert "interrupted; run the same command again to continue." in words


def test_without_the_package_the_extra_is_named(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    judge = "openai/m?base_url=http://127.0.0.1:9/v1"
    done = command("measure", "-j", judge, "-p", "vacuum", "--engine", "ray", "--out", "run")
    assert done.code == 2
    assert "engine: ray is not installed; run pip install ray" in done.err


@needs_ray
def test_a_key_that_a_node_lacks_is_told_as_it_is(
    nodes: Any, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver has it; keys are never sent."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-driver")
    done = command("measure", "-j", "openai/gpt-4o", "-p", "vacuum", "--engine", "ray", "--out", "run")
    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err
    assert "sk-of-the-driver" not in done.err


@needs_ray
def test_the_bill_of_workers_killed_twice_is_what_the_server_saw(
    nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by machines that run out of memory: all processes go, their nodes stay.

    Each time every call in flight is at the server, so that each is sent again. Calls that Ray could not hand
    to a worker while it started again never reached the server, and are on no bill.
    """
    seen: Counter[str] = Counter()
    workers, usual = list[Any](), RemoteProvider.open
    import ray

    async def open(self: RemoteProvider) -> None:
        await usual(self)
        workers.extend(self._workers)

    def script(request: Received) -> Answer:
        seen[request.headers["idempotency-key"]] += 1
        unanswered = seen.total() % 60
        if seen.total() > 120 or unanswered < 60 - CONCURRENCY:
            return says("1" if request.chance % 2 else "2")
        if unanswered == 59:
            for worker in workers:
                ray.kill(worker, no_restart=False)
        return hang()

    monkeypatch.setattr(RemoteProvider, "open", open)
    with ScriptedServer(script) as server:
        limits = RunLimits(concurrency=CONCURRENCY, attempts=3, engine="ray")
        done = measure(study(server.url), RunFolder(tmp_path / "run"), limits)
    assert done.errors == ()
    assert not done.session.failures
    assert len(workers) == 2
    assert done.require().run["repeated"]["calls"] == seen.total() - len(seen) == 2 * CONCURRENCY


@needs_ray
def test_calls_that_a_worker_never_began_are_made_by_the_next_one(nodes: Any) -> None:
    """Handed over to a process that stands still, which is then killed: the server saw none of them."""
    import ray

    with ScriptedServer(says("1")) as server:
        plan = make_plan(study(server.url))
        trials = [trial for trial in plan.trials if not trial.judge.baseline]

        async def work() -> list[Any]:
            provider = engine_of("ray", 120.0, print)(trials[0].judge)
            assert isinstance(provider, RemoteProvider)
            await provider.open()
            processes = [
                await worker.__ray_call__.remote(lambda _: os.getpid()) for worker in provider._workers
            ]
            for process in processes:
                os.kill(process, signal.SIGSTOP)
            asked = [asyncio.create_task(provider.ask(trial.presentation())) for trial in trials[:8]]
            while not provider._shards:
                await asyncio.sleep(0)
            # The workers' nodes answer a call after these have gone out.
            ray.get([ray.remote(num_cpus=0)(lambda: 0).remote() for _ in processes])
            for process in processes:
                os.kill(process, signal.SIGKILL)
            try:
                return await asyncio.gather(*asked, return_exceptions=True)
            finally:
                await provider.close()

        outcomes = asyncio.run(work())
    assert all(isinstance(outcome, Reply) for outcome in outcomes), outcomes
    assert len(server.requests) == 8


@needs_ray
def test_an_embedded_judge_thinks_on_every_node(nodes: Any) -> None:
    """The model is loaded by a worker of each node, and answers as it does here."""
    wanted = build_study(load_config(None, {"judges": ["embedded/smollm2-135m-likelihood"]}), Path())
    asked = [trial.presentation() for trial in make_plan(wanted).trials[:4]]
    judge = wanted.judges[0]

    async def texts(provider: Any) -> tuple[list[str], set[str]]:
        await provider.open()
        try:
            replies = await asyncio.gather(*map(provider.ask, asked))
            return [reply.text for reply in replies], await places(provider)
        finally:
            await provider.close()

    async def places(provider: Any) -> set[str]:
        def place(worker: Worker) -> str:
            import ray

            assert worker._ready
            return str(ray.get_runtime_context().get_node_id())

        workers = getattr(provider, "_workers", ())
        return set(await asyncio.gather(*(worker.__ray_call__.remote(place) for worker in workers)))

    far, where = asyncio.run(texts(engine_of("ray", 900.0, print)(judge)))
    near, _ = asyncio.run(texts(connect(judge)))
    assert far == near
    assert len(where) == 2


@needs_ray
def test_each_node_asks_the_server_that_is_its_own(
    nodes: Any, gateways: tuple[ScriptedServer, ScriptedServer], tmp_path: Path
) -> None:
    """One address to the driver; each worker goes its node's way there, with its node's key."""
    address = f"openai/m?base_url=http://judge.example/v1&reader=choice&api_key_env={NODE_KEY}"
    wanted = build_study(load_config(None, {"judges": [address], "profile": "quick"}), Path())
    limits = RunLimits(concurrency=CONCURRENCY, engine="ray")
    done = measure(wanted, RunFolder(tmp_path / "run"), limits)
    assert done.errors == ()
    assert not done.session.failures
    calls = [[each.headers["idempotency-key"] for each in gateway.requests] for gateway in gateways]
    asked = [trial for trial in make_plan(wanted).trials if trial.judge.provider == "openai"]
    assert all(calls)
    assert sorted(calls[0] + calls[1]) == sorted(trial.key.removeprefix("sha256:") for trial in asked)
    for node, gateway in enumerate(gateways):
        assert {each.path for each in gateway.requests} == {"http://judge.example/v1/chat/completions"}
        assert {each.headers["authorization"] for each in gateway.requests} == {f"Bearer sk-of-node-{node}"}
