"""`steelyard.trusted`: a judge in production that answers where it is sure, and escalates where it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.commands.remedied import Answer, RemediedJudge
from steelyard.core.threads import lasting_loop
from steelyard.errors import CallError, CertificateError, ConfigError, UnreadableError, UsageError
from steelyard.trust.run_verdicts import PERCENT, RECORDED
from steelyard.trust.trust_file import NO_ANSWER, NO_SIGNAL, TrustedStage, TrustFile, read_trust
from steelyard.trust.verdict_table import OWN, AnswerWords
from steelyard.verdicts.call_answers import JURY, ORDERS_AGREE, REPEATS, CallAnswer, ItemAnswer


@dataclass(frozen=True)
class Escalate:
    """No answer to accept: a person is to answer."""

    reason: str
    answer: Any = None
    """What the last judge said, for the person to see; None where it gave no answer."""
    signal: float | None = None


@dataclass(frozen=True)
class AskedJudge:
    judge: RemediedJudge
    function: Callable[..., Any] | None = None
    """The function that it calls, which may return an answer with its signal."""


class TrustedJudge:
    """Call it as the judge itself; it returns an answer, or `Escalate` with the reason."""

    def __init__(self, path: Path, judges: AskedJudge | Mapping[str, AskedJudge]) -> None:
        self._path, self._trust = path, read_trust(path)
        self._trust.require_valid(str(path), datetime.now(UTC))
        self._words = AnswerWords(self._trust.values, self._trust.scale)
        self._stages = [(stage, _judges_of(self._trust, stage, judges, path)) for stage in self._trust.used]

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
            why = self._trust.why_not(stage, self._words.spell(answer), signal)
            if why is None:
                return answer  # type: ignore[no-any-return]
            last = Escalate(why, answer, None if why == NO_SIGNAL else signal)
        return last


def _judges_of(
    trust: TrustFile, stage: TrustedStage, judges: AskedJudge | Mapping[str, AskedJudge], path: Path
) -> list[AskedJudge]:
    """The judge of a stage, and those whose agreement is its signal."""
    known = judges if isinstance(judges, Mapping) else dict.fromkeys([stage.judge], judges)
    for each in stage.judges:
        if each.judge not in known:
            raise ConfigError(
                f"{path}: asks judge {each.judge!r}, found {', '.join(known) or 'none'}; give it as in "
                f'trusted({{"{each.judge}": judge}}, …).'
            )
        asked = known[each.judge].judge
        trust.require_judge(each, asked.judge.fingerprint("base"), str(path))
        trust.require_scale(asked.scale, str(path))
        trust.require_question(asked.question, str(path))
    kind = stage.signal.kind
    if kind == RECORDED or (kind == OWN and known[stage.judge].function is None):
        raise ConfigError(
            f"{path}: judge {stage.judge!r} is trusted by {stage.signal.name!r}, a column that only its "
            "function may return; give the function, or fit a signal of its calls."
        )
    return [known[each.judge] for each in stage.judges]


class _NoAnswerError(Exception):
    """Why a judge came to none."""


def _asked(
    stage: TrustedStage, judges: list[AskedJudge], given: tuple[Any, ...], fields: dict[str, Any]
) -> tuple[Any, float | None]:
    """The answer and its signal, as they were made in the run or table that the threshold was fitted on."""
    kind, function = stage.signal.kind, judges[0].function
    if kind == OWN and function is not None:
        return _with_signal(function, given, fields)
    item, spoken = _item_answer(judges[0].judge, stage.signal.own_calls, given, fields)
    if item.answer is None:
        return None, None
    if kind == JURY:
        members = zip(judges[1:], stage.signal.jury, strict=True)
        signal = item.jury(
            [_item_answer(each.judge, member.calls, given, fields)[0] for each, member in members]
        )
    elif kind in (REPEATS, ORDERS_AGREE):
        signal = item.repeats if kind == REPEATS else item.orders
    else:
        signal = item.confidence
        signal = signal / 100 if signal is not None and kind == PERCENT else signal
    return spoken[item.answer], signal


_TURNED = {"1": "2", "2": "1"}
"""Slots of a pair that was shown in the other order."""


def _item_answer(
    judge: RemediedJudge, count: int, given: tuple[Any, ...], fields: dict[str, Any]
) -> tuple[ItemAnswer, dict[str, Answer]]:
    """All calls on one item, and its answers as the judge spells them."""
    pair, calls = len(given) == 3, []
    spoken: dict[str, Answer] = {}
    for number in range(count):
        turned = pair and number % 2 == 1
        texts = (given[0], given[2], given[1]) if turned else given
        asking = judge.reply(*texts, replicate=number // 2 if pair else number, **fields)
        order = ("vu" if turned else "uv") if pair else ""
        try:
            reply = asyncio.run_coroutine_threadsafe(asking, lasting_loop()).result()
            said = judge.answer_of(reply)
        except (UnreadableError, CallError):
            calls.append(CallAnswer(None, order))
            continue
        content = _TURNED.get(str(said), said) if turned else said
        spoken[str(content)] = content
        sure = None if reply.confidence is None else reply.confidence.value
        calls.append(CallAnswer(str(content), order, sure))
    return ItemAnswer(calls, ""), spoken


def _with_signal(
    function: Callable[..., Any], given: tuple[Any, ...], fields: dict[str, Any]
) -> tuple[Any, float | None]:
    try:
        said = function(*given, **fields)
    except Exception as error:  # of a function of the user's: people answer, and read why
        raise _NoAnswerError(f"the judge raised {type(error).__name__}: {error}") from error
    if said is None:
        return None, None
    if not isinstance(said, tuple) or len(said) != 2 or not isinstance(said[1], (int, float, type(None))):
        raise UsageError(
            f"trusted: the judge returned {said!r:.60}, expected a pair of its answer and its signal, as in "
            "('1', 0.93); return both."
        )
    return said[0], None if said[1] is None else float(said[1])
