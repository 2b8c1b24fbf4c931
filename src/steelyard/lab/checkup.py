"""What `doctor` looks at."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from steelyard.errors import ConfigError, SteelyardError, UnreachableError
from steelyard.lab.folder.results_file import PARQUET, parquet_missing
from steelyard.lab.run.knowledge import impart
from steelyard.lab.run.planner import make_plan
from steelyard.lab.study.judge_config import parse_judge
from steelyard.lab.study.study_file import StudyConfig, build_study
from steelyard.providers.provider import PROVIDERS, connect, provider_traits
from steelyard.providers.traits import Check
from steelyard.tasks.task import CHECKLIST_TASK
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Failed, Unreadable

ENOUGH_DISK = 1_000_000_000
PATIENCE = 60.0
"""Seconds that a judge has for its one call."""


def checkup(judges: Iterable[str]) -> Iterator[Check]:
    """Machine, disk, what each provider needs, then the judges that were named."""
    yield Check(
        "Python", "ok", f"{platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores"
    )
    yield Check("SQLite", "ok", sqlite3.sqlite_version)
    free = shutil.disk_usage(Path.cwd()).free
    yield Check("disk", "ok" if free > ENOUGH_DISK else "broken", f"{free / 1e9:.1f} GB free here")
    missing = parquet_missing()
    wanting = f"{missing}, so runs have no {PARQUET}; install steelyard[parquet]"
    yield Check("Parquet", "absent" if missing else "ok", wanting if missing else f"runs have {PARQUET}")
    for name in PROVIDERS.in_order():
        try:
            yield from provider_traits(name).every_check()
        except ConfigError as error:
            yield Check(f"provider {name}", "broken", str(error), error.exit_code)
    for text in judges:
        yield from _try_judge(text)


def _try_judge(text: str) -> Iterator[Check]:
    """One real call on one easy pair; of a judge made of others, one to each of them."""
    try:
        parse_judge(text, Path(), CHECKLIST_TASK.scale)
        study = build_study(StudyConfig(judges=[text], probes=["ladder"]), Path())
        trial = next(t for t in make_plan(study).trials if t.stimulus.delta == 5)
    except SteelyardError as error:
        yield Check(f"judge {text}", "broken", str(error), error.exit_code)
        return
    for call in {call.judge.name: call for call in trial.calls}.values():
        yield _try_call(call, f"judge {call.judge.name if trial.members else text}")


def _try_call(call: Trial, subject: str) -> Check:
    try:
        reply = asyncio.run(_ask(call))
    except SteelyardError as error:
        return Check(subject, "broken", str(error), error.exit_code)
    verdict = READERS.build(call.judge.protocols["base"].reader)(reply, CHECKLIST_TASK.scale)
    state = "broken" if isinstance(verdict, (Unreadable, Failed)) else "ok"
    return Check(subject, state, f"answered {reply.text[:60]!r}, read as {verdict}")


async def _ask(trial: Trial) -> Reply:
    provider = connect(trial.judge)
    try:
        impart(provider, [trial])
        await provider.open()
        return await asyncio.wait_for(provider.ask(trial.presentation()), PATIENCE)
    except TimeoutError:
        raise UnreachableError(f"no reply within {PATIENCE:g} s; is the server working?") from None
    finally:
        await provider.close()
