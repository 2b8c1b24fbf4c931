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
from steelyard.errors import (
    CallError,
    CertificateError,
    ConfigError,
    SteelyardError,
    UnreadableError,
    UsageError,
)
from steelyard.trust.apply import NO_ANSWER, NO_SIGNAL, UNSURE
from steelyard.trust.run_verdicts import PERCENT
from steelyard.trust.trust_file import JuryMember, TrustedStage, TrustFile, read_trust
from steelyard.trust.verdict_table import OWN
from steelyard.verdicts.call_answers import JURY, ORDERS_AGREE, REPEATS, CallAnswer, ItemAnswer
from steelyard.verdicts.confidence import STATED, TOKEN


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
        self._stages = [(stage, _judges_of(self._trust, stage, judges, path)) for stage in stages]

    @property
    def trust(self) -> TrustFile:
        return self._trust

    def __call__(self, *given: Any, **fields: Any) -> Answer | Escalate:
        try:
            self._trust.require_valid(str(self._path), datetime.now(UTC))
        except CertificateError as error:
            return Escalate(str(error))
        last = Escalate(NO_ANSWER)
        for stage, asked in self._stages:
            try:
                answer, signal = _asked(stage, asked, given, fields)
            except _NoAnswerError as error:
                last = Escalate(str(error))
                continue
            if answer is None:
                continue
            if signal is None or isnan(signal):
                last = Escalate(NO_SIGNAL, answer)
            elif stage.threshold is not None and signal >= stage.threshold:
                return answer  # type: ignore[no-any-return]
            else:
                last = Escalate(UNSURE, answer, signal)
        return last


def _judges_of(
    trust: TrustFile,
    stage: TrustedStage,
    judges: AskedJudge | Mapping[str, AskedJudge],
    path: Path,
) -> list[AskedJudge]:
    """The judge of a stage, and those whose agreement is its signal."""
    known = judges if isinstance(judges, Mapping) else dict.fromkeys([stage.judge], judges)
    needed: list[TrustedStage | JuryMember] = [stage, *stage.signal.jury]
    for each in needed:
        if each.judge not in known:
            raise ConfigError(
                f"{path}: asks judge {each.judge!r}, found {', '.join(known) or 'none'}; give it as in "
                f'trusted({{"{each.judge}": judge}}, …).'
            )
        trust.require_judge(each, known[each.judge].fingerprint, str(path))
    is_remedied = isinstance(known[stage.judge].ask, RemediedJudge)
    kinds = (REPEATS, ORDERS_AGREE, JURY, *((STATED, PERCENT, TOKEN) if is_remedied else (OWN,)))
    if stage.signal.kind not in kinds:
        raise ConfigError(
            f"{path}: judge {stage.judge!r} is trusted by its signal {stage.signal.kind!r}, expected one of "
            f"{', '.join(kinds)} for this kind of judge; fit another --signal."
        )
    return [known[each.judge] for each in needed]


class _NoAnswerError(Exception):
    """Why a judge came to none."""


def _asked(
    stage: TrustedStage, judges: list[AskedJudge], given: tuple[Any, ...], fields: dict[str, Any]
) -> tuple[Any, float | None]:
    """The answer and its signal, as they were made in the run or table that the threshold was fitted on."""
    judge, kind = judges[0].ask, stage.signal.kind
    if kind == OWN:
        return _with_signal(judge, given, fields)
    item, spoken = _item_answer(judge, stage.signal.own_calls, given, fields)
    if item.answer is None:
        return None, None
    if kind == JURY:
        members = zip(judges[1:], stage.signal.jury, strict=True)
        others = [_item_answer(each.ask, member.calls, given, fields)[0] for each, member in members]
        signal = item.jury(others)
    elif kind in (REPEATS, ORDERS_AGREE):
        signal = item.repeats if kind == REPEATS else item.orders
    else:
        signal = item.confidence
        signal = signal / 100 if signal is not None and kind == PERCENT else signal
    return spoken[item.answer], signal


def _item_answer(
    judge: RemediedJudge | Callable[..., Any], count: int, given: tuple[Any, ...], fields: dict[str, Any]
) -> tuple[ItemAnswer, dict[str, Any]]:
    """All calls on one item, and its answers as the judge spells them; raises where no call ended in one."""
    pair, calls = len(given) == 3, []
    spoken: dict[str, Any] = {}
    why: _NoAnswerError | None = None
    for number in range(count):
        turned = pair and number % 2 == 1
        texts = (given[0], given[2], given[1]) if turned else given
        try:
            said, sure = _one_call(judge, texts, fields, number // 2 if pair else number)
        except _NoAnswerError as error:
            said, sure, why = None, None, error
        content = _TURNED.get(str(said), said) if turned else said
        if content is not None:
            spoken.setdefault(str(content), content)
        order = ("vu" if turned else "uv") if pair else ""
        calls.append(CallAnswer(None if content is None else str(content), order, sure))
    if not spoken and why is not None:
        raise why
    return ItemAnswer(calls, ""), spoken


_TURNED = {"1": "2", "2": "1"}
"""Slots of a pair that was shown in the other order."""


def _one_call(
    judge: RemediedJudge | Callable[..., Any], given: tuple[Any, ...], fields: dict[str, Any], replicate: int
) -> tuple[Any, float | None]:
    """The answer and how sure the judge was."""
    try:
        if not isinstance(judge, RemediedJudge):
            return judge(*given, **fields), None
        asking = judge.reply(*given, replicate=replicate, **fields)
        reply = asyncio.run_coroutine_threadsafe(asking, lasting_loop()).result()
        return judge.answer_of(reply), None if reply.confidence is None else reply.confidence.value
    except (UnreadableError, CallError) as error:
        raise _NoAnswerError(NO_ANSWER) from error
    except SteelyardError:
        raise
    except Exception as error:  # of a function of the user's: people answer, and read why
        raise _NoAnswerError(f"the judge raised {type(error).__name__}: {error}") from error


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
