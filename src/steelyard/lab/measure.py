"""The main job: run what is open, then rebuild the datasheet from the store."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import ConfigError, RunError, SteelyardError, UsageError
from steelyard.lab.authoring.spending import authoring_cost
from steelyard.lab.folder.run_folder import RunFolder
from steelyard.lab.run.coverage import covered
from steelyard.lab.run.limits import Limits
from steelyard.lab.run.observe import observe
from steelyard.lab.run.planner import make_plan
from steelyard.lab.run.prices import price_of
from steelyard.lab.run.progress import Progress
from steelyard.lab.run.runner import Outcome, Runner
from steelyard.lab.run.shortfalls import speechless, stops, uncomputed, untaken, warnings
from steelyard.lab.study.study import Study
from steelyard.trials.judge import Judge


@dataclass(frozen=True)
class Measured:
    """What a sitting brought."""

    folder: RunFolder
    """Where everything lies."""
    datasheet: Datasheet | None
    """Built from all replies so far; None where there are none."""
    outcome: Outcome
    """What happened in this sitting."""
    errors: tuple[SteelyardError, ...]
    """Why the run is not finished; empty when it is."""
    warnings: tuple[str, ...]
    """Single failures, in sentences; none where no call was answered, which is an error."""

    @property
    def exit_code(self) -> int:
        """0 or 1, as the contract says; what would be 2 is raised."""
        return max((error.exit_code for error in self.errors), default=0)

    def require(self) -> Datasheet:
        """The datasheet of a finished run; what kept it from its end is raised."""
        if self.errors or self.datasheet is None:
            raise self.errors[0] if self.errors else RunError(f"{self.folder.path}: no call has a reply.")
        return self.datasheet


def measure(study: Study, folder: RunFolder, limits: Limits, progress: Progress | None = None) -> Measured:
    """Run or resume a study in a folder and publish its datasheet.

    What the caller must mend (a rejected key, an unknown model) is raised; replies that arrived are kept.
    """
    check_prices(study.judges, limits)
    plan = make_plan(study)  # before the folder exists: what is refused leaves nothing behind
    if not plan.trials:
        raise RunError(
            f"{folder.path}: nothing to judge, since no probe has a stimulus that may be shown; "
            "look at what was rejected in stimuli.jsonl, or add a probe."
        )
    with folder.locked():
        folder.prepare(plan)
        with folder.store() as store:
            outcome = conduct(
                Runner(store, limits, progress, authoring_cost(store).dollars),
                lambda runner: runner.run(plan.trials),
            )
            observations, coverage = observe(plan, store), covered(plan.trials, store)
            datasheet = folder.publish(plan, store)
    names = [judge.name for judge in study.judges]
    errors = [*stops(outcome, coverage.told), *speechless(names, observations, outcome.given_up)]
    if datasheet is None:
        return Measured(folder, None, outcome, tuple(errors), ())
    errors += uncomputed(datasheet.faults)
    told = (*warnings(observations), *untaken(datasheet))
    return Measured(folder, datasheet, outcome, tuple(errors), told)


def conduct(runner: Runner, work: Callable[[Runner], Coroutine[Any, Any, Outcome]]) -> Outcome:
    """Run to the end, or to the first thing that the caller must mend, which is raised."""
    outcome = _await(_interruptible(runner, work))
    for error in outcome.stopped:
        if isinstance(error, UsageError):
            raise error
    return outcome


def check_prices(judges: Iterable[Judge], limits: Limits) -> None:
    """Refuse a budget that can not be kept."""
    for judge in judges if limits.budget is not None else ():
        if price_of(judge) is None:
            raise ConfigError(
                f"judge {judge.name}: no price is known for {judge.address}, so a budget can not be kept; "
                "give the judge input_price and output_price (dollars per million tokens), "
                "leave --budget out, or use vllm/… or ollama/… for a server of your own."
            )


def _await(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run to the end; in a thread of its own where a notebook's event loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _interruptible(runner: Runner, work: Callable[[Runner], Coroutine[Any, Any, Outcome]]) -> Outcome:
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        """The first Ctrl-C finishes what is in flight, the second ends at once."""
        loop.remove_signal_handler(signal.SIGINT)
        runner.progress.say("stopping: calls in flight are being finished; press Ctrl-C again to end at once")
        runner.stop()

    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await work(runner)
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
