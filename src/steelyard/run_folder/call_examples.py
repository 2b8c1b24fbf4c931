"""Calls of a run folder: the record of each with its raw reply, and examples behind flagged findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from steelyard.core.arrays import Mask, distinct
from steelyard.core.registry import Spec
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.example import ExampleText, ExampleTrial, FindingExample, truncate
from steelyard.datasheet.example_selection import FAILED, UNREADABLE, CallGroup, ExampleSelector, explain
from steelyard.datasheet.questions.questions import examples_behind
from steelyard.datasheet.questions.run import FAILURES
from steelyard.metrics.faults import Faults
from steelyard.metrics.findings import FLAGGED
from steelyard.runner.record import RunRecord
from steelyard.stimuli.original import response_in_slot
from steelyard.stimuli.stimulus import Stimulus, reference_label
from steelyard.store.run_store import RunStore
from steelyard.store.trials import StoredCall
from steelyard.study.planner import Plan
from steelyard.trials.judge import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.call_answers import answer_word, reason_of
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Decided, Failed, Unreadable


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
    def response(self) -> int | None:
        """The response that a judge of several names, by its number in the item."""
        seen = self.observation
        if len(seen.stimulus.texts) < 3 or not isinstance(seen.verdict, Decided):
            return None
        return response_in_slot(seen.stimulus, seen.verdict.value)

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
    made = ((call, stored.get(call.key)) for call in trial.calls)
    members = [
        MemberCall(f"{call.judge.name}, {call.order}, repeat {call.replicate}", _reply(kept), _message(kept))
        for call, kept in made
    ]
    return CallRecord(observation, f"{trial.judge.composition.rule} of members", members=members)


def _reply(stored: StoredCall | None) -> str | None:
    return None if stored is None or stored.reply is None else reply_words(stored.reply.reply)


def _message(stored: StoredCall | None) -> str | None:
    return stored.failures[-1].message if stored and stored.reply is None and stored.failures else None


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


CALLS = 6
"""Calls of one stimulus that an example shows."""


Place = tuple[str, str]
"""Id of a stimulus, and a protocol."""


@dataclass(frozen=True, eq=False)
class RunCalls:
    observations: Observations
    seed: int
    """Seed of the study, which breaks ties between examples."""
    baselines: Collection[str] = ()
    probes: Mapping[str, Collection[Place]] = field(default_factory=dict)
    """Probe to its stimuli and protocols, stimuli that it shares with others included."""
    record: Callable[[Observation], CallRecord] = CallRecord

    @classmethod
    def of_run(cls, plan: Plan, record: RunRecord) -> RunCalls:
        probes: dict[str, set[Place]] = {spec.name: set() for spec in plan.study.probes}
        questions = plan.trials.questions
        shown = np.unique(plan.use * len(questions) + plan.trials.question)
        for use, question in (divmod(code, len(questions)) for code in shown.tolist()):
            for probe in plan.uses[use]:
                place = questions[question].stimulus.id, questions[question].protocol
                probes.setdefault(probe, set()).add(place)
        observations = record.observations(plan.trials)

        def call_record(call: Observation) -> CallRecord:
            place = call.judge, call.protocol, call.stimulus.id, call.order
            row = plan.trials.find(place, call.replicate)
            assert row is not None, place
            return call_records(record.store, [(call, plan.trials[row])])[0]

        return cls(observations, plan.study.seed, plan.study.baselines, probes, call_record)

    @classmethod
    def of_import(cls, observations: Observations, seed: int, baselines: Collection[str] = ()) -> RunCalls:
        return cls(observations, seed, baselines)

    def of_probe(self, probe: str, calls: Observations) -> Mask:
        """Which of these calls a probe shows: of its own stimuli, where it has none of those it shares."""
        own = calls.shown.probe == probe
        if own.any():
            return np.asarray(own[calls.stimulus])
        places = self.probes.get(probe, ())
        shared = [
            [(stimulus.id, protocol) in places for protocol in calls.protocols]
            for stimulus in calls.shown.stimuli
        ]
        by_protocol = np.array(shared, dtype=np.bool_).reshape(-1, len(calls.protocols))
        return by_protocol[calls.stimulus, calls.protocol]

    def example(self, group: CallGroup, reading: str = "") -> FindingExample:
        stimulus, call = group.stimulus, group.calls[0]
        unchanged = select_calls(group.unchanged, CALLS // 2)
        calls = select_calls(group.calls, CALLS - len(unchanged))
        texts = [group.unchanged[0].stimulus] if group.unchanged else []
        return FindingExample(
            judge=call.judge,
            protocol=call.protocol,
            probe=stimulus.probe,
            outcome=group.outcome,
            why=explain(group),
            reader=self.record(call).reader,
            shown=tuple(_text(each) for each in [*texts, stimulus]),
            calls=tuple(self._call(each) for each in [*unchanged, *calls]),
            left_out=len(group.unchanged) + len(group.calls) - len(unchanged) - len(calls),
            reading=reading,
        )

    def _call(self, call: Observation) -> ExampleTrial:
        record, is_pair = self.record(call), len(call.stimulus.texts) == 2
        return ExampleTrial(
            id=call.stimulus.id,
            order=call.order if is_pair else None,
            replicate=call.replicate,
            reply=record.reply,
            verdict=record.verdict,
            winner=call.winner if is_pair else None,
            reason=record.reason,
            attempts=record.attempts if record.reply is None else None,
            message=record.message,
        )


def select_calls(calls: Sequence[Observation], limit: int) -> list[Observation]:
    """At most so many calls, in their order, with as many different orders and answers as fit."""
    first: dict[tuple[str, str, str | None], Observation] = {}
    for call in calls:
        first.setdefault((call.order, answer_word(call.verdict), reason_of(call.verdict)), call)
    chosen = [*first.values(), *(call for call in calls if call not in first.values())][:limit]
    return [call for call in calls if call in chosen]


def _text(stimulus: Stimulus) -> ExampleText:
    known = stimulus.texts_known
    return ExampleText(
        id=stimulus.id,
        kind=stimulus.kind,
        edit=stimulus.lineage.edit,
        label=reference_label(stimulus.expectation),
        request=stimulus.request if known else None,
        texts=stimulus.texts if known else None,
    )


EXAMPLES_PER_READING = 3
MANY_READINGS = 24
"""Flagged readings of a datasheet above which each has one example."""


def with_examples(datasheet: Datasheet, run_calls: RunCalls) -> Datasheet:
    """The datasheet with examples of its calls; an error in them is a fault, and the figures stand."""
    faults = Faults()
    examples: list[FindingExample] = []
    for judge in datasheet.judges:
        if not judge.baseline:
            make = partial(_of_judge, datasheet, run_calls, judge.name)
            examples += faults.guarded(judge.name, "exhibits", make, lambda _: [])
    return replace(datasheet, exhibits=tuple(examples), faults=(*datasheet.faults, *faults.found))


def _of_judge(datasheet: Datasheet, run_calls: RunCalls, judge: str) -> list[FindingExample]:
    selector = ExampleSelector(run_calls.observations.of_judge(judge))
    flagged = [finding for finding in datasheet.findings if finding.status == FLAGGED]
    limit = EXAMPLES_PER_READING if len(flagged) <= MANY_READINGS else 1
    estimates = datasheet.look_up.of_judge(judge)
    examples = [
        run_calls.example(group, finding.title)
        for finding in flagged
        if finding.judge == judge
        for group in examples_behind(finding, selector, estimates, limit, run_calls.seed)
    ]
    return [truncate(example) for example in (*examples, *_failure_examples(run_calls, selector))]


def _failure_examples(run_calls: RunCalls, selector: ExampleSelector) -> Iterator[FindingExample]:
    calls = selector.observations
    for outcome, kind in ((UNREADABLE, Unreadable), (FAILED, Failed)):
        for number in distinct(calls.verdict[calls.ended(kind)]).tolist():
            (group,) = selector.choose(outcome, 1, run_calls.seed, calls.verdict == number)
            failed = [call for call in group.calls if call.verdict == calls.verdicts[number]]
            yield run_calls.example(replace(group, calls=tuple(failed[:1])), FAILURES.name)
