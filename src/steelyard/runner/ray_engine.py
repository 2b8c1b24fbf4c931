"""Calls made by workers of a Ray cluster, one for each node; the driver keeps everything else.

Plan, budget, pauses, parsing and storage stay with the driver. A call that is lost with its worker counts as
a transient failure: another worker repeats it, and nothing but calls in flight is paid twice. A worker asks
once the driver has its word that the calls are there: without it they were never made, go to the next worker,
and are on no bill. Replies come back as they arrive, so a slow one does not keep the others from the disk.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, ClassVar
from urllib.parse import urlsplit

from steelyard.core.threads import run_in_daemon_thread
from steelyard.errors import (
    REPEATED,
    ConfigError,
    PermanentError,
    SteelyardError,
    TransientError,
    UnreachableError,
)
from steelyard.providers.provider import HasEndpoint, KeepsConnections, Provider, connect, model_info
from steelyard.providers.provider_info import ProviderInfo
from steelyard.runner.limits import WORKER_LOST, timeout_error, timeout_for
from steelyard.trials.judge import Judge, Presentation, Reply

START_SECONDS = 180.0
LOOK_SECONDS = 10.0
"""Time for the first sign that somebody listens at an address."""


class Cluster:
    def __init__(self, address: str | None) -> None:
        self._address = address
        self._starting = asyncio.Lock()
        self._fault: UnreachableError | None = None

    async def join(self) -> Any:
        """The running Ray, started or joined by the first judge that asks; none is looked for twice."""
        try:
            ray = await asyncio.to_thread(import_module, "ray")
        except ImportError as error:
            raise ConfigError(
                "engine: ray is not installed; run pip install ray, or use --engine local."
            ) from error
        async with self._starting:
            if self._fault is not None:
                raise self._fault
            if not ray.is_initialized():
                address = self._address or os.environ.get("RAY_ADDRESS") or None
                try:
                    await _check_reachable(address)
                    await _start(ray, address)
                except Exception as error:  # Ray has errors of many kinds, and none of them is a cluster
                    reason = " ".join(str(error).split())[:200].rstrip(".")
                    self._fault = UnreachableError(
                        f"engine: no Ray cluster at {address or 'this machine'} ({reason}); start one with "
                        "ray start --head, correct the address, or set RAY_AUTH_MODE=token where it asks for "
                        "a token"
                    )
                    raise self._fault from error
        return ray


async def _check_reachable(address: str | None) -> None:
    parts = urlsplit(address if address and "://" in address else f"//{address or ''}")
    if parts.hostname and parts.port:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port)
        except TimeoutError:
            raise TimeoutError(f"nobody answers within {LOOK_SECONDS:g} s") from None
        except ConnectionRefusedError:
            raise ConnectionRefusedError("nobody listens there") from None
        writer.close()


async def _start(ray: Any, address: str | None) -> None:
    """In a thread that nobody has to wait for: what listens may be no cluster, and Ray would wait on.

    It stays until the program ends: processes that Ray starts are killed once their parent thread has ended.
    """

    def start() -> None:
        ray.init(address=address, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)

    try:
        async with asyncio.timeout(START_SECONDS):
            await run_in_daemon_thread(start, "ray", keep_alive=True)
    except TimeoutError:
        raise TimeoutError(f"it is not ready after {START_SECONDS:g} s") from None


RESTART_SECONDS = 0.25
"""Wait before calls that never reached a worker are sent again: a worker takes seconds to start."""
SHARD = 64
"""Calls that travel to a worker together, at most: a message costs about the same for one and for many."""

Outcome = Reply | SteelyardError
Answered = tuple[list[tuple[int, Outcome]], list[str], list[str]]
"""Outcomes by the places of their calls, and trials whose replies are condemned or found right."""


class Worker:
    def __init__(self, judge: Judge, call_timeout: float) -> None:
        self._judge = judge
        self._call_timeout = call_timeout
        self._provider = connect(judge)
        self._open = asyncio.Lock()
        self._ready = False

    async def answer(self, asked: Sequence[Presentation], *, keep: bool = False) -> AsyncIterator[Answered]:
        """First the mark that nothing was asked before, which the driver has taken when this goes on."""
        async with self._open:
            if not self._ready:
                await self._provider.open()
                self._ready = True
            if keep and isinstance(self._provider, KeepsConnections):
                self._provider.keep_connections()
        yield [], [], []
        open_calls = {asyncio.create_task(self._one(place, each)) for place, each in enumerate(asked)}
        while open_calls:
            done, open_calls = await asyncio.wait(open_calls, return_when=asyncio.FIRST_COMPLETED)
            yield [task.result() for task in done], *self._found()

    async def rest(self) -> tuple[list[str], list[str]]:
        if self._ready and isinstance(self._provider, KeepsConnections):
            await self._provider.rest()
        return self._found()

    def _found(self) -> tuple[list[str], list[str]]:
        """Trials whose replies are condemned, and found right."""
        return self._provider.take_checks() if isinstance(self._provider, KeepsConnections) else ([], [])

    async def _one(self, place: int, presentation: Presentation) -> tuple[int, Outcome]:
        """The driver stops waiting at the same time: what came later would be paid for in vain."""
        try:
            async with asyncio.timeout(self._call_timeout):
                return place, await self._provider.ask(presentation)
        except SteelyardError as error:
            return place, error
        except TimeoutError:
            return place, timeout_error(self._judge, self._call_timeout)
        except Exception as error:  # this call's alone: the others of its shard may be paid for by now
            return place, PermanentError("internal_error", f"{type(error).__name__}: {error}")


class RayEngine:
    """Judges that wait for a server, or need every core, are asked from the nodes; all others from here."""

    def __init__(self, address: str | None, call_timeout: float, say: Callable[[str], None]) -> None:
        self._cluster = Cluster(address)
        self._call_timeout = call_timeout
        self._say = say

    def connect(self, judge: Judge) -> Provider:
        own = connect(judge)
        if isinstance(own, HasEndpoint) or model_info(judge.address).sequential:
            limit = timeout_for(judge, self._call_timeout, own.concurrency)
            return RemoteProvider(judge, own, self._cluster, limit)
        if not judge.baseline:
            self._say(f"judge {judge.name}: its calls are made in this process; the cluster is not for it")
        return own


class RemoteProvider:
    info: ClassVar[ProviderInfo] = ProviderInfo()

    def __init__(self, judge: Judge, own: Provider, cluster: Cluster, call_timeout: float) -> None:
        self._judge = judge
        self._call_timeout = call_timeout
        self.concurrency = own.concurrency
        if isinstance(own, HasEndpoint):
            self.endpoint = own.endpoint  # its limits are shared with other judges there
        self._cluster = cluster
        self._ray: Any = None
        self._workers: list[Any] = []
        self._waiting: list[tuple[Presentation, asyncio.Future[Reply]]] = []
        self._shards: set[asyncio.Task[None]] = set()
        self._turn = 0
        self._keep = False
        self._condemned: list[str] = []
        self._checked: list[str] = []
        self._suspects: list[str] = []

    async def open(self) -> None:
        self._ray = await self._cluster.join()
        nodes = [node["NodeID"] for node in self._ray.nodes() if node["Alive"]]
        self._workers = [self._placed(node) for node in nodes]
        self.concurrency *= len(nodes)

    def _placed(self, node: str | None) -> Any:
        """A worker on this node and no other, or wherever there is room; one that dies is started again."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        remote = self._ray.remote(num_cpus=0, max_restarts=-1, max_concurrency=4096)(Worker)
        where = "SPREAD" if node is None else NodeAffinitySchedulingStrategy(node, soft=False)
        return remote.options(scheduling_strategy=where).remote(self._judge, self._call_timeout)

    async def close(self) -> None:
        for shard in self._shards:
            shard.cancel()
        for worker in self._workers:
            self._ray.kill(worker)
        self._workers = []

    def keep_connections(self, suspects: Sequence[str] = ()) -> None:
        self._keep = True
        self._suspects = [*suspects]

    def take_checks(self) -> tuple[list[str], list[str]]:
        taken = self._condemned, self._checked
        self._condemned, self._checked = [], []
        return taken

    def _take(self, condemned: list[str], checked: list[str], outcomes: Iterable[Outcome] = ()) -> None:
        """What a worker found; a server that repeats a response on one node is trusted on none."""
        if condemned or any(isinstance(one, TransientError) and one.reason == REPEATED for one in outcomes):
            condemned, self._suspects = [*condemned, *self._suspects], []
        self._condemned += condemned
        self._checked += checked

    async def rest(self) -> None:
        """The connections of a worker that is gone are gone with it."""
        told = await asyncio.gather(
            *(worker.rest.remote() for worker in self._workers), return_exceptions=True
        )
        for found in told:
            if not isinstance(found, BaseException):
                self._take(*found)

    async def ask(self, presentation: Presentation) -> Reply:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._queue([(presentation, future)])
        return await future

    def _queue(self, calls: Sequence[tuple[Presentation, asyncio.Future[Reply]]]) -> None:
        if calls and not self._waiting:
            asyncio.get_running_loop().call_soon(self._send)
        self._waiting += calls

    def _send(self) -> None:
        """What has gathered goes out, to the workers in turn."""
        gathered, self._waiting = self._waiting, []
        each = max(1, min(SHARD, -(-len(gathered) // len(self._workers))))
        for start in range(0, len(gathered), each):
            worker = self._workers[self._turn % len(self._workers)]
            self._turn += 1
            shard = asyncio.create_task(self._send_to_worker(worker, gathered[start : start + each]))
            self._shards.add(shard)
            shard.add_done_callback(self._shards.discard)

    async def _send_to_worker(
        self, worker: Any, calls: Sequence[tuple[Presentation, asyncio.Future[Reply]]]
    ) -> None:
        lost: Exception | None = None
        was_marked = False
        # A worker goes on after something was taken from its stream, so nothing is asked before the mark.
        options = {"num_returns": "streaming", "_generator_backpressure_num_objects": 1}
        try:
            asked = [presentation for presentation, _ in calls]
            async for reference in worker.answer.options(**options).remote(asked, keep=self._keep):
                outcomes, condemned, checked = await reference
                was_marked = True
                self._take(condemned, checked, (outcome for _, outcome in outcomes))
                for place, outcome in outcomes:
                    _settle(calls[place][1], outcome)
        except Exception as error:  # a worker, a node or the cluster is gone, or the provider cannot open
            lost = error
            gone = self._ray.exceptions
            dead = isinstance(error, gone.ActorDiedError | gone.ActorUnschedulableError)
            if dead and worker in self._workers:
                self._workers[self._workers.index(worker)] = self._placed(None)
            if isinstance(error, gone.ActorUnavailableError) and not was_marked:
                await asyncio.sleep(RESTART_SECONDS)
                self._queue([call for call in calls if not call[1].done()])
                return
        for _, future in calls:
            _settle(future, _loss(self._judge, lost, was_asked=was_marked))


def _settle(future: asyncio.Future[Reply], outcome: Outcome) -> None:
    if future.done():
        return
    if isinstance(outcome, Reply):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)


def _loss(judge: Judge, error: Exception | None, *, was_asked: bool) -> SteelyardError:
    cause = getattr(error, "cause", None)
    if isinstance(cause, SteelyardError):
        return cause
    told = type(error).__name__ if error is not None else "no outcome"
    reason = WORKER_LOST if was_asked else "worker_unavailable"
    return TransientError(reason, f"judge {judge.name}: its worker was lost ({told}); try again.")
