"""Recorded scores of single texts: their lines, the table that the calls make, and its probes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import UNSET, Meta, UnsetType
from pydantic import AfterValidator, Field

from steelyard.core.arrays import distinct, encode_values, spell
from steelyard.errors import ConfigError, DataError
from steelyard.importing.jsonl import LineFormat, Lines, Name, RecordedLine, Sureness
from steelyard.importing.pairs import ABSENCES
from steelyard.importing.reader import Members, RecordedTable, first_rows, read_recorded
from steelyard.stimuli.ladder import TEXTS
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import (
    RECORDED,
    Expectation,
    Label,
    Lineage,
    RecordedText,
    Stimulus,
    StimulusSet,
    Unknown,
)
from steelyard.tasks.task import BestOf, Binary, Pairwise, parse_scale, scale_name
from steelyard.verdicts.observations import Observations, coded
from steelyard.verdicts.stimulus_columns import StimulusColumns
from steelyard.verdicts.verdict import Decided

MARKS = ("item", "score", "variant")
BINARY = scale_name(Binary())


@dataclass(frozen=True)
class ScoredText:
    """What a file says of a single text; every call on it must say the same."""

    probe: str
    """The probe it was edited for; `original` for an item as it is."""
    item: str
    variant: str
    """`original` or `perturbed`; for vacuum the kind of nothing."""
    edit: str | None = None
    """What was done to the item, where the file says so; tells edits of one item apart."""
    level: float | None = None
    expected: int | None = None
    task: str | None = None
    """Cluster, by the file's own key; None where the file names none, so that each item stands for itself."""
    stratum: str | None = None
    scale: str | None = None
    """`binary` or a range; None where the file leaves it to the scores."""
    failing: int | None = None
    words: int | None = None
    run: bool | None = None
    """True for a run of an agent; None where the file does not say so."""
    change_depth: float | None = None
    """Where in the run the first message that an edit changed or added stands, 0 to 1."""
    changed_words: int | None = None

    @cached_property
    def name(self) -> tuple[str, str, str, str, float]:
        level = -1.0 if self.level is None else self.level
        return self.item, self.probe, self.variant, self.edit or "", level

    @cached_property
    def facts(self) -> dict[str, Any]:
        known = dict(zip(_FACTS, _facts(self), strict=True))
        if self.probe == "vacuum":
            known["kind"] = known.pop("variant")
        return {name: value for name, value in known.items() if value is not None}

    @cached_property
    def sort_key(self) -> tuple[str, ...]:
        return tuple(f"{part:020.6f}" if isinstance(part, float) else part for part in self.name)


_FACTS = tuple(f.name for f in fields(ScoredText))
_facts = attrgetter(*_FACTS)
FACTS = (*(name for name in _FACTS if name != "probe"), "kind")


@lru_cache(maxsize=256)
def _answers(text: str) -> frozenset[str]:
    try:
        parsed = parse_scale(text)
    except ConfigError as error:
        raise ValueError(str(error)) from error
    if isinstance(parsed, BestOf):
        raise ValueError(
            f"found {text!r}, expected verdicts on single texts; a judge of several responses needs every "
            "rotation of them: measure it with `steelyard measure`."
        )
    if isinstance(parsed, Pairwise):
        raise ValueError(f"found {text!r}, expected binary or a range such as 1-6; correct it.")
    return frozenset(parsed.answers)


def _scale(text: str) -> str:
    _answers(text)
    return text


Whole = Annotated[int, Meta(ge=0, le=999_999), Field(ge=0, le=999_999)]
Share = Annotated[float, Meta(ge=0, le=1), Field(ge=0, le=1)]
Level = Annotated[float, Field(allow_inf_nan=False)]
ScaleName = Annotated[str, AfterValidator(_scale)]


class ScoreCall(RecordedLine, kw_only=True, forbid_unknown_fields=True):
    """One call; msgspec decodes it, and the pydantic model of the same fields words what is wrong with it."""

    score: Whole | UnsetType | None = UNSET
    outcome: Literal["abstain", "unreadable", "failed"] | UnsetType | None = UNSET
    confidence: Sureness | UnsetType | None = UNSET
    scale: ScaleName | UnsetType | None = UNSET
    probe: Name
    item: Name
    expected: Whole | UnsetType | None = UNSET
    variant: Literal["original", "perturbed"] | UnsetType | None = UNSET
    kind: str | UnsetType | None = UNSET
    edit: str | UnsetType | None = UNSET
    level: Level | UnsetType | None = UNSET
    task: Name | UnsetType | None = UNSET
    stratum: Name | UnsetType | None = UNSET
    failing: Whole | UnsetType | None = UNSET
    words: Whole | UnsetType | None = UNSET
    run: bool | UnsetType | None = UNSET
    change_depth: Share | UnsetType | None = UNSET
    changed_words: Whole | UnsetType | None = UNSET


def disagreement(line: Any) -> str | None:
    """What a figure would silently leave out, in a sentence; None where the fields of a line agree."""
    if (line.score is None) == (line.outcome is None):
        return (
            f"found score {line.score} and outcome {line.outcome}, expected a score, or null with an "
            f"outcome of {', '.join(ABSENCES)}; correct it."
        )
    if line.probe == "vacuum" and (line.kind not in TEXTS or line.variant is not None):
        return f"kind is {line.kind!r}, expected {' or '.join(TEXTS)} and no variant for vacuum."
    if line.probe != "vacuum" and (line.kind is not None or line.variant is None):
        return (
            f"variant is {line.variant!r} and kind {line.kind!r}, expected the variant original or "
            "perturbed, and a kind for vacuum only; correct it."
        )
    answers = None if line.scale is None else _answers(line.scale)
    for name in ("score", "expected", "failing"):
        value = getattr(line, name)
        if answers is not None and value is not None and str(value) not in answers:
            return f"{name} is {value}, expected an answer of the scale {line.scale}; correct it."
    return None


def holds_scores(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig") as stream:
            line = next((line for line in stream if line.strip()), "")
        return any(key in json.loads(line) for key in MARKS)
    except (OSError, ValueError, TypeError, RecursionError):
        return False


@dataclass(frozen=True, eq=False)
class ScoreTable(RecordedTable[ScoredText]):
    def members(self) -> Iterator[Members]:
        yield {"probe": encode_values(self.probes)}, self.probe
        facts = [text.facts for text in self.subjects]
        yield {key: encode_values(known.get(key) for known in facts) for key in FACTS}, self.subject
        scores = [spell(score) for score, _, _ in self.outcomes]
        whys, sure = (encode_values(each[place] for each in self.outcomes) for place in (1, 2))
        yield {"score": scores, "outcome": whys, "confidence": sure}, self.outcome

    @cached_property
    def stimuli(self) -> dict[ScoredText, Stimulus]:
        """Every distinct text as far as it is known; edits of one item and probe are numbered."""
        count: dict[tuple[str, str, str], int] = {}
        stimuli: dict[ScoredText, Stimulus] = {}
        for shown in sorted(self.subjects, key=lambda shown: shown.name):
            place = (shown.item, shown.probe, shown.variant)
            number = count[place] = count.get(place, -1) + 1
            stimuli[shown] = text_stimulus(shown, number)
        return stimuli

    def stimulus_set(self) -> str:
        return StimulusSet.of(self.stimuli.values()).hash

    def observations(self) -> Observations:
        """One per call, however many probes tell of it; texts, tokens and prompts are not known."""
        stimulus = coded([self.stimuli[shown].id for shown in self.subjects])[1]
        verdicts, verdict = coded(
            [
                ABSENCES[absence or "failed"] if score is None else Decided(str(score))
                for score, absence, _ in self.outcomes
            ]
        )
        confidences, confidence = self.confidences
        # One row for each call, under whichever probe it is told.
        first = first_rows((self.judge, self.protocol, self.subject, self.replicate))
        rows = np.flatnonzero(first == np.arange(len(first)))
        return Observations.recorded(
            judges=self.judges,
            protocols=self.protocols,
            verdicts=verdicts,
            shown=StimulusColumns.of(self.stimuli.values()),
            judge=self.judge[rows],
            protocol=self.protocol[rows],
            stimulus=stimulus[self.subject[rows]],
            order=np.zeros(len(rows), dtype=np.int64),
            replicate=self.replicate[rows],
            verdict=verdict[self.outcome[rows]],
            confidences=confidences,
            confidence=confidence[self.outcome[rows]],
        ).in_order()

    @cached_property
    def edited(self) -> set[str]:
        edited = np.array([shown.variant != ORIGINAL for shown in self.subjects], dtype=np.bool_)
        return {self.probes[code] for code in distinct(self.probe[edited[self.subject]]).tolist()}

    @property
    def distinct_texts(self) -> list[ScoredText]:
        return [self.subjects[number] for number in dict.fromkeys(self.subject.tolist())]


def _subject(line: Any) -> ScoredText:
    """The text; an item as it is, is one text under all probes."""
    facts = {name: getattr(line, name) for name in _FACTS}
    facts |= {"probe": ORIGINAL, "edit": None, "level": None} if line.variant == ORIGINAL else {}
    return ScoredText(**{**facts, "variant": line.kind or line.variant or "", "run": line.run or None})


SCORES = LineFormat(
    ScoreTable,
    ScoreCall,
    disagreement,
    _subject,
    noun="item",
    repeated="scored this text of item {name!r} already ({where}), expected each call once; number repeats "
    "with 'replicate', tell edits apart with 'edit', or remove one.",
    by_probe=True,
)


def read_scores(paths: Sequence[Path], lines: Lines | None = None) -> tuple[ScoreTable, tuple[str, ...]]:
    """The table, with the scale that is taken from the scores where lines name none, and what was assumed."""
    table = read_recorded(SCORES, paths, lines)
    without = np.array([text.scale is None for text in table.subjects], dtype=np.bool_)
    if not without.any():
        return table, ()
    given = {table.outcomes[code][0] for code in distinct(table.outcome[without[table.subject]]).tolist()}
    given |= {text.expected for text in table.subjects if text.scale is None}
    values = given - {None}
    scale = BINARY
    if not values <= {0, 1}:
        low, high = min(values), max(values)
        scale = f"{low}-{high}" if low < high else f"0-{high}"
    texts = tuple(text if text.scale else replace(text, scale=scale) for text in table.subjects)
    told = (
        f"no line names a scale; taken from the scores found: {scale}; add the key 'scale' to name another."
    )
    return replace(table, subjects=texts), () if scale == BINARY else (told,)


def refuse_mixed(texts: Iterable[ScoredText], where: str) -> None:
    """A text and its edits are all binary or all on ranges: no answer on the one is like one on the other."""
    scales: dict[str, str | None] = {}
    for shown in texts:
        first = scales.setdefault(shown.item, shown.scale)
        if first != shown.scale and BINARY in (first, shown.scale):
            raise DataError(
                f"{where}: item {shown.item!r} is scored on {first} and on {shown.scale}, expected a text "
                "and its edits on binary alone, or on ranges; give one of them another item."
            )


def text_stimulus(shown: ScoredText, number: int = 0) -> Stimulus:
    kind = shown.variant
    recorded = RecordedText(shown.words, bool(shown.run), shown.change_depth, shown.changed_words)
    name = {ORIGINAL: f"{shown.item}/{ORIGINAL}", PERTURBED: f"{shown.item}/{shown.probe}/{number}"}
    return Stimulus(
        id=name.get(kind, f"{shown.item}/{shown.probe}/{kind}-{number}"),
        probe=shown.probe,
        kind=kind,
        cluster=shown.task or shown.item,
        stratum=shown.stratum or "recorded",
        request="",
        texts=("",),
        expectation=_expectation(shown),
        lineage=Lineage(parent=shown.item, edit=shown.edit or "recorded elsewhere", author=RECORDED),
        scale=shown.scale,
        level=shown.level,
        failing=None if shown.failing is None else str(shown.failing),
        recorded=None if recorded == RecordedText() else recorded,
    )


def _expectation(shown: ScoredText) -> Expectation:
    if shown.expected is not None:
        return Label(str(shown.expected))
    vacuum_kind = shown.variant not in (ORIGINAL, PERTURBED)
    return Label(parse_scale(shown.scale or "binary").answers[0]) if vacuum_kind else Unknown()
