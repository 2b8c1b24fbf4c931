"""Does it work? `doctor` checks machine, providers and one real call to each judge; `selftest` the measuring.

The self-test measures planted judges and must recover their parameters.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Any

from steelyard.commands.measure import measure
from steelyard.core.registry import Spec
from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import ConfigError, SteelyardError, UnreachableError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument.derived import RESOLUTION_RATIO
from steelyard.metrics.instrument.likelihood import (
    POSITION_BIAS,
    RESOLUTION,
    SURFACE_SENSITIVITY,
    TIE_THRESHOLD,
)
from steelyard.metrics.pairs.decomposition import (
    NO_PREFERENCE,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    STABLE_CROSS_SENSITIVITY,
)
from steelyard.metrics.pairs.ladder import TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.proportions import DARK_CURRENT
from steelyard.probes.probe import PROBES, SUITES, reads_runs
from steelyard.providers.planted.decision_model import expected_pair_rates, expected_rates
from steelyard.providers.planted.planted_judges import DUMMY_SCORER, PROBIT, Planted
from steelyard.providers.provider import PROVIDERS, Provider, connect, model_info, provider_info
from steelyard.providers.provider_info import DoctorCheck
from steelyard.run_folder.call_examples import reader_words
from steelyard.run_folder.published_files import parquet_missing
from steelyard.run_folder.run_folder import PARQUET, RunFolder
from steelyard.runner.costs import reply_cost
from steelyard.runner.limits import RunLimits
from steelyard.runner.preflight import rank_trials
from steelyard.runner.prices import price_of
from steelyard.runner.session import prime_provider
from steelyard.stimuli.stimulus import Stimulus
from steelyard.study.composite_judges import CompositeJudge, plain_address
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.study.task_config import PACK_ITEMS, pack_scales
from steelyard.tasks.pack import AGENT_TASK
from steelyard.tasks.task import scale_name
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
    missing_text = f"{missing}, or runs have no {PARQUET}"
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


SEED = 11
WIDTH = 2.576
"""Half-width of the gates in standard errors: 99 %."""
REPLICATES = 3
TOLERANCES = {
    RESOLUTION.id: 0.18,
    POSITION_BIAS.id: 0.15,
    TIE_THRESHOLD.id: 0.13,
    SURFACE_SENSITIVITY.id: 0.30,
}
"""How far a recovered parameter may lie from the planted one; `make calibrate` counts the seeds that pass."""


@dataclass(frozen=True)
class SelftestCheck:
    judge: str
    figure: str
    planted: str
    accepted: str
    recovered: str
    passed: bool


def selftest(folder: Path, profile: str = "standard") -> list[SelftestCheck]:
    config = StudyConfig(name="selftest", seed=SEED, profile=profile, judges=[PROBIT])  # type: ignore[arg-type]
    study = build_study(config, folder)
    sheet = measure(study, RunFolder(folder), RunLimits()).require()
    probit = study.judges[0]
    return [
        *_baselines(sheet),
        *_probit(sheet, probit),
        _unmoved(sheet, probit),
        *_instrument(folder / "instrument"),
    ]


def _unmoved(sheet: Datasheet, judge: Judge) -> SelftestCheck:
    """The planted strict protocol moves the threshold alone."""
    estimate = _found(sheet, judge.name, RESOLUTION_RATIO.id, protocol="strict")
    found, covers = _number(estimate), _covers(estimate, 1)
    return SelftestCheck("probit strict", "resolution ratio", "1", "in interval", found, covers)


def _instrument(folder: Path) -> Iterator[SelftestCheck]:
    config = StudyConfig(
        name="instrument",
        seed=SEED,
        profile="standard",
        replicates=REPLICATES,
        judges=[PROBIT],
        probes=["ladder"],
    )
    study = build_study(config, folder)
    judge = study.judges[0]
    alone = replace(study, judges=(judge,))  # the baselines are in the other run
    sheet = measure(alone, RunFolder(folder), RunLimits()).require()
    planted = Planted(judge).parameters(judge.protocols["base"].settings)
    for metric, tolerance in TOLERANCES.items():
        estimate, true = _found(sheet, judge.name, metric), float(getattr(planted, metric))
        passed = estimate.value is not None and abs(estimate.value - true) < tolerance
        words = f"{true:.3f}", f"± {tolerance:.2f}", _number(estimate)
        yield SelftestCheck("probit model", metric, *words, passed)


def _baselines(sheet: Datasheet) -> Iterator[SelftestCheck]:
    yield _exact(sheet, "first", POSITIONAL_FALSE_PREFERENCE.id, 1.0)
    yield _exact(sheet, "first", STABLE_CROSS_SENSITIVITY.id, 0.0)
    status = str(_between_equals(sheet, "first", NET_SLOT_PREFERENCE.id).status)
    yield SelftestCheck("first", "position test", "slot 1", "flagged", status, status == "flagged")

    dark = _found(sheet, "tie", DARK_CURRENT.id, "vacuum")
    yield SelftestCheck("tie", DARK_CURRENT.id, "0", "0", _with_counts(dark), dark.value == 0)
    yield _exact(sheet, "tie", NO_PREFERENCE.id, 1.0)

    for metric in (STABLE_CROSS_SENSITIVITY.id, POSITIONAL_FALSE_PREFERENCE.id):
        estimate = _between_equals(sheet, "coin", metric)
        found, covers = _with_counts(estimate), _covers(estimate, 0.5)
        yield SelftestCheck("coin", metric, "0.500", "in interval", found, covers)
    net = _between_equals(sheet, "coin", NET_SLOT_PREFERENCE.id)
    status, reading = str(net.status), str(net.reading)
    yield SelftestCheck("coin", "position test", "none", "not flagged", status, status != "flagged")
    yield SelftestCheck("coin", "reading", "none", "not mixed", reading, reading != "mixed")


def _probit(sheet: Datasheet, judge: Judge) -> Iterator[SelftestCheck]:
    """Each rate must lie where its parameters put it, given the number of pairs."""
    cells_of = (STABLE_CROSS_SENSITIVITY, POSITIONAL_FALSE_PREFERENCE, ONE_SIDED_COMMIT, NO_PREFERENCE)
    name, provider = judge.name, Planted(judge)
    for protocol in ("base", "strict"):
        parameters = provider.parameters(judge.protocols[protocol].settings)
        cells = expected_pair_rates(parameters)
        for metric in cells_of:
            estimate = _between_equals(sheet, name, metric.id, protocol)
            yield _rate(estimate, protocol, getattr(cells, metric.id))
        dark = _found(sheet, name, DARK_CURRENT.id, "vacuum", protocol=protocol)
        yield _rate(dark, protocol, 1 - expected_rates(parameters, 0, same_texts=True).tie)
        for estimate in sheet.of(name, TARGET_SENSITIVITY.id, "ladder"):
            if set(estimate.group) == {"protocol", "delta"} and estimate.group["protocol"] == protocol:
                expected = expected_rates(parameters, float(estimate.group["delta"])).better
                yield _rate(estimate, protocol, expected)


def _rate(estimate: Estimate, protocol: str, expected: float) -> SelftestCheck:
    """Calls of a pair may agree wholly, so pairs, not calls, are counted as independent."""
    reach = WIDTH * sqrt(expected * (1 - expected) / estimate.n_units)
    passed = estimate.value is not None and abs(estimate.value - expected) <= reach
    delta = f" Δ{estimate.group['delta']:g}" if estimate.metric == TARGET_SENSITIVITY.id else ""
    accepted = f"{max(0.0, expected - reach):.3f}–{min(1.0, expected + reach):.3f}"
    judge = "probit" if protocol == "base" else f"probit {protocol}"
    words = f"{estimate.metric}{delta}", f"{expected:.3f}", accepted, _with_counts(estimate)
    return SelftestCheck(judge, *words, passed)


def _exact(sheet: Datasheet, judge: str, metric: str, value: float) -> SelftestCheck:
    estimate = _between_equals(sheet, judge, metric)
    planted, found = f"{value:g}", _with_counts(estimate)
    return SelftestCheck(judge, metric, planted, planted, found, estimate.value == value)


def _between_equals(sheet: Datasheet, judge: str, metric: str, protocol: str = "base") -> Estimate:
    return _found(sheet, judge, metric, protocol=protocol, delta=0, kind="same_subset")


def _found(
    sheet: Datasheet, judge: str, metric: str, probe: str = "ladder", protocol: str = "base", **group: Any
) -> Estimate:
    estimate = sheet.find(judge, metric, probe, protocol=protocol, **group)
    if estimate is None:
        raise LookupError(f"the datasheet has no {metric}")
    return estimate


def _covers(estimate: Estimate, value: float) -> bool:
    interval = estimate.interval
    return interval is not None and (interval.low or 0) <= value <= (interval.high or 1)


def _number(estimate: Estimate) -> str:
    return "undefined" if estimate.value is None else f"{estimate.value:.3f}"


def _with_counts(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined"
    return f"{estimate.value:.3f} ({estimate.numerator}/{estimate.denominator})"


def pack_stimuli(seed: int) -> Iterator[Stimulus]:
    """Every text that a study on the built-in pack shows under a seed: labels of a served planted judge."""
    # Suites about runs of agents have items of their own.
    runs = [
        name for name, suite in SUITES.items() if any(reads_runs(PROBES.build(Spec(p))) for p in suite.probes)
    ]
    texts = [name for name in SUITES if name not in runs]
    for profile in PACK_ITEMS:
        for scale in pack_scales():
            yield from _stimuli(seed, profile, texts, scale_name(scale))
        yield from _stimuli(seed, profile, runs, scale_name(AGENT_TASK.scale))


def _stimuli(seed: int, profile: str, suites: list[str], scale: str) -> Iterator[Stimulus]:
    body = {"name": "served", "seed": seed, "profile": profile, "judges": [DUMMY_SCORER], "probes": suites}
    study = build_study(StudyConfig.model_validate({**body, "task": {"scale": scale}}), Path())
    for probe in study.build_probes():
        for showing in probe.showings(study.design, study.judges[0].protocols):
            yield showing.stimulus
