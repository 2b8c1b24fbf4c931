"""Facts of a run beside its figures: times, tokens and money, and a card of each instrument.

Keys, queries and likely secrets stay out of the cards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.core.content_hash import content_hash, digests_of
from steelyard.core.json_dataclasses import to_body
from steelyard.core.text import plural, pluralize
from steelyard.datasheet.example import truncate_text
from steelyard.datasheet.instrument_card import InstrumentCard, PromptCard, Service
from steelyard.datasheet.run_facts import BUILT_IN, CODE, OWN, UNPROMPTED, Materials, OwnChecklists, Shortened
from steelyard.providers.provider import provider_flag
from steelyard.providers.provider_info import TRANSPORT_OPTIONS
from steelyard.run_folder.call_examples import reader_words
from steelyard.runner.answers import Answers
from steelyard.runner.costs import AuthoringCost, Costs, lost_cost
from steelyard.runner.prices import price_of
from steelyard.runner.record import RunRecord, submitted
from steelyard.stimuli.original import NATURAL_PROBE, ORIGINAL
from steelyard.stimuli.stimulus import Unknown
from steelyard.store.run_store import RunStore
from steelyard.study.planner import Plan
from steelyard.study.study import Study
from steelyard.tasks.task import scale_name
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials
from steelyard.verdicts.verdict import Failed, Unreadable, Verdict


def run_facts(plan: Plan, record: RunRecord) -> dict[str, Any]:
    answers = record.answers(plan.trials)
    calls = answers.calls
    mine = np.flatnonzero(answers.answered & calls.where(lambda asked: not asked.judge.baseline))
    times = answers.received[mine]
    times_taken = latencies(answers, mine)
    coverage = record.coverage(plan.trials)
    headline = coverage.headline
    waiting = min(len(submitted(record.store)), headline.planned - headline.asked)
    return {
        "started": _clock(times.min()) if len(times) else None,
        "finished": _clock(times.max()) if len(times) and not headline.partial else None,
        **coverage.to_json(),
        **({"handed_in": waiting} if waiting > 0 else {}),
        **({"decided": plan.study.decides} if plan.study.decides and headline.partial else {}),
        "latency_ms": {"p50": quantile(times_taken, 0.5), "p95": quantile(times_taken, 0.95)},
        "calls": len(mine),
        **_token_counts(answers, mine),
        **_costs(answers, mine, lost_cost(answers.calls, record.store)),
        **_rejected(answers, mine),
        **_shortened(calls),
        **_notes(answers, mine, record.store),
        **_rows(plan),
        "materials": to_body(_materials(plan.study)),
        **_checklists(plan.study),
        **_authoring_facts(record.authoring),
    }


def _materials(study: Study) -> Materials:
    asked = [one for judge in study.under_test for one in judge.leaf_judges]
    prompts = dict.fromkeys(_prompt_source(judge, study) for judge in asked)
    data = None if study.source is None else Path(str(study.source.settings["path"])).name
    return Materials(tuple(prompts), data)


def _prompt_source(judge: Judge, study: Study) -> str:
    if judge.name in study.prompts:
        return study.prompts[judge.name] or OWN
    if provider_flag(judge, "code"):
        return CODE
    return BUILT_IN if provider_flag(judge, "prompted") else UNPROMPTED


def _checklists(study: Study) -> dict[str, Any]:
    """What checklists of the user's the pairs are made of; nothing for the built-in ones."""
    if not study.checklists:
        return {}
    digest = content_hash(study.checklists)
    own = OwnChecklists(study.checklists_file, len(study.checklists), study.checklists[0].depth, digest)
    return {"checklists": to_body(own)}


def _rows(plan: Plan) -> dict[str, int]:
    """Rows of the user's data, and those among them without a label; nothing where a judge labels them."""
    if plan.study.source is None or plan.study.reference is not None:
        return {}
    shown = {
        stimulus.lineage.parent: stimulus.expectation
        for stimulus in plan.stimuli
        if stimulus.probe in (ORIGINAL, NATURAL_PROBE)
    }
    unlabelled = sum(isinstance(expected, Unknown) for expected in shown.values())
    return {"rows": len(shown), "unlabelled": unlabelled} if shown else {}


def _costs(answers: Answers, mine: Ints, lost: tuple[int, float]) -> dict[str, Any]:
    """Dollars for all calls, None where one has neither a price nor a bill.

    And calls by judge whose tokens no server counted, so that their dollars are estimated from characters;
    and calls whose reply was lost by a kill, a timeout or a lost worker, which the vendor may bill.
    """
    costs = Costs.of(answers, mine)
    repeated, again = lost
    dollars = round(sum(costs.dollars.tolist()) + again, 6) if costs.known.all() else None
    uncounted = {name: len(rows) for name, rows in _by_judge(answers, mine[costs.estimated])}
    return {
        "dollars": dollars,
        **({"uncounted": uncounted} if uncounted else {}),
        **({"repeated": {"calls": repeated, "dollars": round(again, 6)}} if repeated else {}),
    }


def _by_judge(answers: Answers, rows: Ints) -> Iterator[tuple[str, Ints]]:
    calls = answers.calls.take(rows)
    for judge in calls.judges:
        yield judge.name, rows[calls.of_judge(judge.name)]


def _token_counts(answers: Answers, mine: Ints) -> dict[str, int]:
    """Tokens; where there are any, those of cache and thoughts among them, and calls in batches."""
    numbers, calls = np.unique(answers.usage[mine], return_counts=True)
    used = list(zip((answers.usages.values[n] for n in numbers.tolist()), calls.tolist(), strict=True))

    def total(name: str) -> int:
        return sum(many * getattr(usage, name) for usage, many in used)

    some = {name: total(name) for name in ("cached_tokens", "cache_write_tokens", "reasoning_tokens")}
    some["batched_calls"] = total("batched")
    every = {name: total(name) for name in ("input_tokens", "output_tokens")}
    return every | {name: count for name, count in some.items() if count}


def _rejected(answers: Answers, mine: Ints) -> dict[str, Any]:
    """Calls by judge and by the sampling field that its server would not take; nothing where all were."""
    refusing = np.array([bool(service.refused) for service in answers.services.values], dtype=np.bool_)
    some = mine[refusing[answers.service[mine]]] if len(mine) else mine
    refused = {name: dict(rejected_fields(answers, rows)) for name, rows in _by_judge(answers, some)}
    return {"refused": refused} if refused else {}


def rejected_fields(answers: Answers, rows: Ints, kind: str = "refused") -> Counter[str]:
    """Calls of each field that a server refused, or of each variable that was struck from what was sent."""
    refused: Counter[str] = Counter()
    numbers, first, calls = np.unique(answers.service[rows], return_index=True, return_counts=True)
    for place in np.argsort(first).tolist():
        for name in getattr(answers.services.values[int(numbers[place])], kind):
            refused[name] += int(calls[place])
    return refused


def _shortened(calls: Trials) -> dict[str, Any]:
    """What was cut from runs of agents, by judge; nothing where every judge could read every run."""
    of_runs = calls.where(lambda asked: bool(asked.judge.context) and asked.stimulus.transcript is not None)
    limited = list(calls.take(of_runs))
    found = {}
    for judge in dict.fromkeys(call.judge.name for call in limited):
        mine = [None if call.overflows else call.shortened for call in limited if call.judge.name == judge]
        cut = [made for made in mine if made is not None]
        if cut:
            characters, messages = sum(made.cut for made in cut), sum(made.messages for made in cut)
            found[judge] = asdict(Shortened(len(cut), len(mine), characters, messages))
    return {"shortened": found} if found else {}


def _notes(answers: Answers, mine: Ints, store: RunStore) -> dict[str, Any]:
    """What a reader must know of code (hidden requests, caches, what nobody can see), or of servers."""
    asked = {judge.name: judge for judge in answers.calls.judges}
    requests = np.array([usage.requests for usage in answers.usages.values] or [0], dtype=np.int64)
    notes, lost = {}, _failed_requests(answers, mine, store.failed_requests())
    repeated, unchecked = store.repeated_replies(), digests_of(store.unchecked())
    for name, rows in _by_judge(answers, mine):
        options = asked[name].options
        told = [*_request_notes(requests[answers.usage[rows]], *lost.get(name, (0, 0)))]
        told += _cache_note(answers, rows)
        told += [options["caveat"]] if "caveat" in options else []
        told += [f"its fingerprint does not cover {options['unseen']}"] if "unseen" in options else []
        if "source" not in options:  # the hash of code, which only judges that are code have
            told = [_repeated_note(repeated[name])] if name in repeated else []
            in_doubt = int(np.isin(answers.calls.key[rows], unchecked).sum())
            told += [_unchecked_note(in_doubt)] if in_doubt else []
        told += [
            f"the value of {variable} was struck from what {pluralize(calls, 'call')} sent"
            for variable, calls in rejected_fields(answers, rows, "struck").items()
        ]
        if told:
            notes[name] = told
    return {"notes": notes} if notes else {}


def _repeated_note(replies: int) -> str:
    made = f"{plural(replies, 'its call was', 'their calls were')} made and billed again"
    return (
        f"{pluralize(replies, 'reply', 'replies')} that may belong to other calls "
        f"{plural(replies, 'is', 'are')} not counted, and {made}: the server sends responses that nobody "
        "asked for"
    )


def _unchecked_note(replies: int) -> str:
    return (
        f"{pluralize(replies, 'reply', 'replies')} had come when a run was killed and could not be checked: "
        f"{plural(replies, 'it belongs', 'they belong')} to other calls if the server sends responses twice, "
        "of which too few later calls could show anything"
    )


def _failed_requests(answers: Answers, mine: Ints, failed: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Judge to the requests of its tries that failed, and how many of those calls have no reply."""
    if not failed:
        return {}
    answered, found = set(mine.tolist()), dict[str, tuple[int, int]]()
    for row, trial in enumerate(answers.calls):
        if trial.key in failed:
            requests, calls = found.get(trial.judge.name, (0, 0))
            found[trial.judge.name] = (requests + failed[trial.key], calls + (row not in answered))
    return found


def _request_notes(requests: Ints, failed: int, unanswered: int) -> Iterator[str]:
    made, calls, silent = int(requests.sum()) + failed, len(requests) + unanswered, int((requests == 0).sum())
    if made > calls:
        of_failed = f", {failed:,} of them by tries that failed" if failed else ""
        yield (
            f"{made:,} requests for {pluralize(calls, 'call')}{of_failed}: it tries again inside, or asks "
            "more than once; replies that it rejected are paid for, and do not count as unreadable"
        )
    if made and silent:
        yield (
            f"{silent:,} of {pluralize(calls, 'call')} made no request: a cache answered, and agreement "
            "between repeats says nothing of the model"
        )


SLOW, INSTANT = 50.0, 5.0
"""Milliseconds: a first call at least this slow whose repeats all take less than that was cached."""


def _cache_note(answers: Answers, rows: Ints) -> Iterator[str]:
    repeat = answers.calls.replicate[rows] > 0
    first, again = answers.latency_ms[rows[~repeat]], answers.latency_ms[rows[repeat]]
    if len(first) and len(again) and np.median(first) >= SLOW and again.max() < INSTANT:
        yield (
            f"repeats took {again.max():.1f} ms at most, first calls {np.median(first):,.0f} ms: a cache "
            "answered, and agreement between repeats says nothing of the model"
        )


def _authoring_facts(cost: AuthoringCost) -> dict[str, Any]:
    """What writing and confirming stimuli took; nothing where nothing was written."""
    if not cost.calls:
        return {}
    counts = {name: number for name, number in asdict(cost).items() if name != "priced"}
    return {"authoring": {**counts, "dollars": round(cost.dollars, 6) if cost.priced else None}}


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def latencies(answers: Answers, rows: Ints) -> Floats:
    """Milliseconds that calls took, sorted; how long one took in a batch nobody knows."""
    batched = np.array([usage.batched for usage in answers.usages.values], dtype=np.bool_)
    return np.sort(answers.latency_ms[rows[~batched[answers.usage[rows]]]])


def quantile(ordered: Floats, share: float) -> float | None:
    """The value below which this share of sorted values lies; None without any."""
    return round(float(ordered[int(share * (len(ordered) - 1))]), 3) if len(ordered) else None


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
    for trial in plan.trials.distinct_trials:
        first.setdefault((trial.judge.name, trial.protocol), trial)
    return tuple(_card(plan, judge, first) for judge in plan.study.under_test)


def _card(plan: Plan, judge: Judge, first: Mapping[tuple[str, str], Trial]) -> InstrumentCard:
    task, decoding, price = plan.study.task, judge.decoding, price_of(judge)
    return InstrumentCard(
        judge=judge.name,
        model=judge.address,
        prompted=any(provider_flag(one, "prompted") for one in judge.leaf_judges),
        instruction=truncate_text(task.instruction, PROMPT),
        rubric=truncate_text(judge.rubric or task.rubric, PROMPT),
        scale=scale_name(task.scale),
        temperature=decoding.temperature,
        max_tokens=decoding.max_tokens,
        seed=decoding.seed,
        settings=dict(_settings(judge)),
        server=_host(judge.options.get("base_url")),
        price=None if price is None else price.description,
        members=() if judge.composition is None else tuple(one.name for one in judge.leaf_judges),
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
        if value not in (None, ""):
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
