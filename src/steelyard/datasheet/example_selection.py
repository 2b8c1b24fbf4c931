"""Which calls to show as examples, by how they ended, most informative first, and why they count so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, widen
from steelyard.core.content_hash import rng_for, shuffled
from steelyard.core.text import plural, pluralize
from steelyard.probes.probe_metadata import label_changing_probes
from steelyard.stimuli.original import PERTURBED, ROTATION, response_in_slot
from steelyard.stimuli.stimulus import Label, NoPreference, Prefers, Stimulus
from steelyard.verdicts.call_answers import NEITHER, CallAnswers, answer_word, call_confidence, reason_of
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.readers import TOKEN
from steelyard.verdicts.reasons import answer_named
from steelyard.verdicts.verdict import Decided, Failed, Unreadable


@dataclass(frozen=True, eq=False)
class GroupIndex:
    """Consecutive calls on one stimulus under one protocol."""

    observations: Observations
    """Calls of one judge, sorted by protocol and stimulus as observations are."""
    starts: Ints

    @classmethod
    def of(cls, observations: Observations) -> GroupIndex:
        code = widen(observations.protocol) * len(observations.shown.stimuli) + observations.stimulus
        changes = np.flatnonzero(np.diff(code)) + 1
        starts = np.concatenate([[0], changes]) if len(code) else changes
        return cls(observations, starts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> Ints:
        return np.diff(self.starts, append=len(self.observations))

    @cached_property
    def number(self) -> Ints:
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def stimulus(self) -> Ints:
        return self.observations.stimulus[self.starts]

    @cached_property
    def item(self) -> Ints:
        return self.observations.shown.item[self.stimulus]

    @cached_property
    def unchanged(self) -> Ints:
        """The group of the unchanged item under the same protocol; -1 where there is none, or it is that."""
        shown = self.observations.shown
        arm = self.observations.protocol[self.starts] * len(shown.items) + self.item
        plain = shown.original[self.stimulus]
        if not plain.any():
            return np.full(len(self), -1, dtype=np.int64)
        number = {code: place for place, code in zip(np.flatnonzero(plain), arm[plain].tolist(), strict=True)}
        places = [-1 if own else number.get(code, -1) for code, own in zip(arm.tolist(), plain, strict=True)]
        return np.array(places, dtype=np.int64)

    @cached_property
    def comparable(self) -> Mask:
        """An edit that leaves the item's reference and scale alone, so that the verdict should stay."""
        if not len(self):
            return np.zeros(0, dtype=np.bool_)
        shown, mine, plain = self.observations.shown, self.stimulus, self.stimulus[self.unchanged]
        edited = (shown.kind[mine] == PERTURBED) & ~np.isin(shown.probe[mine], label_changing_probes())
        wanted, other = shown.expected[mine], shown.expected[plain]
        same = (wanted == other) | (np.isnan(wanted) & np.isnan(other))
        scale = (shown.ends[mine] == shown.ends[plain]).all(axis=1)
        return np.asarray((self.unchanged >= 0) & edited & same & scale)

    def rows(self, group: int) -> slice:
        return slice(int(self.starts[group]), int(self.starts[group] + self.sizes[group]))

    def sums(self, values: Mask | Floats) -> Floats:
        sums = np.bincount(self.number, weights=values.astype(np.float64), minlength=len(self))
        return sums.astype(np.float64)

    def least(self, values: Floats) -> Floats:
        """The smallest value of each group; NaN where none has one."""
        return np.fmin.reduceat(values, self.starts) if len(self) else values

    def most(self, values: Floats) -> Floats:
        """The largest value of each group; NaN where none has one."""
        return np.fmax.reduceat(values, self.starts) if len(self) else values

    def mean(self, values: Floats) -> Floats:
        """The mean of each group; NaN where none has a value."""
        known = ~np.isnan(values)
        count = self.sums(known)
        total = self.sums(np.where(known, values, 0.0))
        mean: Floats = np.divide(total, count, out=np.full(len(self), np.nan), where=count > 0)
        return mean


OUTCOMES = ("wrong", "flip", "positional", "contradiction", "unreadable", "failed")
WRONG, FLIP, POSITIONAL, CONTRADICTION, UNREADABLE, FAILED = OUTCOMES
A_TIE = 0.5
"""How telling a tie is where one text is better, against the choice of the worse."""


@dataclass(frozen=True)
class CallGroup:
    """The calls of one judge on one stimulus under one protocol, with those that they are compared with."""

    outcome: str
    calls: tuple[Observation, ...]
    unchanged: tuple[Observation, ...] = ()
    """The calls on the unchanged item, where the verdict on an edited one is held against them."""
    held: int = 0
    """Calls that are held against a reference."""
    right: int = 0
    """Those that meet it, on the range of the unchanged item where they were made on another."""
    wrong: int = 0

    @property
    def stimulus(self) -> Stimulus:
        return self.calls[0].stimulus

    @property
    def paired(self) -> bool:
        return len(self.stimulus.texts) == 2


@dataclass(frozen=True, eq=False)
class ExampleSelector:
    observations: Observations

    @cached_property
    def groups(self) -> GroupIndex:
        return GroupIndex.of(self.observations)

    def weight(self, outcome: str | None) -> Floats:
        """How telling each group is; zero where it is no case of the outcome."""
        if outcome is None:
            return np.asarray(1.0 + sum(weigh(self) for weigh in _WEIGHTS.values()))
        return _WEIGHTS[outcome](self)

    def count(self, outcome: str | None, among: Mask | None = None) -> int:
        return len(self._candidates(outcome, among)[0])

    def choose(
        self, outcome: str | None, limit: int, seed: int, among: Mask | None = None, unlike: str | None = None
    ) -> list[CallGroup]:
        """At most so many cases, most telling first, of as many items as there are; chance decides the rest.

        `among` says which calls may be shown; the others are only compared with. Groups of the
        outcome `unlike` are left out.
        """
        numbers, weights = self._candidates(outcome, among)
        if unlike is not None:
            kept = self.weight(unlike)[numbers] == 0
            numbers, weights = numbers[kept], weights[kept]
        chance = rng_for(seed, "exhibits", *self.observations.judges, outcome)
        order = np.array(shuffled(chance, len(numbers)), dtype=np.int64)
        ranked = numbers[order[np.argsort(-weights[order], kind="stable")]]
        return [self._case(outcome, number) for number in _spread(ranked, self.groups.item, limit)]

    def every_group(self) -> Iterator[CallGroup]:
        """All calls, group by group, without an outcome that was asked for."""
        return (self._case(None, number) for number in range(len(self.groups)))

    def _candidates(self, outcome: str | None, among: Mask | None) -> tuple[Ints, Floats]:
        weight = self.weight(outcome)
        if among is not None:
            weight = weight * (self.groups.sums(among) > 0)
        numbers = np.flatnonzero(weight > 0)
        return numbers, weight[numbers]

    def _case(self, outcome: str | None, number: int) -> CallGroup:
        groups = self.groups
        rows = groups.rows(number)
        calls = tuple(self.observations[rows])
        plain = int(groups.unchanged[number])
        compared = outcome in (FLIP, None) and groups.comparable[number]
        unchanged = tuple(self.observations[groups.rows(plain)]) if compared else ()
        answers = self._answers
        counts = (int(each[rows].sum()) for each in (answers.has_reference, answers.right, answers.wrong))
        return CallGroup(outcome or "", calls, unchanged, *counts)

    @property
    def _paired(self) -> Mask:
        paired: Mask = self.observations.shown.paired[self.groups.stimulus]
        return paired

    @cached_property
    def _answers(self) -> CallAnswers:
        return CallAnswers.of(self.observations)

    def wrong(self) -> Floats:
        """Share of wrong calls, each by how far it is off, and more where the judge says that it is sure."""
        answers, seen = self._answers, self.observations
        shown, row = seen.shown, seen.stimulus
        low, high = shown.ends[row].T
        off = np.abs(answers.answer - answers.wanted) / np.maximum(high - low, 1)
        off = np.where(shown.kind[row] == ROTATION, 1.0, off)  # slots are names, and no scores
        missed = np.where((answers.answer == NEITHER) & (answers.wanted > NEITHER), A_TIE, 1.0)
        step = np.nan_to_num(shown.delta[row])
        size = np.where(shown.paired[row], missed * (1.0 + step), off)
        sure, kind, _ = call_confidence(seen)
        if kind != TOKEN:
            size *= 1.0 + np.nan_to_num(sure)
        return self.groups.sums(np.where(answers.wrong, size, 0.0)) / self.groups.sizes

    def flipped(self) -> Floats:
        """How far the answers to one question lie apart, those to the unchanged item included."""
        groups, answer = self.groups, self._answers.answer
        low, high, mean = groups.least(answer), groups.most(answer), groups.mean(answer)
        plain = np.where(groups.comparable, groups.unchanged, np.arange(len(groups)))
        apart = np.fmax(high, high[plain]) - np.fmin(low, low[plain])
        both = ~np.isnan(mean) & ~np.isnan(mean[plain])
        turned = (groups.least(np.where(answer > NEITHER, answer, np.nan)) == 1) & (high == 2)
        size = np.where(self._paired, 1.0 + turned, apart + np.abs(mean - mean[plain]))
        return np.where(both & (apart > 0), size, 0.0)

    def positional(self) -> Floats:
        """Share of the repeats of a pair in which the same slot won in both orders."""
        seen, answer, group = self.observations, self._answers.answer, self.groups.number
        if len(seen) < 2:
            return np.zeros(len(self.groups))
        won = seen.shown.paired[seen.stimulus] & (answer > NEITHER)
        twins = (group[1:] == group[:-1]) & (seen.replicate[1:] == seen.replicate[:-1])
        same_slot = twins & won[1:] & won[:-1] & (answer[1:] != answer[:-1])
        return self.groups.sums(np.append(same_slot, False)) / self.groups.sizes

    def contradictory(self) -> Floats:
        return self.groups.sums(self.observations.contradicted) / self.groups.sizes

    def unreadable(self) -> Floats:
        return self.groups.sums(self.observations.ended(Unreadable)) / self.groups.sizes

    def failed(self) -> Floats:
        return self.groups.sums(self.observations.ended(Failed)) / self.groups.sizes


_WEIGHTS: dict[str, Callable[[ExampleSelector], Floats]] = {
    WRONG: ExampleSelector.wrong,
    FLIP: ExampleSelector.flipped,
    POSITIONAL: ExampleSelector.positional,
    CONTRADICTION: ExampleSelector.contradictory,
    UNREADABLE: ExampleSelector.unreadable,
    FAILED: ExampleSelector.failed,
}


def _spread(ranked: Iterable[int], item: Ints, limit: int) -> list[int]:
    """The first ones of different items, then the others."""
    first: list[int] = []
    others: list[int] = []
    seen: set[int] = set()
    for number in map(int, ranked):
        if len(first) == limit:
            break
        (others if item[number] in seen else first).append(number)
        seen.add(int(item[number]))
    return [*first, *others][:limit]


def explain(case: CallGroup) -> str:
    """What a sound judge would have done, what this one did, and what that counts as."""
    return f"{expected(case.stimulus)}; {_SENTENCES[case.outcome](case)}"


def expected(stimulus: Stimulus) -> str:
    match stimulus.expectation:
        case Label(value=value) if len(stimulus.texts) > 2:
            return f"the best is {_response(stimulus, value)}"
        case Label(value=value):
            return f"the reference is {value}"
        case Prefers(content=content):
            delta = stimulus.delta
            return f"text {content} is better" + (f" by {delta:g} {plural(delta, 'step')}" if delta else "")
        case NoPreference():
            return "neither text is better"
    return "nobody has said which answer is right"


def _wrong(case: CallGroup) -> str:
    each = "which counts" if case.wrong == 1 else "each of which counts"
    return f"{_of_all(case.wrong, case)} {_did(case)}{_stated(case)}, {each} as {_error_phrase(case)}"


def _stated(case: CallGroup) -> str:
    """How sure the judge was, where it says so and was asked once."""
    sure = case.calls[0].confidence if len(case.calls) == 1 else None
    return "" if sure is None or sure.kind == TOKEN else f", confidence {sure.value:g}"


def _did(case: CallGroup) -> str:
    if not case.paired:
        return "named another" if len(case.stimulus.texts) > 2 else "gave another answer"
    return "named one" if isinstance(case.stimulus.expectation, NoPreference) else "did not name it"


def _error_phrase(case: CallGroup) -> str:
    stimulus = case.stimulus
    if isinstance(stimulus.expectation, NoPreference):
        return "a preference where there is none"
    if isinstance(stimulus.expectation, Label) and stimulus.scale == "binary":
        return "a false positive" if stimulus.expectation.value == "0" else "a false negative"
    return "a wrong choice, or as a miss where it is a tie" if case.paired else "an error"


def _flipped(case: CallGroup) -> str:
    before, after = _answers(case.unchanged), _answers(case.calls)
    if case.unchanged and before != after:
        return (
            f"the edit ({case.stimulus.lineage.edit}) should change nothing, and the answer went from "
            f"{before} to {after}, which counts as a flip"
        )
    return f"the same question was answered {after}, which counts as a flip"


def _positional(case: CallGroup) -> str:
    slots = {call.verdict.value for call in case.calls if isinstance(call.verdict, Decided)}
    slot = f"slot {min(slots)}" if len(slots) == 1 else "the same slot"
    return f"{slot} won in both orders, so the place decided and not the text: the pair counts as positional"


def _contradictory(case: CallGroup) -> str:
    calls = [call for call in case.calls if call.contradicts]
    both = sorted({(str(call.named), str(answer_named(call.verdict))) for call in calls})
    told = " and ".join(f"ends with {named} and gives {given}" for named, given in both)
    return f"the reason of {_of_all(len(calls), case)} {told}, which counts as a contradiction"


def _unreadable(case: CallGroup) -> str:
    lost = [call for call in case.calls if isinstance(call.verdict, Unreadable)]
    return f"{_of_all(len(lost), case)} held no answer ({_reasons(lost)}): unreadable, and never a score"


def _failed(case: CallGroup) -> str:
    lost = [call for call in case.calls if isinstance(call.verdict, Failed)]
    return f"{_of_all(len(lost), case)} got no reply ({_reasons(lost)}): failed, and never a score"


def _plain(case: CallGroup) -> str:
    """Without an outcome that was asked for: how the calls stand to the reference."""
    for kind, told in ((Failed, _failed), (Unreadable, _unreadable)):
        if all(isinstance(call.verdict, kind) for call in case.calls):
            return told(case)
    if not case.held:
        return f"answered {_answers(case.calls)}, compared with no reference"
    said = "named" if len(case.stimulus.texts) > 2 else "answered"
    return f"{said} {_answers(case.calls)}: {_of_all(case.right, case)} met the reference"


_SENTENCES: dict[str, Callable[[CallGroup], str]] = {
    WRONG: _wrong,
    FLIP: _flipped,
    POSITIONAL: _positional,
    CONTRADICTION: _contradictory,
    UNREADABLE: _unreadable,
    FAILED: _failed,
    "": _plain,
}


def _of_all(number: int, case: CallGroup) -> str:
    return f"{number} of {pluralize(len(case.calls), 'call')}"


def _reasons(calls: Sequence[Observation]) -> str:
    return ", ".join(sorted({str(reason_of(call.verdict)) for call in calls}))


def _answers(calls: Sequence[Observation]) -> str:
    """The distinct answers, most frequent first."""
    words = [_answer(call) for call in calls]
    known = sorted(set(words), key=lambda word: (-words.count(word), word))
    if len(known) == 1:
        return known[0]
    return ", ".join(f"{word} in {words.count(word)} of {len(words)}" for word in known)


def _response(stimulus: Stimulus, slot: str) -> str:
    return f"response {response_in_slot(stimulus, slot)}, in slot {slot}"


def _answer(call: Observation) -> str:
    if len(call.stimulus.texts) > 2 and isinstance(call.verdict, Decided):
        return _response(call.stimulus, call.verdict.value)
    if len(call.stimulus.texts) == 2 and call.winner is not None:
        return f"text {call.winner}"
    return answer_word(call.verdict)
