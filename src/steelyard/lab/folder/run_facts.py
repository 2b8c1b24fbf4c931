"""Clock times, latency, tokens and money of a run: all that two equal runs may differ in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from steelyard.datasheet.run_facts import Shortened
from steelyard.lab.run.budget import cost
from steelyard.lab.run.planner import Plan
from steelyard.lab.run.prices import Price, price_of
from steelyard.lab.run.record import Record
from steelyard.lab.run.spending import AuthoringCost
from steelyard.store.replies import StoredReply
from steelyard.trials.reply import Usage
from steelyard.trials.trial import Trial

REFUSABLE = ("temperature", "seed", "logprobs")
"""Fields of a request whose absence a reader of the figures must know of."""


def run_facts(plan: Plan, record: Record) -> dict[str, Any]:
    """What the datasheet says under `run`."""
    replies = record.replies(plan.calls)
    measured = [(t, replies[t.key]) for t in plan.calls if t.key in replies and not t.judge.baseline]
    times = sorted(stored.received for _, stored in measured)
    latencies = waiting_times(stored for _, stored in measured)
    prices = {one.name: price_of(one) for judge in plan.study.judges for one in judge.asked}
    coverage = record.coverage(plan.trials)
    return {
        "started": _clock(times[0]) if times else None,
        "finished": _clock(times[-1]) if times and not coverage.headline.partial else None,
        **coverage.to_json(),
        **({"decided": plan.study.decides} if plan.study.decides and coverage.headline.partial else {}),
        "latency_ms": {"p50": quantile(latencies, 0.5), "p95": quantile(latencies, 0.95)},
        "calls": len(measured),
        "input_tokens": sum(stored.reply.usage.input_tokens for _, stored in measured),
        "output_tokens": sum(stored.reply.usage.output_tokens for _, stored in measured),
        **_counted([stored.reply.usage for _, stored in measured]),
        "dollars": _dollars(measured, prices),
        **_uncounted(measured, prices),
        **_refused(measured),
        **_shortened(plan),
        **_authoring_facts(record.authoring),
    }


Measured = list[tuple[Trial, StoredReply]]
"""Calls of measured judges, with their replies."""


def _dollars(measured: Measured, prices: Mapping[str, Price | None]) -> float | None:
    """What all calls cost; None where one has neither a price nor a bill."""
    if any(prices[t.judge.name] is None and stored.reply.usage.billed is None for t, stored in measured):
        return None
    return round(sum(cost(prices[t.judge.name], t, stored.reply) for t, stored in measured), 6)


def _uncounted(measured: Measured, prices: Mapping[str, Price | None]) -> dict[str, Any]:
    """Calls by judge whose tokens no server counted, so that their dollars are estimated from characters."""
    uncounted: Counter[str] = Counter()
    for trial, stored in measured:
        usage, reply = stored.reply.usage, stored.reply
        estimated = not usage.input_tokens or (not usage.output_tokens and reply.text)
        if estimated and usage.billed is None and cost(prices[trial.judge.name], trial, reply) > 0:
            uncounted[trial.judge.name] += 1
    return {"uncounted": dict(uncounted)} if uncounted else {}


def _counted(used: list[Usage]) -> dict[str, int]:
    """Tokens of cache and thoughts, which are among the others, and calls in batches, where there are any."""
    counts = {
        "cached_tokens": sum(usage.cached_tokens for usage in used),
        "cache_write_tokens": sum(usage.cache_write_tokens for usage in used),
        "reasoning_tokens": sum(usage.reasoning_tokens for usage in used),
        "batched_calls": sum(usage.batched for usage in used),
    }
    return {name: count for name, count in counts.items() if count}


def _refused(measured: Measured) -> dict[str, Any]:
    """Calls by judge and by the sampling field that its server would not take; nothing where all were."""
    refused: dict[str, Counter[str]] = {}
    for trial, stored in measured:
        for name in REFUSABLE:
            if name in stored.reply.effective and stored.reply.effective[name] is None:
                refused.setdefault(trial.judge.name, Counter())[name] += 1
    return {"refused": {judge: dict(fields) for judge, fields in refused.items()}} if refused else {}


def _shortened(plan: Plan) -> dict[str, Any]:
    """What was cut from runs of agents, by judge; nothing where every judge could read every run."""
    limited = [call for call in plan.calls if call.judge.context and call.stimulus.transcript is not None]
    found = {}
    for judge in dict.fromkeys(call.judge.name for call in limited):
        mine = [None if call.overflows else call.shortened for call in limited if call.judge.name == judge]
        cut = [made for made in mine if made is not None]
        if cut:
            characters, messages = sum(made.cut for made in cut), sum(made.messages for made in cut)
            found[judge] = asdict(Shortened(len(cut), len(mine), characters, messages))
    return {"shortened": found} if found else {}


def _authoring_facts(cost: AuthoringCost) -> dict[str, Any]:
    """What writing and confirming stimuli took; nothing where nothing was written."""
    if not cost.calls:
        return {}
    counts = {name: number for name, number in asdict(cost).items() if name != "priced"}
    return {"authoring": {**counts, "dollars": round(cost.dollars, 6) if cost.priced else None}}


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def waiting_times(replies: Iterable[StoredReply]) -> list[float]:
    """Milliseconds that calls took, sorted; how long one took in a batch nobody knows."""
    return sorted(stored.reply.latency_ms for stored in replies if not stored.reply.usage.batched)


def quantile(ordered: list[float], share: float) -> float | None:
    """The value below which this share of sorted values lies; None without any."""
    return round(ordered[int(share * (len(ordered) - 1))], 3) if ordered else None
