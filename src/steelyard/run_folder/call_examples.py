"""Calls of a run folder as examples: observations with raw replies, and those behind flagged readings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from steelyard.core.arrays import Mask, distinct
from steelyard.core.registry import Spec
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.examples.example import Example, ExampleCall, ExampleText, truncate
from steelyard.datasheet.examples.explain import explain
from steelyard.datasheet.examples.selection import FAILED, UNREADABLE, CallGroup, ExampleSelector
from steelyard.datasheet.findings.findings import examples_behind
from steelyard.datasheet.words import titles
from steelyard.metrics.faults import Faults
from steelyard.metrics.findings import FLAGGED
from steelyard.runner.planner import Plan
from steelyard.runner.record import RunRecord
from steelyard.stimuli.expectation import label_word
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.call_answers import answer_word, reason_of
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Failed, Unreadable

CALLS = 6
"""Calls of one stimulus that an exhibit shows."""


@dataclass(frozen=True)
class Raw:
    """What lies behind a verdict; nothing of it is known of a verdict that was recorded elsewhere."""

    reply: str | None = None
    """The reply as it came."""
    attempts: int | None = None
    """How often the call was made."""
    message: str | None = None
    """What the server or the network said to a call that failed."""
    reader: str | None = None
    """How the reply was read."""


Place = tuple[str, str]
"""Name of a stimulus, and a protocol."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Every call of a folder, whoever made it."""

    observations: Observations
    """What was read."""
    seed: int
    """Seed of the study: chance that chooses exhibits comes from it."""
    baselines: Collection[str] = ()
    """Judges that stand beside those under test."""
    probes: Mapping[str, Collection[Place]] = field(default_factory=dict)
    """Probe to what it shows, stimuli that it shares with others included."""
    raw: Callable[[Observation], Raw] = lambda _: Raw()
    """What lies behind an observation."""

    @classmethod
    def of_run(cls, plan: Plan, record: RunRecord) -> Evidence:
        """The evidence of a run folder."""
        probes: dict[str, set[Place]] = {spec.name: set() for spec in plan.study.probes}
        questions = plan.trials.questions
        shown = np.unique(plan.use * len(questions) + plan.trials.question)
        for use, question in (divmod(code, len(questions)) for code in shown.tolist()):
            for probe in plan.uses[use]:
                place = questions[question].stimulus.id, questions[question].protocol
                probes.setdefault(probe, set()).add(place)
        baselines = {judge.name for judge in plan.study.judges if judge.baseline}
        observations = record.observations(plan.trials)
        return cls(observations, plan.study.seed, baselines, probes, _Replies(plan, record).raw)

    @classmethod
    def recorded(cls, observations: Observations, seed: int, baselines: Collection[str] = ()) -> Evidence:
        """The evidence of an import: verdicts without texts and replies."""
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
        return np.array(shared, dtype=np.bool_).reshape(-1, len(calls.protocols))[
            calls.stimulus, calls.protocol
        ]

    def exhibit(self, case: CallGroup, reading: str = "") -> Example:
        """The case with its texts and raw replies."""
        stimulus, call = case.stimulus, case.calls[0]
        unchanged = telling(case.unchanged, CALLS // 2)
        calls = telling(case.calls, CALLS - len(unchanged))
        texts = [case.unchanged[0].stimulus] if case.unchanged else []
        return Example(
            judge=call.judge,
            protocol=call.protocol,
            probe=stimulus.probe,
            outcome=case.outcome,
            why=explain(case),
            reader=self.raw(call).reader,
            shown=tuple(_text(each) for each in [*texts, stimulus]),
            calls=tuple(self._call(each) for each in [*unchanged, *calls]),
            left_out=len(case.unchanged) + len(case.calls) - len(unchanged) - len(calls),
            reading=reading,
        )

    def _call(self, call: Observation) -> ExampleCall:
        raw, paired = self.raw(call), len(call.stimulus.texts) == 2
        return ExampleCall(
            id=call.stimulus.id,
            order=call.order if paired else None,
            replicate=call.replicate,
            reply=raw.reply,
            verdict=answer_word(call.verdict),
            winner=call.winner if paired else None,
            reason=reason_of(call.verdict),
            attempts=raw.attempts if raw.reply is None else None,
            message=raw.message,
        )


def telling(calls: Sequence[Observation], limit: int) -> list[Observation]:
    """At most so many calls, in their order, every order and answer among them as far as there is room."""
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
        label=label_word(stimulus.expectation),
        request=stimulus.request if known else None,
        texts=stimulus.texts if known else None,
    )


@dataclass(frozen=True, eq=False)
class _Replies:
    """The replies of a run, by observation."""

    plan: Plan
    record: RunRecord

    def raw(self, call: Observation) -> Raw:
        """What lies behind it."""
        place = call.judge, call.protocol, call.stimulus.id, call.order
        row = self.plan.trials.find(place, call.replicate)
        assert row is not None, place
        trial = self.plan.trials[row]
        if trial.members:
            return self._common(trial)
        reader = reader_words(trial.judge.protocols[trial.protocol].reader)
        stored = self.record.replies([trial]).get(trial.key)
        if stored is not None:
            return Raw(reply_words(stored.reply), stored.attempts, reader=reader)
        failure = self.record.store.failures([trial.key]).get(trial.key)
        return Raw(reader=reader) if failure is None else Raw(None, failure.attempts, failure.message, reader)

    def _common(self, trial: Trial) -> Raw:
        """What the members of a judge that is made of others replied, one after the other."""
        replies = self.record.replies(trial.calls)
        heard = [(call, reply_words(replies[call.key].reply)) for call in trial.calls if call.key in replies]
        lines = [
            f"{call.judge.name}, {call.order}, repeat {call.replicate}: {words}" for call, words in heard
        ]
        failures = self.record.store.failures([call.key for call in trial.calls])
        lost = [failures[call.key].message for call in trial.calls if call.key in failures]
        rule = trial.judge.composition.rule if trial.judge.composition else ""
        return Raw("\n".join(lines) or None, message=lost[0] if lost else None, reader=f"{rule} of members")


def reader_words(reader: Spec) -> str:
    """The reader with its settings: `json`, `regex (pattern: …)`."""
    settings = ", ".join(f"{name}: {value}" for name, value in sorted(reader.args.items()))
    return f"{reader.name} ({settings})" if settings else reader.name


def reply_words(reply: Reply) -> str:
    """The text of a reply, and what came beside it that a reader may have read."""
    parts = [reply.text] if reply.text else []
    if reply.scores is not None:
        parts.append(f"scores: {', '.join(f'{score:g}' for score in reply.scores)}")
    if reply.logprobs:
        likely = sorted(reply.logprobs.items(), key=lambda each: -each[1])[:5]
        parts.append("log-probabilities: " + ", ".join(f"{token!r} {value:.3f}" for token, value in likely))
    if reply.finish != "stop":
        parts.append(f"[finish: {reply.finish}]")
    return "\n".join(parts)


PER_READING = 3
"""Exhibits behind a flagged reading."""
MANY = 24
"""Flagged readings of a datasheet from which on each has one exhibit."""


def with_exhibits(datasheet: Datasheet, evidence: Evidence) -> Datasheet:
    """The datasheet with the calls behind it; what can not be shown is a fault, and the figures stand."""
    faults = Faults()
    exhibits: list[Example] = []
    for judge in datasheet.judges:
        if not judge.baseline:
            make = partial(_of_judge, datasheet, evidence, judge.name)
            exhibits += faults.guarded(judge.name, "exhibits", make, lambda _: [])
    return replace(datasheet, exhibits=tuple(exhibits), faults=(*datasheet.faults, *faults.found))


def _of_judge(datasheet: Datasheet, evidence: Evidence, judge: str) -> list[Example]:
    cases = ExampleSelector(evidence.observations.of_judge(judge))
    shown = (*_flagged(datasheet, evidence, judge, cases), *_lost(evidence, cases))
    return [truncate(exhibit) for exhibit in shown]


def _flagged(
    datasheet: Datasheet, evidence: Evidence, judge: str, cases: ExampleSelector
) -> Iterator[Example]:
    flagged = [reading for reading in datasheet.findings if reading.status == FLAGGED]
    limit = PER_READING if len(flagged) <= MANY else 1
    estimates = datasheet.look_up.of_judge(judge)
    for reading in flagged:
        if reading.judge == judge:
            for case in examples_behind(reading, cases, estimates, limit, evidence.seed):
                yield evidence.exhibit(case, reading.title)


def _lost(evidence: Evidence, cases: ExampleSelector) -> Iterator[Example]:
    """For each reason why a call has no verdict, one that ended so."""
    calls = cases.observations
    for outcome, kind in ((UNREADABLE, Unreadable), (FAILED, Failed)):
        for number in distinct(calls.verdict[calls.ended(kind)]).tolist():
            (case,) = cases.choose(outcome, 1, evidence.seed, calls.verdict == number)
            lost = [call for call in case.calls if call.verdict == calls.verdicts[number]]
            yield evidence.exhibit(replace(case, calls=tuple(lost[:1])), titles.FAILURES)
