"""Clock times, latency, tokens and money of a run: all that two equal runs may differ in."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from steelyard.lab.run.budget import Spending, cost, uncounted
from steelyard.lab.run.planner import Plan
from steelyard.lab.run.prices import price_of
from steelyard.lab.run.record import Record
from steelyard.lab.run.spending import AuthoringCost, money
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
    latencies = sorted(stored.reply.latency_ms for _, stored in measured)
    prices = {one.name: price_of(one) for judge in plan.study.judges for one in judge.asked}
    coverage = record.coverage(plan.trials)
    spending = Spending(
        sum(cost(prices[t.judge.name], t, stored.reply) for t, stored in measured),
        sum(uncounted(prices[t.judge.name], stored.reply) for t, stored in measured),
    )
    return {
        "started": _clock(times[0]) if times else None,
        "finished": _clock(times[-1]) if times and not coverage.headline.partial else None,
        **coverage.to_json(),
        "latency_ms": {"p50": quantile(latencies, 0.5), "p95": quantile(latencies, 0.95)},
        "calls": len(measured),
        **_tokens([stored.reply.usage for _, stored in measured], spending.uncounted),
        **money(spending, priced=all(prices[t.judge.name] is not None for t, _ in measured)),
        **_refused(measured),
        **_authoring_facts(record.authoring),
    }


def _tokens(used: list[Usage], uncounted: int) -> dict[str, int | None]:
    """Tokens in and out; null where they were paid for and no server counted any."""
    tokens = {
        "input_tokens": sum(usage.input_tokens for usage in used),
        "output_tokens": sum(usage.output_tokens for usage in used),
    }
    unknown = bool(used) and uncounted == len(used)
    return {name: count or None if unknown else count for name, count in tokens.items()}


def _refused(measured: list[tuple[Trial, StoredReply]]) -> dict[str, Any]:
    """Calls by judge and by the sampling field that its server would not take; nothing where all were."""
    refused: dict[str, Counter[str]] = {}
    for trial, stored in measured:
        for name in REFUSABLE:
            if name in stored.reply.effective and stored.reply.effective[name] is None:
                refused.setdefault(trial.judge.name, Counter())[name] += 1
    return {"refused": {judge: dict(fields) for judge, fields in refused.items()}} if refused else {}


def _authoring_facts(cost: AuthoringCost) -> dict[str, Any]:
    """What writing and confirming stimuli took; nothing where nothing was written."""
    return {"authoring": cost.to_json()} if cost.calls else {}


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def quantile(ordered: list[float], share: float) -> float | None:
    """The value below which this share of sorted values lies; None without any."""
    return round(ordered[int(share * (len(ordered) - 1))], 3) if ordered else None
