"""What a probe asks an author to write, be it the built-in pack or a model; what came of it, in counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.core.content_hash import plain
from steelyard.core.json_dataclasses import from_body, mapping, written_fields
from steelyard.core.text import pluralize
from steelyard.stimuli.original import edited_stimulus
from steelyard.stimuli.stimulus import PACK, Stimulus
from steelyard.tasks.pack import PackItem, pack_item, pack_run
from steelyard.tasks.task import Binary, Item, Ordinal, Scale, Task
from steelyard.tasks.transcripts.transcript import Transcript, render_transcript

LABEL_FLIP = "label_flip"
PARAPHRASE = "semantic_paraphrase"
LONG = "verbosity_bias_long"
SHORT = "verbosity_bias_short"
PADDED = "verbosity_padding"
AMBIGUOUS = "answer_ambiguity"
ORDINAL = "synthetic_ordinal"
GOALS = (LABEL_FLIP, PARAPHRASE, LONG, SHORT, PADDED, AMBIGUOUS, ORDINAL)

RUN_FAIL = "agent_perturbation"
RUN_PASS = "agent_positives"
RUN_LEVEL = "agent_levels"
RUN_GOALS = (RUN_FAIL, RUN_PASS, RUN_LEVEL)
"""Every run of an agent that can be asked for: edited message by message, not written at once."""

BY_LEVEL = (ORDINAL, RUN_LEVEL)
"""Goals with a brief for each level of the scale, numbered by its place on the scale."""

ERRORS = (
    "a wrong fact: a name, a number or a date is another",
    "a step of the reasoning is missing, and the end no longer follows",
    "a conclusion that contradicts what was said before",
    "the answer to another question than the one that was asked",
    "a condition or a limit of the request is left out of account",
    "a claim that nothing in the request supports",
    "a cause and its effect are exchanged",
    "a quantity in the wrong unit, or off by a factor of ten",
    "a general rule drawn from one case",
    "a refusal, or an evasion, where an answer is possible",
)
"""Kinds of error that a written flip may be asked to have."""

EDITS = {
    LABEL_FLIP: "rewritten so that the reference answer changes",
    PARAPHRASE: "said in other words, meaning and reference answer kept",
    LONG: "expanded with explanation, content and reference answer kept",
    SHORT: "said in fewer words, substance and reference answer kept",
    PADDED: "said at greater length, substance and reference answer kept",
    AMBIGUOUS: "rewritten to lie at the border of the rubric",
    ORDINAL: "written anew to earn a given score",
    RUN_FAIL: "edited so that the run breaks the rubric",
    RUN_PASS: "edited so that the run keeps the rubric",
    RUN_LEVEL: "edited so that the run earns a given score",
}


@dataclass(frozen=True)
class Brief:
    probe: str
    item: Item
    number: int
    """Tells the briefs of one probe and item apart."""
    goal: str
    expected: str | None
    """Reference answer that the text must have; None where none can be given."""
    error: str | None = None
    """Kind of error that makes the text worse; None where the author is free."""

    @property
    def name(self) -> str:
        return f"{self.item.id}/{self.probe}/{self.number}"

    @property
    def edits_run(self) -> bool:
        return self.goal in RUN_GOALS

    @property
    def edit(self) -> str:
        words = EDITS[self.goal]
        detail = self.expected if self.goal in BY_LEVEL else self.error
        return words if detail is None else f"{words}: {detail}"

    @property
    def content(self) -> dict[str, Any]:
        body = {**plain(self), "item": self.item.content}
        return {key: value for key, value in body.items() if key != "error" or value is not None}

    def to_stimulus(
        self,
        text: str,
        task: Task,
        author: str,
        label: str | None = None,
        *,
        edit: str | None = None,
        transcript: Transcript | None = None,
    ) -> Stimulus:
        """The stimulus made of a written text; `label` is its reference where the author's differs.

        `edit` says what was done, where that is more than the goal; `transcript` is the run behind the text.
        """
        expected = label or self.expected
        return edited_stimulus(
            self.item,
            task,
            self.probe,
            self.number,
            text,
            edit or self.edit,
            label=expected,
            labelled=expected is not None,
            author=author,
            transcript=transcript,
        )


def flip_label(label: str, scale: Scale) -> str | None:
    """The reference a flip aims at: the other answer, or the far end of an ordinal scale."""
    if isinstance(scale, Binary):
        return {"0": "1", "1": "0"}.get(label)
    if isinstance(scale, Ordinal):
        return str(scale.low if 2 * int(label) > scale.low + scale.high else scale.high)
    return None


def pack_stimuli(briefs: Iterable[Brief], task: Task) -> tuple[Stimulus, ...]:
    """Briefs fulfilled from the built-in pack: no author model is needed."""
    made = []
    for brief in briefs:
        if (run := _version(brief)) is not None:
            made.append(brief.to_stimulus(render_transcript(run), task, PACK, transcript=run))
        elif (source := pack_item(brief.item)) is not None:
            text, label = _pack_text(brief, source)
            made += [] if text is None else [brief.to_stimulus(text, task, PACK, label)]
    return tuple(made)


def is_in_pack(brief: Brief) -> bool:
    """True where nobody needs to write: the item is of the built-in pack, or a run that is edited there."""
    return pack_item(brief.item) is not None or _version(brief) is not None


def _version(brief: Brief) -> Transcript | None:
    run = pack_run(brief.item)
    wanted = brief.goal in (RUN_FAIL, RUN_PASS) and brief.expected is not None
    return run.version(brief.expected or "") if run is not None and wanted else None


def _pack_text(brief: Brief, source: PackItem) -> tuple[str | None, str | None]:
    """The text of the pack and its reference; no text where none is written."""
    levels = source.ordinal if brief.number < len(source.ordinal) else ()  # one for each level
    return {
        LABEL_FLIP: (source.label_flip.response, source.label_flip.label),
        AMBIGUOUS: (source.ambiguous, None),
        ORDINAL: (dict(levels).get(brief.expected or ""), brief.expected),
        PARAPHRASE: (source.paraphrase, source.label),
        PADDED: (source.long, source.label),
        SHORT: (source.short, source.label),
    }.get(brief.goal, (None, None))


BY_A_PERSON = "by a person"
"""Reason of a rejection that no check made."""


@dataclass(frozen=True)
class Bucket:
    level: str
    filled: int
    """Texts that were confirmed at it; those kept at it that were written for another are among them."""
    wanted: int


@dataclass(frozen=True)
class ProbeReport:
    probe: str
    asked: int
    usable: int
    pending: int
    rejected: Mapping[str, int]
    """Reason to the number of texts that came to nothing, `by a person` included."""
    turned_down: Mapping[str, int]
    """Reason to the number of tries that were rejected, mended ones included."""
    buckets: tuple[Bucket, ...] = ()
    by_validator: int = 0
    """Runs among the usable ones that nobody labelled: their reference is the validator's opinion."""
    edited: int = 0
    """Texts among the usable ones that reviewers changed."""
    reviewed: int = 0
    """Texts among the usable ones that reviewers accepted or changed."""

    @property
    def even(self) -> bool:
        return len({bucket.filled for bucket in self.buckets}) <= 1

    @property
    def reasons(self) -> str:
        return _format_counts(self.rejected)

    def to_json(self) -> dict[str, Any]:
        body = written_fields(self, ("probe", "asked", "usable", "rejected", "turned_down"))
        body |= written_fields(self, [name for name in ("pending", "by_validator") if getattr(self, name)])
        if self.edited or self.reviewed:
            body |= written_fields(self, ("edited", "reviewed"))
        if self.buckets:
            body["levels"] = {b.level: {"filled": b.filled, "wanted": b.wanted} for b in self.buckets}
        return body

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> ProbeReport:
        known = mapping(body, where)
        place = f"{where}.levels"
        levels = mapping(known.get("levels", {}), place)
        buckets = [{**mapping(levels[name], f"{place}.{name}"), "level": name} for name in levels]
        return from_body(cls, {"pending": 0, **known, "buckets": buckets}, where)

    def sentence(self) -> str:
        parts = [f"{self.asked} asked", f"{self.usable} usable"]
        if self.by_validator:
            parts.append(f"{self.by_validator} of them with the validator's opinion as their only reference")
        if self.review:
            parts.append(self.review)
        if self.pending:
            parts.append(f"{self.pending} waiting for review")
        if self.rejected:
            parts.append(f"{sum(self.rejected.values())} rejected ({self.reasons})")
        if self.turned_down:
            tries = pluralize(sum(self.turned_down.values()), "attempt")
            parts.append(f"{tries} rejected ({_format_counts(self.turned_down)})")
        sentence = f"{self.probe}: {', '.join(parts)}"
        return f"{sentence}; {self.levels}." if self.buckets else f"{sentence}."

    @property
    def review(self) -> str:
        """How many texts reviewers changed; older folders do not say of how many that they looked at."""
        looked = f"{self.reviewed} texts" if self.reviewed else "them"
        return f"{self.edited} of {looked} changed by reviewers" if self.edited or self.reviewed else ""

    @property
    def levels(self) -> str:
        if not self.buckets:
            return ""
        if not any(bucket.filled for bucket in self.buckets):
            return f"none of the {pluralize(len(self.buckets), 'level')} has a text"
        missing = sum(max(0, bucket.wanted - bucket.filled) for bucket in self.buckets)
        extra = sum(max(0, bucket.filled - bucket.wanted) for bucket in self.buckets)
        if extra:
            filled = ", ".join(f"{b.level}: {b.filled} for {b.wanted}" for b in self.buckets)
            return f"levels filled unevenly ({filled}), {missing} fewer than asked, {extra} more"
        filled = ", ".join(f"{b.level}: {b.filled} of {b.wanted}" for b in self.buckets)
        if self.even and not missing:
            return f"levels filled evenly ({filled})"
        spread = "evenly" if self.even else "unevenly"
        return f"levels filled {spread} ({filled}), {missing} could not be filled"


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in counts.items())
