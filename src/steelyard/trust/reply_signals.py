"""Signals in the replies of a run: a stated confidence, and the probability of the answer's token."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TypeAlias

from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.tasks.scale import Scale
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.answers import find_answers
from steelyard.verdicts.readers import READERS, LogprobReader, without_reasoning

STATED, PERCENT, TOKEN = "stated", "stated percent", "token"
"""A confidence that the reply states as a share or in percent, and the probability of the answer's token."""
FIELD = "confidence"
"""Field of a JSON reply that holds the stated confidence: a run with one above 1 states percent."""
CallKey: TypeAlias = tuple[str, str, int]
"""Stimulus, order of a pair or nothing, replicate."""


def reply_signals(folder: Path, judge: str) -> dict[str, dict[CallKey, float]]:
    """Signals of a judge's calls under the base protocol; an import has no replies, and none of them."""
    found: dict[str, dict[CallKey, float]] = {STATED: {}, PERCENT: {}, TOKEN: {}}
    run = RunFolder(folder)
    if not run.database.exists():
        return found
    plan = load_plan(run)
    trials = [trial for trial in plan.trials.take(plan.trials.of_judge(judge)) if trial.protocol == "base"]
    with run.store(read_only=True) as store:
        replies = store.replies([trial.key for trial in trials])
    for trial in trials:
        if trial.key in replies:
            _add(found, trial, replies[trial.key].reply)
    if any(value > 1 for value in found[STATED].values()):
        found[PERCENT] = {key: value / 100 for key, value in found.pop(STATED).items()}
        found[STATED] = {}
    return found


def _add(found: Mapping[str, dict[CallKey, float]], trial: Trial, reply: Reply) -> None:
    order = trial.order if len(trial.stimulus.texts) == 2 else ""
    key = trial.stimulus.id, order, trial.replicate
    stated = stated_confidence(reply.text)
    if stated is not None:
        found[STATED][key] = stated
    reader = READERS.build(trial.judge.protocols["base"].reader) if trial.judge.composition is None else None
    if isinstance(reader, LogprobReader):
        chance = token_probability(reader, reply, trial.effective_task.scale)
        if chance is not None:
            found[TOKEN][key] = chance


def stated_confidence(text: str) -> float | None:
    """The one number under `confidence`, from 0 to 100; None where there is none, or several."""
    values = set(map(_number, find_answers(without_reasoning(text), FIELD) or ()))
    return values.pop() if len(values) == 1 else None


def _number(value: object) -> float | None:
    text = value.strip().removesuffix("%") if isinstance(value, str) else value
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and 0 <= number <= 100 else None


def token_probability(reader: LogprobReader, reply: Reply, scale: Scale) -> float | None:
    """The answer's share of the probability that all answers hold together."""
    held = reader.probabilities(reply, scale)
    total = sum(held.values())
    return max(held.values()) / total if total else None
