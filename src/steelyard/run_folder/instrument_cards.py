"""Instrument cards from a frozen study and its replies; keys, queries and likely secrets stay out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.datasheet.examples.example import truncate_text
from steelyard.datasheet.instrument_card import InstrumentCard, PromptCard, Service
from steelyard.providers.options import TRANSPORT_OPTIONS
from steelyard.providers.provider import provider_flag
from steelyard.run_folder.call_record import reader_words
from steelyard.run_folder.run_facts import latencies, quantile, rejected_fields
from steelyard.runner.answers import Answers
from steelyard.runner.planner import Plan
from steelyard.runner.prices import price_of
from steelyard.runner.record import RunRecord
from steelyard.tasks.scale import scale_name
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial
from steelyard.verdicts.verdict import Failed, Unreadable, Verdict

SENT = 2_000
"""Characters of a message that a card shows."""
PROMPT = 20_000
"""Characters of a template or a rubric that a card shows."""
SETTING = 200
"""Characters of a setting that a card shows."""
HIDDEN = "(not shown)"
_SECRET = re.compile(r"key|token|secret|passw|auth|credential|cookie|bearer", re.I)


def instrument_cards(plan: Plan) -> tuple[InstrumentCard, ...]:
    first: dict[tuple[str, str], Trial] = {}
    for trial in plan.trials.asked:
        first.setdefault((trial.judge.name, trial.protocol), trial)
    return tuple(_card(plan, judge, first) for judge in plan.study.judges if not judge.baseline)


def _card(plan: Plan, judge: Judge, first: Mapping[tuple[str, str], Trial]) -> InstrumentCard:
    task, decoding, price = plan.study.task, judge.decoding, price_of(judge)
    return InstrumentCard(
        judge=judge.name,
        model=judge.address,
        prompted=any(provider_flag(one, "prompted") for one in judge.asked),
        instruction=truncate_text(task.instruction, PROMPT),
        rubric=truncate_text(judge.rubric or task.rubric, PROMPT),
        scale=scale_name(task.scale),
        temperature=decoding.temperature,
        max_tokens=decoding.max_tokens,
        seed=decoding.seed,
        settings=dict(_settings(judge)),
        server=_host(judge.options.get("base_url")),
        price=None if price is None else price.description,
        members=() if judge.composition is None else tuple(one.name for one in judge.asked),
        prompts=tuple(_prompt(judge, name, first.get((judge.name, name))) for name in judge.protocols),
    )


def _prompt(judge: Judge, name: str, trial: Trial | None) -> PromptCard:
    protocol = judge.protocols[name]
    system = None if protocol.system is None else truncate_text(protocol.system, PROMPT)
    sent = None if trial is None or trial.members else truncate_text(trial.messages[-1].content, SENT)
    return PromptCard(name, system, truncate_text(protocol.user, PROMPT), reader_words(protocol.reader), sent)


def _settings(judge: Judge) -> Iterator[tuple[str, str]]:
    """Further fields of the request, then options of the provider that decide a verdict."""
    options = {name: value for name, value in judge.options.items() if name not in TRANSPORT_OPTIONS}
    for name, value in {**judge.decoding.extra, **options}.items():
        if value is not None:
            yield name, HIDDEN if _SECRET.search(name) else truncate_text(_setting_text(value), SETTING)


def _setting_text(value: Any) -> str:
    """A value without what its own keys would hide."""
    if isinstance(value, Mapping):
        parts = (
            (key, HIDDEN if _SECRET.search(str(key)) else _setting_text(inner))
            for key, inner in value.items()
        )
        return ", ".join(f"{key}: {inner}" for key, inner in parts)
    return str(value)


def _host(address: object) -> str | None:
    """Host and port of an address; user, path and query may hold secrets."""
    if not address:
        return None
    parts = urlsplit(str(address))
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname


def services(plan: Plan, record: RunRecord) -> dict[str, dict[str, Any]]:
    """How each judge under test was served; those that are made of others are served by these."""
    answers, trials = record.answers(plan.trials), plan.trials
    counts = record.observations(trials).counts()
    services: dict[str, dict[str, Any]] = {}
    for judge in trials.judges:
        if not judge.baseline and judge.composition is None:
            rows = answers.calls.lookup(trials.key[trials.of_judge(judge.name)])
            mine = {v: n for (name, v), n in counts.items() if name == judge.name}
            services[judge.name] = asdict(_service(answers, rows, mine))
    return services


def _service(answers: Answers, rows: Ints, counts: Mapping[Verdict, int]) -> Service:
    heard = rows[answers.answered[rows]]
    numbers, calls = np.unique(answers.service[heard], return_counts=True)
    served: Counter[str] = Counter()
    for number, many in zip(numbers.tolist(), calls.tolist(), strict=True):
        if model := answers.services.values[number].model:
            served[model] += many
    times_taken = latencies(answers, heard)
    return Service(
        calls=len(heard),
        served={truncate_text(str(name), SETTING): number for name, number in sorted(served.items())},
        latency_p50=quantile(times_taken, 0.5),
        latency_p95=quantile(times_taken, 0.95),
        refused=dict(sorted(rejected_fields(answers, heard).items())),
        failed=dict(sorted((v.reason, n) for v, n in counts.items() if isinstance(v, Failed))),
        unreadable=dict(sorted((v.reason, n) for v, n in counts.items() if isinstance(v, Unreadable))),
    )
