"""Verdicts of a run folder with the signals that its calls hold: repeats, orders, jury, stated, token."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steelyard.errors import ConfigError, DataError
from steelyard.run_folder.run_folder import LINES, RunFolder
from steelyard.stimuli.natural import NATURAL
from steelyard.stimuli.original import ORIGINAL
from steelyard.tasks.sources.read import read_table
from steelyard.trust.reply_signals import PERCENT, STATED, TOKEN, CallKey, reply_signals
from steelyard.trust.verdict_table import JudgeVerdicts, Signal, VerdictTable

REPEATS, ORDERS, JURY = "repeats", "orders", "jury"
KINDS = (REPEATS, ORDERS, JURY, STATED, PERCENT, TOKEN)


class Call(NamedTuple):
    answer: str | None
    order: str = ""
    """Of a pair `uv` or `vu`."""
    replicate: int = 0
    stimulus: str = ""


def read_run(
    folder: Path, judges: Sequence[str], signals: Mapping[str, Sequence[str]] | None
) -> VerdictTable:
    """Verdicts on items as they are, under the base protocol; of `signals` None, all that the run holds."""
    RunFolder(folder).check_format()
    if not (folder / LINES).exists():
        raise ConfigError(
            f"{folder}: no {LINES} found, expected a run folder or a table; run `steelyard report` on the "
            "folder, or name a file."
        )
    calls: dict[str, defaultdict[str, list[Call]]] = {}
    labels: dict[str, str | None] = {}
    tasks: dict[str, str] = {}
    for record in read_table(folder / LINES).records:
        row = record.values
        if row["kind"] not in (ORIGINAL, NATURAL) or row["baseline"] or row["protocol"] != "base":
            continue
        item = str(row["item"])
        labels[item] = labels.get(item) or (None if row["label"] is None else str(row["label"]))
        tasks[item] = str(row["task"])
        calls.setdefault(str(row["judge"]), defaultdict(list))[item].append(_call(row))
    named = list(judges) or list(calls)
    for judge in named:
        if judge not in calls:
            raise ConfigError(
                f"{folder}: no verdicts of judge {judge!r} on items as they are, expected one of "
                f"{', '.join(calls) or 'none'}; correct --judge, or measure data of your own."
            )
    if not named:
        raise DataError(
            f"{folder}: no verdicts on items as they are, expected a run with data of your own; name another "
            "folder."
        )
    items = list(labels)
    made = {}
    for judge in named:
        wanted = None if signals is None else signals[judge]
        made[judge] = _judge(folder, judge, items, calls, wanted)
    return VerdictTable(
        str(folder),
        tuple(items),
        tuple(tasks[item] for item in items),
        tuple(labels[item] for item in items),
        made,
        [{"item": item, "task": tasks[item]} for item in items],
    )


def _call(row: Mapping[str, Any]) -> Call:
    """Of a pair the content that won, so that both orders are compared; of a single text its score."""
    verdict = str(row["verdict"])
    if row["order"] is not None:
        answer = row["winner"] or ("tie" if verdict in ("tie", "abstain") else None)
    else:
        answer = verdict if verdict.lstrip("-").isdigit() else None
    return Call(answer, str(row["order"] or ""), int(row["replicate"] or 0), str(row["id"]))


def plurality(answers: Iterable[str | None]) -> tuple[str | None, float]:
    """The most frequent answer and its share of all calls; none where two are as frequent, or none is."""
    every = list(answers)
    ranked = Counter(answer for answer in every if answer is not None).most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None, 0.0
    return ranked[0][0], ranked[0][1] / len(every)


def _judge(
    folder: Path,
    judge: str,
    items: Sequence[str],
    calls: Mapping[str, Mapping[str, list[Call]]],
    wanted: Sequence[str] | None,
) -> JudgeVerdicts:
    mine = [calls[judge].get(item, []) for item in items]
    voted = [plurality(call.answer for call in each) for each in mine]
    answers = tuple(answer for answer, _ in voted)
    most = max(map(len, mine), default=0)
    both = any({call.order for call in each} == {"uv", "vu"} for each in mine)
    others = [name for name in calls if name != judge]
    signals: dict[str, Signal] = {}
    if most > (2 if both else 1):
        signals[REPEATS] = _signal(
            REPEATS, [share if each else None for (_, share), each in zip(voted, mine, strict=True)], most
        )
    if both:
        signals[ORDERS] = _signal(ORDERS, [same_winner(each) for each in mine], most)
    if others:
        jury = [
            _agreement(answer, [plurality(c.answer for c in calls[name].get(item, []))[0] for name in others])
            for item, answer in zip(items, answers, strict=True)
        ]
        signals[JURY] = _signal(JURY, jury, sum(max(map(len, each.values())) for each in calls.values()))
    if wanted is None or {STATED, TOKEN} & set(wanted):
        found = reply_signals(folder, judge)
        for kind in (STATED, PERCENT, TOKEN):
            values = [_mean(found[kind], each) for each in mine]
            if any(value is not None for value in values):
                name = TOKEN if kind == TOKEN else STATED
                signals[name] = replace(_signal(kind, values, most), name=name)
    asked = np.array([bool(each) for each in mine], dtype=np.bool_)
    return JudgeVerdicts(answers, asked, _wanted(folder, judge, signals, wanted))


def _wanted(
    folder: Path, judge: str, known: dict[str, Signal], wanted: Sequence[str] | None
) -> dict[str, Signal]:
    absent = [name for name in wanted or () if name not in known]
    if absent or not known:
        lacking = absent[0] if absent else "of any kind"
        raise DataError(
            f"{folder}: no signal {lacking} of judge {judge!r}, expected one of {', '.join(known) or 'none'} "
            f"that its calls hold; {_HOW.get(lacking, 'repeat calls with --replicates 3')}, or name another "
            "with --signal."
        )
    return known if wanted is None else {name: known[name] for name in wanted}


_HOW = {
    REPEATS: "repeat calls with --replicates 3",
    ORDERS: "measure pairs, which are shown in both orders",
    JURY: "measure several judges in one run",
    STATED: "use a prompt that asks for a confidence",
    TOKEN: "use the reader logprob",
}


def _signal(kind: str, values: Sequence[float | None], calls: int) -> Signal:
    numbers = [float("nan") if value is None else value for value in values]
    return Signal(kind, np.array(numbers, dtype=np.float64), kind, calls)


def same_winner(calls: Sequence[Call]) -> float | None:
    """Share of orders that give the common answer: 1 or a half; none where an order is missing."""
    winners = [plurality(call.answer for call in calls if call.order == order)[0] for order in ("uv", "vu")]
    return None if None in winners else 1.0 if winners[0] == winners[1] else 0.5


def _agreement(answer: str | None, others: Sequence[str | None]) -> float | None:
    return None if answer is None else (1 + sum(other == answer for other in others)) / (1 + len(others))


def _mean(found: Mapping[CallKey, float], calls: Sequence[Call]) -> float | None:
    known = [found[key] for call in calls if (key := (call.stimulus, call.order, call.replicate)) in found]
    return float(np.mean(known)) if known else None
