"""The record of a call, for every printer: what was sent, what came back, how it was parsed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steelyard.core.registry import Spec
from steelyard.store.run_store import RunStore
from steelyard.store.trials import StoredCall
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.call_answers import answer_word, reason_of
from steelyard.verdicts.observations import Observation


class MemberCall(NamedTuple):
    name: str
    reply: str | None
    message: str | None


@dataclass(frozen=True)
class CallRecord:
    """One call; of a verdict that was recorded elsewhere only the observation is known."""

    observation: Observation
    reader: str | None = None
    stored: StoredCall | None = None
    """What the run file holds; None for a recorded call and for a composite judge."""
    members: Sequence[MemberCall] = ()

    @property
    def verdict(self) -> str:
        return answer_word(self.observation.verdict)

    @property
    def reason(self) -> str | None:
        return reason_of(self.observation.verdict)

    @property
    def reply(self) -> str | None:
        """The reply in words; of a composite judge the replies of its members."""
        if self.stored is not None:
            return _reply(self.stored)
        replies = [f"{member.name}: {member.reply}" for member in self.members if member.reply is not None]
        return "\n".join(replies) or None

    @property
    def attempts(self) -> int | None:
        if self.stored is None:
            return None
        last = self.stored.reply or (self.stored.failures[-1] if self.stored.failures else None)
        return None if last is None else last.attempts

    @property
    def message(self) -> str | None:
        """The error of a call without a reply; of a composite judge that of the first such member."""
        if self.stored is not None:
            return _message(self.stored)
        return next((member.message for member in self.members if member.message is not None), None)


def call_records(
    store: RunStore | None, calls: Iterable[tuple[Observation, Trial | None]]
) -> list[CallRecord]:
    """Records of observations and their trials, by one read of the run file; an import has neither."""
    pairs = list(calls)
    keys = [call.key for _, trial in pairs if trial is not None for call in trial.calls]
    stored = {} if store is None else store.calls(keys)
    return [_record(observation, trial, stored) for observation, trial in pairs]


def _record(observation: Observation, trial: Trial | None, stored: dict[str, StoredCall]) -> CallRecord:
    if trial is None:
        return CallRecord(observation)
    if trial.judge.composition is None:
        reader = reader_words(trial.judge.protocols[trial.protocol].reader)
        return CallRecord(observation, reader, stored.get(trial.key))
    members = []
    for call in trial.calls:
        kept = stored.get(call.key)
        reply, message = (None, None) if kept is None else (_reply(kept), _message(kept))
        members.append(
            MemberCall(f"{call.judge.name}, {call.order}, repeat {call.replicate}", reply, message)
        )
    return CallRecord(observation, f"{trial.judge.composition.rule} of members", members=members)


def _reply(stored: StoredCall) -> str | None:
    return None if stored.reply is None else reply_words(stored.reply.reply)


def _message(stored: StoredCall) -> str | None:
    return stored.failures[-1].message if stored.reply is None and stored.failures else None


def reader_words(reader: Spec) -> str:
    """The reader with its settings: `json`, `regex (pattern: …)`."""
    settings = ", ".join(f"{name}: {value}" for name, value in sorted(reader.args.items()))
    return f"{reader.name} ({settings})" if settings else reader.name


def reply_words(reply: Reply) -> str:
    """The text of a reply, and scores or log-probabilities that a reader may have used."""
    parts = [reply.text] if reply.text else []
    if reply.scores is not None:
        parts.append(f"scores: {', '.join(f'{score:g}' for score in reply.scores)}")
    if reply.logprobs:
        likely = sorted(reply.logprobs.items(), key=lambda each: -each[1])[:5]
        parts.append("log-probabilities: " + ", ".join(f"{token!r} {value:.3f}" for token, value in likely))
    if reply.finish != "stop":
        parts.append(f"[finish: {reply.finish}]")
    return "\n".join(parts)
