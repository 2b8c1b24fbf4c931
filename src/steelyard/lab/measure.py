"""The main job: run what is open, then rebuild the datasheet from the store."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import (
    BudgetError,
    ConfigError,
    InterruptedRunError,
    RunError,
    SteelyardError,
    UsageError,
)
from steelyard.lab.limits import Limits
from steelyard.lab.observe import NOT_RUN, observe
from steelyard.lab.planner import Plan
from steelyard.lab.prices import price_of
from steelyard.lab.progress import Progress
from steelyard.lab.run_folder import RunFolder
from steelyard.lab.runner import Outcome, Runner
from steelyard.lab.study import Study
from steelyard.store.run_store import RunStore
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable


@dataclass(frozen=True)
class Measured:
    """What a sitting brought."""

    folder: RunFolder
    """Where everything lies."""
    datasheet: Datasheet
    """Built from all replies so far."""
    outcome: Outcome
    """What happened in this sitting."""
    errors: tuple[SteelyardError, ...]
    """Why the run is not finished; empty when it is."""
    warnings: tuple[str, ...]
    """Single failures, in sentences."""

    @property
    def exit_code(self) -> int:
        """0, 1 or 2, as the contract says."""
        return max((error.exit_code for error in self.errors), default=0)


def measure(study: Study, folder: RunFolder, limits: Limits, progress: Progress | None = None) -> Measured:
    """Run or resume a study in a folder and publish its datasheet.

    What the caller must mend (a rejected key, an unknown model) is raised; replies that arrived are kept.
    """
    if limits.budget is not None:
        _check_prices(study)
    plan = folder.prepare(study)
    with locked(folder.path), folder.store() as store:
        outcome = _await(_execute(plan, store, limits, progress))
        for error in outcome.stopped:
            if isinstance(error, UsageError):
                raise error
        observations = observe(plan, store)
        datasheet = folder.publish(plan, store)
    errors = [*_stops(outcome, observations, len(plan.trials)), *_speechless(plan, observations)]
    return Measured(folder, datasheet, outcome, tuple(errors), tuple(_warnings(observations)))


def _await(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run to the end; in a thread of its own where a notebook's event loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def _check_prices(study: Study) -> None:
    for judge in study.judges:
        if price_of(judge) is None:
            raise ConfigError(
                f"judge {judge.name}: no price is known for {judge.address}, so a budget can not be kept; "
                "leave --budget out, or use vllm/… or ollama/… for a server of your own."
            )


async def _execute(plan: Plan, store: RunStore, limits: Limits, progress: Progress | None) -> Outcome:
    runner = Runner(store, limits, progress)
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        """The first Ctrl-C finishes what is in flight, the second ends at once."""
        loop.remove_signal_handler(signal.SIGINT)
        runner.progress.say("stopping: calls in flight are being finished; press Ctrl-C again to end at once")
        runner.stop()

    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await runner.run(plan.trials)
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)


def _stops(outcome: Outcome, observations: list[Observation], total: int) -> Iterator[SteelyardError]:
    """The reasons for an early end, each with how to go on."""
    missing = sum(o.verdict == Failed(NOT_RUN) for o in observations)
    done = f"{total - missing:,} of {total:,} trials are done and kept"
    for error in outcome.stopped:
        if isinstance(error, InterruptedRunError):
            yield InterruptedRunError(f"interrupted: {done}; run the same command again to go on.")
        elif isinstance(error, BudgetError):
            yield BudgetError(f"{error}: {done}; raise --budget and run the same command again to go on.")
        else:
            yield type(error)(f"{str(error).rstrip('.')}: {done}; run the same command again to go on.")
    if missing and not outcome.stopped:
        yield RunError(f"{missing} trials have no verdict: {done}; run the same command again to go on.")


def _speechless(plan: Plan, observations: list[Observation]) -> Iterator[SteelyardError]:
    """Judges from whom nothing readable came; a judge that was not reached at all is told of elsewhere."""
    for judge in plan.study.judges:
        mine = [o.verdict for o in observations if o.judge == judge.name]
        tried = [v for v in mine if v != Failed(NOT_RUN)]
        if tried and not any(isinstance(v, (Decided, Tie, Abstained)) for v in tried):
            reasons = Counter(v.reason for v in tried if isinstance(v, (Unreadable, Failed)))
            told = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
            yield RunError(
                f"judge {judge.name}: no readable verdict in {len(tried)} calls ({told}), no figure defined; "
                "look at the replies and correct the prompt, the reader or the server."
            )


def _warnings(observations: list[Observation]) -> Iterator[str]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for observation in observations:
        verdict = observation.verdict
        if isinstance(verdict, (Unreadable, Failed)) and verdict.reason != NOT_RUN:
            word = "unreadable" if isinstance(verdict, Unreadable) else "failed"
            counts.setdefault((observation.judge, word), Counter())[verdict.reason] += 1
    for (judge, word), reasons in sorted(counts.items()):
        told = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
        yield f"judge {judge}: {sum(reasons.values())} trials {word} ({told}); none of them is a score."


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time in a run folder: two would pay for the same trials."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / ".lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RunError(
                f"{folder}: another process is measuring into this folder; wait for it to end."
            ) from error
        yield
