"""`doctor`: checks of the machine and the providers, and one real call to each judge of a study."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from steelyard.errors import ConfigError, SteelyardError, UnreachableError
from steelyard.providers.provider import PROVIDERS, Provider, connect, model_info, provider_info
from steelyard.providers.provider_info import DoctorCheck
from steelyard.run_folder.call_examples import reader_words
from steelyard.run_folder.published_files import parquet_missing
from steelyard.run_folder.run_folder import PARQUET
from steelyard.runner.costs import reply_cost
from steelyard.runner.planner import make_plan
from steelyard.runner.preflight import rank_trials
from steelyard.runner.prices import price_of
from steelyard.runner.session import prime_provider
from steelyard.study.composite_judges import CompositeJudge
from steelyard.study.judge_address import plain_address
from steelyard.study.study import Study
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial
from steelyard.verdicts.advice import advice, find_reader, quote_reply, verdict_words
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Unreadable


def machine_checks() -> Iterator[DoctorCheck]:
    yield DoctorCheck(
        "Python", "ok", f"{platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores"
    )
    yield DoctorCheck("SQLite", "ok", sqlite3.sqlite_version)
    free = shutil.disk_usage(Path.cwd()).free
    yield DoctorCheck("disk", "ok" if free > 1e9 else "broken", f"{free / 1e9:.1f} GB free here")
    missing = parquet_missing()
    missing_text = f"{missing}, so runs have no {PARQUET}; run pip install pyarrow"
    yield DoctorCheck(
        "Parquet", "absent" if missing else "ok", missing_text if missing else f"runs have {PARQUET}"
    )
    for name, package, purpose in (
        ("XLSX", "openpyxl", "data in .xlsx and .xlsm"),
        ("Ray", "ray", "--engine ray, calls by workers of a cluster"),
    ):  # providers say of theirs themselves
        there = find_spec(package) is not None
        missing_text = f"{package} is not installed; run pip install {package} for {purpose}"
        yield DoctorCheck(name, "ok" if there else "absent", purpose if there else missing_text)
    unset: list[str] = []
    for name in PROVIDERS.in_order():
        try:
            info = provider_info(name)
            yield from info.every_check()
            unset += [info.missing_key] if info.missing_key else []
        except ConfigError as error:
            yield DoctorCheck(f"provider {name}", "broken", str(error), error.exit_code)
    if unset:
        names = ", ".join(dict.fromkeys(unset))
        yield DoctorCheck("keys", "absent", f"not set: {names}; set those of the providers that you use")


CALL_TIMEOUT = 60.0


@dataclass(frozen=True)
class JudgeCheck:
    judge: str
    protocol: str
    lines: tuple[tuple[str, str], ...] = ()
    fault: str | None = None
    """What is wrong, as the end of a sentence; None where the reply was read."""
    exit_code: int = 1

    @property
    def subject(self) -> str:
        return f"judge {self.judge}: protocol {self.protocol}" if self.protocol else f"judge {self.judge}"

    @property
    def sentence(self) -> str:
        """The fault with its subject, which the provider's own message may name already."""
        fault = self.fault or ""
        return fault if fault.startswith(f"judge {self.judge} ") else f"{self.subject}: {fault}"


def check_judge(text: str) -> Iterator[JudgeCheck]:
    try:
        compares = {"probes": ["ladder"]} if _compares(text) else {"task": {"scale": "binary"}}
        config = StudyConfig.model_validate({"judges": [text], **compares})
        study = build_study(config, Path())
    except SteelyardError as error:
        yield JudgeCheck(plain_address(text), "", fault=str(error), exit_code=error.exit_code)
        return
    yield from check_study(study)


def _compares(text: str) -> bool:
    """The judge can say which of two texts is better; one made of others where all of them can."""
    made = CompositeJudge.of(text)
    if made is None:
        return model_info(text.partition("?")[0]).can_compare
    return not made.averages and all(_compares(str(member)) for member in made.member_specs)


def check_study(study: Study) -> Iterator[JudgeCheck]:
    calls: dict[str, list[Trial]] = {}
    for call in (call for trial in make_plan(study).trials for call in trial.calls):
        if not call.judge.baseline:
            calls.setdefault(call.judge.name, []).append(call)
    for mine in calls.values():
        # The pair that is furthest apart; the first where no difference is known.
        chosen = [
            max(arm, key=lambda trial: trial.stimulus.delta or 0.0) for arm in rank_trials(mine).values()
        ]
        yield from asyncio.run(_call_judge(mine[0].judge, chosen, mine[0].judge.name in study.unread))


async def _call_judge(judge: Judge, trials: Sequence[Trial], unread: bool) -> list[JudgeCheck]:
    provider = connect(judge)
    try:
        prime_provider(provider, trials)
        await provider.open()
        return [await _call(provider, trial, unread) for trial in trials]
    except SteelyardError as error:
        return [JudgeCheck(judge.name, "", fault=str(error), exit_code=error.exit_code)]
    finally:
        await provider.close()


async def _call(provider: Provider, trial: Trial, unread: bool) -> JudgeCheck:
    judge, protocol = trial.judge.name, trial.protocol
    try:
        reply = await asyncio.wait_for(provider.ask(trial.presentation()), CALL_TIMEOUT)
    except TimeoutError:
        slow = UnreachableError(f"no reply within {CALL_TIMEOUT:g} s; is the server working?")
        return JudgeCheck(judge, protocol, fault=str(slow), exit_code=slow.exit_code)
    except SteelyardError as error:
        return JudgeCheck(judge, protocol, fault=str(error), exit_code=error.exit_code)
    except Exception as error:  # a provider of a plug-in may raise anything
        return JudgeCheck(judge, protocol, fault=f"{type(error).__name__}: {error}")
    spec, scale = trial.judge.protocols[trial.protocol].reader, trial.effective_task.scale
    price = price_of(trial.judge)
    dollars = None if price is None else reply_cost(price, reply, trial.characters)
    cost = "price unknown" if dollars is None else f"${dollars:.6f}" if dollars else "free"
    verdict = READERS.build(spec)(reply, scale)
    found = find_reader(spec, scale, [reply]) if unread and isinstance(verdict, Unreadable) else None
    if found is not None:
        spec, verdict = found[0], READERS.build(found[0])(reply, scale)
    guess = ", which nobody stated" if unread else ""
    lines = (
        ("replied", quote_reply(reply.text)),
        (
            "read as",
            f"{verdict_words(verdict)}, by reader {reader_words(spec) if found else spec.name}{guess}",
        ),
        ("cost", f"{cost}, {reply.latency_ms:,.0f} ms"),
    )
    fault = advice(spec, scale, [reply]) if isinstance(verdict, Unreadable) else None
    return JudgeCheck(trial.judge.name, trial.protocol, lines, fault)
