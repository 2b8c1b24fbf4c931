"""Inspect logs as recorded scores and as ratings: the first value is the scorer's, an edit the person's.

Epochs run the agent again, so that each is an item of its own beside others of its sample, and never a
repeat of the judge. A sample that Steelyard has exported is known by its metadata, and its probe with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.errors import ConfigError, DataError
from steelyard.importing.jsonl import Body, RecordedSource
from steelyard.importing.ratings import HUMAN, JUDGE, RatingColumns, RatingRow
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.tasks.sources.inspect_log import (
    is_log,
    log_table,
    open_log,
    place_of,
    transcript_scores,
    valued,
)
from steelyard.tasks.sources.table import TableParts, TableRecord, is_missing, normal, plain_text
from steelyard.tasks.task import Binary, scale_name
from steelyard.tasks.transcripts.transcript import ScoreEntry

UNCHANGED = {"probe": "stochastic_stability", "variant": "original"}
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": None}
"""By which Inspect's scorers grade: correct, partly correct, incorrect, no answer, which is no grade."""
BINARY, GRADED = scale_name(Binary()), "0-2"
GRADES = {BINARY: {"C": 1, "I": 0}, GRADED: {"C": 2, "P": 1, "I": 0}}
_KNOWN = ("judge", "protocol", "replicate")
SCORE = "score"
"""Column of the only scorer; those of several are `score.NAME`."""
OUTCOMES = {"refusal": "abstain", "invalid_response_format": "unreadable"}
"""What became of a call without a value, by Inspect's word for it; every other has failed."""
MODEL_GRADED = "model_graded"
MAPPED = ("task", "stratum", "system")
"""Parts of ratings that `--columns` may take from a sample's metadata."""


def holds_log(path: Path) -> bool:
    if path.suffix.lower() != ".json":
        return path.suffix.lower() == ".eval"
    try:
        return is_log(json.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, RecursionError):
        return False


def inspect_rows(path: Path, how: RatingColumns) -> Iterator[RatingRow]:
    """Ratings of a log: those of judges, and edits as the ratings of the people who made them.

    A scorer is a judge where its name says that a model grades, where Steelyard exported it, or where the
    caller names it; the kind of any other is not said.
    """
    for part in how.columns:
        if part not in MAPPED:
            raise ConfigError(
                f"{path}: --columns {part}=… found, expected task, stratum or system for an Inspect log, "
                "each a key of the samples' metadata; remove the others."
            )
    log = open_log(path)
    samples = log.samples or []
    several = any(sample.epoch != 1 for sample in samples)
    for sample in samples:
        row, metadata = SampleRow.of(sample), sample.metadata or {}
        where = f"{path}, {row.where}"
        for key in how.columns.values():
            if key not in metadata:
                known = ", ".join(map(repr, list(metadata)[:12])) or "none"
                raise DataError(f"{where}: no metadata {key!r}, expected one of {known}; correct --columns.")
        about = {"item": row.sample + (f"/{row.epoch}" if several else ""), "task": row.sample}
        about |= {"system": str(log.eval.model)}
        about |= {
            part: "" if is_missing(metadata[key]) else plain_text(metadata[key]).strip()
            for part, key in how.columns.items()
        }
        for score in row.scores:
            judge, shared = str(score.call["judge"]), {**about, "criterion": score.scorer}
            if not _is_judge(score, judge, how):
                yield RatingRow(where, judge, "", shared, None, judge)
                continue
            if score.verdict.author is None:
                own = {**shared, "run": str(score.call.get("replicate", ""))}
                yield RatingRow(where, judge, JUDGE, own, _plain_value(score.verdict, how), judge)
            if score.reference is not None:
                person = score.reference.author or "people"
                yield RatingRow(where, person, HUMAN, shared, _plain_value(score.reference, how), judge)


def _is_judge(score: SampleScore, judge: str, how: RatingColumns) -> bool:
    """Named by the caller; without names, graded by a model as the scorer or the export says."""
    if how.judges:
        return bool({judge, score.scorer} & set(how.judges))
    return score.scorer.startswith(MODEL_GRADED) or "protocol" in score.call


def _plain_value(entry: ScoreEntry, how: RatingColumns) -> Any:
    word = entry.value.strip() if isinstance(entry.value, str) else ""
    return LETTERS[word] if word in LETTERS and word.lower() not in how.values else entry.value


@dataclass(frozen=True)
class InspectScores(RecordedSource):
    """Scores of a log as recorded verdicts; a map of columns takes other parts from the log's columns.

    One that names the score reads its scorer: `--columns score=score.NAME,stratum=category`.
    """

    judge: str | None = None
    """The scorer to read, by its name in the log; all that grade by letters or whole numbers without it.

    Beside a map of columns, the name that the judge gets."""
    scale: str | None = None
    """Scale of the scores; without it, letters are binary, and numbers what they range over."""
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    """What words of the scorers mean."""
    remarks: list[str] = field(default_factory=list)
    baselines: set[str] = field(default_factory=set)

    @classmethod
    def fits(cls, columns: Mapping[str, str]) -> bool:
        score = columns.get("score", "")
        return score == SCORE or score.startswith(f"{SCORE}.")

    @property
    def _scorer(self) -> str | None:
        named = self.columns.get("score")
        return self.judge if named is None else named.removeprefix(SCORE).removeprefix(".") or None

    def lines(self, path: Path) -> Iterator[tuple[str, Body]]:
        log = open_log(path)
        rows = [SampleRow.of(sample).valued(self.values) for sample in log.samples or ()]
        several = len({row.epoch for row in rows}) > 1
        parts = TableParts.required(log_table(log, path), self.columns) if self.columns else None
        scales = self._scales(rows, path)
        for number, row in enumerate(rows):
            for said in row.scores:
                if said.scorer in scales and said.verdict.author is None:
                    if said.baseline and self._scorer is None and parts is None:
                        self.baselines.add(said.call["judge"])
                    body, where = _item(row, several), f"{path}, {row.where}"
                    scale = self.scale or body.get("scale") or scales[said.scorer]
                    body |= _answer(said, scale)
                    if parts is not None:
                        body |= self._mapped(parts, parts.table.records[number], where, scale)
                    yield where, body

    def _mapped(
        self, parts: TableParts, record: TableRecord, where: str, scale: str | None
    ) -> dict[str, Any]:
        """What columns of the log say; a reference of its own stands in the place of a person's edit."""
        given: dict[str, Any] = {} if self.judge is None else {"judge": self.judge}
        for part in ("item", "task", "stratum", "protocol", "judge"):
            given |= {part: text} if (text := parts.text(record, part)) else {}
        if self.columns.get("expected") not in (None, self.columns["score"]):
            cell = parts.cell(record, "expected")
            given["expected"] = None if cell is None else grade(cell, scale)
            if cell is not None and given["expected"] is None:
                raise DataError(
                    f"{where}: column {self.columns['expected']!r} holds {plain_text(cell)[:60]!r}, expected "
                    "a whole number or a letter of the scale; correct the map of columns."
                )
        return given

    def _scales(self, rows: Collection[SampleRow], path: Path) -> dict[str, str | None]:
        values: dict[str, set[Any]] = {}
        judges: dict[str, str] = {}
        for said in (score for row in rows for score in row.scores):
            values.setdefault(said.scorer, set()).update(said.values)
            judges[said.scorer] = said.call["judge"]
        scorer = self._scorer
        wanted = {n: given for n, given in values.items() if scorer in (None, n, judges[n])}
        if not wanted:
            known = ", ".join(sorted(values)) or "none"
            lack = "the log holds no scores" if scorer is None else f"no scorer {scorer!r}"
            raise DataError(f"{path}: {lack} (scorers: {known}); name another log or --judge.")
        kept = {}
        for name in sorted(wanted):
            odd = sorted(
                repr(each) for each in wanted[name] if each not in LETTERS and grade(each, None) is None
            )
            if odd:
                self.remarks.append(f"scorer {name} was left out: {odd[0]} is no whole number and no letter.")
            else:
                kept[name] = _scale_of(wanted[name])
        if not kept:
            raise DataError(
                f"{path}: no scorer grades by whole numbers or by the letters C and I, so that there is "
                "nothing to read; score the log with another scorer."
            )
        return kept


@dataclass(frozen=True)
class SampleScore:
    scorer: str
    verdict: ScoreEntry
    """The first value, the scorer's own unless a person gave it."""
    reference: ScoreEntry | None
    """The last value that a person gave; None where nobody did."""
    call: Mapping[str, Any]
    """Judge, protocol and repeat of a verdict that Steelyard exported; the scorer alone where it did not."""
    baseline: bool

    @property
    def values(self) -> set[Any]:
        given = [entry.value for entry in (self.verdict, self.reference) if entry is not None]
        scalar = (str, int, float, bool)
        return {v if isinstance(v, scalar) else repr(v) for v in given if v is not None}


@dataclass(frozen=True)
class SampleRow:
    where: str
    sample: str
    epoch: int
    scores: tuple[SampleScore, ...]
    mark: Mapping[str, Any]

    @classmethod
    def of(cls, sample: Any) -> SampleRow:
        mark = (sample.metadata or {}).get("steelyard")
        where = place_of(sample, sample.epoch != 1)
        known = mark if isinstance(mark, Mapping) else {}
        return cls(where, str(sample.id), sample.epoch, tuple(_sample_scores(sample)), known)

    def valued(self, values: Mapping[str, float]) -> SampleRow:
        """With numbers in the place of words that have one."""

        def number(entry: ScoreEntry) -> ScoreEntry:
            word = normal(entry.value) if isinstance(entry.value, str) else ""
            return replace(entry, value=values[word]) if word in values else entry

        scores = [
            replace(
                score, verdict=number(score.verdict), reference=score.reference and number(score.reference)
            )
            for score in self.scores
        ]
        return replace(self, scores=tuple(scores)) if values else self


def _sample_scores(sample: Any) -> Iterator[SampleScore]:
    for score in transcript_scores(sample):
        given = valued(sample.scores[score.scorer])
        keys = dict.fromkeys(k for e in score.history if isinstance(e.value, Mapping) for k in e.value)
        for key in keys or (None,):
            history = list(score.history)
            if key is not None:
                parts = [e.value.get(key) if isinstance(e.value, Mapping) else None for e in history]
                history = [replace(e, value=part) for e, part in zip(history, parts, strict=True)]
            people = [e for e, stated in zip(history, given, strict=True) if stated and e.author is not None]
            name = score.scorer if key is None else f"{score.scorer}.{key}"
            mark = (sample.scores[score.scorer].metadata or {}).get("steelyard")
            exported = mark.get("call") if isinstance(mark, Mapping) else None
            call = exported if isinstance(exported, Mapping) else {}
            known = {key: call[key] for key in _KNOWN if key in call} or {"judge": name}
            baseline = call.get("baseline") is True and "judge" in call
            yield SampleScore(name, history[0], people[-1] if people else None, known, baseline)


def _item(row: SampleRow, several: bool) -> dict[str, Any]:
    mark, suffix = row.mark, f"/{row.epoch}" if several else ""
    probe, kind = mark.get("probe"), mark.get("kind")
    if not isinstance(probe, str) or (kind not in (ORIGINAL, PERTURBED) and probe != "vacuum"):
        return {**UNCHANGED, "item": f"{row.sample}{suffix}", "task": row.sample}
    item = str(mark.get("item") or row.sample)
    shown = {"kind": kind} if probe == "vacuum" else {"variant": kind, "level": mark.get("level")}
    body: dict[str, Any] = {
        **shown,
        "probe": UNCHANGED["probe"] if kind == ORIGINAL else probe,
        "item": f"{item}{suffix}",
        "task": str(mark.get("cluster") or item),
        "stratum": mark.get("stratum"),
        "scale": mark.get("scale"),
        "edit": None if kind == ORIGINAL else f"{row.sample}: {mark.get('edit')}",
        "expected": grade(mark.get("expected"), None),
        "failing": grade(mark.get("failing"), None),
        **{key: mark.get(key) for key in ("words", "run", "change_depth", "changed_words")},
    }
    return {key: value for key, value in body.items() if value is not None}


def _answer(said: SampleScore, scale: str | None) -> dict[str, Any]:
    score = grade(said.verdict.value, scale)
    body: dict[str, Any] = {"judge": said.scorer, **said.call, "score": score}
    body |= {} if scale is None else {"scale": scale}
    if said.verdict.value is None:
        body["outcome"] = OUTCOMES.get(said.verdict.reason or "", "failed")
    elif score is None:
        body["outcome"] = "abstain" if said.verdict.value == "N" else "unreadable"
    if said.reference is not None:
        body["expected"] = grade(said.reference.value, scale)
    return body


def _scale_of(values: Collection[Any]) -> str | None:
    """The scale that values show: letters and yes or no have one, numbers none but 0 and 1."""
    if "P" in values:
        return GRADED
    lettered = any(value in LETTERS or isinstance(value, bool) for value in values)
    return BINARY if lettered or {grade(value, None) for value in values} <= {0, 1} else None


def grade(value: Any, scale: str | None) -> int | None:
    """A value as a whole number from 0 on, letters by the scale; None where it is none."""
    if isinstance(value, str):
        word = value.strip()
        return int(word) if word.isdecimal() else GRADES.get(scale or "", {}).get(word)
    whole = isinstance(value, (bool, int, float)) and value >= 0 and value == int(value)
    return int(value) if whole else None
