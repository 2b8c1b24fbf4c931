"""Why the calls of a case count as they do, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steelyard.core.text import plural, pluralize
from steelyard.datasheet.examples.selection import FAILED, FLIP, POSITIONAL, UNREADABLE, WRONG, CallGroup
from steelyard.stimuli.expectation import Label, NoPreference, Prefers
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.call_answers import answer_word, reason_of
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Decided, Failed, Unreadable


def explain(case: CallGroup) -> str:
    """What a sound judge would have done, what this one did, and what that counts as."""
    return f"{expected(case.stimulus)}; {_SENTENCES[case.outcome](case)}"


def expected(stimulus: Stimulus) -> str:
    match stimulus.expectation:
        case Label(value=value):
            return f"the reference is {value}"
        case Prefers(content=content):
            return f"text {content} is better{_by_steps(stimulus.delta)}"
        case NoPreference():
            return "neither text is better"
    return "nobody has said which answer is right"


def _by_steps(delta: float | None) -> str:
    return "" if not delta else f" by {f'{delta:g}'} {plural(delta, 'step')}"


def _wrong(case: CallGroup) -> str:
    each = "which counts" if case.wrong == 1 else "each of which counts"
    return f"{_of_all(case.wrong, case)} {_did(case)}, {each} as {_named(case)}"


def _did(case: CallGroup) -> str:
    if not case.paired:
        return "gave another answer"
    return "named one" if isinstance(case.stimulus.expectation, NoPreference) else "did not name it"


def _named(case: CallGroup) -> str:
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


def _unreadable(case: CallGroup) -> str:
    lost = [call for call in case.calls if isinstance(call.verdict, Unreadable)]
    return f"{_of_all(len(lost), case)} held no answer ({_reasons(lost)}): unreadable, and never a score"


def _failed(case: CallGroup) -> str:
    lost = [call for call in case.calls if isinstance(call.verdict, Failed)]
    return f"{_of_all(len(lost), case)} got no reply ({_reasons(lost)}): failed, and never a score"


def _plain(case: CallGroup) -> str:
    """Without an outcome that was asked for: how the calls stand to the reference."""
    if not case.held:
        return f"answered {_answers(case.calls)}, compared with no reference"
    return f"answered {_answers(case.calls)}: {_of_all(case.right, case)} met the reference"


_SENTENCES: dict[str, Callable[[CallGroup], str]] = {
    WRONG: _wrong,
    FLIP: _flipped,
    POSITIONAL: _positional,
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


def _answer(call: Observation) -> str:
    if len(call.stimulus.texts) == 2 and call.winner is not None:
        return f"text {call.winner}"
    return answer_word(call.verdict)
