"""What to change where replies cannot be read: found by reading them in other ways."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from steelyard.core.registry import Spec
from steelyard.tasks.task import Binary, Pairwise, Scale
from steelyard.trials.judge import Reply
from steelyard.verdicts.readers import LEAST_PROBABILITY, READERS, LogprobReader, json_key, without_reasoning
from steelyard.verdicts.verdict import (
    ABSTAIN,
    BROKEN_OFF,
    EMPTY,
    IMPROBABLE,
    NO_LOGPROBS,
    REFUSAL,
    TRUNCATED,
    Abstained,
    Decided,
    Failed,
    Tie,
    Unreadable,
    Verdict,
    strip_wrapping,
)

LONGEST = 200

MAX_PARSED = 20_000
"""Characters of a reply that are read in other ways; what is longer is no answer."""

MOST_WORDS = 12
"""Different words up to which a judge's replies look like answers of its own."""

_PATTERNS = (
    r"\[\[(.{1,40}?)\]\]",
    r"(?im)^[^\w\n]*(?:final )?(?:score|answer|verdict|rating|winner)[^\w\n]+(\w[\w. ]{0,30}?)[^\w\n]*$",
)
"""Forms in which prose often ends: `[[1]]`, and a line such as `Verdict: 1`."""

_SLOT_WORDS = (
    *(("A", "B"), ("first", "second"), ("candidate 1", "candidate 2"), ("response 1", "response 2")),
    *(("response_1", "response_2"), ("answer 1", "answer 2")),
    *(("assistant a", "assistant b"), ("model a", "model b")),
)

_TIE_WORDS = ("C", "neither", "equal", "draw", "same", "both")

_DECLINES = re.compile(
    r"(?i)\b(can ?not|can[’']t|unable|not able|sorry|declin\w*|refus\w*|insufficient|not enough)\b"
)

_REMEDIES = {
    TRUNCATED: "the answer is cut off: raise max_tokens",
    BROKEN_OFF: "the server broke off for a reason of its own: look at the replies, or ask another server",
    EMPTY: "nothing was written: raise max_tokens where the model reasons first, or look at the server",
    REFUSAL: "the model refuses: change the prompt, or leave such items out",
    NO_LOGPROBS: "the server sends no log-probabilities: try reader: choice",
}


_Attempt = tuple[Spec, str]
"""Another way to read, and what to write for it in the judge's mapping."""


def advice(reader: Spec, scale: Scale, replies: Sequence[Reply]) -> str:
    """The first reply as it came, what the reader wants, and what to try; replies are those not read."""
    wish = f"reader {reader.name} wants {READERS.build(reader).form(scale)}"
    return f"replied {quote_reply(replies[0].text)}; {wish}; {suggest_reader(reader, scale, replies)}"


def find_reader(reader: Spec, scale: Scale, replies: Sequence[Reply]) -> tuple[Spec, int] | None:
    """The reader that reads most of the replies, and how many; None where none reads half of them.

    A map of answers stays. A key of JSON is named: then the server is not asked for a schema.
    """
    answers = {key: value for key, value in reader.args.items() if key == "answers"}
    best: tuple[Spec, int] | None = None
    for spec, _ in _attempts(reader, scale, [replace(one, text=one.text[-MAX_PARSED:]) for one in replies]):
        key = {"key": json_key(scale)} if spec.name == "json" else {}
        named = Spec(spec.name, {**answers, **key, **spec.args})
        count = _readable(named, scale, replies)
        if 2 * count >= len(replies) and count > (0 if best is None else best[1]):
            best = named, count
    return best


def suggest_reader(reader: Spec, scale: Scale, replies: Sequence[Reply]) -> str:
    """What to try: the reader that can read most of the replies, or what their reason asks for."""
    if all(reply.finish in ("unreadable", "off_scale") for reply in replies):
        return "correct the function, or say what its words mean with answers"
    replies = [replace(reply, text=reply.text[-MAX_PARSED:]) for reply in replies]
    attempts = _attempts(reader, scale, replies)
    counts = [(_readable(spec, scale, replies), words) for spec, words in attempts]
    most = max((count for count, _ in counts), default=0)
    if 2 * most >= len(replies) and most:
        best = next(words for count, words in counts if count == most)
        return f"try {best}, which reads {most} of {len(replies)}"
    verdicts = [READERS.build(reader)(reply, scale) for reply in replies]
    reasons = Counter(v.reason if isinstance(v, Unreadable) else "" for v in verdicts)
    reason = reasons.most_common(1)[0][0]
    if reason == IMPROBABLE:
        return _improbable(reader, scale, replies)
    remedy = _REMEDIES.get(reason) or _own_words(scale, replies)
    if remedy:
        return remedy
    if reader.name == "logprob":
        return "correct the prompt or the reader"
    return (
        "correct the prompt, or where the server gives log-probabilities try reader: logprob, which reads "
        "only replies whose first token most probably is an answer"
    )


def _readable(reader: Spec, scale: Scale, replies: Sequence[Reply]) -> int:
    read = READERS.build(reader)
    return sum(not isinstance(read(reply, scale), Unreadable) for reply in replies)


def _improbable(reader: Spec, scale: Scale, replies: Sequence[Reply]) -> str:
    """How much the answers hold in the replies that no log-probability decides, and what to change."""
    by_logprob = LogprobReader(**reader.args)
    unread = [reply for reply in replies if by_logprob(reply, scale) == Unreadable(IMPROBABLE)]
    shares = [by_logprob.answer_probability(reply, scale) for reply in unread]
    # Never rounded up to what is expected.
    held = " to ".join(dict.fromkeys(f"{min(share, 0.49):.2f}" for share in (min(shares), max(shares))))
    return (
        f"the answers hold {held} of the probability of the first token, expected at least "
        f"{LEAST_PROBABILITY:.2f}: have the prompt ask for the answer alone, or choose another reader"
    )


def quote_reply(text: str) -> str:
    """A reply on one line: invisible characters spelled out, cut where it is long."""
    shown = text if len(text) <= LONGEST else text[:LONGEST] + "…"
    printable = (c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)
    return "'" + "".join(printable) + "'"


def verdict_words(verdict: Verdict) -> str:
    match verdict:
        case Decided(value):
            return value
        case Tie():
            return "tie"
        case Abstained():
            return "abstention"
        case Unreadable(reason):
            return f"unreadable ({reason})"
        case Failed(reason):
            return f"failed ({reason})"


def reasons_of(verdicts: Iterable[Verdict]) -> str:
    """Why verdicts are missing, the commonest reason first: `no answer 7, empty 1`."""
    counts = Counter(verdict.reason for verdict in verdicts if isinstance(verdict, Unreadable))
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return ", ".join(f"{reason} {count}" for reason, count in ordered)


def _attempts(reader: Spec, scale: Scale, replies: Sequence[Reply]) -> Iterator[_Attempt]:
    """Other readers, plainest first; then the same with a map of the words that pairs are often given."""
    left_out = " without answers" if reader.args.get("answers") else ""
    plain = [(spec, words + left_out) for spec, words in _readers(scale, replies) if spec != reader]
    yield from plain
    answers = _pair_map(replies) if isinstance(scale, Pairwise) else {}
    mapped = f"answers: {{{', '.join(f'{word}: {json.dumps(to)}' for word, to in answers.items())}}}"
    for spec, words in ((reader, ""), *plain) if answers else ():
        with_map = Spec(spec.name, {**spec.args, "answers": answers})
        yield with_map, f"{words} and {mapped}" if words else mapped


def _readers(scale: Scale, replies: Sequence[Reply]) -> Iterator[_Attempt]:
    yield Spec("choice"), "reader: choice"
    yield Spec("json"), "reader: json"
    keys = {key for reply in replies for key in re.findall(r'"([A-Za-z][A-Za-z_ ]{0,30})"\s*:', reply.text)}
    for key in sorted(keys - {json_key(scale)}):
        yield Spec("json", {"key": key}), f"reader: {{json: {key}}}"
    for pattern in _PATTERNS:
        yield Spec("regex", {"pattern": pattern}), f"reader: {{regex: '{pattern}'}}"


def _pair_map(replies: Iterable[Reply]) -> dict[str, str]:
    """The usual words for the slots that stand as answers in the replies, and what they mean."""
    values = {value.lower() for reply in replies for value in _values(without_reasoning(reply.text))}
    known = [pair for pair in _SLOT_WORDS if values & {word.lower() for word in pair}]
    slots = {word: slot for pair in known for word, slot in zip(pair, ("1", "2"), strict=True)}
    return {**slots, **{word: "tie" for word in _TIE_WORDS if word.lower() in values}}


def _values(text: str) -> Iterator[str]:
    """What may be an answer: the whole text, a value of an object, an end in a usual form."""
    yield strip_wrapping(text)
    yield from re.findall(r':\s*"([^"]{1,30})"', text)
    for pattern in _PATTERNS:
        yield from map(strip_wrapping, re.findall(pattern, text))


def _own_words(scale: Scale, replies: Sequence[Reply]) -> str | None:
    words = sorted({strip_wrapping(without_reasoning(reply.text)) for reply in replies})
    if not all(0 < len(word) <= 30 for word in words) or len(words) > MOST_WORDS:
        return None
    means = "1 or 0" if isinstance(scale, Binary) else f"one of {', '.join(scale.answers)}"
    declined = {word for word in words if _DECLINES.search(word)}
    listed = ", ".join(f"{word}: {ABSTAIN if word in declined else '…'}" for word in words)
    if len(declined) == len(words):
        return f"it does not judge: change the prompt; if that is as it should be, add answers: {{{listed}}}"
    each = "each other word" if declined else "each"
    return f"say what its words mean with reader: choice and answers: {{{listed}}}, {each} {means}"
