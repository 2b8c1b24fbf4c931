"""Recorded scores: lines of a file, checked one by one and against each other."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from steelyard.errors import ConfigError, DataError
from steelyard.importing.lines import Body, Lines, parse, read_lines
from steelyard.importing.score_call import ABSENCES, ScoreCall, Shown
from steelyard.importing.styles import Name
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.vacuum import TEXTS
from steelyard.tasks.scale import Pairwise, parse_scale

MARKS = ("item", "score", "variant")
"""Keys that only recorded scores have."""


def _scale(text: str) -> str:
    try:
        pairs = isinstance(parse_scale(text), Pairwise)
    except ConfigError as error:
        raise ValueError(str(error)) from error
    if pairs:
        raise ValueError("found 'pairwise', expected binary or a range such as 1-6; correct it.")
    return text


Score = Annotated[int, Field(ge=0, le=999_999)]


class ScoreLine(BaseModel):
    """One call on a single text."""

    model_config = ConfigDict(extra="forbid", strict=True)

    judge: Name
    probe: Name
    item: Name
    score: Score | None = None
    outcome: Literal["abstain", "unreadable", "failed"] | None = None
    expected: Score | None = None
    variant: Literal["original", "perturbed"] | None = None
    kind: str | None = None
    protocol: Name = "base"
    edit: str | None = None
    level: Annotated[float, Field(allow_inf_nan=False)] | None = None
    task: Name | None = None
    stratum: Name | None = None
    scale: Annotated[str, AfterValidator(_scale)] | None = None
    failing: Score | None = None
    words: Score | None = None
    run: bool | None = None
    change_depth: Annotated[float, Field(ge=0, le=1)] | None = None
    changed_words: Score | None = None
    replicate: int = Field(default=0, ge=0, le=1_000_000)

    @model_validator(mode="after")
    def _agree(self) -> ScoreLine:
        """Refuse what a figure would silently leave out."""
        if (self.score is None) == (self.outcome is None):
            raise ValueError(
                f"found score {self.score} and outcome {self.outcome}, expected a score, or null with an "
                f"outcome of {', '.join(ABSENCES)}; correct it."
            )
        if self.probe == "vacuum" and (self.kind not in TEXTS or self.variant is not None):
            raise ValueError(
                f"kind is {self.kind!r}, expected {' or '.join(TEXTS)} and no variant for vacuum."
            )
        if self.probe != "vacuum" and (self.kind is not None or self.variant is None):
            raise ValueError(
                f"variant is {self.variant!r} and kind {self.kind!r}, expected the variant original or "
                "perturbed, and a kind for vacuum only; correct it."
            )
        if self.scale is not None:
            self._on_scale()
        return self

    def _on_scale(self) -> None:
        answers = parse_scale(self.scale or "").answers
        for name in ("score", "expected", "failing"):
            value = getattr(self, name)
            if value is not None and str(value) not in answers:
                raise ValueError(
                    f"{name} is {value}, expected an answer of the scale {self.scale}; correct it."
                )


def holds_scores(path: Path) -> bool:
    """True where the first line of a file is a recorded score; whatever is wrong is told when it is read."""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            line = next((line for line in stream if line.strip()), "")
        return any(key in json.loads(line) for key in MARKS)
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def read_scores(
    paths: Sequence[Path], lines: Lines = read_lines
) -> tuple[tuple[ScoreCall, ...], tuple[str, ...]]:
    """Every call of the files, sorted, and what had to be assumed, in sentences."""
    calls = _checked(call for path in paths for call in _calls(path, lines))
    unscaled = [call for call in calls if call.shown.scale is None]
    values = {v for call in unscaled for v in (call.score, call.shown.expected) if v is not None}
    scale = scale_found(values) if unscaled else None
    return _with_scale(calls, scale), assumed(scale)


def scale_found(values: Collection[int]) -> str:
    """Binary where every score and label is 0 or 1, else their range."""
    if set(values) <= {0, 1}:
        return "binary"
    low, high = min(values), max(values)
    return f"{low}-{high}" if low < high else f"0-{high}"


def assumed(scale: str | None) -> tuple[str, ...]:
    """What is told of a scale that no line names; nothing where it is binary, or none was needed."""
    if scale in (None, "binary"):
        return ()
    return (
        f"no line names a scale; taken from the scores found: {scale}; add the key 'scale' to name another.",
    )


def _calls(path: Path, lines: Lines) -> Iterator[ScoreCall]:
    texts: dict[Shown, Shown] = {}
    for where, body in lines(path):
        call = score_of(where, body)
        known = texts.setdefault(call.shown, call.shown)
        yield call if known is call.shown else replace(call, shown=known)


def score_of(where: str, body: Body) -> ScoreCall:
    """One line as a call."""
    line = parse(ScoreLine, where, body)
    probe = ORIGINAL if line.variant == ORIGINAL else line.probe
    shown = Shown(
        probe=probe,
        item=line.item,
        variant=line.kind or line.variant or "",
        edit=None if probe == ORIGINAL else line.edit,
        level=None if probe == ORIGINAL else line.level,
        expected=line.expected,
        task=line.task,
        stratum=line.stratum,
        scale=line.scale,
        failing=line.failing,
        words=line.words,
        run=line.run or None,
        change_depth=line.change_depth,
        changed_words=line.changed_words,
    )
    return ScoreCall(
        line.judge, line.protocol, line.probe, shown, line.score, line.outcome, line.replicate, where
    )


def _checked(calls: Iterable[ScoreCall]) -> list[ScoreCall]:
    """Sorted calls; an item as it is may be told under several probes, if always with the same score."""
    seen: dict[tuple[object, ...], ScoreCall] = {}
    trials: dict[tuple[object, ...], ScoreCall] = {}
    texts: dict[tuple[object, ...], ScoreCall] = {}
    for call in calls:
        twin, key = trials.setdefault(call.trial, call), call.key
        if key in seen or (twin.score, twin.absence) != (call.score, call.absence):
            raise DataError(
                f"{call.where}: judge {call.judge!r} scored this text of item {call.shown.item!r} already "
                f"({twin.where}), expected each call once; number repeats with 'replicate', tell edits "
                "apart with 'edit', or remove one."
            )
        seen[key] = call
        first = texts.setdefault(call.shown.name, call)
        if first.shown is not call.shown and first.shown != call.shown:
            raise DataError(f"{call.where}: {_difference(first, call)}")
    return sorted(seen.values(), key=lambda call: call.sorts)


def _difference(first: ScoreCall, call: ScoreCall) -> str:
    name = next(f.name for f in fields(Shown) if getattr(first.shown, f.name) != getattr(call.shown, f.name))
    return (
        f"item {call.shown.item!r} has {name} {getattr(call.shown, name)!r} here, expected "
        f"{getattr(first.shown, name)!r} as in {first.where}; name the items apart, or correct one."
    )


def _with_scale(calls: list[ScoreCall], scale: str | None) -> tuple[ScoreCall, ...]:
    """The calls, with one object for each text."""
    scaled: dict[Shown, Shown] = {}
    for shown in (call.shown for call in calls):
        if shown not in scaled:
            scaled[shown] = shown if shown.scale else replace(shown, scale=scale)
    return tuple(
        call if scaled[call.shown] is call.shown else replace(call, shown=scaled[call.shown])
        for call in calls
    )
