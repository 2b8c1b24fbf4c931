"""`steelyard.trusted`: a judge in production that answers where it is sure, and escalates where it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

from steelyard.commands.remedied import Answer, RemediedJudge
from steelyard.core.threads import lasting_loop
from steelyard.errors import CallError, CertificateError, ConfigError, UnreadableError, UsageError
from steelyard.trust.apply import NO_ANSWER, NO_SIGNAL, UNSURE
from steelyard.trust.reply_signals import PERCENT, STATED, stated_confidence
from steelyard.trust.run_verdicts import ORDERS, REPEATS, Call, plurality, same_winner
from steelyard.trust.trust_file import TrustedStage, TrustFile, read_trust
from steelyard.trust.verdict_table import OWN


@dataclass(frozen=True)
class Escalate:
    """No answer to accept: a person is to answer."""

    reason: str
    answer: Any = None
    """What the last judge said, for the person to see; None where it gave no answer."""
    signal: float | None = None


@dataclass(frozen=True)
class AskedJudge:
    """A judge that can be asked, with the fingerprint that a threshold must be fitted for."""

    ask: RemediedJudge | Callable[..., Any]
    fingerprint: str


class TrustedJudge:
    """Call it as the judge itself; it returns an answer, or `Escalate` with the reason."""

    def __init__(self, path: Path, judges: AskedJudge | Mapping[str, AskedJudge]) -> None:
        self._path, self._trust = path, read_trust(path)
        self._trust.require_valid(str(path), datetime.now(UTC))
        stages = [stage for stage in self._trust.stages if stage.threshold is not None]
        self._stages = [(stage, _judge_of(self._trust, stage, judges, path)) for stage in stages]

    @property
    def trust(self) -> TrustFile:
        return self._trust

    def __call__(self, *given: Any, **fields: Any) -> Answer | Escalate:
        try:
            self._trust.require_valid(str(self._path), datetime.now(UTC))
        except CertificateError as error:
            return Escalate(str(error))
        last = Escalate(NO_ANSWER)
        for stage, judge in self._stages:
            answer, signal = _asked(stage, judge, given, fields)
            if answer is None:
                continue
            if signal is None or isnan(signal):
                last = Escalate(NO_SIGNAL, answer)
            elif stage.threshold is not None and signal >= stage.threshold:
                return answer  # type: ignore[no-any-return]
            else:
                last = Escalate(UNSURE, answer, signal)
        return last


def _judge_of(
    trust: TrustFile,
    stage: TrustedStage,
    judges: AskedJudge | Mapping[str, AskedJudge],
    path: Path,
) -> AskedJudge:
    known = judges if isinstance(judges, Mapping) else dict.fromkeys([stage.judge], judges)
    if stage.judge not in known:
        raise ConfigError(
            f"{path}: asks judge {stage.judge!r}, found {', '.join(known) or 'none'}; give it as in "
            f'trusted({{"{stage.judge}": judge}}, …).'
        )
    trust.require_judge(stage, known[stage.judge].fingerprint, str(path))
    kinds = (REPEATS, ORDERS, STATED, PERCENT) if isinstance(known[stage.judge].ask, RemediedJudge) else None
    if stage.signal.kind not in (kinds or (REPEATS, ORDERS, OWN)):
        raise ConfigError(
            f"{path}: judge {stage.judge!r} is trusted by its signal {stage.signal.kind!r}, expected one of "
            f"{', '.join(kinds or (REPEATS, ORDERS, OWN))} for this kind of judge; fit another --signal."
        )
    return known[stage.judge]


def _asked(
    stage: TrustedStage, judge: AskedJudge, given: tuple[Any, ...], fields: dict[str, Any]
) -> tuple[Any, float | None]:
    """The answer and its signal, as they were made in the run or table that the threshold was fitted on."""
    if stage.signal.kind == OWN:
        return _with_signal(judge.ask, given, fields)
    pair, calls = len(given) == 3, []
    spoken: dict[str, Any] = {}
    stated: list[float] = []
    for number in range(stage.signal.calls or 1):
        turned = pair and number % 2 == 1
        texts = (given[0], given[2], given[1]) if turned else given
        said, words = _one_call(judge.ask, texts, fields, number // 2 if pair else number)
        content = _TURNED.get(str(said), said) if turned else said
        if content is not None:
            spoken.setdefault(str(content), content)
        order = ("vu" if turned else "uv") if pair else ""
        calls.append(Call(None if content is None else str(content), order, number))
        if (confidence := stated_confidence(words or "")) is not None:
            stated.append(confidence / (100 if stage.signal.kind == PERCENT else 1))
    voted, share = plurality(call.answer for call in calls)
    answer = None if voted is None else spoken[voted]
    if stage.signal.kind == ORDERS:
        return answer, same_winner(calls)
    if stage.signal.kind == REPEATS:
        return answer, share
    return answer, sum(stated) / len(stated) if stated else None


_TURNED = {"1": "2", "2": "1"}
"""Slots of a pair that was shown in the other order."""


def _one_call(
    judge: RemediedJudge | Callable[..., Any], given: tuple[Any, ...], fields: dict[str, Any], replicate: int
) -> tuple[Any, str | None]:
    """The answer and the words of the reply; no answer where the judge came to none."""
    try:
        if not isinstance(judge, RemediedJudge):
            return judge(*given, **fields), None
        asking = judge.reply(*given, replicate=replicate, **fields)
        reply = asyncio.run_coroutine_threadsafe(asking, lasting_loop()).result()
        return judge.answer_of(reply), reply.words
    except (UnreadableError, CallError):
        return None, None


def _with_signal(
    judge: Callable[..., Any], given: tuple[Any, ...], fields: dict[str, Any]
) -> tuple[Any, float | None]:
    said, _ = _one_call(judge, given, fields, 0)
    if said is None:
        return None, None
    if not isinstance(said, tuple) or len(said) != 2 or not isinstance(said[1], (int, float, type(None))):
        raise UsageError(
            f"trusted: the judge returned {said!r:.60}, expected a pair of its answer and its signal, as in "
            "('1', 0.93); return both."
        )
    return said[0], None if said[1] is None else float(said[1])
